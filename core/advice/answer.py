"""One question about a pipeline, "what should I do first?", and everything that answers it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from core.advice.search import Advice, Limits, Progress, advise, in_order, next_steps
from core.advice.shapley import EXACT_UP_TO, Attribution, exact, sampled
from core.advice.value import Bench, Goal, Outcome, Runs
from core.metrics import Reader
from core.once import Once
from core.profiles import Setting
from core.rewrite import Level
from core.scenarios import Scenario
from core.techniques import HEADLINE_ORDER, PRESETS, choose, technique

DEFAULT_SLO_S = 2.0
"""Where no service level is asked for, shares within this one are counted. Assumption."""

ORDERS = 12
"""Random orders behind the shares of a set too large for all of them, each used both ways."""

SEARCH_SHARE = 0.8
"""Of the work of an answer; the rest is telling who earned the gain."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked; equal questions have equal answers.

    `levels`: id, effort and risk of techniques that are judged otherwise than in the catalogue.
    `whole`: it is about the whole catalogue, not about the eight headline techniques.
    """

    scenario: Scenario
    setting: Setting
    reader: Reader = field(default_factory=Reader)
    goal: Goal = "reader_wait_s"
    limits: Limits = field(default_factory=Limits)
    levels: tuple[tuple[str, Level, Level], ...] = ()
    whole: bool = False

    @property
    def candidates(self) -> tuple[str, ...] | None:
        """The techniques it is about; None for all."""
        return None if self.whole else HEADLINE_ORDER

    def classes(self, technique_id: str) -> tuple[Level, Level]:
        """Effort and risk of a technique, as they are judged here."""
        found = technique(technique_id)
        own = (levels for name, *levels in self.levels if name == technique_id)
        effort, risk = next(own, (found.effort, found.risk))
        return effort, risk

    def bench(self) -> Bench:
        """Where sets of techniques are compared for this question."""
        runs = None if self.whole else headline_runs(self.scenario, self.setting, self.reader)
        return Bench(
            self.scenario,
            self.setting,
            self.reader,
            self.goal,
            self.limits.slo_s or DEFAULT_SLO_S,
            efforts={t: effort for t, effort, _ in self.levels},
            risks={t: risk for t, _, risk in self.levels},
            runs=runs,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """The advice, and who earns the gain of the best set."""

    question: Question
    advice: Advice
    shares: Attribution


@lru_cache(maxsize=8)
def headline_runs(scenario: Scenario, setting: Setting, reader: Reader) -> Runs:
    """The runs behind all questions about the eight: a few hundred plans at the most."""
    return Runs(scenario, setting, reader)


def answer(question: Question, progress: Progress) -> Answer:
    """Search, and share out the gain. What `progress` raises ends it."""
    bench = question.bench()
    found = advise(
        bench, question.limits, question.candidates, lambda done: progress(SEARCH_SHARE * done)
    )
    shares = attribution(
        bench,
        found.best.techniques,
        lambda done: progress(SEARCH_SHARE + (1.0 - SEARCH_SHARE) * done),
    )
    return Answer(question, found, shares)


def attribution(bench: Bench, techniques: Iterable[str], progress: Progress) -> Attribution:
    """Shares of a set's gain: exact for a small set, sampled with error for a large one."""
    players = sorted(techniques)
    exactly = len(players) <= EXACT_UP_TO
    expected = 2 ** len(players) if exactly else 2 * ORDERS * len(players)
    asked = 0

    def value(chosen: frozenset[str]) -> float:
        nonlocal asked
        asked += 1
        progress(min(1.0, asked / expected))
        return -bench.outcome(chosen).p50_s

    if exactly:
        return exact(players, value)
    return sampled(players, value, orders=ORDERS, rng=np.random.default_rng(0))


def headline_answer(question: Question, progress: Progress = lambda _: None) -> Answer:
    """The answer about the eight, made once for all who ask; `progress` is told while it is."""
    return _EIGHT.get(question, lambda: answer(question, progress))


def whole_answer(
    question: Question, progress: Progress, meanwhile: Callable[[], None] = lambda: None
) -> Answer:
    """The answer about the whole catalogue, made once; ten seconds of work or more.

    `meanwhile` is called now and then while somebody else makes it; what it raises ends the wait.
    """
    return _WHOLE.get(question, lambda: answer(question, progress), meanwhile)


def known_answer(question: Question) -> Answer | None:
    """The answer about the whole catalogue, if somebody has asked for it lately."""
    return _WHOLE.known(question)


_EIGHT: Once[Question, Answer] = Once(64)
_WHOLE: Once[Question, Answer] = Once(16)


@lru_cache(maxsize=64)
def preset_steps(question: Question, preset: str) -> tuple[Outcome, ...]:
    """The techniques of a preset one after the other, in order of application."""
    order = [choice.technique.id for choice in choose(PRESETS[preset])]
    return in_order(question.bench(), order)


@lru_cache(maxsize=64)
def following(question: Question, now: frozenset[str]) -> tuple[Outcome, tuple[Outcome, ...]]:
    """What is switched on now is worth, and every single step from there, best first."""
    bench = question.bench()
    return bench.outcome(now), next_steps(bench, now, question.limits, question.candidates)

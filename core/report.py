"""A long report on one pipeline: the best set of the whole catalogue, under load, and its price.

Ten seconds of work or more, in parts, each told as it begins: made as a job, while nobody waits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from core.advice.answer import DEFAULT_SLO_S, Answer, Question, whole_answer
from core.advice.value import ADVISED
from core.charts import share_within
from core.compare import rewritten
from core.load import Capacity, Loaded, under_load
from core.losses import Loss, losses
from core.metrics import metric, summary
from core.plan import Plan
from core.tails import Owner, owners, parts
from core.techniques import choose
from core.text import Note
from core.workload import stream

REQUESTS, SEED, POOL = 400, 0, 8
"""Requests behind each figure under load, and connections they share. Assumption: a small pool."""

SHARES = (0.1, 0.5, 0.8, 0.95)
"""Rates of arrivals, as shares of what the naive program can bear."""

CROWDED = 0.8
"""The share at which the report asks which step owns the slow end."""

SEARCH, LOAD = 0.7, 0.3
"""What the search and the load take of the work."""

Tell = Callable[[float, Note], None]


@dataclass(frozen=True, slots=True)
class Rate:
    """Both plans at one rate of arrivals: p95 of the goal, share within the limit, longest queue.

    Pairs are before and after. A p95 is None with fewer than 20 answers.
    """

    rate_per_s: float
    p95_s: tuple[float | None, float | None]
    within: tuple[float, float]
    queue: tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """What was found: the advice, both plans under load, who is slow there, what answers lose."""

    answer: Answer
    limit_s: float
    rates: tuple[Rate, ...]
    bearable_per_s: tuple[float, float]
    owners: tuple[tuple[Owner, ...], tuple[Owner, ...]]
    losses: tuple[Loss, ...]

    @property
    def question(self) -> Question:
        """What was asked."""
        return self.answer.question


def report(question: Question, tell: Tell, meanwhile: Callable[[], None]) -> Report:
    """Look into everything; what `tell` or `meanwhile` raises ends it."""
    asked = replace(question, whole=True)
    doing = Note.of("report.searching")
    found = whole_answer(asked, lambda done: tell(SEARCH * done, doing), meanwhile)
    plans = _plans(found)
    limit_s = asked.limits.slo_s or DEFAULT_SLO_S
    bearable = [_loaded(asked, plan, 0.1).load.bearable_per_s for plan in plans]
    rates, slow = [], []
    for step, share in enumerate(SHARES):
        rate = share * bearable[0]
        tell(SEARCH + LOAD * step / len(SHARES), Note.of("report.loading", rate=f"{rate:.2f}"))
        loaded = [_loaded(asked, plan, rate) for plan in plans]
        rates.append(_rate(asked, rate, loaded, limit_s))
        if share == CROWDED:
            slow = [_owners(one) for one in loaded]
    lost = losses(*plans, asked.scenario)
    before, after = bearable
    return Report(found, limit_s, tuple(rates), (before, after), (slow[0], slow[1]), lost)


def _plans(found: Answer) -> tuple[Plan, Plan]:
    """The naive plan, and the one of the best set."""
    asked = found.question
    best = choose(sorted(found.advice.best.techniques), ADVISED)
    return asked.scenario.plan, rewritten(asked.scenario, best, asked.setting)[0]


def _loaded(asked: Question, plan: Plan, rate_per_s: float) -> Loaded:
    workload = stream(asked.scenario, REQUESTS, seed=SEED, rate_per_s=rate_per_s)
    return under_load(plan, asked.setting, workload, Capacity(POOL), seed=SEED)


def _rate(asked: Question, rate_per_s: float, loaded: list[Loaded], limit_s: float) -> Rate:
    goal = metric(asked.goal)
    before, after = (goal.compute(one.timeline, asked.reader) for one in loaded)
    return Rate(
        rate_per_s,
        (summary(before).p95, summary(after).p95),
        (share_within(before, limit_s), share_within(after, limit_s)),
        (loaded[0].load.longest_queue, loaded[1].load.longest_queue),
    )


def _owners(loaded: Loaded) -> tuple[Owner, ...]:
    timeline = loaded.timeline
    return owners(parts(timeline), timeline.step_ids, timeline.failed)

"""Model calls of a run: from a step and what is known to an attempt that can be wrapped."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from core.calls import CallRecord
from core.counts import prompt_tok, shortened
from core.execute import own_words, reference
from core.execute.asking import Question, ask
from core.execute.clock import Clock
from core.execute.engine import Engine
from core.execute.facts import Facts
from core.execute.layers import Attempt, Outcome
from core.execute.news import Report
from core.execute.outlets import Outlet
from core.execute.screen import Screen
from core.execute.track import Track, Used
from core.plan import LlmStep, ModelRole
from core.prompt import Prompt, render
from core.providers.base import CallRequest
from core.reading import Reader


@dataclass(frozen=True, slots=True)
class Effort:
    """How a step is done: by which model, and with how many tokens at the most."""

    role: ModelRole
    limit_tok: int | None


@dataclass(slots=True)
class Answering:
    """Makes attempts and keeps their records. `limit_s`: the run's end, seconds of its clock."""

    engine: Engine
    facts: Facts
    screen: Screen
    clock: Clock
    report: Report
    limit_s: float
    records: list[CallRecord] = field(default_factory=list)

    def attempt(
        self, track: Track, step: LlmStep, effort: Effort, without: frozenset[str]
    ) -> Attempt:
        """Return the attempt to answer; `without` names inputs that are absent."""

        async def attempt(label: str, out: Outlet) -> Outcome:
            question = self._question(step, label, effort, without)
            shown = self.screen.shown(step)
            reader = None
            if shown is not None:
                sentences, known = self.screen.sentences(), self.facts.reference.values
                reader = Reader(shown, sentences=sentences, known=known)
            lost: list[tuple[CallRecord, Used]] = []
            try:
                answer = await ask(
                    question, reader, out, clock=self.clock, report=self.report, lost=lost
                )
            finally:
                for record, used in lost:
                    self.records.append(record)
                    track.used += used
            self.records.append(answer.record)
            return Outcome(answer.first_s, answer.end_s, answer.used, text=answer.text)

        return attempt

    def learn(self, step: LlmStep, text: str) -> None:
        """Take the values of an answer, where they are not the reference's."""
        expected = reference.answer(step, self.facts.reference)
        if text == expected or (text and expected.startswith(text)):
            return
        if self.engine.scripted:
            self.facts.note("own_words", step=step.id)
        values = own_words.read_values(step.signature, text)
        names = {f.name for f in step.signature.fields}
        self.facts.learn(values, instead_of=names)
        if not values:
            self.facts.note("unreadable", step=step.id)

    def _question(
        self, step: LlmStep, label: str, effort: Effort, without: frozenset[str]
    ) -> Question:
        """Render the step's prompt, and say how it is to be answered."""
        known, scripted = self.facts.request(), self.engine.scripted
        prompt = render(step.signature, known, without=without)
        expected = reference.answer(step, self.facts.reference)
        model, stop = self.engine.model(effort.role, step.id), step.signature.stop
        by_schema = self.engine.by_schema and not scripted
        request = CallRequest(
            model.name,
            prompt.messages,
            max_tokens=effort.limit_tok,
            stop=() if stop is None else (stop,),
            json_schema=own_words.schema(step.signature, known) if by_schema else None,
            prediction=reference.prediction(step, known),
            static_messages=prompt.static_messages,
            cache_key=_cache_key(prompt) if step.prompt_cache else None,
            scripted_text=expected if scripted else None,
            deadline_s=max(self.limit_s - self.clock.now(), 0.0),
        )
        counted = prompt_tok(step.signature, known, without)
        due = shortened(expected, effort.limit_tok)
        return Question(step, label, effort.role, model, request, due, counted)


def _cache_key(prompt: Prompt) -> str:
    """Return a key that prompts share whose leading static messages are the same."""
    static = "\n".join(m.text for m in prompt.messages[: prompt.static_messages])
    return hashlib.sha256(static.encode()).hexdigest()[:32]

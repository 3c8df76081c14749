"""One call to a model: its stream read as it comes, recorded chunk by chunk, closed in any case."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from core.calls import CONTENT, CallRecord, Ended, Recorder
from core.errors import EngineError
from core.execute import bill
from core.execute.clock import Clock
from core.execute.engine import Model
from core.execute.news import Arrived, Report
from core.execute.outlets import Outlet
from core.execute.track import Used
from core.plan import LlmStep, ModelRole
from core.providers.base import CallRequest, Chunk, ChunkKind, Usage
from core.reading import Reader

TRUNCATED = "truncated"
"""The note by which a provider says that an answer ended at its length limit."""


@dataclass(frozen=True, slots=True)
class Question:
    """One attempt at one step's call: `reference` is expected, `prompt_tok` counted on our side."""

    step: LlmStep
    label: str
    role: ModelRole
    model: Model
    request: CallRequest
    reference: str
    prompt_tok: int

    @property
    def price_x(self) -> float:
        """How many times its model's price it pays."""
        return self.step.price_x if self.role == self.step.role else 1.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of it: the text, first and last content on the run's clock, what it used."""

    text: str
    first_s: float
    end_s: float
    used: Used
    record: CallRecord


@dataclass(slots=True)
class Asking:
    """The reading of one answer."""

    question: Question
    reader: Reader | None
    out: Outlet
    clock: Clock
    report: Report
    recorder: Recorder
    first_s: float | None = None
    end_s: float = 0.0

    async def read(self) -> None:
        """Read the stream to its end. Raises EngineError."""
        loop = asyncio.get_running_loop()
        async with _closing(self.question.model.provider.stream(self.question.request)) as chunks:
            async for chunk in chunks:
                taken = self.recorder.take(chunk, loop.time())
                if taken.kind in CONTENT:
                    self._content(taken)
                self.report(Arrived(self.question.step.id, self.question.label, taken))
        if self.first_s is None:
            self._begin(self.clock.now())
        self._finish(cut=TRUNCATED in self.recorder.notes)

    def _content(self, chunk: Chunk) -> None:
        if self.first_s is None:
            self._begin(chunk.t_s)
        self.end_s = chunk.t_s
        if chunk.kind is ChunkKind.TEXT and self.reader is not None:
            heard = self.reader.feed(chunk.text)
            if heard.drafts and self.question.step.stream:
                self.recorder.seen(chunk.t_s)
            self.out.say(heard, chunk.t_s)

    def _begin(self, at_s: float) -> None:
        self.first_s = self.end_s = at_s
        self.out.begin(at_s)

    def _finish(self, *, cut: bool) -> None:
        if self.reader is not None:
            self.out.say(self.reader.finish(cut=cut), self.clock.now() if cut else self.end_s)

    def close(self, ended: Ended, error: str = "") -> tuple[CallRecord, Used]:
        """Return the record and the bill."""
        question, usage = self.question, self.recorder.usage
        if usage is None and ended == "failed" and self.first_s is None:
            return self.recorder.close(ended, Usage(source="estimated"), error), Used(calls=1.0)
        if usage is None:
            usage = bill.estimate(
                question.prompt_tok,
                question.reference,
                self.recorder.text,
                question.request.prediction,
            )
        used = bill.billed(question.model, usage, question.request, question.price_x)
        return self.recorder.close(ended, usage, error), used

    def cut_off(self) -> None:
        """Pass on what there is: nothing more will come."""
        if self.first_s is not None:
            self._finish(cut=True)


async def ask(
    question: Question,
    reader: Reader | None,
    out: Outlet,
    *,
    clock: Clock,
    report: Report,
    lost: list[tuple[CallRecord, Used]],
) -> Answer:
    """Ask, and read the answer; `lost` takes the record of a call that came to nothing.

    Raises:
        EngineError: the call failed; what it had said is void.
    """
    recorder = Recorder(
        question.step.id,
        question.label,
        question.role,
        question.model.provider.name,
        question.model.name,
        clock.zero_s,
        clock.now(),
    )
    asking = Asking(question, reader, out, clock, report, recorder)
    try:
        await asking.read()
    except EngineError as error:
        lost.append(asking.close("failed", str(error)))
        out.void()
        raise
    except asyncio.CancelledError:
        asking.cut_off()
        lost.append(asking.close("cancelled"))
        raise
    record, used = asking.close("done")
    first_s = asking.end_s if asking.first_s is None else asking.first_s
    return Answer(record.text, first_s, asking.end_s, used, record)


@asynccontextmanager
async def _closing(stream: AsyncIterator[Chunk]) -> AsyncIterator[AsyncIterator[Chunk]]:
    """Close the stream on leaving: leaving alone would let the server write on."""
    try:
        yield stream
    finally:
        aclose = getattr(stream, "aclose", None)
        if aclose is not None:
            await aclose()

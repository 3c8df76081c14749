"""Small plans and models that do what the test says, for runs on a virtual clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

from core.errors import PlaygroundError
from core.execute import Engine, Model
from core.plan import Input, LlmStep, Plan, ShowStep, Step, WorkKind, WorkStep
from core.profiles import Service, Setting, setting
from core.providers.base import CallRequest, Chunk, ChunkKind, Usage
from core.providers.scripted import wait_until
from core.request import Document, Request, Value
from core.scenarios import Scenario
from core.signature import Field, Form, Signature
from core.workload import Workload, only

ENOUGH = Usage(tokens_in=100, tokens_cached=0, tokens_out=10, tokens_reasoning=0)


@dataclass(frozen=True)
class Play:
    """One answer: chunks that arrive `gap_s` apart from `first_s` on, then perhaps an error."""

    chunks: tuple[str, ...] = ("ok",)
    first_s: float = 1.0
    gap_s: float = 0.1
    error: PlaygroundError | None = None
    usage: Usage | None = ENOUGH
    notes: tuple[str, ...] = ()


@dataclass
class StageModel:
    """A provider that gives one play after the other, the last one again and again."""

    plays: Sequence[Play]
    name: str = "stage"
    asked: list[CallRequest] = field(default_factory=list)
    ended_s: list[float] = field(default_factory=list)
    closed: int = 0

    async def stream(self, request: CallRequest) -> AsyncIterator[Chunk]:
        loop = asyncio.get_running_loop()
        play = self.plays[min(len(self.asked), len(self.plays) - 1)]
        self.asked.append(request)
        start_s = loop.time()
        try:
            yield Chunk(ChunkKind.SENT, start_s)
            for number, text in enumerate(play.chunks):
                await wait_until(start_s + play.first_s + number * play.gap_s)
                yield Chunk(ChunkKind.TEXT, loop.time(), text)
            if play.error is not None:
                await wait_until(start_s + play.first_s + len(play.chunks) * play.gap_s)
                raise play.error
            for note in play.notes:
                yield Chunk(ChunkKind.NOTE, loop.time(), note)
            if play.usage is not None:
                yield Chunk(ChunkKind.USAGE, loop.time(), usage=play.usage)
        finally:
            self.ended_s.append(loop.time())

    async def aclose(self) -> None:
        self.closed += 1


def engine(**models: StageModel | Sequence[Play]) -> Engine:
    """An engine with a model for each step; a step's second role is the same one."""
    made = {
        step: m if isinstance(m, StageModel) else StageModel(tuple(m)) for step, m in models.items()
    }
    profile = setting().large
    tuned = {
        (role, step): Model(m, f"{step}-{role}", profile)
        for step, m in made.items()
        for role in ("large", "small")
    }
    spare = Model(StageModel((Play(),)), "spare")
    return Engine("stage", spare, spare, tuned)  # type: ignore[arg-type]


def stage(of: Engine, step: str) -> StageModel:
    """The model of a step."""
    provider = of.model("large", step).provider
    assert isinstance(provider, StageModel)
    return provider


def call(step_id: str, *reads: str, gives: str = "", **more: object) -> LlmStep:
    """A call that writes one hidden field as text."""
    name = gives or f"{step_id}_value"
    signature = Signature(
        f"Do {step_id}.",
        (),
        tuple(Input(v) for v in reads or ("message",)),
        (Field(name, name[:3], "a value"),),
        form=Form.TEXT,
    )
    return replace(LlmStep(step_id, signature), **more)  # type: ignore[arg-type]


def answer(*reads: str, step_id: str = "say", form: Form = Form.TEXT, **more: object) -> LlmStep:
    """The call that writes what is shown."""
    signature = Signature(
        "Answer.",
        (),
        tuple(Input(v) for v in reads or ("message",)),
        (Field("answer", "a", "the answer", "open", "text"),),
        form=form,
    )
    return replace(LlmStep(step_id, signature, stream=True), **more)  # type: ignore[arg-type]


def work(step_id: str, service: str = "quick", *reads: str, **more: object) -> WorkStep:
    """A service's work that gives one value."""
    step = WorkStep(
        step_id, WorkKind.COMPUTE, service, reads or ("message",), (f"{step_id}_value",)
    )
    return replace(step, **more)  # type: ignore[arg-type]


def plan(*steps: Step, gates: tuple[str, ...] = (), **more: object) -> Plan:
    """The steps and a show step for the answer."""
    return Plan("stage", (*steps, ShowStep("show", ("answer",), gates)), ("answer",), **more)  # type: ignore[arg-type]


def asked(of: Plan, **values: Value) -> Workload:
    """The one request of a scenario around this plan."""
    known: dict[str, Value] = {"answer": "Yes. It is.", **values}
    documents = (Document("d", "en", "Title", "kind", "What the library says.", "2026-01-01"),)
    request = Request(
        "r", "en", "task", "intent", (), (), "Is it?", known, ("d",), {}, True, documents
    )
    scenario = Scenario("stage", {}, {}, {}, {}, of, (request,), documents)
    return only(scenario, request)


def where(**fail_rates: float) -> Setting:
    """A setting whose services take 0.2 s (`quick`) and 3 s (`slow`), without any chance."""
    made = {
        name: Service(
            name,
            "compute",
            True,
            p50,
            p50,
            0.0,
            fail_rates.get(name, 0.0),
            "assumed",
            "made up",
            "2026",
        )
        for name, p50 in (("quick", 0.2), ("slow", 3.0))
    }
    return replace(setting(), services=made, certain=True)

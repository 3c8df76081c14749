"""What is said about latency, and what this model makes of it: claimed, here, and why.

Every figure under "here" comes out of the engine, on a plan built for the question or on a shipped
scenario; none is typed in. `claim.<id>.title` and `claim.<id>.why` are its texts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from core.counts import call
from core.metrics import Reader, metric
from core.plan import (
    Field,
    Form,
    Input,
    LlmStep,
    Plan,
    ShowStep,
    Signature,
    Transport,
    WorkKind,
    WorkStep,
)
from core.profiles import Route, Service, Setting, routes
from core.request import Request
from core.rewrite import Context, apply
from core.scenarios import Scenario, scenario
from core.simulate import simulate
from core.techniques import PRESETS, choose
from core.timeline import Timeline
from core.workload import only, stream

N = 2000
READER = Reader()


@dataclass(frozen=True, slots=True)
class Claim:
    """Something people say: a figure or a range, in a unit, and how to find out here."""

    id: str
    low: float
    high: float
    unit: Literal["share", "s", "times"]
    measure: Callable[[Setting], float]
    source: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim beside what came out here; `why` is the key of the text that explains it."""

    claim: Claim
    here: float

    @property
    def why(self) -> str:
        """Key of the text that explains it."""
        return f"claim.{self.claim.id}.why"


def findings(setting: Setting) -> tuple[Finding, ...]:
    """Run the engine for every claim, with these models."""
    return tuple(Finding(c, c.measure(setting)) for c in CLAIMS)


# --- one call ------------------------------------------------------------------------------------

_WORD = " latency"
"""One token in the vocabulary that counts; repeated, it gives texts of any length."""


def _asked(prompt_tok: int, output_tok: int) -> Scenario:
    """Make a scenario of one request, its prompt and its answer of these lengths."""
    step = LlmStep(
        "answer",
        Signature(
            "Answer.",
            instructions=(_WORD * prompt_tok,),
            inputs=(Input("message"),),
            fields=(Field("answer", "a", "the answer", "open", "text"),),
            form=Form.TEXT,
            static_first=True,
        ),
        stream=True,
    )
    plan = Plan("claims", (step, ShowStep("show", ("answer",))), ("answer",))
    values = {"answer": (_WORD * output_tok).strip()}
    request = Request("r", "en", "claim", "claim", (), (), "Go.", values, (), {}, True, ())
    empty = {"en": "", "ko": ""}
    labels: dict[str, dict[str, str]] = {"en": {}, "ko": {}}
    return Scenario("claims", empty, empty, labels, labels, plan, (request,), ())


def _once(asked: Scenario, plan: Plan, setting: Setting) -> Timeline:
    """One request without any luck, over connections that are open."""
    warm = replace(plan, transport=replace(plan.transport, keep_alive=True))
    certain = replace(setting, certain=True)
    return simulate(warm, certain, only(asked, asked.requests[0]))


def _total_s(setting: Setting, prompt_tok: int, output_tok: int) -> float:
    asked = _asked(prompt_tok, output_tok)
    return float(_once(asked, asked.plan, setting).total_s[0])


def _half_output(output_tok: int) -> Callable[[Setting], float]:
    """Share of the time saved where an answer of this length becomes half as long."""

    def measure(setting: Setting) -> float:
        long = _total_s(setting, 500, output_tok)
        return 1.0 - _total_s(setting, 500, output_tok // 2) / long

    return measure


def _half_prompt(prompt_tok: int) -> Callable[[Setting], float]:
    """Share of the time saved where a prompt of this length becomes half as long."""

    def measure(setting: Setting) -> float:
        long = _total_s(setting, prompt_tok, 300)
        return 1.0 - _total_s(setting, prompt_tok // 2, 300) / long

    return measure


def _cached_prompt(prompt_tok: int) -> Callable[[Setting], float]:
    """Share of the time to the first token saved where the provider has the prompt in its cache."""

    def measure(setting: Setting) -> float:
        asked = _asked(prompt_tok, 20)
        plan = asked.plan
        cached = plan.with_steps(*(replace(s, prompt_cache=True) for s in plan.llm_steps))
        first = metric("first_visible_s")
        cold = first.compute(_once(asked, plan, setting), READER)[0]
        warm = first.compute(_once(asked, cached, setting), READER)[0]
        return float(1.0 - warm / cold)

    return measure


def _round_trip(setting: Setting) -> float:
    """Find what the way from Seoul to the US West adds to a call over an open connection."""
    asked = _asked(100, 20)
    route = routes()["Seoul > us-west-2"]
    here = Route("here", 0.0, route.source, route.source_date)
    far = _once(asked, asked.plan, replace(setting, route=route)).total_s[0]
    return float(far - _once(asked, asked.plan, replace(setting, route=here)).total_s[0])


# --- work that is not a model's ------------------------------------------------------------------


def _serial(setting: Setting) -> float:
    """Three steps of 1.5, 0.1 and 2 s, each after the one before."""
    asked = _asked(1, 1)
    spans = {"external": 1.5, "internal": 0.1, "writing": 2.0}
    services = {
        name: Service(name, "compute", False, span, span, 0.0, 0.0, "claim", "claim", "claim")
        for name, span in spans.items()
    }
    steps: list[WorkStep] = []
    for name in spans:
        after = (steps[-1].id,) if steps else ()
        steps.append(
            WorkStep(name, WorkKind.COMPUTE, name, ("message",), (f"{name}_done",), after=after)
        )
    show = ShowStep("show", (steps[-1].gives[0],))
    plan = Plan("claims", (*steps, show), (steps[-1].gives[0],), Transport())
    told = replace(setting, services=services, certain=True)
    return float(simulate(plan, told, only(asked, asked.requests[0])).total_s[0])


def _embedding(setting: Setting) -> float:
    """p95 of one short text through a small encoder in process."""
    asked = _asked(1, 1)
    work = WorkStep("embed", WorkKind.EMBED, "local_embedding", ("message",), ("vector",))
    plan = Plan("claims", (work, ShowStep("show", ("vector",))), ("vector",))
    times = simulate(plan, setting, only(asked, asked.requests[0], N)).total_s
    return float(np.percentile(times, 95))


# --- the travel recommender ----------------------------------------------------------------------


def _travel(setting: Setting, preset: str, metric_id: str) -> float:
    """Median of a metric over a stream of requests to the travel recommender."""
    travel = scenario("travel")
    plan, _ = apply(travel.plan, choose(PRESETS[preset]), Context(travel, setting))
    timeline = simulate(plan, setting, stream(travel, N))
    return float(np.nanmedian(metric(metric_id).compute(timeline, READER)))


def _drafted(_: Setting) -> float:
    """How much faster a revised itinerary is written with the last one sent along as a draft."""
    travel = scenario("travel")
    step = next(s for s in travel.plan.llm_steps if any(f.items for f in s.signature.fields))
    plain, drafted = call(travel, step), call(travel, replace(step, predict=True))
    known = np.array([bool(r.known) for r in travel.requests]) & (plain.decode > 0)
    return float(plain.decode[known].sum() / drafted.decode[known].sum())


BLOCK_WEIGHTS, SCALE_BYTES = 32, 2
"""A block of the plainest 4-bit format and its 16-bit scale. Source: ggml, block_q4_0."""


def _four_bits(_: Setting) -> float:
    """Bytes of 4-bit weights as a share of those of 16-bit weights."""
    return (SCALE_BYTES + BLOCK_WEIGHTS * 4 / 8) / (BLOCK_WEIGHTS * 16 / 8)


GUIDE = "OpenAI, Latency optimization guide"
POST = "An engineer's account of a travel recommender and its latency, 2026"

CLAIMS: tuple[Claim, ...] = (
    Claim("half_output", 0.5, 0.5, "share", _half_output(2000), GUIDE),
    Claim("half_output_300", 0.43, 0.43, "share", _half_output(300), GUIDE),
    Claim("half_output_20", 0.14, 0.14, "share", _half_output(20), GUIDE),
    Claim("half_prompt", 0.01, 0.05, "share", _half_prompt(10_000), GUIDE),
    Claim("half_prompt_2k", 0.003, 0.003, "share", _half_prompt(2000), GUIDE),
    Claim("half_prompt_50k", 0.06, 0.06, "share", _half_prompt(50_000), GUIDE),
    Claim(
        "cached_1k", 0.07, 0.07, "share", _cached_prompt(1024), "OpenAI, Prompt caching cookbook"
    ),
    Claim(
        "cached_150k",
        0.67,
        0.67,
        "share",
        _cached_prompt(150_000),
        "OpenAI, Prompt caching cookbook",
    ),
    Claim("travel_serial", 5.0, 8.0, "s", lambda s: _travel(s, "naive", "total_s"), POST),
    Claim(
        "travel_first", 2.0, 2.0, "s", lambda s: _travel(s, "travel-post", "first_useful_s"), POST
    ),
    Claim("serial_sum", 3.6, 3.6, "s", _serial, POST),
    Claim("round_trip", 0.12, 0.12, "s", _round_trip, "CloudPing"),
    Claim("local_embedding", 0.0, 0.010, "s", _embedding, "sentence-transformers"),
    Claim("four_bits", 0.25, 0.25, "share", _four_bits, "Dettmers and Zettlemoyer, 2023"),
    Claim("drafting", 2.0, 3.0, "times", _drafted, "Leviathan et al., 2023"),
)

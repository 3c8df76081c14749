"""Small plans at random, each with a request it can answer and services of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from hypothesis import strategies as st

from core.errors import InvalidPlan
from core.plan import (
    Deadline,
    Gate,
    Hedge,
    Input,
    LlmStep,
    ModelRole,
    Plan,
    Policy,
    Retry,
    ShowStep,
    Speculate,
    Step,
    Timeout,
    Transport,
    When,
    WorkKind,
    WorkStep,
)
from core.policies import Cache, Cascade
from core.profiles import Service, Setting, setting
from core.request import Request, Value
from core.scenarios import Scenario
from core.signature import Field, Form, Signature

SENTENCES = (
    "A return is free.",
    "It takes 3.5 days!",
    'He said "no", twice.',
    "반품은 무료입니다.",
    "Why not? 🙂",
    "One line\nand the next",
    "No end to this",
)
CARDS = (
    {"name": "Tide House", "area": "Hamdeok"},
    {"name": "동문시장", "area": "제주"},
    {"name": "Crater", "area": "Seongsan"},
)
ITEMS = (("name", "n"), ("area", "a"))
SPEEDS = {"quick": (0.0201, 0.0), "slow": (1.0503, 0.4007), "usual": (0.2107, 0.1009)}


@dataclass(frozen=True, slots=True)
class Case:
    """A plan, the scenario whose only request it answers, the setting it runs in."""

    plan: Plan
    scenario: Scenario
    setting: Setting

    @property
    def request(self) -> Request:
        return self.scenario.requests[0]


def services() -> dict[str, Service]:
    return {
        name: Service(name, "compute", True, p50, p50, per_1k, 0.0, "assumed", "made up", "2026")
        for name, (p50, per_1k) in SPEEDS.items()
    }


@dataclass
class _Draft:
    """What has been drawn so far."""

    steps: list[Step]
    values: dict[str, Value]
    flags: list[str]

    def given(self) -> list[str]:
        return ["message", *(v for s in self.steps for v in s.gives if v not in self.flags)]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A plan with up to four steps before the answer, one or two answers, up to two checks."""
    made = _Draft([], {}, [])
    for number in range(draw(st.integers(0, 4))):
        if draw(st.booleans()):
            _hidden_call(draw, made, number)
        else:
            _service(draw, made, number)
    shown = [_answer(draw, made, n) for n in range(draw(st.integers(1, 2)))]
    checks = _checks(draw, made, tuple(shown))
    early = draw(st.booleans())
    made.steps.append(
        ShowStep("show", tuple(shown), gates=checks, early=early, after=_after(draw, made))
    )
    plan = _plan(draw, made, tuple(shown))
    request = Request(
        "r", "en", "task", "intent", (), (), "What can I do about it?", made.values, (),
        {k: v for k, v in made.values.items() if k in shown and draw(st.booleans())}, True, (),
    )  # fmt: skip
    scenario = Scenario("random", {}, {}, {}, {}, plan, (request,), ())
    where = replace(setting(), services=services(), certain=True)
    return Case(plan, scenario, where)


def _plan(draw: st.DrawFn, made: _Draft, answer: tuple[str, ...]) -> Plan:
    flags = [draw(st.booleans()) for _ in range(4)]
    transport = Transport(*flags)
    plan = Plan("random", tuple(made.steps), answer, transport)
    for step in plan.steps:
        guessing = _guessing(plan, step)
        if guessing is not None and draw(st.booleans()):
            try:
                plan = plan.with_steps(guessing)
            except InvalidPlan:
                continue  # it reads a value of its guard
    return plan


def _guessing(plan: Plan, step: Step) -> Step | None:
    """The step, speculating on what one of its conditions comes from or what it reads does."""
    if isinstance(step, ShowStep) or (isinstance(step, WorkStep) and step.per_piece):
        return None
    if any(isinstance(p, Hedge | Cascade) for p in step.policies):
        return None  # as in `_call_policies`
    guards = [plan.producer[w.value] for w in step.when]
    for value in step.reads:
        other = plan.producer.get(value)
        if other is not None:
            guards += [p.guard for p in plan.step(other).policies if isinstance(p, Speculate)]
    if not guards:
        return None
    after = tuple(a for a in step.after if a != guards[0])
    return replace(step, policies=(*step.policies, Speculate(guards[0])), after=after)


def _some(draw: st.DrawFn, values: list[str], least: int = 0) -> tuple[str, ...]:
    return tuple(draw(st.lists(st.sampled_from(values), min_size=least, max_size=3, unique=True)))


def _after(draw: st.DrawFn, made: _Draft) -> tuple[str, ...]:
    ids = [s.id for s in made.steps]
    return _some(draw, ids) if ids else ()


def _when(draw: st.DrawFn, made: _Draft) -> tuple[When, ...]:
    if not made.flags or not draw(st.booleans()):
        return ()
    return (When(draw(st.sampled_from(made.flags)), draw(st.booleans())),)


def _deadline(draw: st.DrawFn, then: Literal["drop", "small"]) -> Deadline:
    slo_s, left_s = draw(st.sampled_from(((2.013, 1.5), (4.017, 1.0), (1.009, 0.9))))
    return Deadline(slo_s, left_s, then)


def _call_policies(draw: st.DrawFn) -> tuple[Policy, ...]:
    """Nothing that cancels several calls lies round them: the simulator reckons with all of them.

    So hedges are inside cascades, and what a deadline drops is one call.
    """
    options: tuple[Policy, ...] = (
        Hedge(0.303), Hedge(3.01), Retry(2, 0.1), Cascade("quick", 0.1), Cascade("quick", 0.9),
        _deadline(draw, "small"),
    )  # fmt: skip
    if draw(st.integers(0, 7)) == 0:
        return (_deadline(draw, "drop"),)
    chosen = draw(st.sets(st.integers(0, len(options) - 1), max_size=2))
    return tuple(options[k] for k in sorted(chosen))


def _service_policies(draw: st.DrawFn) -> tuple[Policy, ...]:
    options: tuple[Policy, ...] = (
        Hedge(0.107), Timeout(0.151), Timeout(2.003), Retry(3, 0.1), Gate("quick", 0.1),
        Gate("quick", 0.9), Cache(("message",), "quick", 60.0), Deadline(2.013, 1.507),
    )  # fmt: skip
    return tuple(draw(st.lists(st.sampled_from(options), max_size=2, unique=True)))


def _hidden_call(draw: st.DrawFn, made: _Draft, number: int) -> None:
    name, flag = f"v{number}", f"f{number}"
    reads = _some(draw, made.given(), 1)
    signature = Signature(
        f"Do part {number}.", ("Be exact.",), tuple(Input(v) for v in reads),
        (Field(name, f"a{number}", "a value"),),
    )  # fmt: skip
    role: ModelRole = draw(st.sampled_from(("large", "small")))
    step = LlmStep(
        f"call{number}", signature, role, (flag,), _after(draw, made), _when(draw, made),
        _call_policies(draw), announce=draw(st.booleans()), prompt_cache=draw(st.booleans()),
    )  # fmt: skip
    made.values[name] = draw(st.sampled_from(("short", "a rather longer value " * 3)))
    made.values[flag] = draw(st.booleans())
    made.flags.append(flag)
    made.steps.append(step)


def _service(draw: st.DrawFn, made: _Draft, number: int) -> None:
    name = f"w{number}"
    step = WorkStep(
        f"work{number}", draw(st.sampled_from((WorkKind.FETCH, WorkKind.COMPUTE))),
        draw(st.sampled_from(tuple(SPEEDS))), _some(draw, made.given(), 1), (name,),
        _after(draw, made), _when(draw, made), _service_policies(draw),
    )  # fmt: skip
    made.values[name] = "something that was found"
    made.steps.append(step)


def _answer(draw: st.DrawFn, made: _Draft, number: int) -> str:
    """A call that is shown: text in any form, or cards."""
    name, cards = f"answer{number}", draw(st.booleans())
    shown = Field(
        name, f"z{number}", "the answer", "open", "cards" if cards else "text",
        items=ITEMS if cards else (), facts=("area",) if cards and draw(st.booleans()) else (),
    )  # fmt: skip
    note = Field(f"note{number}", f"y{number}", "a remark")
    forms = (Form.JSON, Form.JSONL) if cards else (Form.JSON, Form.JSONL, Form.TEXT)
    form = draw(st.sampled_from(forms))
    signature = Signature(
        f"Answer part {number}.", ("Be kind.",),
        tuple(Input(v) for v in _some(draw, made.given(), 1)),
        (shown,) if form is Form.TEXT else draw(st.sampled_from(((shown, note), (note, shown)))),
        form=form, short_keys=draw(st.booleans()), minify=draw(st.booleans()),
    )  # fmt: skip
    step = LlmStep(
        f"say{number}", signature, after=_after(draw, made), when=_when(draw, made),
        policies=_call_policies(draw), stream=draw(st.booleans()), announce=draw(st.booleans()),
        predict=draw(st.booleans()), max_output_tok=draw(st.sampled_from((None, None, 9, 30))),
    )  # fmt: skip
    made.values[f"note{number}"] = "noted"
    some = st.lists(st.sampled_from(CARDS if cards else SENTENCES), min_size=1, max_size=4)
    made.values[name] = tuple(draw(some)) if cards else " ".join(draw(some))
    made.steps.append(step)
    return name


def _checks(draw: st.DrawFn, made: _Draft, shown: tuple[str, ...]) -> tuple[str, ...]:
    gates: list[str] = []
    for number in range(draw(st.integers(0, 2))):
        verdict = f"verdict{number}"
        step = WorkStep(
            f"check{number}", WorkKind.COMPUTE, draw(st.sampled_from(tuple(SPEEDS))), shown,
            (verdict,), (), _when(draw, made), per_piece=draw(st.booleans()),
            piece_sentences=draw(st.integers(1, 2)),
        )  # fmt: skip
        made.values[verdict] = "ok"
        made.steps.append(step)
        gates.append(verdict)
    return tuple(gates)

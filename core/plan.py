"""A request's program as data: a DAG of steps that read and produce named values.

Two kinds of edges decide when a step may start. *Needs* is what the data requires and is never
written down: it follows from the values a step reads (and the conditions it is under) and from who
produces them, so a rewrite that merges or splits steps cannot leave a stale edge behind. *After* is
mere program order, what a first naive program does. An invalid plan cannot exist: `Plan` checks
itself when built.

Step kinds (`Step`) and policies (`Policy`) are closed sets; every reader matches over all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

from core.errors import InvalidPlan, UnknownName
from core.ordering import in_order
from core.policies import (
    Cache,
    Cascade,
    Deadline,
    Gate,
    Hedge,
    Policy,
    Retry,
    Speculate,
    Timeout,
)
from core.signature import Field, Form, Input, Shown, Signature

__all__ = [
    "REQUEST_VALUES",
    "AnswerCache",
    "Cache",
    "Cascade",
    "Deadline",
    "Field",
    "Form",
    "Gate",
    "Hedge",
    "Input",
    "LlmStep",
    "ModelRole",
    "Plan",
    "Policy",
    "Retry",
    "ShowStep",
    "Shown",
    "Signature",
    "SmallIf",
    "Speculate",
    "Step",
    "Timeout",
    "Transport",
    "When",
    "WorkKind",
    "WorkStep",
]

REQUEST_VALUES: tuple[str, ...] = ("message", "history", "known")
"""Values every request brings along; all others are produced by a step."""

ModelRole = Literal["large", "small"]


class WorkKind(StrEnum):
    """What a step that is not an LLM call does."""

    EMBED = "embed"
    SEARCH = "search"
    RERANK = "rerank"
    FETCH = "fetch"
    COMPUTE = "compute"


@dataclass(frozen=True, slots=True)
class When:
    """A step runs only where this true/false value is `is_true`."""

    value: str
    is_true: bool = True


@dataclass(frozen=True, slots=True)
class SmallIf:
    """A rule that sends simple requests to the small model.

    It holds where the task is one of `tasks` and message and history have at most `max_tok` tokens.
    """

    tasks: tuple[str, ...]
    max_tok: int


@dataclass(frozen=True, slots=True)
class LlmStep:
    """A model call. `decides` are true/false values that follow from its fields at no cost.

    `role` is the model that does it; requests that meet `small_if` go to the small one. `price_x`:
    how many times that model's price it pays, where a variant tuned for it costs more.
    """

    id: str
    signature: Signature
    role: ModelRole = "large"
    decides: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    when: tuple[When, ...] = ()
    policies: tuple[Policy, ...] = ()
    stream: bool = False
    announce: bool = False
    predict: bool = False
    prompt_cache: bool = False
    max_output_tok: int | None = None
    small_if: SmallIf | None = None
    price_x: float = 1.0

    @property
    def kind(self) -> str:
        """The lane it is drawn in."""
        return "llm"

    @property
    def reads(self) -> tuple[str, ...]:
        """Values it reads."""
        return tuple(i.value for i in self.signature.inputs)

    @property
    def gives(self) -> tuple[str, ...]:
        """Values it produces."""
        return tuple(f.name for f in self.signature.fields) + self.decides


@dataclass(frozen=True, slots=True)
class WorkStep:
    """Work of a service (`core.profiles.Service`); `per_piece` handles a stream sentence-wise.

    `layers` makes it a look-up of answers that are at hand: what it asks, in order. It then gives
    one true/false value: whether they all missed. `scope` is the share of the index a search looks
    at: a search in process, which compares everything, takes that share of its time. A rerank that
    is left out passes on what it read.
    """

    id: str
    work: WorkKind
    service: str
    reads: tuple[str, ...]
    gives: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    when: tuple[When, ...] = ()
    policies: tuple[Policy, ...] = ()
    per_piece: bool = False
    piece_sentences: int = 1
    announce: bool = False
    layers: tuple[AnswerCache, ...] = ()
    scope: float = 1.0

    @property
    def kind(self) -> str:
        """The lane it is drawn in."""
        return self.work.value


@dataclass(frozen=True, slots=True)
class AnswerCache:
    """Answers that are at hand without a model, one layer of a look-up.

    `exact` and `semantic` remember finished answers for `ttl_s`, the latter by a similarity
    `threshold`, with `guards` against near misses. `precomputed` holds those of the `entries` most
    popular requests from the start. `fixed` is a table of replies to small talk in known words,
    `not_found` a fixed reply where the documents do not hold the answer.
    """

    layer: Literal["exact", "semantic", "precomputed", "fixed", "not_found"]
    ttl_s: float
    threshold: float = 1.0
    guards: bool = True
    entries: int = 0


@dataclass(frozen=True, slots=True)
class ShowStep:
    """What the person sees: the values in `reads`, once the checks in `gates` allow it.

    `early` shows text before the checks have spoken; they still run, and may withdraw it. `notes`
    are values that only add a remark at the end: it ends after them, but they hold nothing back.
    """

    id: str
    reads: tuple[str, ...]
    gates: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    early: bool = False
    after: tuple[str, ...] = ()
    when: tuple[When, ...] = ()
    policies: tuple[Policy, ...] = ()
    announce: bool = False

    @property
    def kind(self) -> str:
        """The lane it is drawn in."""
        return "show"

    @property
    def gives(self) -> tuple[str, ...]:
        """Nothing: it is the end of the line."""
        return ()


Step = LlmStep | WorkStep | ShowStep


@dataclass(frozen=True, slots=True)
class Transport:
    """How calls travel: warm pooled connections, a near endpoint, a fast tier, a bad proxy."""

    keep_alive: bool = False
    near: bool = False
    fast_tier: bool = False
    buffered: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps of one request, in an order in which every step follows what it waits for.

    Args:
        scenario: id of the scenario whose requests it answers.
        steps: given in any order; kept in a stable topological one.
        answer: values the person must get to see; a rewrite may not lose one.
        transport: how calls travel.

    Raises:
        InvalidPlan: unknown or doubled names, a cycle, a lost answer; names the step.
    """

    scenario: str
    steps: tuple[Step, ...]
    answer: tuple[str, ...]
    transport: Transport = Transport()
    needs: Mapping[str, tuple[str, ...]] = field(init=False, compare=False, repr=False)
    producer: Mapping[str, str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        producer = _producers(self.steps)
        needs = {s.id: _needs_of(s, producer) for s in self.steps}
        ids = set(needs)
        for step in self.steps:
            for other in step.after:
                if other not in ids:
                    raise InvalidPlan(f"step {step.id!r} is after unknown step {other!r}")
            _check_guards(step, producer, ids)
        object.__setattr__(self, "steps", _ordered(self.steps, needs))
        object.__setattr__(self, "needs", needs)
        object.__setattr__(self, "producer", producer)
        shown = {v for s in self.steps if isinstance(s, ShowStep) for v in s.reads}
        lost = [v for v in self.answer if v not in shown]
        if lost:
            raise InvalidPlan(f"the answer value {lost[0]!r} is not shown by any step")

    def step(self, step_id: str) -> Step:
        """The step of that id. Raises UnknownName."""
        for s in self.steps:
            if s.id == step_id:
                return s
        raise UnknownName("step", step_id, (s.id for s in self.steps))

    @property
    def llm_steps(self) -> tuple[LlmStep, ...]:
        """The model calls, in order."""
        return tuple(s for s in self.steps if isinstance(s, LlmStep))

    @property
    def work_steps(self) -> tuple[WorkStep, ...]:
        """The other work, in order."""
        return tuple(s for s in self.steps if isinstance(s, WorkStep))

    @property
    def show(self) -> ShowStep:
        """The step that shows the answer."""
        return next(s for s in self.steps if isinstance(s, ShowStep))

    def waits(self, step_id: str) -> tuple[str, ...]:
        """Ids of all steps whose end it depends on, by data, by order or as its guard."""
        step = self.step(step_id)
        return tuple(dict.fromkeys((*self.needs[step_id], *step.after, *guards(step))))

    def starts_after(self, step_id: str) -> tuple[str, ...]:
        """Ids of all steps it waits for before it starts: all but the guards it speculates on."""
        guarding = guards(self.step(step_id))
        return tuple(w for w in self.waits(step_id) if w not in guarding)

    def follows_at_once(self, step_id: str, other: str) -> bool:
        """Whether both speculate on one guard and the one begins when the other's work is done.

        A step that may itself have to start again is waited for until the guard has spoken.
        """
        shared = set(guards(self.step(step_id))) & set(guards(self.step(other)))
        return bool(shared) and not self._may_start_again(other)

    def _may_start_again(self, step_id: str) -> bool:
        """Whether a guard can cancel what it reads but not the step itself."""
        guarding = set(guards(self.step(step_id)))
        asked = any(self.producer.get(w.value) in guarding for w in self.step(step_id).when)
        read = (set(guards(self.step(other))) for other in self.needs[step_id])
        return not asked and any(guarding & theirs for theirs in read)

    def ancestors(self, step_id: str) -> frozenset[str]:
        """Everything that has surely ended when this step starts."""
        guarding = guards(self.step(step_id))
        seen: set[str] = set()
        stack = list(self.starts_after(step_id))
        while stack:
            top = stack.pop()
            if top not in seen:
                seen.add(top)
                stack.extend(w for w in self.waits(top) if w not in guarding)
        return frozenset(seen)

    def with_steps(self, *changed: Step, drop: tuple[str, ...] = ()) -> Plan:
        """A copy with these steps replaced by id (new ids are added) and `drop` removed.

        Program-order edges to a dropped step move to what that step itself was after.
        """
        by_id: dict[str, Step] = {s.id: s for s in self.steps}
        by_id.update({s.id: s for s in changed})
        gone = {d: by_id.pop(d) for d in drop}
        steps: list[Step] = []
        for step in by_id.values():
            after: list[str] = list(step.after)
            while any(a in gone for a in after):
                after = [b for a in after for b in (gone[a].after if a in gone else (a,))]
            unique = tuple(dict.fromkeys(a for a in after if a != step.id))
            steps.append(step if unique == step.after else replace(step, after=unique))
        return replace(self, steps=tuple(steps))


def guards(step: Step) -> tuple[str, ...]:
    """Ids of the steps it speculates on."""
    return tuple(p.guard for p in step.policies if isinstance(p, Speculate))


def _check_guards(step: Step, producer: Mapping[str, str], ids: set[str]) -> None:
    """Refuse a guard that is not there, or from which more than conditions is taken."""
    for guard in guards(step):
        if guard not in ids:
            raise InvalidPlan(f"step {step.id!r} speculates on unknown {guard!r}")
        for value in step.reads:
            if producer.get(value) == guard:
                problem = f"reads {value!r} of {guard!r}, which it does not wait for"
                raise InvalidPlan(f"step {step.id!r} {problem}")


def _producers(steps: tuple[Step, ...]) -> dict[str, str]:
    ids = [s.id for s in steps]
    twice = {i for i in ids if ids.count(i) > 1}
    if twice:
        raise InvalidPlan(f"two steps are called {min(twice)!r}")
    producer: dict[str, str] = {}
    for step in steps:
        for value in step.gives:
            if value in producer or value in REQUEST_VALUES:
                other = producer.get(value, "the request")
                raise InvalidPlan(f"value {value!r} is given by both {other!r} and {step.id!r}")
            producer[value] = step.id
    if sum(isinstance(s, ShowStep) for s in steps) != 1:
        raise InvalidPlan("a plan has exactly one step that shows the answer")
    return producer


def _needs_of(step: Step, producer: Mapping[str, str]) -> tuple[str, ...]:
    held = (*step.gates, *step.notes) if isinstance(step, ShowStep) else ()
    values = (*step.reads, *held, *(w.value for w in step.when))
    needed: list[str] = []
    for value in values:
        if value in REQUEST_VALUES:
            continue
        if value not in producer:
            valid = ", ".join((*REQUEST_VALUES, *producer))
            raise InvalidPlan(
                f"step {step.id!r} reads {value!r}, which no step gives; there are {valid}"
            )
        if producer[value] == step.id:
            raise InvalidPlan(f"step {step.id!r} reads its own value {value!r}")
        needed.append(producer[value])
    return tuple(dict.fromkeys(needed))


def _ordered(steps: tuple[Step, ...], needs: Mapping[str, tuple[str, ...]]) -> tuple[Step, ...]:
    """Every step behind those it waits for, and behind its guards."""
    by_id = {s.id: s for s in steps}
    behind = {s.id: (*needs[s.id], *s.after, *guards(s)) for s in steps}
    return tuple(by_id[i] for i in in_order(tuple(by_id), behind))

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

REQUEST_VALUES: tuple[str, ...] = ("message", "history", "known")
"""Values every request brings along; all others are produced by a step."""

ModelRole = Literal["large", "small"]
Shown = Literal["no", "text", "cards"]


class Form(StrEnum):
    """How an LLM step writes its output fields."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"


class WorkKind(StrEnum):
    """What a step that is not an LLM call does."""

    EMBED = "embed"
    SEARCH = "search"
    RERANK = "rerank"
    FETCH = "fetch"
    COMPUTE = "compute"


@dataclass(frozen=True, slots=True)
class Field:
    """One output field of an LLM step.

    `alias` is its short JSON key. `routine` fields are read off the input, `open` ones need
    judgement. `read=False` marks a field nobody reads. `reads` names the inputs this field needs,
    None for all of the signature's. A list of cards has `items`: (key, short key) of each entry.
    """

    name: str
    alias: str
    description: str
    difficulty: Literal["routine", "open"] = "routine"
    shown: Shown = "no"
    read: bool = True
    reads: tuple[str, ...] | None = None
    items: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Input:
    """One value put into a prompt, with what is left of it: turns, items, tokens, sentences."""

    value: str
    last_turns: int | None = None
    top_k: int | None = None
    budget_tok: int | None = None
    prune: bool = False


@dataclass(frozen=True, slots=True)
class Signature:
    """What an LLM step is asked: a signature, not a string; `core.prompt` renders it.

    `static_first` puts everything that never changes before everything that does.
    """

    task: str
    instructions: tuple[str, ...]
    inputs: tuple[Input, ...]
    fields: tuple[Field, ...]
    examples: tuple[str, ...] = ()
    form: Form = Form.JSON
    short_keys: bool = False
    minify: bool = False
    static_first: bool = False
    answer_first: bool = False
    concise: float = 1.0

    def __post_init__(self) -> None:
        if not self.fields:
            raise InvalidPlan(f"signature {self.task[:40]!r} has no output field")
        for kind in ("name", "alias"):
            names = [getattr(f, kind) for f in self.fields]
            twice = {n for n in names if names.count(n) > 1}
            if twice:
                raise InvalidPlan(f"output field {kind} {min(twice)!r} is used twice in one call")
        known = {i.value for i in self.inputs}
        for f in self.fields:
            for value in f.reads or ():
                if value not in known:
                    raise InvalidPlan(f"field {f.name!r} reads {value!r}, not an input of its call")
        if self.form is Form.TEXT and len(self.fields) != 1:
            raise InvalidPlan(f"a text answer has one field, {self.task[:40]!r} has more")

    @property
    def routine(self) -> bool:
        """Whether no field needs judgement."""
        return all(f.difficulty == "routine" for f in self.fields)


@dataclass(frozen=True, slots=True)
class When:
    """A step runs only where this true/false value is `is_true`."""

    value: str
    is_true: bool = True


@dataclass(frozen=True, slots=True)
class Timeout:
    """Give up after `after_s` and go on without the step's values."""

    after_s: float


@dataclass(frozen=True, slots=True)
class Retry:
    """After a failure try again, at most `attempts` in all, `backoff_s` apart."""

    attempts: int
    backoff_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Hedge:
    """Send the same work again after `delay_s`; the first answer wins, both are paid."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class Cache:
    """Look the step's result up by `key` (value names) first; the lookup is paid on misses too."""

    key: tuple[str, ...]
    lookup: str
    ttl_s: float


@dataclass(frozen=True, slots=True)
class Speculate:
    """Start with the step `guard` instead of after it; wasted where the guard says no."""

    guard: str


@dataclass(frozen=True, slots=True)
class Cascade:
    """Ask the small model first, check with service `gate`, escalate the share that fails."""

    gate: str
    escalation_rate: float


@dataclass(frozen=True, slots=True)
class Deadline:
    """One time limit for the request: with less than `left_s` to go this step is left out."""

    slo_s: float
    left_s: float


Policy = Timeout | Retry | Hedge | Cache | Speculate | Cascade | Deadline


@dataclass(frozen=True, slots=True)
class LlmStep:
    """A model call. `decides` are true/false values that follow from its fields at no cost."""

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

    `layers` makes it a look-up of finished answers: the caches it asks, in order. It then gives
    one true/false value: whether they all missed.
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

    @property
    def kind(self) -> str:
        """The lane it is drawn in."""
        return self.work.value


@dataclass(frozen=True, slots=True)
class AnswerCache:
    """A cache of finished answers: exact, or semantic with a similarity threshold and guards."""

    layer: Literal["exact", "semantic", "precomputed"]
    ttl_s: float
    threshold: float = 1.0
    guards: bool = True


@dataclass(frozen=True, slots=True)
class ShowStep:
    """What the person sees: the values in `reads`, once the checks in `gates` allow it.

    `early` shows text before the checks have spoken; they still run, and may withdraw it.
    """

    id: str
    reads: tuple[str, ...]
    gates: tuple[str, ...] = ()
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
            for policy in step.policies:
                if isinstance(policy, Speculate) and policy.guard not in ids:
                    raise InvalidPlan(f"step {step.id!r} speculates on unknown {policy.guard!r}")
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
        """Ids of all steps it waits for, by data or by order."""
        return tuple(dict.fromkeys(self.needs[step_id] + self.step(step_id).after))

    def ancestors(self, step_id: str) -> frozenset[str]:
        """Everything that has surely ended when this step starts."""
        seen: set[str] = set()
        stack = list(self.waits(step_id))
        while stack:
            top = stack.pop()
            if top not in seen:
                seen.add(top)
                stack.extend(self.waits(top))
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
    gates = step.gates if isinstance(step, ShowStep) else ()
    values = (*step.reads, *gates, *(w.value for w in step.when))
    needed: list[str] = []
    for value in values:
        if value in REQUEST_VALUES:
            continue
        if value not in producer:
            valid = ", ".join((*REQUEST_VALUES, *producer))
            raise InvalidPlan(f"step {step.id!r} reads {value!r}, which no step gives; there are {valid}")
        if producer[value] == step.id:
            raise InvalidPlan(f"step {step.id!r} reads its own value {value!r}")
        needed.append(producer[value])
    return tuple(dict.fromkeys(needed))


def _ordered(steps: tuple[Step, ...], needs: Mapping[str, tuple[str, ...]]) -> tuple[Step, ...]:
    """Stable topological order; a cycle is named in full."""
    done: dict[str, Step] = {}
    left = list(steps)
    while left:
        ready = [s for s in left if all(w in done for w in (*needs[s.id], *s.after))]
        if not ready:
            raise InvalidPlan(f"steps wait for each other: {_cycle(left, needs)}")
        done[ready[0].id] = ready[0]
        left.remove(ready[0])
    return tuple(done.values())


def _cycle(left: list[Step], needs: Mapping[str, tuple[str, ...]]) -> str:
    by_id = {s.id: s for s in left}
    path = [left[0].id]
    while True:
        here = by_id[path[-1]]
        following = next(w for w in (*needs[here.id], *here.after) if w in by_id)
        if following in path:
            return " -> ".join([*path[path.index(following) :], following])
        path.append(following)

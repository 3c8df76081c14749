"""Techniques as rewrites of plans: pure functions, applied in catalogue order, each logged.

A rewrite returns the new plan or `NotApplicable(reason)`, which the person reads. The plan checks
itself when built, so a rewrite can neither lose a data dependency nor the answer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from core.errors import InputError, UnknownName
from core.plan import Input, LlmStep, Plan, ShowStep, Speculate, Step, WorkKind, WorkStep
from core.profiles import Setting
from core.scenarios import Scenario
from core.text import Note

Level = Literal["none", "low", "medium", "high"]


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """Why a technique has nothing to do on this plan: a value, not an error."""

    reason: Note


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """What a rewrite may look at beside the plan: the scenario's texts, the models chosen."""

    scenario: Scenario
    setting: Setting


@dataclass(frozen=True, slots=True)
class Range:
    """Limits of a numeric parameter, for its widget and for checking."""

    low: float
    high: float
    step: float


def within(default: Any, low: float, high: float, step: float) -> Any:
    """A numeric parameter with its limits."""
    return field(default=default, metadata={"range": Range(low, high, step)})


Rewrite = Callable[[Plan, Any, Context], Plan | NotApplicable]


@dataclass(frozen=True, slots=True)
class Technique:
    """A named rewrite: principle 1 to 7 (0: none), its parameters, what it may cost, its source.

    `effort` is the work of putting it in, `risk` what it may do to answers, `infrastructure`
    whether something new has to be run. Titles and help are in the text catalogue under
    `technique.<id>`.
    """

    id: str
    principle: int
    params: type[Any]
    rewrite: Rewrite
    effort: Level
    risk: Level
    source: str
    infrastructure: bool = False
    headline: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """A technique that is switched on, with its parameters (an instance of its `params`)."""

    technique: Technique
    params: Any


@dataclass(frozen=True, slots=True)
class LogEntry:
    """What one technique did: the plan before and after, or why it did nothing."""

    technique: str
    applied: bool
    reason: Note | None
    before: Plan
    after: Plan

    @property
    def changes(self) -> tuple[Note, ...]:
        """What changed, in words."""
        return differences(self.before, self.after)


def apply(
    plan: Plan, choices: Sequence[Choice], context: Context
) -> tuple[Plan, tuple[LogEntry, ...]]:
    """Apply the choices in the order given (the catalogue's) and log each.

    Raises InvalidPlan if a rewrite is wrong: it never returns a plan that cannot exist.
    """
    log: list[LogEntry] = []
    for choice in choices:
        found = choice.technique.rewrite(plan, choice.params, context)
        if isinstance(found, NotApplicable):
            log.append(LogEntry(choice.technique.id, False, found.reason, plan, plan))
        else:
            log.append(LogEntry(choice.technique.id, True, None, plan, found))
            plan = found
    return plan, tuple(log)


def parameters(technique: Technique, given: Mapping[str, object]) -> Any:
    """The technique's parameters with these values instead of the defaults.

    Raises: UnknownName for a parameter it has not, InputError for a value out of range.
    """
    fields = {f.name: f for f in dataclasses.fields(technique.params)}
    for name, value in given.items():
        if name not in fields:
            raise UnknownName(f"parameter of {technique.id}", name, fields)
        default = fields[name].default
        number = isinstance(default, int | float) and not isinstance(default, bool)
        allowed = (int, float) if number else type(default)
        if not isinstance(value, allowed) or (number and isinstance(value, bool)):
            kind = type(default).__name__
            raise InputError(f"{technique.id}.{name} is {value!r}; a {kind} is expected")
        limits = fields[name].metadata.get("range")
        if limits and isinstance(value, int | float) and not limits.low <= value <= limits.high:
            raise InputError(
                f"{technique.id}.{name} is {value}; from {limits.low:g} to {limits.high:g} is valid"
            )
        choices = fields[name].metadata.get("choices")
        if choices and value not in choices:
            raise UnknownName(f"{technique.id}.{name}", str(value), choices)
    return technique.params(**given)


def update_llm(plan: Plan, change: Callable[[LlmStep], LlmStep]) -> Plan:
    """The plan with each LLM step passed through `change`."""
    return plan.with_steps(*(change(s) for s in plan.llm_steps))


def shown_steps(plan: Plan) -> tuple[LlmStep, ...]:
    """The LLM steps whose text the person sees."""
    return tuple(s for s in plan.llm_steps if set(s.gives) & set(plan.show.reads))


def read_values(plan: Plan) -> frozenset[str]:
    """Values that some step reads, or that decide whether one runs."""
    conditions = {w.value for s in plan.steps for w in s.when}
    return frozenset(conditions | {v for s in plan.steps for v in s.reads})


def retrieved(plan: Plan) -> frozenset[str]:
    """Values that hold what a search found, through every step that fetched or reordered it."""
    found: set[str] = set()
    for s in plan.work_steps:
        passed = s.work in (WorkKind.FETCH, WorkKind.RERANK) and set(s.reads) & found
        if s.work is WorkKind.SEARCH or passed:
            found.update(s.gives)
    return frozenset(found)


def update_found(plan: Plan, change: Callable[[Input], Input]) -> Plan:
    """The plan with each input of a prompt that a search has found passed through `change`."""
    found = retrieved(plan)

    def changed(step: LlmStep) -> LlmStep:
        signature = step.signature
        inputs = tuple(change(i) if i.value in found else i for i in signature.inputs)
        return replace(step, signature=replace(signature, inputs=inputs))

    return update_llm(plan, changed)


def tighter(own: int | None, limit: int) -> int:
    """The tighter of a limit that is there already, None for none, and a new one."""
    return limit if own is None else min(own, limit)


def external_searches(plan: Plan) -> tuple[WorkStep, ...]:
    """Searches outside the house: an answer can do without them."""
    found = retrieved(plan)
    return tuple(
        s for s in plan.work_steps if s.work is WorkKind.FETCH and not set(s.reads) & found
    )


def fuse(plan: Plan, parts: Sequence[str], into: Step) -> Plan:
    """Replace several steps by one; whoever came after one of them comes after it."""
    gone = set(parts)

    def renamed(step: Step) -> Step:
        after = tuple(
            dict.fromkeys(into.id if a in gone else a for a in step.after if a != step.id)
        )
        policies = tuple(
            replace(p, guard=into.id) if isinstance(p, Speculate) and p.guard in gone else p
            for p in step.policies
        )
        return replace(step, after=after, policies=policies)

    place = [s.id for s in plan.steps].index(parts[0])
    steps = [renamed(s) for s in plan.steps if s.id not in gone]
    after = tuple(a for a in into.after if a not in gone and a != into.id)
    steps.insert(place, replace(into, after=after))
    return replace(plan, steps=tuple(steps))


def differences(before: Plan, after: Plan) -> tuple[Note, ...]:
    """What a rewrite changed, in words a person can check against the picture."""
    old, new = {s.id: s for s in before.steps}, {s.id: s for s in after.steps}
    notes = [Note.of("change.removed", step=i) for i in old if i not in new]
    notes += [Note.of("change.added", step=i) for i in new if i not in old]
    for step_id in (i for i in old if i in new):
        notes += _step_differences(old[step_id], new[step_id])
    if before.transport != after.transport:
        notes.append(Note.of("change.transport"))
    freed = [s.id for s in after.steps if s.id in old and len(s.after) < len(old[s.id].after)]
    if freed:
        notes.append(Note.of("change.freed", steps=", ".join(freed)))
    return tuple(notes)


_LLM_KEYS = (
    "role",
    "small_if",
    "stream",
    "predict",
    "prompt_cache",
    "max_output_tok",
    "price_x",
    "announce",
    "policies",
    "when",
)
_WORK_KEYS = (
    "service",
    "reads",
    "gives",
    "scope",
    "layers",
    "per_piece",
    "policies",
    "when",
    "announce",
)
_SHOW_KEYS = ("early", "gates", "notes", "reads", "when", "announce")
_SIGNATURE_KEYS = (
    "short_keys",
    "minify",
    "static_first",
    "answer_first",
    "concise",
    "form",
    "fields",
    "inputs",
    "examples",
    "instructions",
)


def _step_differences(old: Step, new: Step) -> list[Note]:
    if old == new:
        return []
    if isinstance(old, LlmStep) and isinstance(new, LlmStep):
        a, b = old.signature, new.signature
        keys = [k for k in _LLM_KEYS if getattr(old, k) != getattr(new, k)]
        keys += [k for k in _SIGNATURE_KEYS if getattr(a, k) != getattr(b, k)]
    elif isinstance(old, WorkStep) and isinstance(new, WorkStep):
        keys = [k for k in _WORK_KEYS if getattr(old, k) != getattr(new, k)]
    elif isinstance(old, ShowStep) and isinstance(new, ShowStep):
        keys = [k for k in _SHOW_KEYS if getattr(old, k) != getattr(new, k)]
    else:
        keys = ["kind"]
    return [Note.of(f"change.{k}", step=new.id) for k in keys]

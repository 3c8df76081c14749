"""What a run knows of its request: reference values, what was found out since, what caches hold."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from core import hits
from core.durations import Luck
from core.plan import LlmStep, Plan, Step, WorkStep, guards
from core.policies import Cache
from core.request import Document, Request, Value
from core.text import Note
from core.timeline import Mask
from core.workload import Workload, simple


@dataclass(slots=True)
class Facts:
    """The last request of `asked`; earlier ones are what caches may remember.

    Conditions follow the reference values, also when models use their own words: a model's wrong
    turn would make two plans do different work, and their times could not be compared.
    """

    plan: Plan
    asked: Workload
    luck: Luck
    hit: bool = False
    served: int = field(init=False)
    notes: list[Note] = field(default_factory=list)
    _missed: dict[str, Mask] = field(default_factory=dict)
    _learned: dict[str, Value] = field(default_factory=dict)
    _unknown: set[str] = field(default_factory=set)
    _passages: tuple[Document, ...] | None = None

    def __post_init__(self) -> None:
        self.served = int(self.asked.index[-1])

    @property
    def reference(self) -> Request:
        """The request with its reference values."""
        return self.asked.scenario.requests[int(self.asked.index[-1])]

    @property
    def answered_by(self) -> Request:
        """The request whose answer is shown: another one where a cache took it for the same."""
        return self.asked.scenario.requests[self.served]

    def request(self) -> Request:
        """Return the request as the steps see it: with what was written and found instead."""
        known = self.reference
        if self._learned or self._unknown:
            values = {k: v for k, v in known.values.items() if k not in self._unknown}
            known = replace(known, values={**values, **self._learned})
        return known if self._passages is None else replace(known, passages=self._passages)

    def learn(self, values: Mapping[str, Value], instead_of: Collection[str] = ()) -> None:
        """Take values that a step gave; what it should have given and did not is not known."""
        self._learned.update(values)
        self._unknown |= set(instead_of) - set(values)

    def find(self, passages: tuple[Document, ...] | None) -> None:
        """Take what a search found, None where it left the reference ones."""
        self._passages = self._passages if passages is None else passages

    def note(self, key: str, **args: str | float) -> None:
        """Note something that whoever reads the times should know."""
        note = Note.of(f"execute.note.{key}", **args)
        if note not in self.notes:
            self.notes.append(note)

    def skips(self, step: Step, of: Collection[str] | None = None) -> bool:
        """Return whether a condition fails: one that `of` give, or one of all but its guards."""
        return bool(self._skipped(step, of)[-1])

    def _skipped(self, step: Step, of: Collection[str] | None) -> Mask:
        """For all requests of the workload, (n,)."""
        skip: Mask = self.asked.fresh & False
        for when in step.when:
            giver = self.plan.producer.get(when.value, "")
            if (giver in guards(step)) if of is None else (giver not in of):
                continue
            truth = self._missed.get(when.value)
            truth = self.asked.flags(when.value) if truth is None else truth
            skip = skip | (truth != when.is_true)
        return skip

    def look_up(self, step: WorkStep) -> bool:
        """Ask the layers of a look-up; return whether they have an answer at hand."""
        found = hits.answers(self.asked, step.layers)
        hit = found.hit & ~self._skipped(step, None)
        self._missed[step.gives[0]] = ~hit
        if hit[-1]:
            self.hit, self.served = True, int(found.served[-1])
        return bool(hit[-1])

    def remembers(self, step: Step, policy: Cache) -> bool:
        """Return whether a cache of one step's results holds this request's."""
        active = ~self._skipped(step, None)
        return bool(hits.exact(self.asked, policy.key, policy.ttl_s, active).hit[-1])

    def chance(self, rate: float, step_id: str, purpose: str) -> bool:
        """Return whether an event of this probability happens."""
        return bool(self.luck.below(rate, step_id, purpose)[0])

    def is_simple(self, step: LlmStep) -> bool:
        """Return whether the step's rule sends the request to the small model."""
        if step.small_if is None:
            return False
        return bool(simple(self.asked.scenario, step.small_if)[self.asked.index[-1]])

"""What one race shows: two lanes of visible events and steps, as plain data for the browser.

All times are seconds from the user's submit (`t0`), on the clock both lanes share.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Literal

from core.errors import InputError, InvalidData
from pages._ui.race.labels import LABEL_KEYS

EventKind = Literal["ack", "status", "text", "card", "field", "withdraw", "done"]
StepKind = Literal["llm", "embed", "search", "rerank", "fetch", "compute", "show"]
StepState = Literal["ran", "skipped", "cached", "cancelled", "failed"]
MOST_LANES = 2
"""Before and yours: the theme gives the race two lane colours."""


@dataclass(frozen=True, slots=True)
class VisibleEvent:
    """One change on the user's screen.

    `unit` names the paragraph or card it belongs to, `field` the card's field. Events of one unit
    (and field) follow each other: their texts join. A `withdraw` takes back its unit, or all.
    """

    at_s: float
    kind: EventKind
    text: str = ""
    unit: str = ""
    field: str = ""

    def __post_init__(self) -> None:
        _refuse_bad_time(self.at_s, f"{self.kind} event")
        if self.kind in {"card", "field"} and not self.unit:
            raise InputError(f"{self.kind} event at {self.at_s} s has no unit: name its card")
        if self.kind == "field" and not self.field:
            raise InputError(f"field event at {self.at_s} s of card {self.unit!r} names no field")

    def as_data(self) -> dict[str, object]:
        """Give the event without its empty parts."""
        data: dict[str, object] = {"t": self.at_s, "kind": self.kind, "text": self.text}
        if self.unit:
            data["unit"] = self.unit
        if self.field:
            data["field"] = self.field
        return data


@dataclass(frozen=True, slots=True)
class Marks:
    """A lane's milestones; None means it never came, which is not 0. Source: METRICS."""

    ack_s: float | None = None
    first_visible_s: float | None = None
    first_useful_s: float | None = None
    done_s: float | None = None
    total_s: float | None = None
    reader_done_s: float | None = None

    def __post_init__(self) -> None:
        for name, value in self.as_data().items():
            if value is not None:
                _refuse_bad_time(value, name)

    def as_data(self) -> dict[str, float | None]:
        """All six by their metric ids."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True, slots=True)
class StepBar:
    """One step of a plan as a bar: ready, started, first output, ended.

    `first_s` is None for a step that hands over its result in one piece. `facts` are pairs of
    label and value for the explanation beside the bar; `definition` says what the step is.
    """

    id: str
    label: str
    kind: StepKind
    ready_s: float
    start_s: float
    end_s: float
    first_s: float | None = None
    state: StepState = "ran"
    critical: bool = False
    facts: tuple[tuple[str, str], ...] = ()
    definition: str = ""

    def __post_init__(self) -> None:
        first_s = self.end_s if self.first_s is None else self.first_s
        times = (self.ready_s, self.start_s, first_s, self.end_s)
        for time_s in times:
            _refuse_bad_time(time_s, f"step {self.id!r}")
        if list(times) != sorted(times):
            raise InputError(
                f"step {self.id!r} runs backwards: ready, start, first, end are {times} s"
            )

    def as_data(self) -> dict[str, object]:
        """Give the bar under the names the browser reads."""
        return {
            "id": self.id,
            "label": self.label,
            "kind": self.kind,
            "ready_s": self.ready_s,
            "start_s": self.start_s,
            "first_s": self.first_s,
            "end_s": self.end_s,
            "state": self.state,
            "critical": self.critical,
            "facts": [list(fact) for fact in self.facts],
            "definition": self.definition,
        }


@dataclass(frozen=True, slots=True)
class Lane:
    """One version of the request: what its user saw, and the steps behind it."""

    id: str
    title: str
    subtitle: str
    question: str
    marks: Marks
    events: tuple[VisibleEvent, ...]
    steps: tuple[StepBar, ...]

    def __post_init__(self) -> None:
        for before, after in itertools.pairwise(self.events):
            if after.at_s < before.at_s:
                raise InputError(
                    f"lane {self.id!r}: event at {after.at_s} s stands after one at {before.at_s} s"
                )
        _refuse_twins((step.id for step in self.steps), f"lane {self.id!r}: step")

    def as_data(self) -> dict[str, object]:
        """Give the lane under the names the browser reads."""
        return {
            "id": self.id,
            "title": self.title,
            "subtitle": self.subtitle,
            "question": self.question,
            "marks": self.marks.as_data(),
            "events": [event.as_data() for event in self.events],
            "steps": [step.as_data() for step in self.steps],
        }


@dataclass(frozen=True, slots=True)
class RacePayload:
    """All a race needs. The clock starts anew when `run_id` changes, and only then.

    `horizon_s` is the length of the shared axis; `labels` must hold every one of `LABEL_KEYS`.
    """

    run_id: str
    lang: str
    labels: Mapping[str, str]
    horizon_s: float
    lanes: tuple[Lane, ...]
    _data: dict[str, object] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 1 <= len(self.lanes) <= MOST_LANES:
            raise InputError(f"a race has 1 to {MOST_LANES} lanes, not {len(self.lanes)}")
        _refuse_twins((lane.id for lane in self.lanes), "lane")
        if not (math.isfinite(self.horizon_s) and self.horizon_s > 0):
            raise InputError(f"horizon_s is {self.horizon_s}: it must be a positive time")
        for key in LABEL_KEYS:
            if key not in self.labels:
                raise InvalidData("race.toml", "no such text", key=f"{self.lang}.{key}")
        data = {
            "runId": self.run_id,
            "lang": self.lang,
            "labels": dict(self.labels),
            "horizon_s": self.horizon_s,
            "lanes": [lane.as_data() for lane in self.lanes],
        }
        object.__setattr__(self, "_data", data)

    def as_data(self) -> dict[str, object]:
        """Give the payload as JSON data, made once; equal payloads give byte-identical data."""
        return self._data


def run_id_of(lanes: tuple[Lane, ...]) -> str:
    """Name what is raced: equal for equal times and texts, whatever the titles say."""
    raced = [
        [
            lane.marks.as_data(),
            [event.as_data() for event in lane.events],
            [
                [step.id, step.ready_s, step.start_s, step.first_s, step.end_s, step.state]
                for step in lane.steps
            ],
        ]
        for lane in lanes
    ]
    return hashlib.sha256(json.dumps(raced).encode()).hexdigest()[:16]


def _refuse_bad_time(time_s: float, what: str) -> None:
    if not (math.isfinite(time_s) and time_s >= 0):
        raise InputError(f"{what}: {time_s} is no time; give seconds from the submit, 0 or more")


def _refuse_twins(names: Iterable[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{what} {name!r} stands twice: ids must differ")
        seen.add(name)

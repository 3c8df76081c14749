"""One request of a timeline as plain data: for the race, the exports and `--json`."""

from __future__ import annotations

import math
from typing import TypedDict

from core.metrics import METRICS, Reader
from core.scenarios import Scenario
from core.timeline import State, Timeline, critical_path

Number = float | None


class Event(TypedDict):
    """Something the person sees: `kind` is status, text, field or done."""

    t: float
    kind: str
    text: str
    unit: str
    field: str


class StepSpan(TypedDict):
    """One step of one request; seconds from when the user asked."""

    id: str
    label: str
    kind: str
    ready_s: float
    start_s: float
    first_s: Number
    end_s: float
    state: str
    critical: bool
    role: str
    tokens_in: Number
    tokens_cached: Number
    tokens_out: Number
    cost_usd: Number


class Lane(TypedDict):
    """One plan's side of a race."""

    events: list[Event]
    steps: list[StepSpan]
    marks: dict[str, Number]


MARKS = (
    "ack_s",
    "first_visible_s",
    "first_useful_s",
    "done_s",
    "total_s",
    "reader_done_s",
    "reader_wait_s",
)


def lane(timeline: Timeline, scenario: Scenario, lang: str, reader: Reader, row: int = -1) -> Lane:
    """Visible events, spans and marks of one row; step labels and status lines in `lang`."""
    row %= timeline.n
    values = {m.id: float(m.compute(timeline, reader)[row]) for m in METRICS if m.id in MARKS}
    return {
        "events": events(timeline, scenario, lang, row),
        "steps": spans(timeline, scenario, lang, row),
        "marks": {key: number(values[key]) for key in MARKS},
    }


def events(timeline: Timeline, scenario: Scenario, lang: str, row: int) -> list[Event]:
    """Status lines, then text and card values in order of time, then done."""
    found: list[Event] = []
    statuses = scenario.statuses.get(lang, {})
    for step_id, at in timeline.status.items():
        text = statuses.get(step_id.split("+")[0].partition(".")[0], "")
        if text and not math.isnan(at[row]):
            found.append(_event(float(at[row]), "status", text))
    seen, units = timeline.visible, timeline.units[row]
    for k in range(seen.t_s.shape[1]):
        if int(seen.unit[row, k]) >= len(units) or timeline.failed[row]:
            continue
        unit = units[int(seen.unit[row, k])]
        kind = "field" if unit.part else "text"
        found.append(_event(float(seen.t_s[row, k]), kind, unit.text, unit.unit, unit.part))
    found.sort(key=lambda e: e["t"])
    if found and not timeline.failed[row]:
        found.append(_event(found[-1]["t"], "done", ""))
    return found


def _event(t: float, kind: str, text: str, unit: str = "", field: str = "") -> Event:
    return {"t": round(t, 6), "kind": kind, "text": text, "unit": unit, "field": field}


def spans(timeline: Timeline, scenario: Scenario, lang: str, row: int) -> list[StepSpan]:
    """Every step with its times, state and use."""
    critical = set(critical_path(timeline, row))
    found: list[StepSpan] = []
    for c, step in enumerate(timeline.plan.steps):
        state = State(int(timeline.state[row, c]))
        use = timeline.usage
        llm = step.kind == "llm"
        found.append(
            {
                "id": step.id,
                "label": scenario.label(step.id, lang),
                "kind": step.kind,
                "ready_s": float(timeline.ready_s[row, c]),
                "start_s": float(timeline.start_s[row, c]),
                "first_s": number(float(timeline.first_s[row, c])),
                "end_s": float(timeline.end_s[row, c]),
                "state": state.name.lower(),
                "critical": step.id in critical,
                "role": getattr(step, "role", ""),
                "tokens_in": number(float(use.tokens_in[row, c])) if llm else None,
                "tokens_cached": number(float(use.tokens_cached[row, c])) if llm else None,
                "tokens_out": number(float(use.tokens_out[row, c])) if llm else None,
                "cost_usd": number(float(use.cost_usd[row, c])) if llm else None,
            }
        )
    return found


def number(value: float) -> Number:
    """The value, or None where there is none: JSON knows no NaN, and none is not 0."""
    return None if math.isnan(value) else value

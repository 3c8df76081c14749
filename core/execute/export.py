"""A run as JSON Lines, with the time of every chunk: what is needed to check any figure again.

One object a line, `kind` says what it is: `run` first, then `step`, `call`, `chunk`, `event` (what
was seen) and `metric`. Times are seconds since the question; null means that there is none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping

from core.calls import CallRecord
from core.execute.result import Run
from core.metrics import METRICS, Reader
from core.providers.base import Chunk, Usage
from core.text import say
from core.timeline import State

SCHEMA = 1

Line = dict[str, object]

CALL_TIMES = (
    "queue_s", "ttft_any_s", "ttft_s", "tpot_s", "itl_p50_s", "itl_p95_s", "itl_max_s", "e2e_s",
)  # fmt: skip
COUNTS = (
    "tokens_in", "tokens_cached", "tokens_out", "tokens_reasoning", "tokens_accepted",
    "tokens_rejected",
)  # fmt: skip


def jsonl(run: Run, about: Mapping[str, object] | None = None) -> Iterator[str]:
    """Yield the lines of a run; `about` adds to the first (date, machine, techniques, ...)."""
    for line in _lines(run, about or {}):
        yield json.dumps(line, ensure_ascii=False) + "\n"


def _lines(run: Run, about: Mapping[str, object]) -> Iterator[Line]:
    yield _head(run) | dict(about)
    yield from _steps(run)
    for number, record in enumerate(run.calls):
        yield _call(number, record)
        for chunk in record.chunks:
            yield _chunk(number, chunk)
    yield from _events(run)
    for metric in METRICS:
        value = float(metric.compute(run.timeline, Reader())[0])
        yield {"kind": "metric", "id": metric.id, "unit": metric.unit, "value": _number(value)}


def _head(run: Run) -> Line:
    timeline = run.timeline
    return {
        "kind": "run",
        "schema": SCHEMA,
        "scenario": timeline.plan.scenario,
        "request": timeline.requests[0].id,
        "engine": timeline.engine,
        "error": None if run.error is None else str(run.error),
        "notes": [say(note, "en") for note in run.notes],
        "simulated": list(run.simulated),
    }


def _steps(run: Run) -> Iterator[Line]:
    timeline = run.timeline
    for column, step in enumerate(timeline.plan.steps):
        yield {
            "kind": "step",
            "id": step.id,
            "does": step.kind,
            "state": State(int(timeline.state[0, column])).name.lower(),
            "simulated": step.id in run.simulated,
            "ready_s": _number(float(timeline.ready_s[0, column])),
            "start_s": _number(float(timeline.start_s[0, column])),
            "first_s": _number(float(timeline.first_s[0, column])),
            "end_s": _number(float(timeline.end_s[0, column])),
        }


def _call(number: int, record: CallRecord) -> Line:
    head: Line = {
        "kind": "call",
        "call": number,
        "step": record.step,
        "attempt": record.label,
        "role": record.role,
        "provider": record.provider,
        "model": record.model,
        "ended": record.ended,
        "error": record.error or None,
        "notes": list(record.notes),
        "buffered": record.buffered,
        "lag_s": _number(record.lag_s),
        "asked_s": _number(record.asked_s),
        "sent_s": None if record.sent_s is None else _number(record.sent_s),
    }
    times = {name: _optional(getattr(record, name)) for name in CALL_TIMES}
    return head | times | _counted(record.usage)


def _counted(usage: Usage) -> Line:
    counts: Line = {name: getattr(usage, name) for name in COUNTS}
    return counts | {"counted_by": usage.source}


def _chunk(number: int, chunk: Chunk) -> Line:
    at_s, kind = _number(chunk.t_s), chunk.kind.value
    line: Line = {"kind": "chunk", "call": number, "t_s": at_s, "is": kind}
    if chunk.text:
        line["text"] = chunk.text
    if chunk.fraction is not None:
        line["fraction"] = chunk.fraction
    return line


def _events(run: Run) -> Iterator[Line]:
    seen, units = run.timeline.visible, run.timeline.units[0]
    for k in range(seen.t_s.shape[1]):
        number = int(seen.unit[0, k])
        if number < len(units):
            unit = units[number]
            yield {
                "kind": "event",
                "t_s": _number(float(seen.t_s[0, k])),
                "unit": unit.unit,
                "part": unit.part,
                "text": unit.text,
                "chars": unit.chars,
                "closes": unit.closes,
            }


def _optional(value: float | None) -> float | None:
    return None if value is None else _number(value)


def _number(value: float) -> float | None:
    """Return the value to the microsecond, None where there is none: JSON knows no NaN."""
    return round(value, 6) if math.isfinite(value) else None

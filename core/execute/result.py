"""What came of a run: a timeline of one row, every call's record, and what to know about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from core.calls import CallRecord
from core.dists import Array
from core.errors import EngineError, InputError
from core.execute.runner import Runner
from core.execute.screen import NOTHING_SEEN, Seen
from core.execute.track import Track, Used
from core.text import Note
from core.timeline import Later, State, Timeline, Usage, Visible


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One request run once. `error` is why it failed, None where it did not.

    `simulated` names the steps whose time was drawn and not measured.
    """

    timeline: Timeline
    calls: tuple[CallRecord, ...]
    notes: tuple[Note, ...]
    simulated: tuple[str, ...]
    error: EngineError | None = None

    @property
    def failed(self) -> bool:
        """Whether the request got no answer."""
        return self.error is not None


def collected(runner: Runner, engine: str) -> Run:
    """Return the result of a runner that has run."""
    tracks = [runner.tracks[s.id] for s in runner.plan.steps]
    facts, failed = runner.facts, runner.error is not None
    seen = NOTHING_SEEN if failed else runner.seen
    intents = [(r.intent, r.lang) for r in (facts.reference, facts.answered_by)]
    timeline = Timeline(
        runner.plan,
        engine,
        (facts.reference,),
        _row([t.ready_s for t in tracks]),
        _row([t.start_s for t in tracks]),
        _row([t.first_s for t in tracks]),
        _row([t.end_s for t in tracks]),
        np.array([[t.state for t in tracks]], dtype=np.int8),
        np.array([failed]),
        np.array([facts.hit]),
        np.array([facts.hit and intents[0] != intents[1]]),
        Later(lambda: _usage([t.used for t in tracks])),
        {t.step.id: np.array([_status(t)]) for t in tracks if t.step.announce},
        (seen.units,),
        Later(lambda: _visible(seen)),
    )
    simulated = tuple(t.step.id for t in tracks if t.simulated)
    records = tuple(sorted(runner.answering.records, key=lambda r: r.asked_s))
    return Run(timeline, records, tuple(facts.notes), simulated, runner.error)


def _visible(seen: Seen) -> Visible:
    units = [seen.units[k] for k in seen.order]
    if not units:
        return _nothing_seen()
    return Visible(
        _row(seen.at_s),
        _row([unit.chars for unit in units]),
        np.array([[unit.closes for unit in units]], dtype=bool),
        np.array([seen.order], dtype=np.int64),
    )


def _nothing_seen() -> Visible:
    """Return a screen that stayed empty: one event of no characters, which shows no unit."""
    beyond = np.full((1, 1), np.iinfo(np.int64).max)
    return Visible(_row([0.0]), _row([0.0]), np.zeros((1, 1), dtype=bool), beyond)


def _row(values: Sequence[float]) -> Array:
    return np.array([values], dtype=np.float64)


def _status(track: Track) -> float:
    return np.nan if track.state is State.SKIPPED else track.start_s


def _usage(used: Sequence[Used]) -> Usage:
    return Usage(**{f.name: _row([getattr(u, f.name) for u in used]) for f in fields(Usage)})


def _all_used(parts: Sequence[Usage]) -> Usage:
    columns = {f.name: [getattr(part, f.name) for part in parts] for f in fields(Usage)}
    return Usage(**{name: np.concatenate(rows) for name, rows in columns.items()})


def merged(timelines: Sequence[Timeline]) -> Timeline:
    """Return several timelines of one plan as one, row after row.

    Raises InputError for none, or for timelines of different plans.
    """
    if not timelines:
        raise InputError("there is no run to put together")
    first = timelines[0]
    if any(t.plan != first.plan for t in timelines):
        raise InputError("only runs of the same plan can be put together")
    return replace(
        first,
        requests=tuple(r for t in timelines for r in t.requests),
        ready_s=np.concatenate([t.ready_s for t in timelines]),
        start_s=np.concatenate([t.start_s for t in timelines]),
        first_s=np.concatenate([t.first_s for t in timelines]),
        end_s=np.concatenate([t.end_s for t in timelines]),
        state=np.concatenate([t.state for t in timelines]),
        failed=np.concatenate([t.failed for t in timelines]),
        hit=np.concatenate([t.hit for t in timelines]),
        wrong=np.concatenate([t.wrong for t in timelines]),
        used=Later(lambda: _all_used([t.usage for t in timelines])),
        status={k: np.concatenate([t.status[k] for t in timelines]) for k in first.status},
        units=tuple(u for t in timelines for u in t.units),
        seen=Later(lambda: _side_by_side([t.visible for t in timelines])),
    )


def _side_by_side(parts: Sequence[Visible]) -> Visible:
    """Rows of several screens, padded to the longest with events of no characters."""
    width = max(part.t_s.shape[1] for part in parts)

    def padded(values: np.ndarray, fill: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        missing = width - values.shape[1]
        return np.concatenate([values, np.repeat(fill(values), missing, axis=1)], axis=1)

    def last(values: np.ndarray) -> np.ndarray:
        return values[:, -1:]

    def nothing(values: np.ndarray) -> np.ndarray:
        return np.zeros((len(values), 1), dtype=values.dtype)

    def beyond(values: np.ndarray) -> np.ndarray:
        return np.full((len(values), 1), np.iinfo(np.int64).max)

    return Visible(
        np.concatenate([padded(p.t_s, last) for p in parts]),
        np.concatenate([padded(p.chars, nothing) for p in parts]),
        np.concatenate([padded(p.closes, nothing) for p in parts]),
        np.concatenate([padded(p.unit, beyond) for p in parts]),
    )

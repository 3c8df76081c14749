"""What to know about measured runs before one believes their times: one note each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from core.calls import CallRecord, lengths_differ
from core.execute import Run
from core.local.machine import BUSY_SHARE
from core.local.provider import LocalFact
from core.providers.capabilities import Fact
from core.text import Note

LAG_S = 0.010
"""Waits of chunks inside this program from which on they are shown. Reason: a tenth of the shortest
delay that people notice."""

COLD = frozenset({str(LocalFact.COLD_ENGINE), str(Fact.COLD_CONNECTION)})


def badges(before: Sequence[Run], after: Sequence[Run], foreign: float | None) -> tuple[Note, ...]:
    """Return the notes of a race, each once; `foreign`: share of the machine others used."""
    runs = (*before, *after)
    records = [call for run in runs for call in run.calls]
    found = [*_errors(before, after), *_calls(records)]
    if foreign is not None and foreign > BUSY_SHARE:
        found.append(Note.of("badge.busy", share=round(100 * foreign)))
    if lengths_differ(_ended_well(before), _ended_well(after)):
        a, b = (_written(_ended_well(side)) / max(len(side), 1) for side in (before, after))
        found.append(Note.of("badge.lengths", before=round(a), after=round(b)))
    found += [note for run in runs for note in run.notes]
    return tuple(dict.fromkeys(found))


def _errors(before: Sequence[Run], after: Sequence[Run]) -> Iterator[Note]:
    a, b = (sum(run.failed for run in side) for side in (before, after))
    if a or b:
        first = next(str(run.error) for run in (*before, *after) if run.error is not None)
        yield Note.of("badge.errors", before=a, after=b, n=len(before) + len(after), first=first)


def _calls(records: Sequence[CallRecord]) -> Iterator[Note]:
    """Yield what the calls say: connections and engines, caches, who counted, lag, buffering."""
    if not records:
        return
    cold = sum(not COLD.isdisjoint(r.notes) for r in records)
    yield Note.of("badge.cold", n=cold) if cold else Note.of("badge.warm")
    yield _cached(records)
    counted = {r.usage.source for r in records}
    yield Note.of(f"badge.counted_{'mixed' if len(counted) > 1 else counted.pop()}")
    lag_s = max(r.lag_s for r in records)
    if lag_s > LAG_S:
        yield Note.of("badge.lag", ms=round(1000 * lag_s))
    buffered = sum(r.buffered for r in records)
    if buffered:
        yield Note.of("badge.buffered", n=buffered)


def _cached(records: Iterable[CallRecord]) -> Note:
    """How many input tokens came from a prompt cache; not reported is not none."""
    counts = [r.usage.tokens_cached for r in records if r.whole]
    known = [count for count in counts if count is not None]
    if not known:
        return Note.of("badge.cached_unknown")
    return Note.of("badge.cached", tokens=sum(known), calls=sum(count > 0 for count in known))


def _ended_well(runs: Sequence[Run]) -> tuple[CallRecord, ...]:
    return tuple(call for run in runs if not run.failed for call in run.calls)


def _written(records: Iterable[CallRecord]) -> int:
    return sum(r.usage.tokens_out or 0 for r in records)

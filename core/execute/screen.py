"""What the person sees: text as it comes out of the steps, held back by the checks of the plan.

A check of the whole (`gates` of the show step) holds everything until it has spoken; one that works
on the stream holds each passage until it has passed it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from core.execute.news import Appeared, Report
from core.output import Unit
from core.passages import Draft, Heard, Passage
from core.plan import LlmStep, Plan, Step, WorkStep
from core.signature import Signature


@dataclass(frozen=True, slots=True)
class Handed:
    """A passage on its way to a check; `edition` counts how often its step began anew."""

    source: str
    edition: int
    passage: Passage


Waiting = asyncio.Queue[Handed | None]
"""What a check has to do; None after the last."""


@dataclass(slots=True)
class _Entry:
    """Something readable: where it comes from and when it came."""

    source: str
    draft: Draft
    at_s: float

    def appeared(self, at_s: float) -> Appeared:
        """Return the news that it can be seen."""
        d = self.draft
        return Appeared(self.source, d.field, d.unit, d.part, d.text, at_s)


@dataclass(frozen=True, slots=True)
class Seen:
    """What was shown, in order of time: units and when each appeared, seconds."""

    units: tuple[Unit, ...]
    order: tuple[int, ...]
    at_s: tuple[float, ...]


NOTHING_SEEN = Seen((), (), ())


@dataclass(slots=True)
class Screen:
    """One request's screen; steps write to it, checks let it through."""

    plan: Plan
    report: Report
    sources: tuple[str, ...] = field(init=False)
    queues: dict[str, Waiting] = field(init=False)
    _whole: set[str] = field(init=False)
    _piecewise: set[str] = field(init=False)
    _read: dict[str, set[str]] = field(init=False)
    _entries: list[_Entry] = field(default_factory=list)
    _pending: list[_Entry] = field(default_factory=list)
    _passed: dict[tuple[str, str, int], float] = field(default_factory=dict)
    _editions: dict[str, int] = field(default_factory=dict)
    _written: dict[str, list[str]] = field(default_factory=dict)
    _finished: set[str] = field(default_factory=set)
    _spoken_s: float = 0.0

    def __post_init__(self) -> None:
        show = self.plan.show
        self.sources = tuple(
            s.id for s in self.plan.llm_steps if not set(s.gives).isdisjoint(show.reads)
        )
        self.queues = {s.id: asyncio.Queue() for s in self.plan.work_steps if s.per_piece}
        self._read = {
            check: {s for s in self.plan.starts_after(check) if s in self.sources}
            for check in self.queues
        }
        for check, read in self._read.items():
            if not read:
                self.queues[check].put_nowait(None)
        gates = () if show.early else show.gates
        checks = {self.plan.producer[value] for value in gates}
        self._piecewise = checks & set(self.queues)
        self._whole = checks - self._piecewise

    def shown(self, step: LlmStep) -> Signature | None:
        """Return the signature with only those fields shown that are; None where none is."""
        if step.id not in self.sources:
            return None
        reads = self.plan.show.reads
        fields = (f if f.name in reads else replace(f, shown="no") for f in step.signature.fields)
        return replace(step.signature, fields=tuple(fields))

    def sentences(self) -> int:
        """Return how many sentences make up a passage."""
        return max((s.piece_sentences for s in self.plan.work_steps if s.per_piece), default=1)

    def text(self, values: Collection[str]) -> str:
        """Return what the steps that give one of these values have written of it so far."""
        givers = {self.plan.producer.get(value) for value in values}
        return "".join(
            text
            for source in self.sources
            if source in givers
            for text in self._written.get(source, ())
        )

    # --- what the steps do -----------------------------------------------------------------------

    def take_down(self, source: str, heard: Heard) -> None:
        """Take what a step has written, whether or not it comes out yet."""
        self._written.setdefault(source, []).extend(draft.text for draft in heard.drafts)

    def write(self, source: str, heard: Heard, at_s: float) -> None:
        """Show what came out of a step at this time, as soon as the checks let it through."""
        new = [_Entry(source, draft, at_s) for draft in heard.drafts]
        self._entries += new
        self._pending += new
        edition = self._editions.get(source, 0)
        for passage in heard.passages:
            for check, queue in self.queues.items():
                if source in self._read[check]:
                    queue.put_nowait(Handed(source, edition, passage))
        self._tell()

    def erase(self, source: str) -> None:
        """Forget what came out of a step: it begins again."""
        self._editions[source] = self._editions.get(source, 0) + 1
        self._written.pop(source, None)
        self._entries = [e for e in self._entries if e.source != source]
        self._pending = [e for e in self._pending if e.source != source]
        self._passed = {key: at for key, at in self._passed.items() if key[1] != source}

    def finish(self, source: str) -> None:
        """Note that nothing more comes from this step."""
        self._finished.add(source)
        for check, queue in self.queues.items():
            if source in self._read[check] and self._read[check] <= self._finished:
                queue.put_nowait(None)

    def serve(self, found: Iterable[tuple[str, Unit]], at_s: float) -> None:
        """Show a finished answer, which was at hand, at once."""
        self._entries = [_Entry(source, Draft.of(unit), at_s) for source, unit in found]
        self._pending = list(self._entries)
        self._whole, self._piecewise = set(), set()
        self._tell()

    # --- what the checks do ----------------------------------------------------------------------

    def passed(self, check: str, handed: Handed, at_s: float) -> None:
        """Let one passage through one check."""
        if handed.edition == self._editions.get(handed.source, 0):
            self._passed[check, handed.source, handed.passage.group] = at_s
            self._tell()

    def ended(self, step: Step, at_s: float, *, skipped: bool) -> None:
        """Note that a step has ended, which may be what the screen waited for."""
        if step.id in self._whole:
            self._whole.discard(step.id)
            self._spoken_s = max(self._spoken_s, at_s)
            self._tell()
        elif skipped and isinstance(step, WorkStep):
            self._piecewise.discard(step.id)
            self._tell()

    def _when(self, entry: _Entry) -> float | None:
        """When an entry may be seen, None where that is not known yet."""
        at_s = max(entry.at_s, self._spoken_s)
        for check in self._piecewise:
            if entry.source not in self._read[check]:
                continue
            passed_s = self._passed.get((check, entry.source, entry.draft.group))
            if passed_s is None:
                return None
            at_s = max(at_s, passed_s)
        return at_s

    def _tell(self) -> None:
        """Report what can be seen from now on."""
        if self._whole or self.plan.transport.buffered:
            return
        still = []
        for entry in self._pending:
            at_s = self._when(entry)
            if at_s is None:
                still.append(entry)
            else:
                self.report(entry.appeared(at_s))
        self._pending = still

    # --- the result ------------------------------------------------------------------------------

    def close(self, end_s: float) -> Seen:
        """Return what was shown by the end; what no check has let through never appeared."""
        entries = [e for source in self.sources for e in self._entries if e.source == source]
        found = [(self._when(e), k) for k, e in enumerate(entries)]
        timed = sorted((at, k) for at, k in found if at is not None and not self._whole)
        if self.plan.transport.buffered:
            timed = [(end_s, k) for k in sorted(k for _, k in timed)]
            for at_s, k in timed:
                self.report(entries[k].appeared(at_s))
        units = tuple(e.draft.done() for e in entries)
        return Seen(units, tuple(k for _, k in timed), tuple(at for at, _ in timed))

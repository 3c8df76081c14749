"""One model call as it was measured: every chunk's time, and what follows from them.

Times count from the moment the request's last byte left and end with the last content, not with the
usage that may follow it. None means that there is no such time (a call that shows nothing as it
comes has no TTFT), never 0.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from core import curves, tokens
from core.metrics import MIN_P95
from core.plan import ModelRole
from core.providers.base import Chunk, ChunkKind, Usage

CONTENT = frozenset({ChunkKind.REASONING, ChunkKind.TEXT, ChunkKind.TOOL})
"""Chunks that carry what the model wrote; all others are news about the call."""

BUFFERED_CHUNKS = 5
BUFFERED_SHARE = 0.02
"""An answer of so many chunks whose writing took less than this share of its time was held back
somewhere and then sent at once. Assumption: the fastest models write for a fifth of the time."""

LENGTH_TOLERANCE = 0.05
"""Arms of a comparison whose output lengths differ by more are flagged. Assumption."""

Ended = Literal["done", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One attempt at one step's call; `t_s` of chunks and all times are seconds of the run's clock.

    `label` tells attempts of a step apart ("" the first, ".try2", ".hedge", ".small"). `asked_s`:
    when the plan wanted it, `sent_s`: when its request had left (None if it never did), `seen_s`:
    when the first text of it could be seen (None where none is shown as it comes), `lag_s`: the
    longest time a chunk waited in this program. `estimated`: the counts are ours.
    """

    step: str
    label: str
    role: ModelRole
    provider: str
    model: str
    asked_s: float
    sent_s: float | None
    seen_s: float | None
    chunks: tuple[Chunk, ...]
    usage: Usage
    ended: Ended
    error: str = ""
    notes: tuple[str, ...] = ()
    lag_s: float = 0.0

    @property
    def content(self) -> tuple[Chunk, ...]:
        """What the model wrote, in order."""
        return tuple(c for c in self.chunks if c.kind in CONTENT)

    @property
    def text(self) -> str:
        """The answer."""
        return "".join(c.text for c in self.chunks if c.kind is ChunkKind.TEXT)

    @property
    def queue_s(self) -> float | None:
        """Wait on this side before the request left."""
        return None if self.sent_s is None else self.sent_s - self.asked_s

    @property
    def ttft_any_s(self) -> float | None:
        """Time to the first content of any kind."""
        return self._since_sent(self.content[0].t_s if self.content else None)

    @property
    def ttft_s(self) -> float | None:
        """Time to the first text the person could see."""
        return self._since_sent(self.seen_s)

    @property
    def e2e_s(self) -> float | None:
        """Time to the last content; None for a call that did not get there."""
        return self._since_sent(self.content[-1].t_s) if self.content and self.whole else None

    @property
    def whole(self) -> bool:
        """Whether the answer is complete."""
        return self.ended == "done"

    @property
    def tpot_s(self) -> float | None:
        """Time per output token after the first chunk; see `core.curves.tpot`."""
        content = self.content
        if len(content) < 2 or not self.whole:
            return None
        first_tok, later_tok = self._split_tokens()
        t_s = np.array([[content[0].t_s, content[-1].t_s]])
        found = float(curves.tpot(t_s, np.array([[first_tok, later_tok]]))[0])
        return None if math.isnan(found) else found

    @property
    def gaps_s(self) -> tuple[float, ...]:
        """Times between chunks; a chunk may hold several tokens."""
        at = [c.t_s for c in self.content]
        return tuple(b - a for a, b in itertools.pairwise(at))

    @property
    def itl_p50_s(self) -> float | None:
        """Median gap between chunks."""
        return float(np.median(self.gaps_s)) if self.gaps_s else None

    @property
    def itl_p95_s(self) -> float | None:
        """95th percentile of the gaps; None where there are too few."""
        gaps = self.gaps_s
        return float(np.percentile(gaps, 95)) if len(gaps) >= MIN_P95 else None

    @property
    def itl_max_s(self) -> float | None:
        """Longest gap."""
        return max(self.gaps_s, default=None)

    @property
    def buffered(self) -> bool:
        """Whether the answer looks held back by something between the model and this program."""
        content, e2e_s = self.content, self.e2e_s
        if len(content) < BUFFERED_CHUNKS or not e2e_s:
            return False
        return content[-1].t_s - content[0].t_s < BUFFERED_SHARE * e2e_s

    def _since_sent(self, at_s: float | None) -> float | None:
        return None if at_s is None or self.sent_s is None else at_s - self.sent_s

    def _split_tokens(self) -> tuple[float, float]:
        """Tokens of the first chunk and of the rest, by one tokenisation of the joined text.

        Scaled to the server's count, less what it counted but never sent.
        """
        content = self.content
        ends = tokens.offsets("".join(c.text for c in content))
        first = max(bisect.bisect_right(ends, len(content[0].text)), 1)
        ours = max(len(ends), first)
        sent = self._sent_tokens()
        total = ours if sent is None else sent
        return first * total / ours, (ours - first) * total / ours

    def _sent_tokens(self) -> int | None:
        """Output tokens by the server's count, without rejected and without hidden reasoning."""
        out = self.usage.tokens_out
        if out is None:
            return None
        hidden = not any(c.kind is ChunkKind.REASONING for c in self.content)
        unseen = (self.usage.tokens_reasoning or 0) if hidden else 0
        return max(out - unseen - (self.usage.tokens_rejected or 0), 1)


@dataclass(slots=True)
class Recorder:
    """Takes down one call as it happens; `clock_zero_s` is the run's start on the loop's clock."""

    step: str
    label: str
    role: ModelRole
    provider: str
    model: str
    clock_zero_s: float
    asked_s: float
    chunks: list[Chunk] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    usage: Usage | None = None
    sent_s: float | None = None
    seen_s: float | None = None
    lag_s: float = 0.0

    def take(self, chunk: Chunk, now_s: float) -> Chunk:
        """Note a chunk that was handled at `now_s` (loop's clock); return it on the run's clock."""
        at_s = chunk.t_s - self.clock_zero_s
        taken = Chunk(chunk.kind, at_s, chunk.text, chunk.usage, chunk.fraction)
        self.chunks.append(taken)
        self.lag_s = max(self.lag_s, now_s - chunk.t_s)
        if chunk.kind is ChunkKind.SENT:
            self.sent_s = at_s
        elif chunk.kind is ChunkKind.USAGE:
            self.usage = chunk.usage or self.usage
        elif chunk.kind is ChunkKind.NOTE and chunk.text not in self.notes:
            self.notes.append(chunk.text)
        return taken

    @property
    def text(self) -> str:
        """The answer so far."""
        return "".join(c.text for c in self.chunks if c.kind is ChunkKind.TEXT)

    def seen(self, at_s: float) -> None:
        """Note that text of it can be seen since this time of the run's clock."""
        if self.seen_s is None:
            self.seen_s = at_s

    def close(self, ended: Ended, usage: Usage, error: str = "") -> CallRecord:
        """Return the finished record; `usage` is the server's, or an estimate that says so."""
        return CallRecord(
            self.step,
            self.label,
            self.role,
            self.provider,
            self.model,
            self.asked_s,
            self.sent_s,
            self.seen_s,
            tuple(self.chunks),
            usage,
            ended,
            error,
            tuple(self.notes),
            self.lag_s,
        )


def lengths_differ(records: Sequence[CallRecord], others: Sequence[CallRecord]) -> bool:
    """Return whether two arms wrote so unequally much that their times cannot be compared."""
    a, b = (sum(r.usage.tokens_out or 0 for r in arm) for arm in (records, others))
    return abs(a - b) > LENGTH_TOLERANCE * max(a, b)

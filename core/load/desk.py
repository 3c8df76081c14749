"""The desk where calls ask for their place: one queue, first come first served, on one clock.

An exact event loop. A call asks, waits behind those that asked before, gets its place, puts out its
first token, lets go. At one moment ends come before beginnings, so a place that falls free can be
taken at once.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from core.load.capacity import IDLE_LIFE_S, Capacity


@dataclass(slots=True, eq=False)
class Call:
    """One attempt at a call, its times alone and on a warm connection, and what became of it.

    `sent_s` is when it asked, `start_s` when it got its place, `first_s` when its first token came:
    inf while not yet. `ended` is told when it is over, also when it was `stopped`. `rival`: the
    other one of two, of which the later to begin is stopped.
    """

    sent_s: float
    alone_first_s: float
    alone_s: float
    tokens: float
    ended: Callable[[Call], None]
    watched: bool = False
    start_s: float = math.inf
    connect_s: float = 0.0
    first_s: float = math.inf
    first_tag: float = math.inf
    end_tag: float = math.inf
    over: bool = False
    stopped: bool = False
    first_x: float = 1.0
    decode_x: float = 1.0
    rival: Call | None = None


@dataclass(slots=True, eq=False)
class _Bucket:
    """Fills up steadily, holds `size`; full at first."""

    per_s: float
    size: float
    level: float = field(init=False)
    at_s: float = 0.0

    def __post_init__(self) -> None:
        self.level = self.size

    def when(self, now: float, need: float) -> float:
        """The first moment from now on at which it holds so much (or is full, for more)."""
        there = min(self.size, self.level + (now - self.at_s) * self.per_s)
        lacks = min(need, self.size) - there
        return now if lacks <= 1e-9 * self.size else now + lacks / self.per_s

    def take(self, now: float, need: float) -> None:
        """Take so much out; what is more than a full bucket is owed."""
        self.level = min(self.size, self.level + (now - self.at_s) * self.per_s) - need
        self.at_s = now


@dataclass(slots=True, eq=False)
class Ledger:
    """What the desk saw: `busy_s` of calls under way, `work_s` that the same take alone."""

    calls: int = 0
    tokens: float = 0.0
    busy_s: float = 0.0
    work_s: float = 0.0
    connections: int = 0
    longest_queue: int = 0


class Desk:
    """Places, limits and connections, and the clock; `cold_s` is what a new connection costs."""

    def __init__(self, capacity: Capacity, cold_s: float) -> None:
        self.now = 0.0
        self.ledger = Ledger()
        self._places = math.inf if capacity.pool is None else capacity.pool
        self._slowdown = capacity.slowdown
        self._cold_s = cold_s
        self._requests, self._tokens = _buckets(capacity)
        self._done = 0.0  # seconds that a call under way since time 0 would have done alone
        self._number = 0
        self._running = 0
        self._permit_s = math.inf
        self._events: list[tuple[float, int, int, Callable[[], None]]] = []
        self._active: list[tuple[float, int, bool, Call]] = []
        self._queue: deque[Call] = deque()
        self._idle: list[float] = []

    def at(self, time_s: float, rank: int, action: Callable[[], None]) -> None:
        """Do something at this time, at one moment in order of rank; now if that has passed."""
        self._number += 1
        heapq.heappush(self._events, (max(time_s, self.now), rank, self._number, action))

    def ask(self, call: Call) -> None:
        """Let a call ask for its place now."""
        self._queue.append(call)

    def stop(self, call: Call) -> None:
        """Stop a call, or never send it; its connection is closed."""
        if call.over:
            return
        if call.start_s < math.inf:
            self._let_go(call)
        call.over = call.stopped = True
        call.ended(call)

    def run(self) -> None:
        """Go on until nothing is left to do."""
        while True:
            due = self._due()
            event = self._events[0][0] if self._events else math.inf
            at = min(due, event, self._permit_s)
            if at == math.inf:
                return
            self._done = self._done + (at - self.now) / self._pace() if self._slowdown else at
            self.now = at
            if due == at:
                self._happen()
            elif event == at:
                heapq.heappop(self._events)[3]()
            if self._queue:
                self._admit()

    def _pace(self) -> float:
        """How many times as long as alone each call under way takes now."""
        return 1.0 + self._slowdown * max(self._running - 1, 0)

    def _due(self) -> float:
        """When the next call under way puts out its first token or ends."""
        active = self._active
        while active and active[0][3].over:
            heapq.heappop(active)
        if not active:
            return math.inf
        if not self._slowdown:
            return max(active[0][0], self.now)
        return self.now + max(active[0][0] - self._done, 0.0) * self._pace()

    def _admit(self) -> None:
        """Let in who waits as far as places and limits allow."""
        self._permit_s = math.inf
        queue = self._queue
        while queue and (queue[0].over or self._running < self._places):
            call = queue[0]
            if not call.over:
                permit = self._permitted(call)
                if permit > self.now:
                    self._permit_s = permit
                    break
                self._start(call)
            queue.popleft()
        self.ledger.longest_queue = max(self.ledger.longest_queue, len(queue))

    def _permitted(self, call: Call) -> float:
        """When the limits let it through."""
        at = self.now
        if self._requests is not None:
            at = max(at, self._requests.when(self.now, 1.0))
        if self._tokens is not None:
            at = max(at, self._tokens.when(self.now, call.tokens))
        return at

    def _start(self, call: Call) -> None:
        if self._requests is not None:
            self._requests.take(self.now, 1.0)
        if self._tokens is not None:
            self._tokens.take(self.now, call.tokens)
        call.start_s, call.connect_s = self.now, self._connected()
        begun = self._done + call.connect_s
        call.first_tag, call.end_tag = begun + call.alone_first_s, begun + call.alone_s
        self._running += 1
        self._number += 2
        if (call.watched or self._slowdown) and call.first_tag <= call.end_tag:
            heapq.heappush(self._active, (call.first_tag, self._number - 1, True, call))
        heapq.heappush(self._active, (call.end_tag, self._number, False, call))
        self.ledger.calls += 1
        self.ledger.tokens += call.tokens

    def _connected(self) -> float:
        """Seconds to a connection: none on one that was in use a short while ago."""
        if self._idle and self.now - self._idle[-1] <= IDLE_LIFE_S:
            self._idle.pop()
            return 0.0
        self._idle.clear()
        self.ledger.connections += 1
        return self._cold_s

    def _happen(self) -> None:
        _, _, is_first, call = heapq.heappop(self._active)
        if is_first:
            call.first_s = self.now
        else:
            self._let_go(call)
            self._idle.append(self.now)
        if call.rival is not None:
            self.stop(call.rival)
        if not is_first:
            call.ended(call)

    def _let_go(self, call: Call) -> None:
        if self._slowdown:
            self._note_pace(call)
        self._running -= 1
        call.over = True
        self.ledger.busy_s += self.now - call.start_s
        begun = call.end_tag - call.alone_s - call.connect_s
        self.ledger.work_s += min(self._done, call.end_tag) - begun

    def _note_pace(self, call: Call) -> None:
        """How many times as long as alone it took, or would have, had it not been stopped."""
        pace = self._pace()
        if call.first_s == math.inf:
            call.first_s = self.now + max(call.first_tag - self._done, 0.0) * pace
        end = self.now + max(call.end_tag - self._done, 0.0) * pace
        first, rest = call.connect_s + call.alone_first_s, call.alone_s - call.alone_first_s
        call.first_x = (call.first_s - call.start_s) / first if first > 0 else 1.0
        call.decode_x = (end - call.first_s) / rest if rest > 0 else 1.0


def _buckets(capacity: Capacity) -> tuple[_Bucket | None, _Bucket | None]:
    """The limit on requests, with a second's worth but at least one, and that on tokens."""
    per_s, per_min = capacity.requests_per_s, capacity.tokens_per_min
    requests = None if per_s is None else _Bucket(per_s, max(per_s, 1.0))
    return requests, None if per_min is None else _Bucket(per_min / 60, per_min)

"""One pass over all steps of all requests in order of time: when calls ask, what follows them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial

from core.attempts import Slot
from core.load.capacity import Capacity
from core.load.desk import Call, Desk, Ledger
from core.load.flow import Column, Flow, Group, Shape, Work

SAID, READY, SEND, HEDGE, OWN = range(5)
"""Ranks of events: what guards say at a moment is known to a step that is ready at it."""


@dataclass(slots=True, eq=False)
class _Stint:
    """One step of one request under way: `left` groups of calls have not ended.

    `calls` are kept where a guard may stop them.
    """

    row: int
    node: int
    shape: Shape
    left: int = 0
    off: bool = False
    calls: list[Call] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Watch:
    """A step that speculates, for one request: who has still to speak, and what is known of it."""

    unsaid: int
    said_s: float = 0.0
    heard: bool = False
    own: bool = False
    stint: _Stint | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Swept:
    """The places of all attempts, what the desk saw, seconds from first arrival to last end."""

    slots: dict[Column, Slot]
    ledger: Ledger
    span_s: float


def sweep(flow: Flow, capacity: Capacity, cold_s: float = 0.0) -> Swept:
    """All requests of a flow through what they share; `cold_s` is what a new connection costs."""
    return _Sweep(flow, Desk(capacity, cold_s)).run()


class _Sweep:
    def __init__(self, flow: Flow, desk: Desk) -> None:
        self.flow, self.desk = flow, desk
        n, nodes = len(flow.arrival_s), flow.nodes
        # one entry a node of each request, row by row
        self.latest = [0.0] * (n * len(nodes))
        self.pending = [node.waits for node in nodes] * n
        self.watchers = tuple(
            tuple(k for k, node in enumerate(nodes) if g in node.guards) for g in range(len(nodes))
        )
        self.watches: dict[tuple[int, int], _Watch] = {}
        self.slots = [Slot.free(n) for _ in flow.columns]

    def run(self) -> Swept:
        arrival = self.flow.arrival_s
        self.desk.at(arrival[0], READY, partial(self._arrives, 0))
        self.desk.run()
        slots = dict(zip(self.flow.columns, self.slots, strict=True))
        return Swept(slots, self.desk.ledger, self.desk.now - arrival[0])

    def _arrives(self, row: int) -> None:
        arrival, nodes = self.flow.arrival_s, self.flow.nodes
        if row + 1 < len(arrival):
            self.desk.at(arrival[row + 1], READY, partial(self._arrives, row + 1))
        for k, node in enumerate(nodes):
            if node.waits == 0:
                self._known(row, k, arrival[row] + node.lead_s[row])

    def _watch(self, row: int, k: int) -> _Watch:
        if (row, k) not in self.watches:
            self.watches[row, k] = _Watch(len(self.flow.nodes[k].guards))
        return self.watches[row, k]

    # --- a step becomes ready --------------------------------------------------------------------

    def _known(self, row: int, k: int, at: float) -> None:
        """It is known when a step will be ready; only one with guards has to wait and see."""
        if self.flow.nodes[k].guards:
            self.desk.at(at, READY, partial(self._guarded, row, k))
        else:
            self._begin(row, k, self._shape(row, k, at), at)

    def _shape(self, row: int, k: int, at: float) -> Shape:
        node = self.flow.nodes[k]
        if not node.late:
            return node.shapes[0]
        late = at - self.flow.arrival_s[row]
        return node.shapes[sum(late > limit for limit in node.late)]

    def _guarded(self, row: int, k: int) -> None:
        node, watch, now = self.flow.nodes[k], self._watch(row, k), self.desk.now
        if watch.heard and node.refused[row]:
            watch.own = True
            self._tell(row, node.at_once, now)
            self._ended(row, k, now)
            return
        shape = self._shape(row, k, now)
        if watch.heard and node.misled[row] and node.again is not None:
            shape = node.again
        watch.stint = self._begin(row, k, shape, now)

    def _begin(self, row: int, k: int, shape: Shape, at: float) -> _Stint:
        stint = _Stint(row, k, shape)
        before = False
        for group in shape.groups:
            before = group.made[row] and (before or not group.chained)
            stint.left += before
            if before and not group.chained:
                self.desk.at(at + group.offset_s[row], SEND, partial(self._send, stint, group))
        if not stint.left:
            left = self.flow.nodes[k].limit_s - (at - self.flow.arrival_s[row])
            self._work_ended(stint, at + max(min(shape.alone_s[row], left), 0.0))
        return stint

    # --- its calls -------------------------------------------------------------------------------

    def _send(self, stint: _Stint, group: Group) -> None:
        if stint.off:
            return
        call = self._asks(stint, group, group.main)
        if group.hedge is not None:
            after = self.desk.now + group.delay_s[stint.row]
            self.desk.at(after, HEDGE, partial(self._hedge, stint, group, group.hedge, call))

    def _hedge(self, stint: _Stint, group: Group, work: Work, call: Call) -> None:
        """Send a second one where the first has put out nothing yet."""
        if not call.over and call.first_s == math.inf:
            call.rival = self._asks(stint, group, work)
            call.rival.rival = call

    def _asks(self, stint: _Stint, group: Group, work: Work) -> Call:
        row = stint.row
        call = Call(
            self.desk.now,
            work.first_s[row],
            work.hold_s[row],
            work.tokens[row],
            partial(self._call_ended, stint, group, work),
            group.hedge is not None,
        )
        if self.flow.nodes[stint.node].guards:
            stint.calls.append(call)
        self.desk.ask(call)
        return call

    def _call_ended(self, stint: _Stint, group: Group, work: Work, call: Call) -> None:
        groups, row, now = stint.shape.groups, stint.row, self.desk.now
        self._note(self.slots[work.column], row, call)
        if call.stopped:
            return
        stint.left -= 1
        after = groups.index(group) + 1
        if after < len(groups) and groups[after].chained and groups[after].made[row]:
            following = groups[after]
            at = now + following.offset_s[row]
            self.desk.at(at, SEND, partial(self._send, stint, following))
        if not stint.left:
            self._work_ended(stint, now + stint.shape.tail_s[row])

    @staticmethod
    def _note(slot: Slot, row: int, call: Call) -> None:
        """Write its place down, as far as it is not a free one."""
        if call.start_s > call.sent_s:
            slot.wait_s[row] = call.start_s - call.sent_s
        if call.connect_s:
            slot.connect_s[row] = call.connect_s
        if call.first_x != 1.0 or call.decode_x != 1.0:
            slot.first_x[row], slot.decode_x[row] = call.first_x, call.decode_x

    # --- it ends ---------------------------------------------------------------------------------

    def _work_ended(self, stint: _Stint, at: float) -> None:
        """A step's own work ends at this time; where it has guards, they have a say."""
        if self.flow.nodes[stint.node].guards:
            self.desk.at(at, OWN, partial(self._own_ended, stint))
        else:
            self._ended(stint.row, stint.node, at)

    def _own_ended(self, stint: _Stint) -> None:
        row, k = stint.row, stint.node
        node, watch = self.flow.nodes[k], self._watch(row, k)
        if stint.off or (node.misled[row] and not watch.heard):
            return  # it was stopped, or begins again when its guards have spoken
        watch.own = True
        self._tell(row, node.at_once, self.desk.now)
        if watch.heard:
            self._ended(row, k, self.desk.now)

    def _said(self, row: int, k: int) -> None:
        """All guards of a step have spoken."""
        node, watch, now = self.flow.nodes[k], self._watch(row, k), self.desk.now
        watch.heard = True
        if watch.stint is None:
            return
        if node.refused[row]:
            self._stop(watch.stint)
            if not watch.own:
                self._tell(row, node.at_once, now)
            self._ended(row, k, now)
        elif node.misled[row] and node.again is not None:
            self._stop(watch.stint)
            watch.stint = self._begin(row, k, node.again, now)
        elif watch.own:
            self._ended(row, k, now)

    def _stop(self, stint: _Stint) -> None:
        stint.off = True
        for call in stint.calls:
            self.desk.stop(call)

    def _ended(self, row: int, k: int, at: float) -> None:
        """A step has ended, or is known to end at this time."""
        self._tell(row, self.flow.nodes[k].then, at)
        for other in self.watchers[k]:
            watch = self._watch(row, other)
            watch.unsaid -= 1
            watch.said_s = max(watch.said_s, at)
            if not watch.unsaid:
                self.desk.at(watch.said_s, SAID, partial(self._said, row, other))

    def _tell(self, row: int, nodes: tuple[int, ...], at: float) -> None:
        """Those that wait for it: the last one to end lets them be ready."""
        first = row * len(self.flow.nodes)
        for k in nodes:
            here = first + k
            self.latest[here] = max(self.latest[here], at)
            self.pending[here] -= 1
            if not self.pending[here]:
                self._known(row, k, self.latest[here] + self.flow.nodes[k].lead_s[row])

"""What a simulation says about its calls, in the form in which the sweep goes through them.

A node is a step of the plan. Where it makes calls, its shape says which: groups of one attempt, or
of an attempt and its hedge, sent at a set time after the step is ready or after the group before.
Everything else about a step is the time it takes. Lists are by row: one entry a request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from core.attempts import Attempt, Attempts, Slot, only
from core.dists import Array
from core.placing import Asked, Lane, turns_late, within_deadline
from core.plan import Deadline, Plan, Step, guards
from core.simulate import Run
from core.spells import Spell
from core.timeline import Mask

Column = tuple[str, str]
"""A step's id and the key of one of its attempts."""


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """An attempt: its column in the result, seconds to its first token and to its end, tokens."""

    column: int
    first_s: list[float]
    hold_s: list[float]
    tokens: list[float]


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """An attempt and perhaps its hedge, `delay_s` after it; `chained` to the group before it."""

    chained: bool
    offset_s: list[float]
    made: list[bool]
    main: Work
    hedge: Work | None
    delay_s: list[float]


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """The calls of a step, what it takes where it makes none, and from the last call to its end."""

    groups: tuple[Group, ...]
    alone_s: list[float]
    tail_s: list[float]


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A step: when it is ready after those it waits for, what it does, who waits for it.

    `shapes[k]` is what it does if ready after the first k of the times `late`. It ends at `limit_s`
    after the question at the latest. Where `guards` speak, the `refused` stop, and the `misled`
    begin `again`. `at_once` follow its own end, `then` its end when the guards have spoken, too.
    """

    late: tuple[float, ...]
    shapes: tuple[Shape, ...]
    limit_s: float
    lead_s: list[float]
    waits: int
    guards: tuple[int, ...]
    refused: list[bool]
    misled: list[bool]
    again: Shape | None
    at_once: tuple[int, ...]
    then: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """All requests: when they arrive, the nodes of each, the names of the result's columns."""

    arrival_s: list[float]
    nodes: tuple[Node, ...]
    columns: tuple[Column, ...]


def flow(run: Run) -> Flow:
    """The flow of a simulation that has been run with `sharing`."""
    steps = [s for s in run.plan.steps if s.id != run.plan.show.id]
    place = {s.id: k for k, s in enumerate(steps)}
    columns: dict[Column, int] = {}
    nodes = tuple(_node(run, s, place, columns) for s in steps)
    return Flow(run.workload.arrival_s.tolist(), nodes, tuple(columns))


def single(arrival_s: Array, hold_s: Array) -> Flow:
    """Requests of one call each."""
    n = len(arrival_s)
    call = Attempt(
        "",
        "set",
        np.zeros(n),
        np.ones(n, dtype=bool),
        np.zeros(n),
        hold_s,
        np.zeros(n),
        Slot.free(n),
    )
    columns: dict[Column, int] = {}
    shape = _shape("call", (call,), hold_s, columns)
    none = [False] * n
    node = Node((), (shape,), np.inf, [0.0] * n, 0, (), none, none, None, (), ())
    return Flow(arrival_s.tolist(), (node,), tuple(columns))


def _node(run: Run, step: Step, place: dict[str, int], columns: dict[Column, int]) -> Node:
    plan, lane = run.plan, run.lanes[step.id]
    asked = lane.asked
    if asked is None:
        raise AssertionError(f"step {step.id!r} shows nothing and yet asks for nothing")
    guarded = asked.guarded
    none = np.zeros(run.workload.n, dtype=bool)
    spells = run.as_late.get(step.id) or [asked.spell]
    again = None
    if guarded is not None:
        kept = Asked(asked.skip, guarded.again, None)
        again = _asked_shape(step, lane, kept, guarded.again, columns)
    behind = [s.id for s in plan.steps if s.id in place and step.id in plan.starts_after(s.id)]
    at_once = tuple(place[b] for b in behind if plan.follows_at_once(b, step.id))
    return Node(
        turns_late(step),
        tuple(_asked_shape(step, lane, asked, s, columns) for s in spells),
        _limit_s(step),
        _lead(run, step).tolist(),
        len(plan.starts_after(step.id)),
        tuple(place[g] for g in guards(step)),
        (none if guarded is None else guarded.refused).tolist(),
        (none if guarded is None else guarded.misled & ~guarded.refused).tolist(),
        again,
        at_once,
        tuple(place[b] for b in behind if place[b] not in at_once),
    )


def _limit_s(step: Step) -> float:
    """When a step that makes no call is given up, after the question."""
    drops = (p for p in step.policies if isinstance(p, Deadline) and p.then == "drop")
    return min((p.slo_s - p.left_s for p in drops), default=np.inf)


def _lead(run: Run, step: Step) -> Array:
    """How much later than all it waits for it is ready: 0, but below it where it reads a stream."""
    plan: Plan = run.plan
    lane = run.lanes[step.id]
    waited = [
        other.own_end if plan.follows_at_once(step.id, o) else other.end
        for o in plan.starts_after(step.id)
        for other in (run.lanes[o],)
    ]
    out: Array = lane.ready - (np.maximum.reduce(waited) if waited else 0.0)
    return out


def _asked_shape(
    step: Step, lane: Lane, asked: Asked, spell: Spell, columns: dict[Column, int]
) -> Shape:
    never: Mask = asked.skip
    if spell.attempts:
        spell, late = within_deadline(step, lane.ready, spell)
        never = never | late
    attempts = only(spell.attempts, ~never)
    return _shape(step.id, attempts, np.where(never, 0.0, spell.end), columns)


def _shape(step_id: str, attempts: Attempts, end_s: Array, columns: dict[Column, int]) -> Shape:
    """The shape of a step that ends so long after it is ready, if its calls fare as they did."""
    pairs = list(_paired(attempts))
    done = np.full(len(end_s), -np.inf)
    for main, hedge in pairs:
        done = np.maximum(done, np.where(main.made, _left(main, hedge), -np.inf))
    tail = _since(done, end_s)

    def work(a: Attempt) -> Work:
        column = columns.setdefault((step_id, a.key), len(columns))
        return Work(column, a.first_s.tolist(), a.hold_s.tolist(), a.tokens.tolist())

    groups: list[Group] = []
    before: Array | None = None
    for main, hedge in pairs:
        chained = main.kind == "then" and before is not None
        offset = _since(before, main.sent_s) if chained and before is not None else main.sent_s
        delay = np.zeros_like(done) if hedge is None else _since(main.sent_s, hedge.sent_s)
        second = None if hedge is None else work(hedge)
        groups.append(
            Group(chained, offset.tolist(), main.made.tolist(), work(main), second, delay.tolist())
        )
        before = _left(main, hedge)
    return Shape(tuple(groups), end_s.tolist(), tail.tolist())


def _since(before: Array, at: Array) -> Array:
    """Seconds from one time to another; 0 where the first never came."""
    came = np.isfinite(before)
    return np.where(came, at - np.where(came, before, 0.0), 0.0)


def _paired(attempts: Sequence[Attempt]) -> Iterator[tuple[Attempt, Attempt | None]]:
    """Each attempt that is no hedge, with its hedge."""
    for k, a in enumerate(attempts):
        if a.kind != "hedge":
            after = attempts[k + 1] if k + 1 < len(attempts) else None
            yield a, after if after is not None and after.kind == "hedge" else None


def _left(main: Attempt, hedge: Attempt | None) -> Array:
    """When the one that answered let go of its place."""
    if hedge is None:
        return main.left_s
    wins = (main.began_s > hedge.sent_s) & (hedge.began_s < main.began_s)
    return np.where(wins, hedge.left_s, main.left_s)

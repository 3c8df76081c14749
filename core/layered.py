"""Boxes in rows, arrows downwards: where the nodes of a small directed graph go.

In four steps: a node goes one row below the lowest node it follows; an arrow over several rows gets
a passage in each of them; rows are sorted so that arrows cross little (each place towards the mean
of its neighbours, a few times over); places move as close to their neighbours' middle as their
order and widths allow.

Source: Sugiyama, Tagawa, Toda 1981, the positions of a row by isotonic regression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

SWEEPS = 8
"""Passes of sorting and of moving. Plans have a dozen steps; little changes after four."""

PASSAGE_PX = 18.0
"""Room an arrow keeps where it passes a row."""

PORT_PX = 18.0
"""Distance between the arrows of one box, as far as the box is wide enough."""

Edge = tuple[str, str]
Slot = str | tuple[str, str, int]
"""A node, or the passage of an arrow (from, to) through a row."""
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """A node and its size."""

    id: str
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Layout:
    """The middle (x) and top (y) of each box, and the points of each arrow from foot to head.

    An arrow has two points in each row it passes: where it enters and where it leaves.
    """

    places: Mapping[str, Point]
    routes: Mapping[Edge, tuple[Point, ...]]
    width: float
    height: float


def layered(boxes: Sequence[Box], edges: Sequence[Edge], *, gap_x: float, gap_y: float) -> Layout:
    """Places for the boxes of an acyclic graph, given in an order in which arrows point onwards."""
    grid = _Grid(boxes, edges)
    grid.sort()
    xs = grid.positions(gap_x)
    left = min((xs[s] - grid.widths[s] / 2 for s in xs), default=0.0)
    right = max((xs[s] + grid.widths[s] / 2 for s in xs), default=0.0)
    xs = {s: x - left for s, x in xs.items()}
    tops = grid.tops(gap_y)
    places = {b.id: (xs[b.id], tops[grid.rank[b.id]]) for b in boxes}
    height = tops[-1] + grid.heights[-1] if tops else 0.0
    return Layout(places, _routes(grid, edges, xs, tops), right - left, height)


def ranks(nodes: Sequence[str], edges: Sequence[Edge]) -> dict[str, int]:
    """Return the row of each node, 0 on top; nodes in an order in which arrows point onwards."""
    rank: dict[str, int] = {}
    for node in nodes:
        rank[node] = max((rank[a] + 1 for a, b in edges if b == node), default=0)
    return rank


@dataclass(slots=True)
class _Grid:
    """The rows of a graph while they are being put in order."""

    boxes: Sequence[Box]
    edges: Sequence[Edge]
    rank: dict[str, int] = field(default_factory=dict)
    rows: list[list[Slot]] = field(default_factory=list)
    above: dict[Slot, list[Slot]] = field(default_factory=dict)
    below: dict[Slot, list[Slot]] = field(default_factory=dict)
    widths: dict[Slot, float] = field(default_factory=dict)
    heights: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rank = ranks([b.id for b in self.boxes], self.edges)
        count = max(self.rank.values(), default=-1) + 1
        self.rows = [[b.id for b in self.boxes if self.rank[b.id] == r] for r in range(count)]
        self.heights = [max(b.height for b in self.boxes if b.id in row) for row in self.rows]
        self.widths = {b.id: b.width for b in self.boxes}
        for edge in self.edges:
            chain = self.chain(edge)
            for row, slot in enumerate(chain[1:-1], start=self.rank[edge[0]] + 1):
                self.rows[row].append(slot)
                self.widths[slot] = PASSAGE_PX
            for a, b in pairwise(chain):
                self.below.setdefault(a, []).append(b)
                self.above.setdefault(b, []).append(a)

    def chain(self, edge: Edge) -> list[Slot]:
        """Return the arrow's source, its passages and its target."""
        a, b = edge
        return [a, *((a, b, r) for r in range(self.rank[a] + 1, self.rank[b])), b]

    def sort(self) -> None:
        """Order each row by its neighbours above, then by those below, over and over."""
        for sweep in range(SWEEPS):
            down = sweep % 2 == 0
            for r in self._order(down=down):
                other = self.rows[r - 1 if down else r + 1]
                at = {s: i / max(len(other) - 1, 1) for i, s in enumerate(other)}
                own = {s: i / max(len(self.rows[r]) - 1, 1) for i, s in enumerate(self.rows[r])}
                side = self.above if down else self.below
                wanted = {s: _mean(side.get(s, []), at, own[s]) for s in self.rows[r]}
                self.rows[r].sort(key=wanted.__getitem__)

    def _order(self, *, down: bool) -> range:
        return range(1, len(self.rows)) if down else range(len(self.rows) - 2, -1, -1)

    def positions(self, gap: float) -> dict[Slot, float]:
        """Return the middle of each slot, rows as straight below each other as they can be."""
        xs: dict[Slot, float] = {}
        for row in self.rows:
            xs.update(zip(row, self._fitted(row, [0.0] * len(row), gap), strict=True))
        for sweep in range(SWEEPS):
            down = sweep % 2 == 0
            side = self.above if down else self.below
            for r in self._order(down=down):
                wanted = [_mean(side.get(s, []), xs, xs[s]) for s in self.rows[r]]
                xs.update(zip(self.rows[r], self._fitted(self.rows[r], wanted, gap), strict=True))
        return xs

    def _fitted(self, row: Sequence[Slot], wanted: Sequence[float], gap: float) -> list[float]:
        """Return the nearest positions to those wanted at which nothing overlaps."""
        offsets = [0.0] * bool(row)
        for a, b in pairwise(row):
            offsets.append(offsets[-1] + (self.widths[a] + self.widths[b]) / 2 + gap)
        level = monotone([w - o for w, o in zip(wanted, offsets, strict=True)])
        return [v + o for v, o in zip(level, offsets, strict=True)]

    def tops(self, gap: float) -> list[float]:
        """Return the top of each row."""
        tops = [0.0] if self.heights else []
        for height in self.heights[:-1]:
            tops.append(tops[-1] + height + gap)
        return tops


def monotone(values: Sequence[float]) -> list[float]:
    """Return the non-decreasing sequence nearest to the values, by pooling neighbours."""
    pools: list[tuple[float, int]] = []
    for value in values:
        total, count = value, 1
        while pools and pools[-1][0] / pools[-1][1] > total / count:
            more, n = pools.pop()
            total, count = total + more, count + n
        pools.append((total, count))
    return [total / count for total, count in pools for _ in range(count)]


def _mean(slots: Sequence[Slot], at: Mapping[Slot, float], otherwise: float) -> float:
    return sum(at[s] for s in slots) / len(slots) if slots else otherwise


def _routes(
    grid: _Grid, edges: Sequence[Edge], xs: Mapping[Slot, float], tops: Sequence[float]
) -> dict[Edge, tuple[Point, ...]]:
    sizes = {b.id: b for b in grid.boxes}
    found: dict[Edge, tuple[Point, ...]] = {}
    for edge in edges:
        chain = grid.chain(edge)
        source, target = edge
        foot = xs[source] + _port(source, chain[1], grid.below, xs, sizes[source].width)
        head = xs[target] + _port(target, chain[-2], grid.above, xs, sizes[target].width)
        points = [(foot, tops[grid.rank[source]] + sizes[source].height)]
        for row, slot in enumerate(chain[1:-1], start=grid.rank[source] + 1):
            points += [(xs[slot], tops[row]), (xs[slot], tops[row] + grid.heights[row])]
        found[edge] = (*points, (head, tops[grid.rank[target]]))
    return found


def _port(
    node: str,
    neighbour: Slot,
    side: Mapping[Slot, list[Slot]],
    xs: Mapping[Slot, float],
    width: float,
) -> float:
    """How far from a box's middle an arrow touches it: side by side in the order of the others."""
    others = sorted(side[node], key=lambda s: xs[s])
    step = min(PORT_PX, width * 0.6 / max(len(others), 1))
    return (others.index(neighbour) - (len(others) - 1) / 2) * step

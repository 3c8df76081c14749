from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from core.layered import Box, layered, monotone, ranks

GAP = 10.0


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Box], list[tuple[str, str]]]:
    n = draw(st.integers(1, 9))
    boxes = [Box(f"n{k}", draw(st.integers(20, 90)), draw(st.integers(10, 40))) for k in range(n)]
    pairs = [(a, b) for b in range(n) for a in range(b)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return boxes, [(f"n{a}", f"n{b}") for a, b in chosen]


@given(graphs())
def test_boxes_do_not_touch_and_stay_inside(graph: tuple[list[Box], list[tuple[str, str]]]) -> None:
    boxes, edges = graph
    layout = layered(boxes, edges, gap_x=GAP, gap_y=GAP)
    rows: dict[float, list[tuple[float, float]]] = {}
    for box in boxes:
        x, y = layout.places[box.id]
        rows.setdefault(y, []).append((x - box.width / 2, x + box.width / 2))
        assert y + box.height <= layout.height + 1e-6
    for row in rows.values():
        row.sort()
        assert row[0][0] >= -1e-6
        assert row[-1][1] <= layout.width + 1e-6
        assert all(b[0] - a[1] >= GAP - 1e-6 for a, b in pairwise(row))


@given(graphs())
def test_arrows_go_down_from_box_to_box(graph: tuple[list[Box], list[tuple[str, str]]]) -> None:
    boxes, edges = graph
    layout = layered(boxes, edges, gap_x=GAP, gap_y=GAP)
    sizes = {b.id: b for b in boxes}
    assert set(layout.routes) == set(edges)
    for (a, b), points in layout.routes.items():
        ys = [y for _, y in points]
        assert ys == sorted(ys)
        (ax, ay), (bx, by) = layout.places[a], layout.places[b]
        assert abs(points[0][0] - ax) <= sizes[a].width / 2
        assert points[0][1] == ay + sizes[a].height
        assert abs(points[-1][0] - bx) <= sizes[b].width / 2
        assert points[-1][1] == by


@given(graphs())
def test_passing_arrows_keep_clear_of_boxes(graph: tuple[list[Box], list[tuple[str, str]]]) -> None:
    boxes, edges = graph
    layout = layered(boxes, edges, gap_x=GAP, gap_y=GAP)
    for (a, b), points in layout.routes.items():
        for x, y in points[1:-1]:
            for box in boxes:
                bx, by = layout.places[box.id]
                if box.id not in (a, b) and by - 1e-6 <= y <= by + box.height + 1e-6:
                    assert abs(x - bx) >= box.width / 2 + GAP - 1e-6


def test_a_chain_is_straight_and_a_fork_is_even() -> None:
    boxes = [Box(i, 40, 20) for i in "abcd"]
    chain = layered(boxes, [("a", "b"), ("b", "c"), ("c", "d")], gap_x=GAP, gap_y=GAP)
    assert {x for x, _ in chain.places.values()} == {20.0}
    assert [chain.places[i][1] for i in "abcd"] == [0.0, 30.0, 60.0, 90.0]
    fork = layered(boxes, [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")], gap_x=GAP, gap_y=GAP)
    assert fork.places["a"][0] == fork.places["d"][0] == 45.0
    assert (fork.places["b"][0], fork.places["c"][0]) == (20.0, 70.0)


def test_nothing_has_no_size() -> None:
    layout = layered([], [], gap_x=GAP, gap_y=GAP)
    assert (layout.width, layout.height, layout.places) == (0.0, 0.0, {})


def test_a_node_stands_below_the_lowest_it_follows() -> None:
    assert ranks("abcd", [("a", "b"), ("b", "d"), ("a", "d")]) == {"a": 0, "b": 1, "c": 0, "d": 2}


@given(st.lists(st.floats(-100, 100), max_size=12))
def test_pooling_is_the_nearest_order(values: list[float]) -> None:
    found = monotone(values)
    assert all(a <= b + 1e-9 for a, b in pairwise(found))
    assert abs(sum(found) - sum(values)) < 1e-6
    if values == sorted(values):
        assert found == values
    # Optimality: within each pool no beginning wants to be lower than its mean allows.
    total = 0.0
    for value, fitted in zip(values, found, strict=True):
        total += value - fitted
        assert total >= -1e-6

"""A stable order in which everything follows what it stands behind; a circle is named in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.errors import InvalidPlan


def in_order(names: Sequence[str], behind: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The names so that each follows those it is `behind`; as given where that leaves a choice.

    Raises InvalidPlan for names that stand behind each other.
    """
    done: dict[str, None] = {}
    left = list(names)
    while left:
        ready = next((n for n in left if all(b in done for b in behind[n])), None)
        if ready is None:
            raise InvalidPlan(f"steps wait for each other: {_circle(left, behind)}")
        done[ready] = None
        left.remove(ready)
    return tuple(done)


def _circle(left: Sequence[str], behind: Mapping[str, Sequence[str]]) -> str:
    path = [left[0]]
    while True:
        following = next(b for b in behind[path[-1]] if b in left)
        if following in path:
            return " -> ".join([*path[path.index(following) :], following])
        path.append(following)

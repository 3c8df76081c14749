"""One ranking out of several."""

from __future__ import annotations

from collections.abc import Sequence

from core.retrieval.index import Hit

RANK_OFFSET = 60.0
"""How little the first ranks stand out. Source: Cormack et al. 2009, tuned on TREC runs."""


def reciprocal_rank(
    rankings: Sequence[Sequence[Hit]], *, offset: float = RANK_OFFSET
) -> tuple[Hit, ...]:
    """Return every id of the rankings, best first, by the sum of 1 / (offset + rank).

    Ranks count from 1 and scores are not looked at, so finders whose scores mean different things
    can be joined. Of equals, the one that an earlier ranking put higher comes first.

    Source: Cormack, Clarke & Büttcher 2009, Reciprocal Rank Fusion.
    """
    total: dict[str, float] = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking, start=1):
            total[hit.id] = total.get(hit.id, 0.0) + 1 / (offset + rank)
    return tuple(Hit(name, score) for name, score in sorted(total.items(), key=lambda i: -i[1]))

"""A vector index in memory: exact inner products through FAISS, one thread."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt

from core.retrieval.libraries import library
from core.retrieval.vectors import Vectors

# Compact once this share of the rows is dead: searches look past dead rows, so they cost time.
_DEAD_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Hit:
    """A found thing and its score; what the score means is the finder's matter."""

    id: str
    score: float


class VectorIndex:
    """Ids and unit vectors, searched exhaustively; scores are cosines, best first.

    One thread, since a second one costs more than it saves up to 100,000 rows. Not safe for
    concurrent writers. Nothing is saved: rebuilding 10,000 rows takes milliseconds.

    Source: Douze et al. 2024, The Faiss library (`IndexFlatIP`).
    """

    def __init__(self, dim: int) -> None:
        """`dim` is the length of every vector."""
        self.dim = dim
        self._flat = _flat(dim)
        self._ids: list[str | None] = []  # by row; None marks a dead row
        self._row: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._row)

    def __contains__(self, found_id: str) -> bool:
        return found_id in self._row

    def add(self, ids: Sequence[str], vectors: Vectors) -> None:
        """Add rows; an id that is already there is replaced.

        Raises: ValueError when the shapes do not fit.
        """
        if vectors.shape != (len(ids), self.dim):
            raise ValueError(f"{len(ids)} ids of length {self.dim}, vectors of {vectors.shape}")
        self.remove(ids)
        for new in ids:
            self._row[new] = len(self._ids)
            self._ids.append(new)
        self._flat.add(np.ascontiguousarray(vectors, dtype=np.float32))

    def remove(self, ids: Iterable[str]) -> None:
        """Forget ids; unknown ones are ignored."""
        for gone in ids:
            row = self._row.pop(gone, None)
            if row is not None:
                self._ids[row] = None
        if len(self._ids) - len(self._row) > _DEAD_SHARE * len(self._ids):
            self._compact()

    def search(self, vector: Vectors, k: int) -> tuple[Hit, ...]:
        """Return the `k` nearest rows, fewer where there are fewer; empty on an empty index."""
        dead = len(self._ids) - len(self._row)
        ask = min(k + dead, len(self._ids))
        if not self._row or k < 1:
            return ()
        library("faiss").omp_set_num_threads(1)  # OpenMP keeps this setting for each thread
        query = np.ascontiguousarray(vector, dtype=np.float32).reshape(1, self.dim)
        scores, rows = self._flat.search(query, ask)
        named = ((self._ids[row], score) for row, score in zip(rows[0], scores[0], strict=True))
        return tuple(Hit(name, float(score)) for name, score in named if name is not None)[:k]

    def _compact(self) -> None:
        live = sorted(self._row.items(), key=lambda item: item[1])
        old = self._flat
        self._flat = _flat(self.dim)
        if live:
            self._flat.add(np.stack([old.reconstruct(row) for _, row in live]))
        self._ids = [name for name, _ in live]
        self._row = {name: row for row, (name, _) in enumerate(live)}


class _Flat(Protocol):
    def add(self, vectors: Vectors) -> None: ...

    def search(self, query: Vectors, k: int) -> tuple[Vectors, npt.NDArray[np.int64]]: ...

    def reconstruct(self, row: int) -> Vectors: ...


def _flat(dim: int) -> _Flat:
    return cast("_Flat", library("faiss", "faiss-cpu").IndexFlatIP(dim))

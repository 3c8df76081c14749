"""Answers by likeness of the question: nearest neighbour, threshold, guards.

Only entries of the same scope, encoder and conversation share an index, so an answer that must not
cross cannot be found in the first place. The store is the truth: the index in this process is a
view of it that can be rebuilt, and an entry that has died in the store is not served.
"""

from __future__ import annotations

import base64
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from core.errors import InputError
from core.retrieval.guards import ALL_GUARDS, GuardId, Objection, objections
from core.retrieval.index import VectorIndex
from core.retrieval.keys import CacheScope, Question, digest
from core.retrieval.store import Store, check_ttl
from core.retrieval.vectors import Vectors

NEIGHBOURS = 5
"""Candidates looked at, nearest first: where the guards refuse one, the next may be right."""

_SHELVES = 64  # indexes kept open; one is rebuilt from the store when it is needed again


@dataclass(frozen=True, slots=True)
class Near:
    """What the semantic layer found.

    `answer` is None on a miss. `cosine` is that of the entry served, else of the nearest one, and
    None where there is nothing to compare with. `refused` holds the guards' objections against
    nearer entries, so a page can show which guard spoke. `key` names the entry for `remove`.
    """

    answer: str | None
    cosine: float | None
    question: str | None
    key: str | None
    refused: tuple[Objection, ...] = ()


class SemanticLayer:
    """Finished answers, found by a question that means the same; safe for threads."""

    def __init__(
        self,
        store: Store,
        *,
        threshold: float,
        ttl_s: float | None,
        guards: Iterable[GuardId] = ALL_GUARDS,
        refresh_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`threshold` is a cosine above 0 and up to 1, for one encoder.

        `refresh_s` rereads entries that other processes have put into a shared store; None for a
        store of this process alone. Raises: InputError for a threshold or life out of range.
        """
        if not 0 < threshold <= 1:
            raise InputError(f"cache threshold {threshold} is not a cosine above 0 and up to 1")
        check_ttl(ttl_s)
        self.threshold = threshold
        self.guards = frozenset(guards)
        self.is_local = store.is_local
        self._store = store
        self._ttl_s = ttl_s
        self._refresh_s = refresh_s
        self._clock = clock
        self._shelves: OrderedDict[str, tuple[VectorIndex, float]] = OrderedDict()
        self._lock = threading.RLock()

    def find(
        self, scope: CacheScope, question: Question, vector: Vectors, encoder_name: str
    ) -> Near:
        """Return the nearest entry over the threshold to which no guard objects."""
        refused: list[Objection] = []
        nearest: float | None = None
        with self._lock:
            shelf = self._shelf(_prefix(scope, question, encoder_name), vector.shape[-1])
            for hit in shelf.search(vector, NEIGHBOURS):
                raw = self._store.get(hit.id)
                if raw is None:  # died or removed in the store
                    shelf.remove([hit.id])
                    continue
                nearest = hit.score if nearest is None else nearest
                if hit.score < self.threshold:
                    break
                entry = json.loads(raw)
                against = objections(question.text, entry["question"], self.guards)
                if not against:
                    return Near(
                        entry["answer"], hit.score, entry["question"], hit.id, tuple(refused)
                    )
                refused.extend(against)
        return Near(None, nearest, None, None, tuple(refused))

    def put(
        self,
        scope: CacheScope,
        question: Question,
        vector: Vectors,
        encoder_name: str,
        answer: str,
    ) -> str:
        """Keep an answer under its question's vector; return the entry's key."""
        prefix = _prefix(scope, question, encoder_name)
        key = prefix + question.exact()
        flat = np.ascontiguousarray(vector, dtype=np.float32).reshape(-1)
        packed = base64.b64encode(flat.tobytes()).decode()
        entry = {"question": question.text, "answer": answer, "vector": packed}
        with self._lock:
            shelf = self._shelf(prefix, flat.size)
            self._store.put(key, json.dumps(entry).encode(), self._ttl_s)
            shelf.add([key], flat.reshape(1, -1))
        return key

    def remove(self, key: str) -> bool:
        """Forget one entry; return whether it was there."""
        with self._lock:
            for shelf, _ in self._shelves.values():
                shelf.remove([key])
            return self._store.remove(key)

    def drop(self, scope: CacheScope) -> int:
        """Forget every entry of a scope; return how many there were."""
        with self._lock:
            prefix = f"near:{scope.partition()}:"
            for name in [name for name in self._shelves if name.startswith(prefix)]:
                del self._shelves[name]
            return sum(self._store.remove(key) for key in tuple(self._store.keys(prefix)))

    def _shelf(self, prefix: str, dim: int) -> VectorIndex:
        """Return the open index of a prefix, or one rebuilt from the store."""
        found = self._shelves.get(prefix)
        if found is not None and not self._is_stale(found[1]):
            self._shelves.move_to_end(prefix)
            return found[0]
        shelf = VectorIndex(dim)
        for key in self._store.keys(prefix):
            raw = self._store.get(key)
            if raw is not None:
                packed = base64.b64decode(json.loads(raw)["vector"])
                shelf.add([key], np.frombuffer(packed, dtype=np.float32).reshape(1, -1))
        self._shelves[prefix] = (shelf, self._clock())
        while len(self._shelves) > _SHELVES:
            self._shelves.popitem(last=False)
        return shelf

    def _is_stale(self, opened_s: float) -> bool:
        return self._refresh_s is not None and self._clock() - opened_s >= self._refresh_s


def _prefix(scope: CacheScope, question: Question, encoder_name: str) -> str:
    """Return the key prefix of everything a question may be compared with."""
    return f"near:{scope.partition()}:{digest(encoder_name, question.context())}:"

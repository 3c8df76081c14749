"""A library of documents searched in stages, each of which can be left out and is timed.

Every encoder has a shelf of the documents it can read: an English question is compared with the
English documents, a Korean one with all, since its encoder reads both.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from core.errors import InputError
from core.once import Once
from core.request import Document, Lang
from core.retrieval.encoders import DEFAULT_ENCODER, encoder, languages_of
from core.retrieval.fuse import reciprocal_rank
from core.retrieval.index import Hit, VectorIndex
from core.retrieval.keys import digest
from core.retrieval.keywords import KeywordIndex
from core.retrieval.rerank import Reranker, SentenceReranker, reorder, scores_are_close
from core.retrieval.script import normalise, script_of
from core.retrieval.store import Store, check_ttl
from core.retrieval.vectors import Encoder, Vectors

Method = Literal["vector", "keyword", "hybrid"]
Rerank = Literal["never", "when_close", "always"]
Stage = Literal["embed", "vector_search", "keyword_search", "fuse", "rerank"]


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How to search. `pool` passages are fetched and reranked, `top_k` are kept.

    `close` is the score distance below which `when_close` reranks (scores of the method chosen;
    fused ranks lie some thousandths apart). `category` keeps only documents of that category; a
    wrong one loses the answer. Raises: InputError for sizes that cannot be.
    """

    method: Method = "hybrid"
    top_k: int = 3
    pool: int = 20
    rerank: Rerank = "always"
    close: float = 0.002
    category: str | None = None

    def __post_init__(self) -> None:
        if self.top_k < 1 or self.pool < self.top_k:
            raise InputError(
                f"search settings: top_k {self.top_k}, pool {self.pool}; "
                "top_k must be at least 1, and pool at least top_k"
            )


@dataclass(frozen=True, slots=True)
class Found:
    """What a search brought.

    `hits` has up to `top_k` documents, best first. `evidence` is the closeness of the best one, a
    cosine whatever the method, and None where nothing was found: see `assemble.is_weak`. `stages`
    holds the seconds of each stage that ran.
    """

    hits: tuple[Hit, ...]
    evidence: float | None
    reranked: bool
    stages: tuple[tuple[Stage, float], ...]


class Library:
    """Documents behind the search stages; shelves are made on first use, by whichever thread."""

    def __init__(
        self,
        documents: Sequence[Document],
        encoder_ids: Mapping[Lang, str] = DEFAULT_ENCODER,
        *,
        reranker: Reranker | None = None,
    ) -> None:
        """`encoder_ids` names the encoder of each language; `reranker` replaces the local one."""
        self.documents = {document.id: document for document in documents}
        self.encoder_ids = dict(encoder_ids)
        self._reranker = reranker
        self._shelves = Once[str, _Shelf](size=len(self.encoder_ids))
        texts = (f"{d.id}\0{d.title}\0{d.text}\0{d.updated}" for d in documents)
        self.version = digest(*sorted(texts), *sorted(self.encoder_ids.values()))
        """Changes with any document or encoder: the index version of cache keys."""

    def encoder_for(self, question: str) -> Encoder:
        """Return the encoder that reads this question."""
        return encoder(self.encoder_ids[script_of(question)])

    def warm_up(self) -> None:
        """Build every shelf, so that the first timed search finds it ready."""
        for lang in self.encoder_ids:
            self._shelf(encoder(self.encoder_ids[lang]))

    def search(
        self,
        question: str,
        settings: SearchSettings = SearchSettings(),
        vector: Vectors | None = None,
    ) -> Found:
        """Return the passages for a question; `vector` is its embedding where that is known.

        Encodes on this thread, so not for event loops. Raises: Unavailable (no encoder).
        """
        reader = self.encoder_for(question)
        shelf = self._shelf(reader)
        clock = _Clock()
        if vector is None:
            vector = reader.encode([question])[0]
            clock.lap("embed")
        hits = self._first(shelf, question, vector, settings, clock)
        pool = [self.documents[hit.id] for hit in hits]
        rerank = settings.rerank == "always" or (
            settings.rerank == "when_close"
            and scores_are_close(hits, settings.top_k, settings.close)
        )
        if rerank:
            judge = self._reranker or shelf.reranker
            hits = reorder(pool, judge.scores(question, vector, pool))
            clock.lap("rerank")
        hits = hits[: settings.top_k]
        best = max((shelf.reranker.closeness(vector, hit.id) for hit in hits), default=None)
        return Found(hits, best, rerank, tuple(clock.laps))

    def _first(
        self,
        shelf: _Shelf,
        question: str,
        vector: Vectors,
        settings: SearchSettings,
        clock: _Clock,
    ) -> tuple[Hit, ...]:
        """Return the pool: the first `pool` documents by the method chosen."""
        # A filter is applied to the whole ranking, so that it cannot empty the pool.
        depth = settings.pool if settings.category is None else len(shelf.index)
        rankings: list[tuple[Hit, ...]] = []
        if settings.method != "keyword":
            rankings.append(self._kept(shelf.index.search(vector, depth), settings))
            clock.lap("vector_search")
        if settings.method != "vector":
            rankings.append(self._kept(shelf.keyword.search(question, depth), settings))
            clock.lap("keyword_search")
        if len(rankings) == 1:
            return rankings[0]
        fused = reciprocal_rank(rankings)[: settings.pool]
        clock.lap("fuse")
        return fused

    def _kept(self, hits: tuple[Hit, ...], settings: SearchSettings) -> tuple[Hit, ...]:
        if settings.category is None:
            return hits
        kept = (hit for hit in hits if self.documents[hit.id].category == settings.category)
        return tuple(kept)[: settings.pool]

    def _shelf(self, reader: Encoder) -> _Shelf:
        """Return the encoder's shelf; who asks for another one does not wait for it."""

        def make() -> _Shelf:
            langs = languages_of(reader.name)
            return _Shelf(reader, [d for d in self.documents.values() if d.lang in langs])

        return self._shelves.get(reader.name, make)


class _Shelf:
    """The documents one encoder can read, in its vector index and in a keyword index."""

    def __init__(self, reader: Encoder, documents: Sequence[Document]) -> None:
        ids = [document.id for document in documents]
        # A word of the title counts twice: titles of help texts name their subject.
        texts = [f"{d.title} {d.title} {d.text}" for d in documents]
        self.keyword = KeywordIndex(ids, texts)
        self.reranker = SentenceReranker(reader, documents, self.keyword)
        self.index = VectorIndex(reader.dim)
        for passage_id in ids:
            self.index.add([passage_id], self.reranker.whole(passage_id).reshape(1, -1))


class _Clock:
    """Seconds from lap to lap."""

    def __init__(self) -> None:
        self.laps: list[tuple[Stage, float]] = []
        self._last_s = time.perf_counter()

    def lap(self, stage: Stage) -> None:
        now_s = time.perf_counter()
        self.laps.append((stage, now_s - self._last_s))
        self._last_s = now_s


class CachedSearch:
    """The retrieval layer: the hits of questions seen before, by tenant and index version."""

    def __init__(self, library: Library, store: Store, *, tenant: str, ttl_s: float | None) -> None:
        """`tenant` keeps what one may see from another. Raises: InputError."""
        check_ttl(ttl_s)
        if not tenant:
            raise InputError("retrieval cache: tenant is empty; name one, or passages would cross")
        self._library = library
        self._store = store
        self._tenant = tenant
        self._ttl_s = ttl_s

    def search(self, question: str, settings: SearchSettings = SearchSettings()) -> Found:
        """Return the hits kept for this question, or search and keep them.

        Stages are empty on a hit: none ran.
        """
        key = self.key(question, settings)
        raw = self._store.get(key)
        if raw is not None:
            kept = json.loads(raw)
            hits = tuple(Hit(name, score) for name, score in kept["hits"])
            return Found(hits, kept["evidence"], kept["reranked"], ())
        found = self._library.search(question, settings)
        entry = {
            "hits": [[hit.id, hit.score] for hit in found.hits],
            "evidence": found.evidence,
            "reranked": found.reranked,
        }
        self._store.put(key, json.dumps(entry).encode(), self._ttl_s)
        return found

    def key(self, question: str, settings: SearchSettings) -> str:
        """Return the key of a question under these settings and this state of the library."""
        how = json.dumps(asdict(settings), sort_keys=True)
        return f"hits:{digest(self._tenant, self._library.version, how, normalise(question))}"

"""One question through the retrieval stages, timed here, and the context that comes of it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeVar

from core import tokens
from core.labs.cached_pair import MAX_CHARS
from core.request import Document
from core.retrieval.assemble import EVIDENCE_FLOOR, Context, assemble, is_weak, prune
from core.retrieval.script import sentences
from core.retrieval.search import Library, Method, Rerank, SearchSettings
from core.retrieval.vectors import Vectors
from core.scenarios import scenario

T = TypeVar("T")

__all__ = ["MAX_CHARS", "RagSettings", "Retrieved", "library", "retrieve"]

REPEATS = 5
"""Runs whose median is shown: one alone is at the mercy of whatever else the machine does."""

StageName = Literal[
    "embed", "vector_search", "keyword_search", "fuse", "rerank", "prune", "assemble"
]
STAGES: tuple[StageName, ...] = (
    "embed", "vector_search", "keyword_search", "fuse", "rerank", "prune", "assemble",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RagSettings:
    """How to retrieve, and how much of it to use.

    `budget_tok` tokens of passages at most and `keep` sentences of them, None for all. `fail_fast`
    gives up on weak evidence.
    """

    method: Method = "hybrid"
    rerank: Rerank = "always"
    top_k: int = 3
    budget_tok: int | None = None
    keep: int | None = None
    fail_fast: bool = True

    @property
    def search(self) -> SearchSettings:
        """The part that searches."""
        return SearchSettings(method=self.method, top_k=self.top_k, rerank=self.rerank)


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage with the median of its time over the runs, and the shortest and longest; seconds."""

    name: StageName
    median_s: float
    low_s: float
    high_s: float


@dataclass(frozen=True, slots=True, eq=False)
class Used:
    """A passage that was found: its rank from 1, its sentences, and those that go into the prompt.

    `kept` marks each sentence; `tokens` counts what goes in, 0 where the budget leaves it out.
    """

    rank: int
    document: Document
    sentences: tuple[str, ...]
    kept: tuple[bool, ...]
    tokens: int


@dataclass(frozen=True, slots=True, eq=False)
class Retrieved:
    """What one question brought under some settings.

    `tokens` go into the prompt, `whole_tok` would without budget and pruning. `evidence` below
    `floor` is weak: `gives_up` says whether the settings then stop. `reranked`: whether the rerank
    ran.
    """

    encoder: str
    stages: tuple[Stage, ...]
    passages: tuple[Used, ...]
    tokens: int
    whole_tok: int
    evidence: float | None
    floor: float
    gives_up: bool
    reranked: bool

    @property
    def total_s(self) -> float:
        """All stages together, by their medians."""
        return sum(stage.median_s for stage in self.stages)


@lru_cache(maxsize=4)
def library(scenario_id: str) -> Library:
    """Return a scenario's documents; each language is embedded when it is first searched."""
    return Library(scenario(scenario_id).documents)


def retrieve(scenario_id: str, question: str, settings: RagSettings) -> Retrieved:
    """Run the stages on this thread, several times, and show the last run's passages.

    Not for event loops or page scripts: the first call of a language takes seconds.

    Raises: Unavailable (an encoder or library is missing).
    """
    documents = library(scenario_id)
    laps: dict[StageName, list[float]] = {}
    reader = documents.encoder_for(question)
    found = documents.search(question, settings.search)  # loads, embeds, indexes; not timed
    vector: Vectors = reader.encode([question])[0]
    for _ in range(REPEATS):
        found = documents.search(question, settings.search)
        for name, took_s in found.stages:
            laps.setdefault(name, []).append(took_s)
    ranked = [documents.documents[hit.id] for hit in found.hits]
    whole = assemble(ranked, tokens.count)
    used: Sequence[Document] = ranked
    if settings.keep is not None:
        keep = settings.keep
        used = _timed(laps, "prune", lambda: prune(ranked, vector, reader, keep=keep))
    context = _timed(
        laps, "assemble", lambda: assemble(used, _count, budget_tok=settings.budget_tok)
    )
    floor = EVIDENCE_FLOOR.get(reader.name, 0.0)
    return Retrieved(
        reader.name,
        tuple(_stage(name, laps[name]) for name in STAGES if name in laps),
        tuple(_used(rank, d, context) for rank, d in enumerate(ranked, start=1)),
        context.tokens,
        whole.tokens,
        found.evidence,
        floor,
        settings.fail_fast and is_weak(found.evidence, floor),
        found.reranked,
    )


def _count(text: str) -> int:
    """Count without the cache, whose answer would make every run but the first look free."""
    return tokens.count.__wrapped__(text)


def _timed(laps: dict[StageName, list[float]], name: StageName, work: Callable[[], T]) -> T:
    begun_s = time.perf_counter()
    result = work()
    laps.setdefault(name, []).append(time.perf_counter() - begun_s)
    return result


def _stage(name: StageName, took_s: Sequence[float]) -> Stage:
    return Stage(name, statistics.median(took_s), min(took_s), max(took_s))


def _used(rank: int, document: Document, context: Context) -> Used:
    parts = sentences(document.text)
    passage = next((p for p in context.passages if p.document_id == document.id), None)
    if passage is None:
        return Used(rank, document, parts, tuple(False for _ in parts), 0)
    kept = sentences(passage.text)
    return Used(rank, document, parts, tuple(part in kept for part in parts), passage.tokens)

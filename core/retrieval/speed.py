"""How long the stages take here: medians and tails with their n, on warm parts, one at a time."""

from __future__ import annotations

import gc
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.request import Document
from core.retrieval.cache import ExactLayer
from core.retrieval.encoders import encoder
from core.retrieval.guards import objections
from core.retrieval.index import VectorIndex
from core.retrieval.keys import CacheScope, Question
from core.retrieval.search import Library, SearchSettings
from core.retrieval.store import MemoryStore
from core.retrieval.vectors import unit

WARM_UP = 20


@dataclass(frozen=True, slots=True)
class Timing:
    """A stage's time over n calls, in seconds."""

    stage: str
    n: int
    p50_s: float
    p95_s: float

    def plain(self) -> dict[str, float]:
        """Return the figures for JSON."""
        return {"n": self.n, "p50_s": self.p50_s, "p95_s": self.p95_s}


def timed(stage: str, work: Callable[[int], object], n: int) -> Timing:
    """Time `work(i)` for i below n, after a warm-up; the garbage collector waits meanwhile."""
    for i in range(min(WARM_UP, n)):
        work(i)
    took = np.empty(n)
    gc.collect()
    gc.disable()
    try:
        for i in range(n):
            begun_s = time.perf_counter()
            work(i)
            took[i] = time.perf_counter() - begun_s
    finally:
        gc.enable()
    p50, p95 = np.percentile(took, [50, 95])
    return Timing(stage, n, float(p50), float(p95))


def encoding(encoder_id: str, texts: Sequence[str], n: int, stage: str = "") -> Timing:
    """Time one short text at a time, texts in turn."""
    model = encoder(encoder_id)
    return timed(stage or f"embed:{encoder_id}", lambda i: model.encode([texts[i % len(texts)]]), n)


def exact_lookup(questions: Sequence[str], n: int, entries: int = 10_000) -> Timing:
    """Time a hit of the exact layer, key included, in a store of `entries`."""
    scope = CacheScope.of(
        tenant="shop",
        prompt_version="7",
        model="large",
        answer_lang="en",
        index_version="2026-11",
        parameters={"temperature": 0.0, "max_tokens": 400},
    )
    layer = ExactLayer(MemoryStore(entries + len(questions)), ttl_s=3600.0)
    for i in range(entries):
        layer.put(scope, Question(f"filler {i}"), "An answer of some sentences. " * 10)
    asked = [Question(text) for text in questions]
    for question in asked:
        layer.put(scope, question, "An answer of some sentences. " * 10)
    return timed("exact_lookup", lambda i: layer.get(scope, asked[i % len(asked)]), n)


def vector_search(entries: int, n: int, dim: int = 384, k: int = 10) -> Timing:
    """Time a search among random unit vectors: how they lie does not matter to a flat index."""
    rng = np.random.default_rng(0)
    rows = unit(rng.standard_normal((entries, dim)).astype(np.float32))
    index = VectorIndex(dim)
    index.add([str(i) for i in range(entries)], rows)
    asked = unit(rng.standard_normal((64, dim)).astype(np.float32))
    stage = f"vector_search:{entries}"
    return timed(stage, lambda i: index.search(asked[i % len(asked)], k), n)


def guarding(questions: Sequence[str], n: int) -> Timing:
    """Time all guards on one pair of questions."""
    count = len(questions)
    pairs = [(questions[i % count], questions[(i * 7 + 1) % count]) for i in range(n)]
    return timed("guards", lambda i: objections(*pairs[i]), n)


def search_stages(
    documents: Sequence[Document], questions: Sequence[str], repeats: int
) -> tuple[Timing, ...]:
    """Time each stage of a hybrid search with rerank over these documents."""
    library = Library(documents)
    library.warm_up()
    settings = SearchSettings()
    laps: dict[str, list[float]] = {}
    asked = [question for _ in range(repeats) for question in questions]
    for question in asked[:WARM_UP]:
        library.search(question, settings)
    for question in asked:
        for stage, took_s in library.search(question, settings).stages:
            laps.setdefault(stage, []).append(took_s)
    return tuple(
        Timing(stage, len(took), *(float(v) for v in np.percentile(took, [50, 95])))
        for stage, took in laps.items()
    )


def machine() -> str:
    """Return the processor this runs on and how many of its cores, for the tables."""
    cores = os.cpu_count() or 1
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    name = next(models, platform.processor() or platform.machine())
    return f"{name}, {cores} cores"

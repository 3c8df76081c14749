"""Encoders and a clock that do what a test needs, exactly."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence

import numpy as np

from core.retrieval.vectors import Vectors, unit


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class AllAlike:
    """The worst encoder for a cache: every text means the same to it."""

    name = "all-alike"
    dim = 2

    def encode(self, texts: Sequence[str]) -> Vectors:
        return np.tile(np.array([1.0, 0.0], dtype=np.float32), (len(texts), 1))


class ByFirstWord:
    """Texts that begin with the same word are the same, others nearly unrelated; counts calls."""

    name = "by-first-word"
    dim = 64

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.encoded.extend(texts)
        return unit(np.stack([self._row(text.split()[0]) for text in texts]))

    def _row(self, word: str) -> Vectors:
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
        return np.random.default_rng(seed).standard_normal(self.dim).astype(np.float32)


class ByAngle:
    """Each text lies at its own angle, in radians: cosines are those of the differences."""

    name = "by-angle"
    dim = 2

    def __init__(self, angles: dict[str, float]) -> None:
        self._angles = angles

    def encode(self, texts: Sequence[str]) -> Vectors:
        at = np.array([self._angles[text] for text in texts], dtype=np.float32)
        return np.stack([np.cos(at), np.sin(at)], axis=1)


class Held:
    """An encoder one caller at a time can use, which takes as long as a test wants.

    Its first call begins and then waits for `go`; `calls` holds how many texts each call had.
    """

    dim = 8

    def __init__(self, name: str) -> None:
        self.name = name
        self.begun, self.go = threading.Event(), threading.Event()
        self.calls: list[int] = []
        self._alone = threading.Lock()

    def encode(self, texts: Sequence[str]) -> Vectors:
        with self._alone:
            self.calls.append(len(texts))
            self.begun.set()
            assert self.go.wait(30.0)
            rows = [np.full(self.dim, 1 + len(text), dtype=np.float32) for text in texts]
            return unit(np.stack(rows))

"""Vectors of texts, and the seam behind which they are made."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]
"""Rows of unit length, shape (n_texts, dim); a single vector has shape (dim,)."""


BATCH = 16
"""Texts of a library encoded in one go: a tenth of a second or two on a slow core."""

PAUSE_S = 0.001
"""Rest between two batches, in which whoever waits for the encoder gets it: locks are not fair."""


class Encoder(Protocol):
    """Turns texts into unit vectors; the cosine of two texts is the dot product of their rows."""

    @property
    def name(self) -> str:
        """The id shown beside results and kept in cache keys."""
        ...

    @property
    def dim(self) -> int:
        """Length of a vector; may load the model."""
        ...

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row a text, shape (n, dim); safe to call from any thread.

        Raises: Unavailable where the encoder is not installed or cannot be loaded.
        """
        ...


def unit(rows: Vectors) -> Vectors:
    """Return the rows scaled to length 1; a zero row stays zero."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: Vectors = (rows / np.where(norms == 0, 1, norms)).astype(np.float32)
    return scaled


def in_batches(encoder: Encoder, texts: Sequence[str]) -> Vectors:
    """Return one row a text, for many texts; other threads' questions come in between.

    Takes seconds: not for event loops or scripts of pages. Raises: as `Encoder.encode`.
    """
    rows = [encoder.encode(texts[:BATCH])]
    for start in range(BATCH, len(texts), BATCH):
        time.sleep(PAUSE_S)
        rows.append(encoder.encode(texts[start : start + BATCH]))
    return np.concatenate(rows)

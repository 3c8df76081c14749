"""Two questions as a semantic cache compares them: how alike, who objects, what is served."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from core.request import Lang
from core.retrieval.encoders import DEFAULT_ENCODER, encoder
from core.retrieval.guards import GuardId, Objection, objections
from core.retrieval.pool import EncoderPool
from core.retrieval.script import normalise, script_of

MAX_CHARS = 500
"""Longest question. A limit of the page: a question of a chat is shorter."""

Decision = Literal["exact", "served", "refused", "too_far", "other_language"]


@dataclass(frozen=True, slots=True)
class Likened:
    """Two questions compared here by one encoder.

    `load_s` is the encoder's first call, which loads it where it was not loaded; `queued_s` the
    wait for a worker, `encode_s` the asked question's encoding, warm; `guards_s` all guards.
    """

    encoder: str
    cosine: float
    load_s: float
    queued_s: float
    encode_s: float
    guards_s: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a cache with this threshold and these guards does with the asked question."""

    decision: Decision
    objections: tuple[Objection, ...]

    @property
    def serves(self) -> bool:
        """Whether the cached answer is handed over."""
        return self.decision in ("exact", "served")


async def liken(pool: EncoderPool, asked: str, cached: str, encoder_id: str) -> Likened:
    """Encode both questions beside the event loop and compare them.

    Raises: Unavailable (the encoder is not installed), UnknownName.
    """
    model = encoder(encoder_id)
    stored = await pool.encode(model, [cached])  # also loads the model
    fresh = await pool.encode(model, [asked])
    objections("", "")  # reads and compiles the guards' patterns, once a process
    begun_s = time.perf_counter()
    objections(asked, cached)
    guards_s = time.perf_counter() - begun_s
    cosine = float(stored.vectors[0] @ fresh.vectors[0])
    return Likened(model.name, cosine, stored.worked_s, fresh.queued_s, fresh.worked_s, guards_s)


def encoder_by_script(asked: str) -> str:
    """Return the encoder the cache takes for this question."""
    return DEFAULT_ENCODER[script_of(asked)]


def languages(asked: str, cached: str) -> tuple[Lang, Lang]:
    """Return the languages of both, by script."""
    return script_of(asked), script_of(cached)


def judge(
    asked: str, cached: str, cosine: float, threshold: float, guards: Collection[GuardId]
) -> Verdict:
    """Return what the layers do: exact first; other languages apart; then threshold and guards."""
    if normalise(asked) == normalise(cached):
        return Verdict("exact", ())
    against = objections(asked, cached, guards)
    one, other = languages(asked, cached)
    if one != other:
        return Verdict("other_language", against)
    if cosine < threshold:
        return Verdict("too_far", against)
    return Verdict("refused" if against else "served", against)

"""The cache layers, and the answer cache made of two of them.

| layer | class | saves |
| --- | --- | --- |
| exact answer | `ExactLayer` | everything, for the same question |
| semantic answer | `SemanticLayer` (semantic.py) | everything, for a question that means the same |
| embedding | `CachedEncoder` | the encoder's time, for the same text |
| retrieval | `CachedSearch` (search.py) | embedding and search, for the same question |
| provider prompt cache | prefix.py analyses what is static | prefill, on the provider's side |

Life is absolute: an entry dies `ttl_s` after it was written, however often it is read, and a hit is
never written back. A changed prompt or index is a new version in the scope, which makes the old
entries unreachable at once; they die or are displaced later.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, ParamSpec

import numpy as np

from core.retrieval.guards import Objection
from core.retrieval.keys import CacheScope, Question, digest
from core.retrieval.pool import EncoderPool
from core.retrieval.semantic import SemanticLayer
from core.retrieval.store import Store, check_ttl
from core.retrieval.vectors import Encoder, Vectors

P = ParamSpec("P")

AnswerLayer = Literal["exact", "semantic"]


class ExactLayer:
    """Finished answers by the normalised question; a hit takes microseconds."""

    def __init__(self, store: Store, *, ttl_s: float | None) -> None:
        """`ttl_s` is each entry's life in seconds, None for no end. Raises: InputError."""
        check_ttl(ttl_s)
        self.is_local = store.is_local
        self._store = store
        self._ttl_s = ttl_s

    def get(self, scope: CacheScope, question: Question) -> str | None:
        """Return the answer kept for this question in this scope."""
        raw = self._store.get(self.key(scope, question))
        return None if raw is None else raw.decode()

    def put(self, scope: CacheScope, question: Question, answer: str) -> str:
        """Keep an answer; return the entry's key."""
        key = self.key(scope, question)
        self._store.put(key, answer.encode(), self._ttl_s)
        return key

    def remove(self, key: str) -> bool:
        """Forget one entry; return whether it was there."""
        return self._store.remove(key)

    def drop(self, scope: CacheScope) -> int:
        """Forget every entry of a scope; return how many there were."""
        found = tuple(self._store.keys(f"exact:{scope.partition()}:"))
        return sum(self._store.remove(key) for key in found)

    @staticmethod
    def key(scope: CacheScope, question: Question) -> str:
        """Return the key of a question in a scope; shown by pages, never parsed."""
        return f"exact:{scope.partition()}:{question.exact()}"


class CachedEncoder:
    """An encoder that remembers texts it has seen; itself an encoder.

    A vector depends on nothing but model and text, so tenants share it. Its key holds a digest of
    the text as it is: encoders see capitals and punctuation.
    """

    def __init__(self, encoder: Encoder, store: Store, *, ttl_s: float | None = None) -> None:
        check_ttl(ttl_s)
        self._encoder = encoder
        self._store = store
        self._ttl_s = ttl_s

    @property
    def name(self) -> str:
        """The encoder's own name: its vectors are the same."""
        return self._encoder.name

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self._encoder.dim

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row a text; only unknown texts reach the encoder, in one batch."""
        keys = [f"vector:{digest(self.name, text)}" for text in texts]
        found = [self._store.get(key) for key in keys]
        missing = [i for i, raw in enumerate(found) if raw is None]
        out = np.zeros((len(texts), self.dim), dtype=np.float32)
        for i, raw in enumerate(found):
            if raw is not None:
                out[i] = np.frombuffer(raw, dtype=np.float32)
        if missing:
            out[missing] = self._encoder.encode([texts[i] for i in missing])
            for i in missing:
                self._store.put(keys[i], out[i].tobytes(), self._ttl_s)
        return out


@dataclass(frozen=True, slots=True)
class Looked:
    """One step of a look-up and the seconds it took."""

    step: Literal["exact", "embed", "semantic"]
    took_s: float


@dataclass(frozen=True, slots=True)
class Lookup:
    """The outcome of a look-up through the layers.

    `layer` is None on a miss. `key` names the entry that was served, for `forget`. `steps` holds
    what was tried, so a miss shows its price as well.
    """

    answer: str | None
    layer: AnswerLayer | None
    key: str | None
    steps: tuple[Looked, ...]
    cosine: float | None = None
    cached_question: str | None = None
    refused: tuple[Objection, ...] = ()

    @property
    def took_s(self) -> float:
        """All steps together."""
        return sum(step.took_s for step in self.steps)


class AnswerCache:
    """Exact first, then semantic; either may be left out."""

    def __init__(self, exact: ExactLayer | None, semantic: SemanticLayer | None) -> None:
        self.exact = exact
        self.semantic = semantic

    def lookup(self, scope: CacheScope, question: Question, encoder: Encoder) -> Lookup:
        """Look through the layers on this thread; the encoder runs only on an exact miss.

        Never call it on an event loop or in a page's script: see `lookup_beside`.
        """
        found = self._exact(scope, question)
        if found.answer is not None or self.semantic is None:
            return found
        begun_s = time.perf_counter()
        vector = encoder.encode([question.text])[0]
        embed = Looked("embed", time.perf_counter() - begun_s)
        near = self._near(self.semantic, scope, question, vector, encoder.name)
        return replace(near, steps=(*found.steps, embed, *near.steps))

    async def lookup_beside(
        self, scope: CacheScope, question: Question, encoder: Encoder, pool: EncoderPool
    ) -> Lookup:
        """Look through the layers beside an event loop: the encoder and servers in other threads.

        An exact hit does not wait for the encoders' workers; waiting for them counts as `embed`.
        """
        found = await self._aside(self.exact, self._exact, scope, question)
        if found.answer is not None or self.semantic is None:
            return found
        encoded = await pool.encode(encoder, [question.text])
        embed = Looked("embed", encoded.queued_s + encoded.worked_s)
        vector = encoded.vectors[0]
        layer = self.semantic
        near = await self._aside(layer, self._near, layer, scope, question, vector, encoder.name)
        return replace(near, steps=(*found.steps, embed, *near.steps))

    def put(
        self, scope: CacheScope, question: Question, answer: str, encoder: Encoder | None = None
    ) -> None:
        """Keep an answer in every layer; the semantic one needs the encoder."""
        if self.exact is not None:
            self.exact.put(scope, question, answer)
        if self.semantic is not None and encoder is not None:
            vector = encoder.encode([question.text])[0]
            self.semantic.put(scope, question, vector, encoder.name, answer)

    def forget(self, scope: CacheScope, question: Question, lookup: Lookup) -> int:
        """Remove a wrong answer wherever it can come from again; return how many entries went.

        That is the entry that was served, the exact entry of the question that was asked, and the
        one of the question it was written for.
        """
        gone = 0
        if self.semantic is not None and lookup.layer == "semantic" and lookup.key is not None:
            gone += self.semantic.remove(lookup.key)
        if self.exact is not None:
            asked = {question.text, lookup.cached_question or question.text}
            for text in asked:
                key = ExactLayer.key(scope, Question(text, question.earlier))
                gone += self.exact.remove(key)
        return gone

    def drop(self, scope: CacheScope) -> int:
        """Forget every answer of a scope; return how many entries went."""
        layers = (self.exact, self.semantic)
        return sum(layer.drop(scope) for layer in layers if layer is not None)

    def _exact(self, scope: CacheScope, question: Question) -> Lookup:
        if self.exact is None:
            return Lookup(None, None, None, ())
        begun_s = time.perf_counter()
        answer = self.exact.get(scope, question)
        steps = (Looked("exact", time.perf_counter() - begun_s),)
        if answer is None:
            return Lookup(None, None, None, steps)
        return Lookup(answer, "exact", ExactLayer.key(scope, question), steps)

    @staticmethod
    def _near(
        layer: SemanticLayer,
        scope: CacheScope,
        question: Question,
        vector: Vectors,
        encoder_name: str,
    ) -> Lookup:
        begun_s = time.perf_counter()
        near = layer.find(scope, question, vector, encoder_name)
        return Lookup(
            near.answer,
            None if near.answer is None else "semantic",
            near.key,
            (Looked("semantic", time.perf_counter() - begun_s),),
            near.cosine,
            near.question,
            near.refused,
        )

    @staticmethod
    async def _aside(
        layer: ExactLayer | SemanticLayer | None,
        work: Callable[P, Lookup],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Lookup:
        """Do a layer's work here where it returns at once, else in another thread."""
        if layer is None or layer.is_local:
            return work(*args, **kwargs)
        return await asyncio.to_thread(work, *args, **kwargs)

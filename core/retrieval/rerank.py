"""A second, closer look at the passages a search found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, cast

import numpy as np

from core.request import Document
from core.retrieval.index import Hit
from core.retrieval.keywords import KeywordIndex
from core.retrieval.libraries import library
from core.retrieval.script import sentences
from core.retrieval.vectors import Encoder, Vectors, in_batches
from core.text import unavailable

KEYWORD_WEIGHT = 0.1
"""Weight of keyword scores beside cosines. From 0.05 to 0.2 the labelled documents are found
equally well; above, a product's name outweighs what is asked about it (`bench retrieval`)."""


class Reranker(Protocol):
    """Scores passages against a question, higher is better; scores of two queries do not compare.

    Raises: Unavailable where its model is not there.
    """

    def scores(self, question: str, vector: Vectors, passages: Sequence[Document]) -> list[float]:
        """Return one score a passage; `vector` is the question's, so that it is encoded once."""
        ...


class SentenceReranker:
    """Scores a passage by its own closeness, that of its best sentence, and its keywords.

    A vector of a whole passage blurs what each sentence says, and a sentence alone does not say
    what it is about: each is read under its passage's title. All vectors are made ahead of time,
    so a rerank is some dot products. Without a cross-encoder's weights this is the honest local
    stage; `CrossEncoder` takes any model a user names.
    """

    def __init__(
        self, encoder: Encoder, documents: Sequence[Document], keyword: KeywordIndex
    ) -> None:
        """Encode the titles and sentences of all `documents`, which `keyword` holds too."""
        parts = [(titled(d), d.title, *_under_title(d)) for d in documents]
        rows = in_batches(encoder, [part for own in parts for part in own])
        ends = np.cumsum([len(own) for own in parts])
        self._rows = {
            document.id: rows[end - len(own) : end]
            for document, own, end in zip(documents, parts, ends, strict=True)
        }
        self._keyword = keyword
        self._size = len(documents)

    def scores(self, question: str, vector: Vectors, passages: Sequence[Document]) -> list[float]:
        """Return one score a passage: a cosine, and up to `KEYWORD_WEIGHT` for shared words."""
        by_words = {hit.id: hit.score for hit in self._keyword.search(question, self._size)}
        most = max(by_words.values(), default=1.0)
        return [
            self.closeness(vector, passage.id)
            + KEYWORD_WEIGHT * by_words.get(passage.id, 0.0) / most
            for passage in passages
        ]

    def whole(self, passage_id: str) -> Vectors:
        """Return the vector of a passage as a whole."""
        row: Vectors = self._rows[passage_id][0]
        return row

    def closeness(self, vector: Vectors, passage_id: str) -> float:
        """Return the mean cosine of the whole passage and of its best sentence or title."""
        near = self._rows[passage_id] @ vector
        return float(near[0] + near[1:].max()) / 2


class CrossEncoder:
    """Any cross-encoder of sentence-transformers: reads question and passage together."""

    def __init__(self, model: str) -> None:
        """`model` is a folder or a hub name. Raises: Unavailable."""
        make = library("sentence_transformers", "sentence-transformers").CrossEncoder
        try:
            self._model = cast("_Pairs", make(model, device="cpu"))
        except (OSError, ValueError) as error:
            reason = (str(error).splitlines() or ["no reason given"])[0][:200]
            raise unavailable("model", model=model, why=reason) from error

    def scores(self, question: str, vector: Vectors, passages: Sequence[Document]) -> list[float]:  # noqa: ARG002 - the seam's
        """Return one score a passage; the question's vector is not used."""
        if not passages:
            return []
        pairs = [(question, titled(passage)) for passage in passages]
        return [float(score) for score in self._model.predict(pairs, show_progress_bar=False)]


def reorder(passages: Sequence[Document], scores: Sequence[float]) -> tuple[Hit, ...]:
    """Return the passages best first; of equals, the one found first stays first."""
    order = sorted(range(len(passages)), key=lambda i: -scores[i])
    return tuple(Hit(passages[i].id, scores[i]) for i in order)


def scores_are_close(hits: Sequence[Hit], top_k: int, margin: float) -> bool:
    """Return whether a rerank could change what is used: the gate in front of the rerank stage.

    True where the passage just outside the `top_k` is within `margin` of the last one inside; with
    nothing outside there is nothing to win.
    """
    if not 0 < top_k < len(hits):
        return False
    return hits[top_k - 1].score - hits[top_k].score < margin


def titled(document: Document) -> str:
    """Return a document as encoders read it: its title and its text."""
    return f"{document.title}. {document.text}"


def _under_title(document: Document) -> Iterator[str]:
    """Yield the sentences, each with the title that says what it is about."""
    return (f"{document.title}. {part}" for part in sentences(document.text))


class _Pairs(Protocol):
    def predict(self, pairs: list[tuple[str, str]], *, show_progress_bar: bool) -> Vectors: ...

"""Keyword search: BM25 over words in English and over syllable pairs in Korean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, cast

import numpy as np

from core.retrieval.index import Hit
from core.retrieval.libraries import library
from core.retrieval.script import words
from core.retrieval.vectors import Vectors

# Words that stand in almost every question; BM25 gives them little weight anyway, and in a small
# library their absence from a document says nothing about it.
_STOPWORDS = frozenset(
    words(
        "a an and are as at be been but by can could did do does for from had has have how i i'm "
        "if in is it it's its me my of on or our please so than that the their them then there "
        "these they this to was we were what when where which who why will with would you your"
    )
)
_SUFFIXES = ("ies", "ing", "ed", "es", "s")
_STEM = 3  # letters a word keeps at least when a suffix is cut


class KeywordIndex:
    """Documents searched by the words they share with a query.

    Source: Robertson & Zaragoza 2009 (BM25); Lù 2024 (BM25S). Korean has no spaces between a noun
    and its particle, so pairs of syllables stand for words: 환불은 and 환불을 share 환불.
    Source: Lee & Ahn 1996, Using n-grams for Korean text retrieval.
    """

    def __init__(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """`texts` holds one text for each id."""
        self._ids = tuple(ids)
        terms = [list(keyword_terms(text)) for text in texts]
        self._known = frozenset(term for row in terms for term in row)
        self._bm25 = cast("_Bm25", library("bm25s").BM25())
        if self._known:
            self._bm25.index(terms, show_progress=False)

    def search(self, query: str, k: int) -> tuple[Hit, ...]:
        """Return up to `k` documents that share a term with the query, best first."""
        terms = [term for term in keyword_terms(query) if term in self._known]
        if not terms or k < 1:
            return ()
        scores = self._bm25.get_scores(terms)
        best = np.argsort(-scores, kind="stable")[:k]
        return tuple(Hit(self._ids[i], float(scores[i])) for i in best if scores[i] > 0)


def keyword_terms(text: str) -> Iterator[str]:
    """Yield the terms of a text: stems of words, numbers, pairs of Korean syllables."""
    for word in words(text):
        if "가" <= word[0] <= "힣":
            yield from (word[i : i + 2] for i in range(max(1, len(word) - 1)))
        elif word not in _STOPWORDS:
            yield _stem(word)


def _stem(word: str) -> str:
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _STEM:
            stem = word.removesuffix(suffix)
            return stem + "y" if suffix == "ies" else stem.rstrip("e")
    return word.rstrip("e") if len(word) > _STEM else word


class _Bm25(Protocol):
    def index(self, corpus: list[list[str]], *, show_progress: bool) -> None: ...

    def get_scores(self, query_tokens_single: list[str]) -> Vectors: ...

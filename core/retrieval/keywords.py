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

# The same for Korean: words of asking and being, then particles and polite endings by which a noun
# or verb differs from sentence to sentence, the longest that fits cut first.
_KO_STOPWORDS = frozenset(
    words(
        "어떻게 무엇 무엇을 뭐 뭘 어디 어디에 어디서 어디에서 언제 언제까지 얼마 얼마나 왜 누가 "
        "제 제가 저 저는 저의 나는 내 그 이 저희 수 수도 것 게 등 및 또는 그리고 그런데 하지만 "
        "때 경우 지금 다시 좀 더 꼭 혹시 있나요 있어요 있습니다 있는 있는지 없나요 없어요 없습니다 "
        "없는 하나요 해야 하려면 하면 하고 해서 할 합니다 되나요 돼요 되는 됩니다 입니다 인가요 "
        "건가요 주나요 주세요 싶어요"
    )
)
_KO_ENDINGS = sorted(
    words(
        "은 는 이 가 을 를 에 에는 에서 에서는 에게 에게서 로 으로 으로는 와 와는 과 과는 도 만 "
        "의 나 이나 까지 까지는 부터 부터는 처럼 보다 라도 마다 라는 이라는 요 나요 까요 가요 어요 "
        "아요 해요 예요 이에요 세요 주세요 습니다 합니다 했습니다 됩니다 입니다 드립니다 하나요 "
        "되나요 있나요 할까요 될까요 인가요 한가요 면 으면 하면 되면 려면 하려면 되려면 하고 되고 "
        "고 해서 서 하는 되는 는데 했는데 인데 지만 하지 지 할 한 된"
    ),
    key=lambda ending: -len(ending),
)
_KO_STEM = 2  # syllables a Korean word keeps at least


class KeywordIndex:
    """Documents searched by the words they share with a query.

    Source: Robertson & Zaragoza 2009 (BM25); Lù 2024 (BM25S). Korean joins particles and endings to
    a word and writes compounds in one, so the commonest endings are cut and pairs of syllables
    stand for what is left: 반품비를 and 반품은 share 반품.
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
            stem = _ko_stem(word)
            if word not in _KO_STOPWORDS and stem not in _KO_STOPWORDS:
                yield from (stem[i : i + 2] for i in range(max(1, len(stem) - 1)))
        elif word not in _STOPWORDS:
            yield _stem(word)


def _stem(word: str) -> str:
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _STEM:
            stem = word.removesuffix(suffix)
            return stem + "y" if suffix == "ies" else stem.rstrip("e")
    return word.rstrip("e") if len(word) > _STEM else word


def _ko_stem(word: str) -> str:
    for ending in _KO_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _KO_STEM:
            return word.removesuffix(ending)
    return word


class _Bm25(Protocol):
    def index(self, corpus: list[list[str]], *, show_progress: bool) -> None: ...

    def get_scores(self, query_tokens_single: list[str]) -> Vectors: ...

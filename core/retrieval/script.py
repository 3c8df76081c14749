"""Reading a text before any model does: its language by script, its words, its sentences."""

from __future__ import annotations

import re
import unicodedata

from core.request import Lang

_HANGUL = re.compile(r"[가-힣ㄱ-ㅎㅏ-ㅣ]")
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+(?:[.,]\d+)*|[가-힣]+|[^\W\d_a-z가-힣]+")
# A sentence ends at a mark followed by white space; "3.5" and "v2.0" hold no white space.
_SENTENCE_END = re.compile(r"(?<=[.!?。？！…])[\"'”’)\]]*\s+|\n+")

# The share of Hangul among letters from which a text counts as Korean. Korean sentences hold Latin
# product names; English ones hold next to no Hangul, so any value from 0.1 to 0.5 does the same on
# the shipped requests.
KOREAN_SHARE = 0.2


def script_of(text: str) -> Lang:
    """Return `ko` where enough of the letters are Hangul, else `en`; a text without any is `en`."""
    letters = len(_LETTER.findall(text))
    if not letters:
        return "en"
    return "ko" if len(_HANGUL.findall(text)) / letters >= KOREAN_SHARE else "en"


def normalise(text: str) -> str:
    """Return the text as cache keys see it: compatibility forms, case, spacing and end marks gone.

    What can carry meaning stays: inner punctuation, digits, every word and their order.

    Source: Unicode Standard Annex 15 (NFKC); `str.casefold` is the Unicode case folding.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.split()).rstrip(" .!?…。")


def words(text: str) -> tuple[str, ...]:
    """Return the words and numbers of a text in lower case, punctuation dropped."""
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).casefold().replace("’", "'")))


def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text, each verbatim; white space between them is dropped."""
    return tuple(part for part in _SENTENCE_END.split(text.strip()) if part)

"""Korean particles whose form depends on the sound before them.

A sentence with a gap in it cannot know the word that will fill the gap, so it is written with the
usual double form: "{name}을(를) 껐어요". Once the gap is filled the form is known: 캐시를, 모델을.
Where the reading of the word is unclear (most Latin words), both forms stay, as in print.
"""

from __future__ import annotations

import re

# Double form -> (after a final consonant, after a vowel).
_FORMS = {
    "은(는)": ("은", "는"),
    "이(가)": ("이", "가"),
    "을(를)": ("을", "를"),
    "과(와)": ("과", "와"),
    "(으)로": ("으로", "로"),  # ㄹ counts as a vowel here: 서울로
}
_DOUBLE = re.compile(
    r"([가-힣0-9A-Za-z%])([\"'”’)\]*`]*)(" + "|".join(map(re.escape, _FORMS)) + ")"
)
# Finals are numbered as in a precomposed syllable: 0 none, 1 ㄱ, 4 ㄴ, 8 ㄹ, 16 ㅁ, 21 ㅇ.
_RIEUL = 8
_DIGIT_FINALS = {"0": 21, "1": 8, "3": 16, "6": 1, "7": 8, "8": 8}  # 영 일 삼 육 칠 팔
_LATIN_FINALS = {"l": 8, "m": 16, "n": 4}  # letters 엘 엠 엔; words too: model, stream, plan
_LATIN_VOWELS = frozenset("aiouy")  # not e: cache ends in a vowel, engine in a consonant


def settle_particles(sentence: str) -> str:
    """Replace each double particle by the form its word takes; unclear words keep both."""
    return _DOUBLE.sub(_settled, sentence)


def _settled(found: re.Match[str]) -> str:
    last, closing, double = found.groups()
    final = _final_consonant(last)
    if final is None:
        return found.group(0)
    closed = final not in (0, _RIEUL) if double == "(으)로" else final != 0
    return last + closing + _FORMS[double][0 if closed else 1]


def _final_consonant(letter: str) -> int | None:
    """Return the number of the final consonant `letter` is read with; 0 for none, None if unclear.

    Source: Unicode Standard, section 3.12: a syllable's final is (code point - AC00) mod 28.
    """
    if "가" <= letter <= "힣":
        return (ord(letter) - ord("가")) % 28
    if letter.isdigit():
        return _DIGIT_FINALS.get(letter, 0)
    if letter == "%":
        return 0  # 퍼센트
    small = letter.lower()
    if small in _LATIN_FINALS:
        return _LATIN_FINALS[small]
    return 0 if small in _LATIN_VOWELS else None

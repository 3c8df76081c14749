"""The quantities a question names, in digits or words, in English and Korean.

Weeks become days, so "two weeks" is "14 days"; "2박 3일" is two nights, since the days follow from
them. One is left out in both languages, where it mostly stands for a thing ("a new one", 하나).
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_WORDS_EN = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15,
    "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30,
    "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip

# Unit word -> (canonical unit, factor). Months are not turned into days: 30 days is not a month.
_UNITS_EN = {
    "night": ("night", 1),
    "day": ("day", 1),
    "week": ("day", 7),
    "month": ("month", 1),
    "year": ("year", 1),
    "hour": ("hour", 1),
    "minute": ("minute", 1),
    "percent": ("percent", 1),
}
_UNITS_KO = {
    "개월": ("month", 1),
    "시간": ("hour", 1),
    "주일": ("day", 7),
    "퍼센트": ("percent", 1),
    "박": ("night", 1),
    "일": ("day", 1),
    "주": ("day", 7),
    "달": ("month", 1),
    "년": ("year", 1),
    "분": ("minute", 1),
    "시": ("o'clock", 1),
}
_MULTIPLES_KO = {"만": 10_000, "천": 1_000}

_NUMBER = re.compile(
    r"(?P<digits>\d+(?:[.,]\d+)*)\s?(?P<multiple>[만천])?\s?-?\s?(?P<unit>%|[a-z]+|[가-힣]{0,3})"
    r"|\b(?P<word>" + "|".join(_WORDS_EN) + r")\b[\s-]?(?P<word_unit>[a-z]*)"
)
_NIGHTS_DAYS = re.compile(r"(\d+)\s?박\s?\d+\s?일")

_NATIVE_KO = {
    "두": 2, "둘": 2, "세": 3, "셋": 3, "네": 4, "넷": 4, "다섯": 5, "여섯": 6, "일곱": 7,
    "여덟": 8, "아홉": 9, "열": 10,
}  # fmt: skip
_COUNTERS_KO = "명|개|번|달|주|대|장|시간|살|박|밤|식구|사람|가지|곳|배|가족|분|시"
_COUNTED_KO = re.compile(
    rf"(?<![가-힣])(?P<short>한|두|세|네|열)\s?(?P<counter>{_COUNTERS_KO})(?![동])"
    r"|(?<![가-힣])(?P<long>둘(?!러)|셋|넷|다섯|여섯|일곱|여덟|아홉)\s?(?P<unit>박|밤|달|시간|시|주)?"
)
_DURATIONS_KO = {
    "이틀": "2 day", "사흘": "3 day", "나흘": "4 day", "열흘": "10 day", "보름": "15 day",
    "일주일": "7 day", "한 달": "1 month", "한달": "1 month",
}  # fmt: skip


@lru_cache(maxsize=4096)
def quantities(question: str) -> frozenset[str]:
    """Return the quantities of a question, each as value and unit, e.g. `30 day`, `2`."""
    text = unicodedata.normalize("NFKC", question).casefold()
    text = _NIGHTS_DAYS.sub(r"\1박", text)
    found = {named for word, named in _DURATIONS_KO.items() if word in text}
    for word in _DURATIONS_KO:
        text = text.replace(word, " ")
    found.update(_written(match) for match in _NUMBER.finditer(text))
    found.update(_native(match) for match in _COUNTED_KO.finditer(text))
    return frozenset(found)


def _written(match: re.Match[str]) -> str:
    """Return a quantity in digits or English words; a date or version stays as it is written."""
    if word := match["word"]:
        return _quantity(_WORDS_EN[word], match["word_unit"])
    digits = re.sub(r",(?=\d{3}(?!\d))", "", match["digits"])
    if not re.fullmatch(r"\d+(?:[.,]\d+)?", digits):
        return digits
    value = float(digits.replace(",", "."))
    return _quantity(value * _MULTIPLES_KO.get(match["multiple"] or "", 1), match["unit"])


def _native(match: re.Match[str]) -> str:
    """Return a quantity in native Korean numerals: 세 명, 둘이서, 두 달."""
    short = match["short"]
    value = 1 if short == "한" else _NATIVE_KO[short or match["long"]]
    return _quantity(value, (match["counter"] if short else match["unit"]) or "")


def _quantity(value: float, unit_word: str) -> str:
    unit, factor = _unit(unit_word)
    return f"{value * factor:g} {unit}".strip()


def _unit(word: str) -> tuple[str, int]:
    if word == "%":
        return "percent", 1
    if found := _UNITS_EN.get(word.removesuffix("s")):
        return found
    for start, known in _UNITS_KO.items():  # longest first: 개월 before 개, 시간 before 시
        if word.startswith(start):
            return known
    if word.startswith("밤"):
        return "night", 1
    return "", 1

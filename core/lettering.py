"""Text in drawings: how wide it is about, where it breaks, and how it is made safe for SVG.

Whoever draws here does not know the font of who looks, so widths are estimates on the wide side.
"""

from __future__ import annotations

import re
import unicodedata
from xml.sax.saxutils import escape

FONTS = (
    "'Source Sans', 'Source Sans 3', system-ui, -apple-system, 'Segoe UI', 'Apple SD Gothic Neo', "
    "'Malgun Gothic', 'Noto Sans KR', 'Noto Sans CJK KR', sans-serif"
)
"""Fonts that are there without being fetched, Hangul included."""

_NARROW = frozenset("iljtfrI.,:;'!|()[]")
_WIDE = frozenset("mwMW@%—")
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def width(text: str, size: float) -> float:
    """About how wide a line is in a sans-serif font of this size. Assumption: common advances."""
    return size * sum(_advance(c) for c in text)


def _advance(char: str) -> float:
    if unicodedata.east_asian_width(char) in "WF":
        return 0.96
    if unicodedata.combining(char):
        return 0.0
    if char in _NARROW:
        return 0.32
    if char in _WIDE:
        return 0.86
    return 0.62 if char.isupper() else 0.5


def wrapped(text: str, size: float, room: float, lines: int) -> tuple[str, ...]:
    """Return the text in at most so many lines, broken between words, ending in … if it must."""
    words = text.split()
    found: list[str] = []
    while words and len(found) < lines:
        line = words.pop(0)
        while words and width(f"{line} {words[0]}", size) <= room:
            line = f"{line} {words.pop(0)}"
        found.append(line)
    if words and found:
        found[-1] = f"{found[-1]} {' '.join(words)}"
    return tuple(shortened(line, size, room) for line in found)


def shortened(text: str, size: float, room: float) -> str:
    """Return the text, or as much of its beginning as fits, with … for the rest."""
    if width(text, size) <= room:
        return text
    kept = text
    while kept and width(f"{kept}…", size) > room:
        kept = kept[:-1]
    return f"{kept.rstrip()}…"


def safe(text: str) -> str:
    """Text as it may stand in SVG, between tags or in quotes; what XML cannot hold is left out."""
    return escape(_FORBIDDEN.sub("", text), {'"': "&quot;", "'": "&#39;"})

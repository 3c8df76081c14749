"""A text as boxes, one a token: borders tell them apart, blanks and breaks are written out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.labs.token_pieces import TokenPiece, token_pieces
from core.text import Lang, text
from pages._ui.sections.look import escaped

SHOWN = 1500
"""Pieces drawn at most: a page of them is as much as anybody looks at."""

_SIGNS = {" ": "·", "\n": "↵", "\t": "⇥"}


def token_boxes(content: str, encoding: str, lang: Lang) -> str:
    """Return the boxes as HTML; a long text is cut, and says so."""
    pieces = token_pieces(content, encoding)
    count = sum(len(piece.tokens) for piece in pieces)
    label = escaped(text(lang, "tokenlab.boxes.label", n=f"{count:,}", encoding=encoding))
    body = "".join(_boxes(pieces[:SHOWN]))
    more = len(pieces) - SHOWN
    rest = escaped(text(lang, "tokenlab.boxes.more", n=f"{more:,}")) if more > 0 else ""
    return (
        f"<p class='hint'>{label}</p>"
        f"<div class='token-boxes' role='group' aria-label='{label}' tabindex='0'>{body}</div>"
        f"<p class='hint'>{rest}</p>"
    )


def _boxes(pieces: Sequence[TokenPiece]) -> Iterator[str]:
    for k, piece in enumerate(pieces):
        shown = "".join(_SIGNS.get(c, c) for c in piece.text)
        numbers = escaped(" + ".join(map(str, piece.tokens)))
        several = f"<sup>{len(piece.tokens)}</sup>" if len(piece.tokens) > 1 else ""
        yield f"<span class='tok t{k % 4}' title='{numbers}'>{escaped(shown)}{several}</span>"
        if "\n" in piece.text:
            yield "<br>"

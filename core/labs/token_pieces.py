"""A text cut where its tokens end, so that each can be looked at."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from core import tokens


@dataclass(frozen=True, slots=True)
class TokenPiece:
    """A stretch of text that comes with one token, or with several where these share a character.

    `tokens` holds their numbers. A character of three bytes may need three tokens: none of them can
    be shown alone.
    """

    text: str
    tokens: tuple[int, ...]


def token_pieces(text: str, encoding: str = tokens.DEFAULT_ENCODING) -> tuple[TokenPiece, ...]:
    """Return the pieces of a text in order; joined they are the text. Raises: as `encode`."""
    numbers = tokens.encode(text, encoding)
    ends = (0, *tokens.offsets(text, encoding))
    pieces: list[TokenPiece] = []
    waiting: list[int] = []
    begun = 0
    for number, (start, end) in zip(numbers, pairwise(ends), strict=True):
        waiting.append(number)
        if end > start:
            pieces.append(TokenPiece(text[begun:end], tuple(waiting)))
            waiting, begun = [], end
    if waiting and pieces:  # bytes of a character that never came whole
        last = pieces.pop()
        pieces.append(TokenPiece(last.text, (*last.tokens, *waiting)))
    return tuple(pieces)

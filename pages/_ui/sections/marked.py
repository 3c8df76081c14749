"""Changes in a text as HTML: struck out, underlined, and long unchanged stretches folded away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.prompt_diff import Piece
from core.text import Lang, text
from pages._ui.sections.look import escaped

KEPT_WORDS = 24
"""Words of unchanged text left on either side of a change."""

FOLD_WORDS = 90
"""Unchanged text of at least so many words is folded away between two changes."""

LONGEST_LINE = 200
"""Characters up to which a line is kept whole where a fold begins or ends."""


def marked(pieces: Sequence[Piece], lang: Lang) -> Iterator[str]:
    """Yield the pieces as HTML; a screen reader is told what an eye sees."""
    for k, piece in enumerate(pieces):
        body = escaped(piece.text)
        if piece.mark == "same":
            only = len(pieces) == 1
            yield _folded(piece, lang, k > 0, k < len(pieces) - 1) if not only else body
            continue
        tag = "del" if piece.mark == "gone" else "ins"
        told = escaped(text(lang, f"section.prompts.{piece.mark}_start"))
        # A blank or a line break that changed shows only if it has a sign of its own.
        blank = not piece.text.strip()
        kind = " class='blank'" if blank else ""
        visible = body.replace(" ", "·").replace("\n", "↵\n") if blank else body
        yield f"<{tag}{kind}><span class='visually-hidden'>{told} </span>{visible}</{tag}>"


def _folded(piece: Piece, lang: Lang, after: bool, before: bool) -> str:
    """Unchanged text, its middle folded away where it is long."""
    if piece.words < FOLD_WORDS:
        return escaped(piece.text)
    lead = _first_words(piece.text, KEPT_WORDS) if after else ""
    rest = piece.text[len(lead) :]
    tail = _last_words(rest, KEPT_WORDS) if before else ""
    middle = rest[: len(rest) - len(tail)]
    note = escaped(text(lang, "section.prompts.skipped_words", n=len(middle.split())))
    return (
        f"{escaped(lead)}<details><summary>{note}</summary>{escaped(middle)}</details>"
        f"{escaped(tail)}"
    )


def _first_words(text: str, count: int) -> str:
    """Return the first `count` words of a text, on to the end of the line of the last of them."""
    words = text.split(None, count)
    if len(words) <= count:
        return text
    at = len(text) - len(words[-1])
    end = text.find("\n", at)
    return text[: end + 1] if 0 <= end - at < LONGEST_LINE else text[:at]


def _last_words(text: str, count: int) -> str:
    """Return the last `count` words of a text, from the start of the line of the first of them."""
    words = text.rsplit(None, count)
    if len(words) <= count:
        return text
    at = len(words[0])
    start = text.rfind("\n", 0, at)
    return text[start + 1 :] if start >= 0 and at - start < LONGEST_LINE else text[at:]

"""Of documents only the sentences that bear most on a question, verbatim, judged by their words.

No encoder: a prompt is rendered wherever a plan is, also where none is installed.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from core.request import Document

SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")
RANK_COST = 1.0
"""Worth a sentence must have more of for each rank its document is lower. Of 0.5, 1, 2 and 3, and
of counting neighbours too, none kept more facts in both scenarios (`core.retrieval.diets.kept`)."""


def sentences(text: str) -> tuple[str, ...]:
    """Sentences of a text, whitespace between them dropped."""
    return tuple(s for s in SENTENCE_END.split(text) if s.strip())


def excerpts(documents: Sequence[Document], question: str, keep: int) -> tuple[str, ...]:
    """The text of each document, best first, with the `keep` best sentences of all; "" for none.

    A sentence is worth the words it shares with the question, rare ones more (inverse document
    frequency among these sentences). Ties go to the better document and the earlier sentence.
    """
    parts = [sentences(document.text) for document in documents]
    held = {(rank, i): stems(s) for rank, own in enumerate(parts) for i, s in enumerate(own)}
    if len(held) <= keep:
        return tuple(document.text for document in documents)
    asked = stems(question)
    among = Counter(stem for own in held.values() for stem in own & asked)
    worth = {
        place: sum(math.log(1 + len(held) / among[stem]) for stem in own & asked)
        - RANK_COST * place[0]
        for place, own in held.items()
    }
    kept = set(sorted(held, key=lambda place: (-worth[place], place))[:keep])
    return tuple(
        " ".join(s for i, s in enumerate(own) if (rank, i) in kept)
        for rank, own in enumerate(parts)
    )


def stems(text: str) -> frozenset[str]:
    """Words longer than three letters, and two-syllable stems of Korean ones."""
    return frozenset(
        w[:2] if "가" <= w[0] <= "힣" else w
        for w in re.findall(r"\w+", text.lower())
        if len(w) > 3 or ("가" <= w[0] <= "힣" and len(w) > 1)
    )

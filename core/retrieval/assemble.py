"""From ranked passages to the context of a prompt: what fits, what matters, or nothing at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from core.errors import InputError
from core.request import Document
from core.retrieval.script import sentences
from core.retrieval.vectors import Encoder, Vectors

CountTokens = Callable[[str], int]

EVIDENCE_FLOOR: Mapping[str, float] = {"minilm-en": 0.45, "use-multi": 0.27}
"""Closeness below which the library is unlikely to hold the answer, by encoder.

Set so that 3 % (English) and 5 % (Korean) of the labelled answerable requests fall below.
It stops questions about something else; one that is close to the library's subject but not in it
passes. Source: `bench retrieval`, which shows both.
"""

RANK_COST = 0.15
"""Cosine a sentence must be nearer for each rank its passage is lower. Of 0, 0.15 and a fixed
number of sentences a passage, this kept most facts of the reference answers at equal tokens."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A document as it goes into the prompt: its text verbatim, or its relevant sentences."""

    document_id: str
    title: str
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Context:
    """Passages, best first, and what was left out; tokens count titles and texts."""

    passages: tuple[Passage, ...]
    tokens: int
    dropped: tuple[str, ...]


def assemble(
    documents: Sequence[Document], count: CountTokens, *, budget_tok: int | None = None
) -> Context:
    """Return the documents that fit the budget, in order; one that does not fit is skipped.

    The first document is never skipped: where it is too long it loses whole sentences from its
    end. Raises: InputError for a budget below 1.
    """
    if budget_tok is not None and budget_tok < 1:
        raise InputError(f"context budget of {budget_tok} tokens is not possible; at least 1")
    taken: list[Passage] = []
    dropped: list[str] = []
    left = budget_tok
    for document in documents:
        passage = _passage(document, count)
        if left is not None and passage.tokens > left:
            if taken:
                dropped.append(document.id)
                continue
            passage = _shortened(document, count, left)
        taken.append(passage)
        left = None if left is None else left - passage.tokens
    return Context(tuple(taken), sum(p.tokens for p in taken), tuple(dropped))


def is_weak(evidence: float | None, floor: float) -> bool:
    """Return whether to say "not found" at once, and not write a long answer without grounds."""
    return evidence is None or evidence < floor


def prune(
    documents: Sequence[Document], vector: Vectors, encoder: Encoder, *, keep: int
) -> tuple[Document, ...]:
    """Return the `keep` sentences of all documents nearest to the question, verbatim, in order.

    Documents are given best first, and a sentence of a later one must be nearer to be kept; a
    document without a kept sentence disappears. Raises: InputError for less than one sentence.
    """
    if keep < 1:
        raise InputError(f"pruning to {keep} sentences is not possible; at least 1")
    parts = [sentences(document.text) for document in documents]
    places = [(rank, i) for rank, own in enumerate(parts) for i in range(len(own))]
    if len(places) <= keep:
        return tuple(documents)
    near = encoder.encode([parts[rank][i] for rank, i in places]) @ vector
    worth = {place: float(n) - RANK_COST * place[0] for place, n in zip(places, near, strict=True)}
    kept = set(sorted(places, key=lambda place: -worth[place])[:keep])
    texts = (
        " ".join(part for i, part in enumerate(own) if (rank, i) in kept)
        for rank, own in enumerate(parts)
    )
    return tuple(replace(d, text=t) for d, t in zip(documents, texts, strict=True) if t)


def _passage(document: Document, count: CountTokens) -> Passage:
    tokens = count(f"{document.title}\n{document.text}")
    return Passage(document.id, document.title, document.text, tokens)


def _shortened(document: Document, count: CountTokens, budget_tok: int) -> Passage:
    """Return the document cut after the last sentence that fits; at least one sentence stays."""
    parts = sentences(document.text)
    for end in range(len(parts) - 1, 0, -1):
        text = " ".join(parts[:end])
        tokens = count(f"{document.title}\n{text}")
        if tokens <= budget_tok or end == 1:
            return Passage(document.id, document.title, text, tokens)
    return _passage(document, count)

"""From ranked passages to the context of a prompt: what fits, what matters, or nothing at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from core.errors import InputError
from core.request import Document
from core.retrieval.script import sentences
from core.retrieval.vectors import Encoder, Vectors

CountTokens = Callable[[str], int]

EVIDENCE_FLOOR: Mapping[str, float] = {"minilm-en": 0.45, "use-multi": 0.35}
"""Closeness below which the library is unlikely to hold the answer, by encoder.

Source: `bench retrieval` on the labelled requests, which shows what it catches and what it costs.
"""


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
    document: Document, vector: Vectors, encoder: Encoder, *, keep: int, neighbours: bool = False
) -> Document:
    """Return the document with its `keep` sentences nearest to the question, verbatim, in order.

    With `neighbours` the sentence after each kept one stays too: it often holds the exception.
    A document of `keep` sentences or fewer is returned as it is.
    """
    parts = sentences(document.text)
    if len(parts) <= keep:
        return document
    near = encoder.encode(parts) @ vector
    chosen = set(sorted(range(len(parts)), key=lambda i: -float(near[i]))[:keep])
    if neighbours:
        chosen |= {i + 1 for i in chosen if i + 1 < len(parts)}
    text = " ".join(parts[i] for i in sorted(chosen))
    return replace(document, text=text)


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

"""What a smaller context costs: tokens saved, against the facts of the answer that are still in it.

A fact is what the reference answer cites from its labelled documents: an amount, a period, a date,
or the name of a place. A diet that keeps the right document can still cut the sentence that counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from core import tokens
from core.excerpt import excerpts
from core.request import Document, Request
from core.retrieval.assemble import Context, assemble, prune
from core.retrieval.quality import Share, question_vector, search_question
from core.retrieval.quantities import quantities
from core.retrieval.script import normalise
from core.retrieval.search import Library, SearchSettings
from core.scenarios import Scenario

DietKind = Literal["whole", "budget", "sentences", "words"]


@dataclass(frozen=True, slots=True)
class Diet:
    """The first `top_k` passages: whole, within `limit` tokens, or the best `limit` sentences.

    `sentences` are chosen by an encoder, `words` by the words they share with the question, as the
    technique prune_context does.
    """

    kind: DietKind
    top_k: int
    limit: int | None = None

    @property
    def name(self) -> str:
        """What it is called beside figures."""
        limits: Mapping[DietKind, str] = {
            "whole": "",
            "budget": f" in {self.limit} tokens",
            "sentences": f", best {self.limit} sentences",
            "words": f", best {self.limit} sentences by words",
        }
        return f"top{self.top_k}{limits[self.kind]}"


PLENTY = Diet("whole", 5)
"""What the others are compared with."""

DIETS: tuple[Diet, ...] = (
    PLENTY,
    Diet("whole", 3),
    Diet("whole", 2),
    Diet("whole", 1),
    Diet("budget", 5, 300),
    Diet("budget", 5, 200),
    Diet("budget", 2, 300),  # the defaults of the technique context_budget
    Diet("sentences", 3, 8),
    Diet("sentences", 3, 6),
    Diet("sentences", 3, 4),
    Diet("words", 5, 8),  # the defaults of the technique prune_context
    Diet("words", 3, 8),
)


@dataclass(frozen=True, slots=True)
class Kept:
    """What a diet spends and keeps, over the answerable requests of a scenario.

    `saved` is the share of tokens saved against `PLENTY`; `answer`: the answering document is still
    there; `facts`: those of the reference answers that are.
    """

    diet: Diet
    tokens_mean: float
    saved: float
    answer: Share
    facts: Share

    def plain(self) -> dict[str, object]:
        """Return the figures for JSON."""
        return {
            "tokens_mean": self.tokens_mean,
            "tokens_saved": self.saved,
            "answer_found": self.answer.plain(),
            "facts_kept": self.facts.plain(),
        }


def kept(library: Library, found: Scenario, diets: Sequence[Diet] = DIETS) -> tuple[Kept, ...]:
    """Return what each diet keeps; encodes, so not for event loops. Raises: Unavailable."""
    asked = [r for r in found.requests if r.doc_ids and r.answerable]
    spent = {diet: [context(diet, library, r) for r in asked] for diet in {PLENTY, *diets}}
    means = {diet: sum(c.tokens for c in own) / len(asked) for diet, own in spent.items()}
    return tuple(
        Kept(
            diet,
            means[diet],
            1 - means[diet] / means[PLENTY],
            _answers(asked, spent[diet]),
            _facts_kept(library, asked, spent[diet]),
        )
        for diet in diets
    )


def context(diet: Diet, library: Library, request: Request) -> Context:
    """Return what goes into the prompt of a request on this diet."""
    question = search_question(request)
    vector = question_vector(library, question)
    hits = library.search(question, SearchSettings(top_k=diet.top_k), vector).hits
    passages: Sequence[Document] = [library.documents[hit.id] for hit in hits]
    if diet.kind == "sentences" and diet.limit is not None:
        reader = library.encoder_for(question)
        passages = prune(passages, vector, reader, keep=diet.limit)
    elif diet.kind == "words" and diet.limit is not None:
        texts = excerpts(passages, question, diet.limit)
        passages = [replace(d, text=t) for d, t in zip(passages, texts, strict=True) if t]
    budget = diet.limit if diet.kind == "budget" else None
    return assemble(passages, tokens.count, budget_tok=budget)


@dataclass(frozen=True, slots=True)
class Facts:
    """What texts say that an answer may cite: bare values of quantities, and names of places."""

    amounts: frozenset[str]
    names: frozenset[str]

    def __len__(self) -> int:
        return len(self.amounts) + len(self.names)

    def within(self, texts: Iterable[str]) -> Facts:
        """Return those that the texts hold; an answer may name another unit's words."""
        held = tuple(texts)
        known = normalise("\n".join(held))
        names = frozenset(name for name in self.names if normalise(name) in known)
        return Facts(self.amounts & _amounts(held), names)


def cited(request: Request) -> Facts:
    """Return the facts of a reference answer: its amounts, and the names of its lists' entries."""
    texts = (request.values.get(name) for name in ("response", "answer"))
    lists = (value for value in request.values.values() if isinstance(value, tuple))
    entries = (entry for value in lists for entry in value if not isinstance(entry, str))
    names = frozenset(entry["name"] for entry in entries if "name" in entry)
    return Facts(_amounts(text for text in texts if isinstance(text, str)), names)


def _amounts(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(q.partition(" ")[0] for text in texts for q in quantities(text))


def _answers(asked: Sequence[Request], contexts: Sequence[Context]) -> Share:
    there = (
        request.doc_ids[0] in {p.document_id for p in spent.passages}
        for request, spent in zip(asked, contexts, strict=True)
    )
    return Share(sum(there), len(asked))


def _facts_kept(library: Library, asked: Sequence[Request], contexts: Sequence[Context]) -> Share:
    known = left = 0
    for request, spent in zip(asked, contexts, strict=True):
        facts = cited(request).within(library.documents[i].text for i in request.doc_ids)
        known += len(facts)
        left += len(facts.within(p.text for p in spent.passages))
    return Share(left, known)

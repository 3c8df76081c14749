"""What retrieval settings find and what each diet costs, on the labelled requests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np

from core import tokens
from core.request import Document, Request
from core.retrieval.assemble import EVIDENCE_FLOOR, assemble, is_weak, prune
from core.retrieval.encoders import DEFAULT_ENCODER
from core.retrieval.gate import judge
from core.retrieval.quality import (
    Share,
    auc,
    question_vector,
    recall,
    search_question,
    searched,
)
from core.retrieval.quantities import quantities
from core.retrieval.search import Library, Method, SearchSettings
from core.scenarios import SCENARIOS, Scenario, scenario
from core.text import LANGS, Lang

Figures = dict[str, object]

METHODS: tuple[Method, ...] = ("vector", "keyword", "hybrid")

SETTINGS: Mapping[str, SearchSettings] = {
    **{f"{m}/never/top3": SearchSettings(m, rerank="never") for m in METHODS},
    **{f"{m}/always/top3": SearchSettings(m, rerank="always") for m in METHODS},
    "hybrid/when_close/top3": SearchSettings(rerank="when_close"),
    **{f"hybrid/always/top{k}": SearchSettings(top_k=k) for k in (1, 2, 5, 8)},
}


def retrieval() -> Figures:
    """Recall, tokens and time by setting; what budget, pruning, fail-fast and the gate cost."""
    out: Figures = {}
    libraries = {name: Library(scenario(name).documents) for name in SCENARIOS}
    for name, library in libraries.items():
        library.warm_up()
        found = scenario(name)
        out[name] = {
            "recall": {label: _recall(library, found, s) for label, s in SETTINGS.items()},
            "diet": _diets(library, found),
            "fail_fast": {lang: _fail_fast(library, found, lang) for lang in LANGS},
            "answer_gate": _gate(found),
        }
    out["recall_at_3_both_scenarios"] = _pooled(libraries)
    return out


def _recall(library: Library, found: Scenario, settings: SearchSettings) -> Figures:
    out: Figures = {}
    for lang in LANGS:
        asked = [r for r in found.requests if r.lang == lang and r.doc_ids]
        results = searched(library, asked, settings)
        found_of = recall(results, settings.top_k)
        took = [sum(s for _, s in result.stages) for _, result in results]
        out[lang] = {
            "answer_found": found_of.answer.plain(),
            "labels_found": found_of.labelled,
            "reranked": sum(result.reranked for _, result in results),
            "p50_s_without_embedding": float(np.median(took)),
        }
    return out


def _pooled(libraries: Mapping[str, Library]) -> Figures:
    """Return recall@3 by language over the requests of all scenarios."""
    settings = SearchSettings()
    out: Figures = {}
    for lang in LANGS:
        results = [
            result
            for name, library in libraries.items()
            for result in searched(
                library, [r for r in scenario(name).requests if r.lang == lang], settings
            )
        ]
        out[lang] = recall(results, settings.top_k).answer.plain()
    return out


def _diets(library: Library, found: Scenario) -> Figures:
    """Return what a smaller context keeps of documents, and of the facts of the answers."""
    diets: Mapping[str, tuple[int, int | None, int | None]] = {
        "top5": (5, None, None),
        "top3": (3, None, None),
        "top2": (2, None, None),
        "top5 in 300 tokens": (5, 300, None),
        "top5 in 200 tokens": (5, 200, None),
        "top3, best 8 sentences": (3, None, 8),
        "top3, best 6 sentences": (3, None, 6),
        "top3, best 4 sentences": (3, None, 4),
    }
    return {name: _diet(library, found, *diet) for name, diet in diets.items()}


def _diet(
    library: Library, found: Scenario, top_k: int, budget_tok: int | None, keep: int | None
) -> Figures:
    """Facts are the quantities of the reference answer that its labelled documents hold."""
    settings = SearchSettings(top_k=top_k)
    spent: list[int] = []
    answered = n = kept = facts = 0
    for request in found.requests:
        if not request.doc_ids or not request.answerable:
            continue
        question = search_question(request)
        reader = library.encoder_for(question)
        vector = question_vector(library, question)
        hits = library.search(question, settings, vector).hits
        passages: list[Document] = [library.documents[hit.id] for hit in hits]
        if keep is not None:
            passages = list(prune(passages, vector, reader, keep=keep))
        context = assemble(passages, tokens.count, budget_tok=budget_tok)
        spent.append(context.tokens)
        n += 1
        answered += request.doc_ids[0] in {p.document_id for p in context.passages}
        wanted = _facts(request, [library.documents[i].text for i in request.doc_ids])
        there = _values(p.text for p in context.passages)
        facts += len(wanted)
        kept += len(wanted & there)
    return {
        "tokens_mean": float(np.mean(spent)),
        "answer_found": Share(answered, n).plain(),
        "facts_kept": Share(kept, facts).plain(),
    }


def _facts(request: Request, documents: Iterable[str]) -> frozenset[str]:
    answer = " ".join(
        v for v in (request.values.get(k) for k in ("response", "answer")) if isinstance(v, str)
    )
    return _values([answer]) & _values(documents)


def _values(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(q.partition(" ")[0] for text in texts for q in quantities(text))


def _fail_fast(library: Library, found: Scenario, lang: Lang) -> Figures:
    """Return how well the evidence tells questions that the documents answer from others.

    Two kinds of others: those labelled unanswerable, which are about the library's subject, and the
    other scenarios' questions, which are not.
    """
    floor = EVIDENCE_FLOOR[DEFAULT_ENCODER[lang]]
    own = [r for r in found.requests if r.lang == lang]
    foreign = [
        r for n in SCENARIOS if n != found.id for r in scenario(n).requests if r.lang == lang
    ]
    evidence = {
        "answerable": _evidence(library, [r for r in own if r.doc_ids]),
        "unanswerable": _evidence(library, [r for r in own if not r.answerable]),
        "off_subject": _evidence(library, [r for r in foreign if r.doc_ids]),
    }
    out: Figures = {"floor": floor}
    for kind, found_evidence in evidence.items():
        stopped = sum(is_weak(e, floor) for e in found_evidence)
        out[f"{kind}_stopped"] = Share(stopped, len(found_evidence)).plain()
        if kind != "answerable" and found_evidence:
            out[f"{kind}_auc"] = auc(evidence["answerable"], found_evidence)
    return out


def _evidence(library: Library, requests: Iterable[Request]) -> list[float]:
    found = (result.evidence for _, result in searched(library, requests, SearchSettings()))
    return [0.0 if evidence is None else evidence for evidence in found]


def _gate(found: Scenario) -> Figures:
    """Return what the gate says to right answers, those of other questions, wrong numbers."""
    asked = [r for r in found.requests if r.doc_ids and r.answerable and "response" in r.values]
    right, swapped, altered = [], [], []
    for i, request in enumerate(asked):
        answer = str(request.values["response"])
        right.append(_escalates(found, request, answer))
        others = (*asked[i + 1 :], *asked[:i])
        other = next(r for r in others if r.lang == request.lang and r.intent != request.intent)
        swapped.append(_escalates(found, request, str(other.values["response"])))
        wrong = re.sub(r"[0-9]+", lambda digits: str(int(digits[0]) + 7), answer)
        if wrong != answer:
            altered.append(_escalates(found, request, wrong))
    return {
        "right_answers_escalated": Share(sum(right), len(right)).plain(),
        "answers_to_other_questions_escalated": Share(sum(swapped), len(swapped)).plain(),
        "answers_with_wrong_numbers_escalated": Share(sum(altered), len(altered)).plain(),
    }


def _escalates(found: Scenario, request: Request, answer: str) -> bool:
    passages = [d.text for d in found.documents if d.id in request.doc_ids]
    question = search_question(request)
    return not judge(answer, question=question, passages=passages, lang=request.lang).passes

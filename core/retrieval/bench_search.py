"""What retrieval settings find and what each diet costs, on the labelled requests."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from core import tokens
from core.request import Document, Request
from core.retrieval.assemble import EVIDENCE_FLOOR, assemble, is_weak, prune
from core.retrieval.encoders import DEFAULT_ENCODER
from core.retrieval.gate import judge
from core.retrieval.numbers import numbers
from core.retrieval.quality import Share, auc, recall, search_question
from core.retrieval.search import Library, SearchSettings
from core.scenarios import SCENARIOS, Scenario, scenario
from core.text import LANGS, Lang

Figures = dict[str, object]

SETTINGS: Mapping[str, SearchSettings] = {
    f"{method}/{rerank}/top{k}": SearchSettings(method, k, max(10, k), rerank)
    for method, rerank, k in (
        *itertools.product(("vector", "keyword", "hybrid"), ("never", "always"), (3,)),
        ("hybrid", "when_close", 3),
        *itertools.product(("hybrid",), ("always",), (1, 2, 5, 8)),
    )
}


def retrieval() -> Figures:
    """Recall, tokens and time by setting; what budget, pruning, fail-fast and the gate cost."""
    out: Figures = {}
    for name in SCENARIOS:
        found = scenario(name)
        library = Library(found.documents)
        library.warm_up()
        out[name] = {
            "recall": {label: _recall(library, found, s) for label, s in SETTINGS.items()},
            "diet": _diets(library, found),
            "fail_fast": {lang: _fail_fast(library, found, lang) for lang in LANGS},
            "answer_gate": _gate(found),
        }
    out["recall_both_scenarios"] = _pooled(SETTINGS["hybrid/always/top3"])
    return out


def _recall(library: Library, found: Scenario, settings: SearchSettings) -> Figures:
    out: Figures = {}
    for lang in LANGS:
        asked = [r for r in found.requests if r.lang == lang and r.doc_ids]
        result = recall(library, asked, settings)
        searched = [library.search(search_question(r), settings) for r in asked]
        took = [sum(s for stage, s in f.stages if stage != "embed") for f in searched]
        out[lang] = {
            "answer_found": result.answer.plain(),
            "labels_found": result.labelled,
            "reranked": sum(f.reranked for f in searched),
            "p50_s_without_embedding": float(np.median(took)),
        }
    return out


def _pooled(settings: SearchSettings) -> Figures:
    """Recall by language over the requests of all scenarios."""
    out: Figures = {}
    for lang in LANGS:
        k = n = 0
        for name in SCENARIOS:
            found = scenario(name)
            asked = [r for r in found.requests if r.lang == lang and r.doc_ids]
            share = recall(Library(found.documents), asked, settings).answer
            k, n = k + share.k, n + share.n
        out[lang] = Share(k, n).plain()
    return out


def _diets(library: Library, found: Scenario) -> Figures:
    """What a smaller context keeps: tokens, answering document, facts of the reference answer."""
    diets: Mapping[str, tuple[int, int | None, int | None]] = {
        "top5": (5, None, None),
        "top3": (3, None, None),
        "top2": (2, None, None),
        "top5 in 300 tokens": (5, 300, None),
        "top5 in 200 tokens": (5, 200, None),
        "top3, 2 sentences each": (3, None, 2),
        "top3, 1 sentence each": (3, None, 1),
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
        vector = reader.encode([question])[0]
        hits = library.search(question, settings, vector).hits
        passages: list[Document] = [library.documents[hit.id] for hit in hits]
        if keep is not None:
            passages = [prune(p, vector, reader, keep=keep) for p in passages]
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
    return frozenset(q.partition(" ")[0] for text in texts for q in numbers(text))


def _fail_fast(library: Library, found: Scenario, lang: Lang) -> Figures:
    """How well the evidence tells questions that the documents answer from those they do not."""
    floor = EVIDENCE_FLOOR[DEFAULT_ENCODER[lang]]
    evidence: dict[bool, list[float]] = {True: [], False: []}
    stopped = {True: 0, False: 0}
    for request in found.requests:
        looked_up = bool(request.doc_ids) or not request.answerable
        if request.lang == lang and looked_up:
            result = library.search(search_question(request))
            evidence[request.answerable].append(result.evidence or 0.0)
            stopped[request.answerable] += is_weak(result.evidence, floor)
    return {
        "floor": floor,
        "unanswerable_stopped": Share(stopped[False], len(evidence[False])).plain(),
        "answerable_stopped": Share(stopped[True], len(evidence[True])).plain(),
        "auc": auc(evidence[True], evidence[False]),
    }


def _gate(found: Scenario) -> Figures:
    """What the cascade's gate says to reference answers, answers of others, and wrong numbers."""
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

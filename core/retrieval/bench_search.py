"""What retrieval settings find and what each diet costs, on the labelled requests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np

from core.request import Request
from core.retrieval.assemble import EVIDENCE_FLOOR, is_weak
from core.retrieval.diets import kept
from core.retrieval.encoders import DEFAULT_ENCODER
from core.retrieval.gate import judge
from core.retrieval.quality import (
    Share,
    auc,
    recall,
    search_question,
    searched,
    share_of,
)
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
            "diet": {row.diet.name: row.plain() for row in kept(library, found)},
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


def _fail_fast(library: Library, found: Scenario, lang: Lang) -> Figures:
    """Return how well the evidence tells questions that the documents answer from others."""
    floor = EVIDENCE_FLOOR[DEFAULT_ENCODER[lang]]
    evidence = evidence_by_kind(library, found, lang)
    out: Figures = {"floor": floor}
    for kind, values in evidence.items():
        out[f"{kind}_stopped"] = share_of([is_weak(e, floor) for e in values]).plain()
        if kind != "answerable" and values:
            out[f"{kind}_auc"] = auc(evidence["answerable"], values)
    return out


def evidence_by_kind(library: Library, found: Scenario, lang: Lang) -> Mapping[str, list[float]]:
    """Return the evidence that questions of each kind bring.

    There are two kinds beside those that the documents answer: questions labelled unanswerable,
    which are about the library's subject, and the other scenarios' questions, which are not.
    """
    own = [r for r in found.requests if r.lang == lang]
    others = (scenario(name) for name in SCENARIOS if name != found.id)
    foreign = [r for other in others for r in other.requests if r.lang == lang]
    return {
        "answerable": _evidence(library, [r for r in own if r.doc_ids]),
        "unanswerable": _evidence(library, [r for r in own if not r.answerable]),
        "off_subject": _evidence(library, [r for r in foreign if r.doc_ids]),
    }


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

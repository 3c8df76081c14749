"""How well topics are routed by embedding, and how little it says about difficulty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from core.request import Request
from core.retrieval.bench_cache import labelled_questions
from core.retrieval.encoders import DEFAULT_ENCODER, encoder
from core.retrieval.quality import Share
from core.retrieval.router import CentroidRouter, Route
from core.retrieval.vectors import Vectors
from core.scenarios import SCENARIOS, scenario
from core.text import LANGS, Lang

Figures = dict[str, object]

FOLDS = 5
CONFIDENCES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9)

DOMAINS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("top-up", ("top_up", "topping_up")),
    ("cash", ("cash", "atm")),
    ("exchange", ("exchange", "currency", "currencies")),
    ("transfer", ("transfer", "beneficiary", "direct_debit")),
    ("identity", ("identity", "verify", "personal_details", "age_limit", "source_of_funds")),
    ("pin and access", ("pin", "passcode", "lost_or_stolen_phone")),
    ("refund", ("refund", "reverted_card", "Refund")),
    ("kinds of card", ("virtual", "disposable", "physical_card", "visa_or_mastercard")),
    ("payment", ("card_payment", "declined_card", "charged_twice", "extra_charge", "pending_card")),
    ("card", ("card", "contactless", "apple_pay")),
)
"""Ten domains of Banking77's intents by parts of their names; the first that fits counts, others
("account", "country") are left out. A domain's centroid blurs its intents: routing to the narrow
intents and reading the domain off them is better, and both are measured."""


def router(data: Path | None = None) -> Figures:
    """Topic routing on own requests (and Banking77), confusions, calibration, and difficulty.

    Raises: InputError where `data` lacks a file.
    """
    train, test = _banking(data) if data is not None else ([], [])  # first: it may be refused
    found: Figures = {name: _own(name) for name in SCENARIOS}
    if train:
        narrow = _routed(train, test)
        found["banking77_intents"] = _figures(narrow)
        found["banking77_domains_by_intents"] = _figures(
            [
                (domain_of(intent), replace(route, topic=domain_of(route.topic)))
                for intent, route in narrow
                if domain_of(intent)
            ]
        )
        found["banking77_domains"] = _figures(_routed(_by_domain(train), _by_domain(test)))
    return found


def _banking(data: Path) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the training and the test questions with their intents. Raises: as `router`."""
    train, test = (labelled_questions(data / f"banking77_{part}.csv") for part in ("train", "test"))
    return train, test


def _own(name: str) -> Figures:
    out: Figures = {}
    for lang in LANGS:
        asked = [r for r in scenario(name).requests if r.lang == lang]
        topics = {r.id: topic for r in asked if (topic := _topic(name, r))}
        known = [r for r in asked if r.id in topics]
        labels = [topics[r.id] for r in known]
        out[lang] = {
            "topic": _folded(known, labels, lang),
            "difficulty": _difficulty(known, labels, lang),
        }
    return out


def _topic(name: str, request: Request) -> str:
    """Return what a router would have to know: the route, or the part of the help centre."""
    if name == "travel":
        return str(request.values.get("route", ""))
    if not request.flag("needs_retrieval"):
        return "no look-up"
    by_id = {d.id: d.category for d in scenario(name).documents}
    return by_id[request.doc_ids[0]] if request.doc_ids else ""


def _folded(asked: Sequence[Request], topics: Sequence[str], lang: Lang) -> Figures:
    """Route each message by examples of other intents: near-duplicates never help each other."""
    vectors = encoder(DEFAULT_ENCODER[lang]).encode([r.message for r in asked])
    fold = _fold_of([r.intent for r in asked])
    routed: list[tuple[str, Route]] = []
    for part in range(FOLDS):
        train, test = _parted(fold, part)
        enough = {t for t, k in Counter(topics[i] for i in train).items() if k >= 2}
        kept = [i for i in train if topics[i] in enough]
        judge = CentroidRouter(vectors[kept], [topics[i] for i in kept])
        routed += [(topics[i], judge.route(vectors[i])) for i in test if topics[i] in enough]
    return _figures(routed)


def _fold_of(intents: Sequence[str]) -> list[int]:
    number = {intent: i % FOLDS for i, intent in enumerate(dict.fromkeys(intents))}
    return [number[intent] for intent in intents]


def _parted(fold: Sequence[int], part: int) -> tuple[list[int], list[int]]:
    """Return the rows outside and inside a fold."""
    rows = range(len(fold))
    return [i for i in rows if fold[i] != part], [i for i in rows if fold[i] == part]


def _difficulty(asked: Sequence[Request], topics: Sequence[str], lang: Lang) -> Figures:
    """Whether the embedding tells hard messages: more than one document, or no answer at all.

    Some topics are harder than others, so the plain figure is partly topic again; within topics is
    what a difficulty router would add.
    """
    hard = [len(r.doc_ids) > 1 or not r.answerable for r in asked]
    vectors = encoder(DEFAULT_ENCODER[lang]).encode([r.message for r in asked])
    fold = _fold_of([r.intent for r in asked])
    chances = np.full(len(asked), np.nan)
    for part in range(FOLDS):
        train, test = _parted(fold, part)
        labels = ["hard" if hard[i] else "easy" for i in train]
        if min(labels.count("hard"), labels.count("easy")) < 2:
            continue
        judge = CentroidRouter(vectors[train], labels)
        for i in test:
            route = judge.route(vectors[i])
            chances[i] = route.confidence if route.topic == "hard" else 1 - route.confidence
    judged = [i for i in range(len(asked)) if not np.isnan(chances[i])]
    pairs = [(i, j) for i in judged if hard[i] for j in judged if not hard[j]]
    within = [(i, j) for i, j in pairs if topics[i] == topics[j]]
    return {
        "n": len(judged),
        "hard": sum(hard[i] for i in judged),
        "auc": _right_order(chances, pairs),
        "pairs_within_topics": len(within),
        "auc_within_topics": _right_order(chances, within),
    }


def _right_order(
    chances: npt.NDArray[np.float64], pairs: Sequence[tuple[int, int]]
) -> float | None:
    """Return the share of (hard, easy) pairs in which the hard one scores higher; ties half."""
    if not pairs:
        return None
    gaps = [chances[i] - chances[j] for i, j in pairs]
    return sum(0.5 if gap == 0 else float(gap > 0) for gap in gaps) / len(gaps)


def _routed(
    train: Sequence[tuple[str, str]], test: Sequence[tuple[str, str]]
) -> list[tuple[str, Route]]:
    judge = CentroidRouter(_encoded(train), [topic for _, topic in train])
    routes = (judge.route(vector) for vector in _encoded(test))
    return [(topic, route) for (_, topic), route in zip(test, routes, strict=True)]


@lru_cache(maxsize=8)
def _encoded_texts(texts: tuple[str, ...]) -> Vectors:
    return encoder("minilm-en").encode(texts)


def _encoded(labelled: Sequence[tuple[str, str]]) -> Vectors:
    return _encoded_texts(tuple(text for text, _ in labelled))


def _by_domain(labelled: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    named = ((text, domain_of(intent)) for text, intent in labelled)
    return [(text, domain) for text, domain in named if domain]


def domain_of(intent: str) -> str:
    """Return the domain of a Banking77 intent, empty where it belongs to none."""
    for domain, parts in DOMAINS:
        if any(part in intent for part in parts):
            return domain
    return ""


def _figures(routed: Sequence[tuple[str, Route]]) -> Figures:
    right = [topic == route.topic for topic, route in routed]
    confusions = Counter((topic, route.topic) for topic, route in routed if topic != route.topic)
    sure: Figures = {}
    for least in CONFIDENCES:
        over = [r for r, (_, route) in zip(right, routed, strict=True) if route.confidence >= least]
        sure[f"{least:g}"] = {
            "routed": Share(len(over), len(routed)).plain(),
            "right": Share(sum(over), len(over)).plain(),
        }
    return {
        "topics": len({topic for topic, _ in routed}),
        "right": Share(sum(right), len(right)).plain(),
        "calibration_error": _calibration_error(right, [r.confidence for _, r in routed]),
        "by_least_confidence": sure,
        "confusions": [
            {"topic": topic, "routed_to": other, "n": n}
            for (topic, other), n in confusions.most_common(12)
        ],
    }


def _calibration_error(right: Sequence[bool], confidence: Sequence[float]) -> float:
    """Return the mean gap between confidence and share right over ten bins (Guo et al. 2017)."""
    bins = np.minimum((np.asarray(confidence) * 10).astype(int), 9)
    hits, stated = np.asarray(right, dtype=float), np.asarray(confidence)
    gaps = [
        abs(hits[bins == b].mean() - stated[bins == b].mean()) * (bins == b).mean()
        for b in np.unique(bins)
    ]
    return float(sum(gaps))

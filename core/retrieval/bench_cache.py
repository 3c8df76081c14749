"""What the caches save and what they serve wrongly: own requests and public questions."""

from __future__ import annotations

import csv
import itertools
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from core.errors import InputError, InvalidData
from core.request import Request
from core.retrieval import speed
from core.retrieval.encoders import DEFAULT_ENCODER, encoder, encoder_spec
from core.retrieval.guards import ALL_GUARDS, GUARDS, GuardId
from core.retrieval.quality import (
    Candidate,
    Texts,
    auc,
    least_threshold,
    neighbourhoods,
    sweep,
)
from core.scenarios import SCENARIOS, Scenario, scenario
from core.text import LANGS, Lang

Figures = dict[str, object]

CACHED = 2_000
"""Banking77 training questions in the cache, and as many held out to choose a threshold on."""

PRECISION = 0.95
"""Share of hits that must be right before a threshold is shipped."""

FILES = ("banking77_train.csv", "banking77_test.csv", "kor_pair_train.csv", "kor_pair_test.csv")

THRESHOLDS = tuple(round(0.60 + 0.02 * i, 2) for i in range(19))
GUARD_SETS: tuple[tuple[GuardId, ...], ...] = (
    (),
    *((guard.id,) for guard in GUARDS),
    tuple(sorted(ALL_GUARDS)),
)


def cache(data: Path | None = None, *, torch_model: str | None = None) -> Figures:
    """Speed of encoders and lookups; hit and wrong-hit rates by threshold and guard.

    `torch_model` is a folder or name for sentence-transformers, measured beside the default.
    Raises: InputError where `data` lacks a file.
    """
    if data is not None:  # first: it may be refused
        for name in FILES:
            _rows(data / name, ())
    found: Figures = {
        "speed": _speed(torch_model),
        "own_requests": {name: _own_cache(scenario(name)) for name in SCENARIOS},
    }
    if data is not None:
        found["banking77"] = _banking_cache(data)
        found["korean_pairs"] = _korean_pairs(data)
    return found


def _speed(torch_model: str | None) -> Figures:
    asked = {lang: _messages(lang) for lang in LANGS}
    timings = [
        speed.encoding("minilm-en", asked["en"], 400),
        speed.encoding("use-multi", asked["ko"], 400),
        speed.exact_lookup(asked["en"], 20_000),
        speed.guarding(asked["en"] + asked["ko"], 2_000),
        *(speed.vector_search(entries, 400) for entries in (1_000, 10_000)),
    ]
    if torch_model is not None:
        timings.append(speed.encoding(f"st:{torch_model}", asked["en"], 100))
    figures: Figures = {timing.stage: timing.plain() for timing in timings}
    return figures | {"machine": speed.machine(), "load": os.getloadavg()[0]}


def _own_cache(found: Scenario) -> Figures:
    """Each message without a conversation, asked against all the others of its language."""
    out: Figures = {}
    for lang in LANGS:
        alone = [r for r in found.requests if r.lang == lang and not r.history]
        near = _among_themselves(alone, encoder(DEFAULT_ENCODER[lang]).name)
        misses = [n for n, r in zip(near, alone, strict=True) if "near_miss" in r.tags]
        shipped = encoder_spec(DEFAULT_ENCODER[lang]).threshold
        out[lang] = {
            "n": len(alone),
            "near_misses": {
                "n": len(misses),
                "at_shipped": [sweep(misses, [shipped], on)[0].plain() for on in GUARD_SETS],
            },
            "at_shipped": [sweep(near, [shipped], on)[0].plain() for on in GUARD_SETS],
            "curve": _curves(near),
        }
    return out


def _among_themselves(requests: Sequence[Request], encoder_id: str) -> list[tuple[Candidate, ...]]:
    texts = [r.message for r in requests]
    vectors = encoder(encoder_id).encode(texts)
    own = Texts(texts, vectors, [r.intent for r in requests])
    return neighbourhoods(own, own, least=min(THRESHOLDS), skip_self=True)


def _curves(near: Sequence[tuple[Candidate, ...]]) -> Figures:
    return {
        name: [row.plain() for row in sweep(near, THRESHOLDS, on)]
        for name, on in (("no_guards", ()), ("all_guards", tuple(ALL_GUARDS)))
    }


def _banking_cache(data: Path) -> Figures:
    """Test questions asked against a cached part of the training questions.

    The threshold is chosen on another part of the training questions, never on the test.
    """
    train, test = (
        labelled_questions(data / "banking77_train.csv"),
        labelled_questions(data / "banking77_test.csv"),
    )
    order = np.random.default_rng(0).permutation(len(train))
    cached = _texts([train[i] for i in order[:CACHED]], "minilm-en")
    held_out = _texts([train[i] for i in order[CACHED : 2 * CACHED]], "minilm-en")
    tuning = neighbourhoods(held_out, cached, least=min(THRESHOLDS))
    chosen = least_threshold(sweep(tuning, THRESHOLDS), PRECISION)
    near = neighbourhoods(_texts(test, "minilm-en"), cached, least=min(THRESHOLDS))
    shipped = encoder_spec("minilm-en").threshold
    return {
        "cached": CACHED,
        "asked": len(test),
        "intents": len({meaning for _, meaning in test}),
        "chosen_on_held_out_train": None if chosen is None else chosen.plain(),
        "shipped_threshold": shipped,
        "at_shipped": [sweep(near, [shipped], on)[0].plain() for on in GUARD_SETS],
        "curve": _curves(near),
    }


def _korean_pairs(data: Path) -> Figures:
    """Pairs labelled same or not: what a threshold accepts, for the Korean and English encoder."""
    out: Figures = {}
    for split, encoder_id in itertools.product(("train", "test"), ("use-multi", "minilm-en")):
        pairs = _pairs(data / f"kor_pair_{split}.csv")
        if encoder_id == "minilm-en":
            pairs = pairs[:1_000]  # enough to see it collapse, at 10 ms a text
        model = encoder(encoder_id)
        a = model.encode([one for one, _, _ in pairs])
        b = model.encode([other for _, other, _ in pairs])
        cosines = np.einsum("ij,ij->i", a, b)
        near = [
            (Candidate(float(cosine), same, frozenset()),)
            for cosine, (_, _, same) in zip(cosines, pairs, strict=True)
        ]
        same = np.array([pair[2] for pair in pairs])
        chosen = least_threshold(sweep(near, THRESHOLDS, ()), PRECISION)
        out[f"{split}.{encoder_id}"] = {
            "n": len(pairs),
            "same": int(same.sum()),
            "mean_cosine_same": float(cosines[same].mean()),
            "mean_cosine_different": float(cosines[~same].mean()),
            "auc": auc(cosines[same].tolist(), cosines[~same].tolist()),
            "least_threshold_for_precision": None if chosen is None else chosen.plain(),
            "at_shipped": sweep(near, [encoder_spec(encoder_id).threshold], ())[0].plain(),
            "curve": [row.plain() for row in sweep(near, THRESHOLDS, ())],
        }
    return out


def _messages(lang: Lang) -> list[str]:
    """Return the messages of every scenario in one language."""
    return [r.message for name in SCENARIOS for r in scenario(name).requests if r.lang == lang]


def _texts(labelled: Sequence[tuple[str, str]], encoder_id: str) -> Texts:
    texts = [text for text, _ in labelled]
    return Texts(texts, encoder(encoder_id).encode(texts), [meaning for _, meaning in labelled])


def labelled_questions(path: Path) -> list[tuple[str, str]]:
    """Return (text, category) rows of a table. Raises: InputError, InvalidData."""
    return [(row["text"], row["category"]) for row in _rows(path, ("text", "category"))]


def _pairs(path: Path) -> list[tuple[str, str, bool]]:
    """Return (question, other question, whether they mean the same). Raises: as above."""
    rows = _rows(path, ("question1", "question2", "is_duplicate"))
    return [
        (row["question1"].strip(), row["question2"].strip(), row["is_duplicate"] == "0")
        for row in rows
    ]


def _rows(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """Return the rows of a CSV file. Raises: InputError (absent), InvalidData (other columns)."""
    if not path.exists():
        raise InputError(f"{path.name} is not in {path.parent}; this bench measures on that file")
    with path.open(encoding="utf-8-sig", newline="") as lines:
        reader = csv.DictReader(lines)
        for column in columns:
            if column not in (reader.fieldnames or ()):
                raise InvalidData(path.name, "is no column of it", line=1, key=column)
        return list(reader)

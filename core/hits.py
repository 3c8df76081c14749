"""Which requests of a stream a cache answers: exact and semantic layers, absolute time to live.

Exact hits follow from the stream itself. Semantic hits follow from a table of similarities between
the scenario's requests, measured with real encoders (`sample_data/measured/similarity.csv`).
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from core.dists import Array
from core.errors import InvalidData
from core.plan import AnswerCache
from core.profiles import PromptCaching
from core.prompt import as_text
from core.request import Request
from core.scenarios import DATA, Scenario
from core.small_talk import coverage, recognised
from core.workload import Ints, Mask, Workload


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """Per request (n,): `hit`, and `served`, the row of the request whose answer was served."""

    hit: Mask
    served: Ints


PROMPT_CACHE_LIFE_S = 300.0
"""How long a provider keeps an unused prefix. Source: vendors' guides, 5 to 10 minutes."""


def warm_prefix(workload: Workload, active: Mask) -> Mask:
    """Where a provider still keeps the prefix of a call that the `active` requests make."""
    warm = np.zeros(workload.n, dtype=bool)
    used = np.flatnonzero(active)
    warm[used[1:]] = np.diff(workload.arrival_s[used]) <= PROMPT_CACHE_LIFE_S
    return warm


def reusable_tok(rules: PromptCaching, static: Array) -> Array:
    """How many of so many unchanging tokens at the head of a prompt a provider can reuse."""
    reach = np.floor(static / rules.step_tok) * rules.step_tok
    return np.where(static >= rules.minimum_tok, reach, 0.0)


@lru_cache(maxsize=64)
def _groups(scenario: Scenario, values: tuple[str, ...]) -> Ints:
    """A number for each request (m,), the same where language and these values are the same."""
    names = [
        "\x1f".join([r.lang, *(normalised(_value(r, v)) for v in values)])
        for r in scenario.requests
    ]
    number = {name: i for i, name in enumerate(dict.fromkeys(names))}
    return np.array([number[name] for name in names], dtype=np.int64)


def normalised(text: str) -> str:
    """Lower case, single spaces, no space or punctuation at the ends."""
    return re.sub(r"\s+", " ", text.lower()).strip(" .!?。！？")


def _value(request: Request, value: str) -> str:
    if value == "message":
        return request.message
    if value == "history":
        return "\n".join(f"{t.role}: {t.text}" for t in request.history)
    found = request.values.get(value)
    return "" if found is None else as_text(found)


def exact(workload: Workload, values: Sequence[str], ttl_s: float, active: Mask) -> Hits:
    """Hits of a cache keyed by these values, among the requests that ask it (`active`).

    A request in a fresh wording finds nothing, and its own entry is never asked for again.
    """
    return _exact(workload, tuple(values), ttl_s, active.tobytes())


@lru_cache(maxsize=128)
def _exact(workload: Workload, values: tuple[str, ...], ttl_s: float, active: bytes) -> Hits:
    group = _groups(workload.scenario, values)[workload.index]
    asked = np.frombuffer(active, dtype=bool) & ~workload.fresh
    return _stored(workload, group, ttl_s, asked)


@lru_cache(maxsize=128)
def answers(workload: Workload, layers: tuple[AnswerCache, ...]) -> Hits:
    """Answers at hand in the layers of a look-up, asked one after the other."""
    hit = np.zeros(workload.n, dtype=bool)
    served = workload.index.copy()
    for layer in layers:
        found = _layer(workload, layer, ~hit)
        served = np.where(found.hit & ~hit, found.served, served)
        hit = hit | found.hit
    return Hits(hit, served)


def _layer(workload: Workload, layer: AnswerCache, active: Mask) -> Hits:
    if layer.layer == "exact":
        return exact(workload, ("history", "message"), layer.ttl_s, active)
    if layer.layer in ("precomputed", "fixed", "not_found"):
        return Hits(active & _prepared(workload, layer), workload.index.copy())
    like = similar(workload.scenario, layer.threshold, guards=layer.guards)
    group = _representatives(workload, like, active)
    # A fresh wording is found again as often as the scenario's own paraphrases are.
    found = ~workload.fresh | (workload.luck < recall(workload.scenario, layer.threshold))
    alone = np.array([not r.history for r in workload.scenario.requests])[workload.index]
    return _stored(workload, group[workload.index], layer.ttl_s, active & found & alone)


def _prepared(workload: Workload, layer: AnswerCache) -> Mask:
    """Which requests (n,) find an answer that was there before anybody asked.

    Fixed replies are found by the rules of `core.small_talk`, in fresh words as often as those
    recognise the scenario's own. Precomputed ones are found in known words, and in fresh words as
    often as a semantic cache would find them. Whether the documents hold an answer is taken from
    the labels: a check that is always right.
    """
    rows, known = workload.scenario.requests, ~workload.fresh
    if layer.layer == "not_found":
        return np.array([not r.answerable for r in rows])[workload.index]
    if layer.layer == "fixed":
        mask = np.array([recognised(r.message) for r in rows])
        share = coverage(rows)
    else:
        alone = np.array([not r.history for r in rows])
        mask = alone & (np.arange(len(rows)) < layer.entries)
        share = recall(workload.scenario, layer.threshold) if layer.threshold < 1.0 else 0.0
    return mask[workload.index] & (known | (workload.luck < share))


def recall(scenario: Scenario, threshold: float) -> float:
    """Share of pairs with the same intent, language and other words above the threshold."""
    cosine, rows = _cosines(scenario), scenario.requests
    pairs = [
        cosine[i, j] >= threshold
        for i, a in enumerate(rows)
        for j, b in enumerate(rows[:i])
        if (a.intent, a.lang) == (b.intent, b.lang) and not (a.history or b.history)
    ]
    return float(np.mean(pairs)) if pairs else 0.0


def _representatives(workload: Workload, like: Mask, active: Mask) -> Ints:
    """For each request of the scenario the stored one that answers it: the first seen like it."""
    order = list(dict.fromkeys(workload.index[active].tolist()))
    group = np.arange(len(like), dtype=np.int64)
    stored: list[int] = []
    for row in order:
        match = next((s for s in stored if like[row, s]), None)
        if match is None:
            stored.append(row)
        else:
            group[row] = match
    return group


def _stored(workload: Workload, group: Ints, ttl_s: float, active: Mask) -> Hits:
    """A store that keeps the first answer of each group for `ttl_s` from when it was written."""
    hit = np.zeros(workload.n, dtype=bool)
    served = workload.index.copy()
    asked = np.flatnonzero(active)
    order = asked[np.argsort(group[asked], kind="stable")]
    for places in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        times = workload.arrival_s[places]
        at = 0
        while at < len(places):
            upto = int(np.searchsorted(times, times[at] + ttl_s, side="right"))
            hit[places[at + 1 : upto]] = True
            served[places[at + 1 : upto]] = workload.index[places[at]]
            at = max(upto, at + 1)
    return Hits(hit, served)


def similar(scenario: Scenario, threshold: float, *, guards: bool) -> Mask:
    """Which requests (m, m) a semantic cache takes for the same, at this cosine threshold.

    Only requests without history: an answer out of a conversation is not stored. With guards,
    pairs that one of them refuses (numbers, polarity, critical terms) do not count.
    """
    return _similar(scenario, threshold, guards)


@lru_cache(maxsize=64)
def _similar(scenario: Scenario, threshold: float, guards: bool) -> Mask:
    cosine = _cosines(scenario)
    alone = np.array([not r.history for r in scenario.requests])
    like: Mask = (cosine >= threshold) & alone[:, None] & alone[None, :]
    if guards:
        like &= ~_refused(scenario)
    np.fill_diagonal(like, alone)
    return like


def measured(scenario: Scenario) -> bool:
    """Whether similarities of this scenario's requests have been measured."""
    return bool(_table(scenario.id))


@lru_cache(maxsize=8)
def _cosines(scenario: Scenario) -> Array:
    """Measured similarity of each two requests, (m, m); -1 where it was not measured."""
    return _matrix(
        scenario, {pair: cosine for pair, (cosine, _) in _table(scenario.id).items()}, -1
    )


@lru_cache(maxsize=8)
def _refused(scenario: Scenario) -> Mask:
    """Which pairs (m, m) a guard refuses."""
    marks = {pair: float(refused) for pair, (_, refused) in _table(scenario.id).items()}
    return _matrix(scenario, marks, 0) > 0


def _matrix(scenario: Scenario, entries: Mapping[tuple[str, str], float], rest: float) -> Array:
    row = {r.id: i for i, r in enumerate(scenario.requests)}
    out: Array = np.full((len(row), len(row)), float(rest))
    for (a, b), value in entries.items():
        if a in row and b in row:
            out[row[a], row[b]] = out[row[b], row[a]] = value
    return out


@lru_cache(maxsize=8)
def _table(scenario_id: str) -> Mapping[tuple[str, str], tuple[float, bool]]:
    """Cosine of each measured pair, and whether a guard refuses it."""
    path = DATA / "measured" / "similarity.csv"
    if not path.exists():
        return {}
    found: dict[tuple[str, str], tuple[float, bool]] = {}
    with path.open(encoding="utf-8", newline="") as lines:
        for number, row in enumerate(csv.DictReader(lines), start=2):
            if row["scenario"] == scenario_id:
                value = float(row["cosine"])
                if not math.isfinite(value):
                    raise InvalidData(path.name, "is not a number", line=number, key="cosine")
                found[row["id_a"], row["id_b"]] = value, bool(row["guards"])
    return found

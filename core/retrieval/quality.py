"""Quality beside speed: what a setting finds, what a cache serves wrongly, with intervals."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from core.request import Request
from core.retrieval.encoders import encoder
from core.retrieval.guards import ALL_GUARDS, GuardId, objections
from core.retrieval.search import Found, Library, SearchSettings
from core.retrieval.semantic import NEIGHBOURS
from core.retrieval.vectors import Vectors

_Z95 = 1.959964  # two-sided 95 % point of the normal distribution


@dataclass(frozen=True, slots=True)
class Share:
    """A counted share with its 95 % Wilson interval; NaN where n is 0."""

    k: int
    n: int

    @property
    def value(self) -> float:
        """Return k of n, between 0 and 1; NaN where n is 0."""
        return self.k / self.n if self.n else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper end. Source: Wilson 1927; Brown, Cai & DasGupta 2001 for small n."""
        if not self.n:
            return math.nan, math.nan
        p, z2 = self.value, _Z95**2
        middle = (p + z2 / (2 * self.n)) / (1 + z2 / self.n)
        half = math.sqrt(p * (1 - p) / self.n + z2 / (4 * self.n**2)) * _Z95 / (1 + z2 / self.n)
        return max(0.0, middle - half), min(1.0, middle + half)

    def plain(self) -> dict[str, float | None]:
        """Return k, n, the share and its interval, for JSON; a share of nothing is None."""
        if not self.n:
            return {"k": 0, "n": 0, "share": None, "low": None, "high": None}
        low, high = self.interval
        return {"k": self.k, "n": self.n, "share": self.value, "low": low, "high": high}


def share_of(found: Collection[bool]) -> Share:
    """Return how many of these are true."""
    return Share(sum(found), len(found))


def pooled(shares: Iterable[Share]) -> Share:
    """Return several counted shares as one."""
    found = tuple(shares)
    return Share(sum(s.k for s in found), sum(s.n for s in found))


# --- retrieval -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Recall:
    """What a search finds of the labels.

    `answer` counts the requests whose answering document (the first label) is among the hits;
    `labelled` is the mean share of all labels found, of as many as `top_k` allows.
    """

    answer: Share
    labelled: float


def search_question(request: Request) -> str:
    """Return what the pipelines search for: the self-contained question or the search words."""
    for name in ("query", "search_query"):
        value = request.values.get(name)
        if isinstance(value, str) and value:
            return value
    return request.message


def searched(
    library: Library, requests: Iterable[Request], settings: SearchSettings
) -> list[tuple[Request, Found]]:
    """Search for each request; a question is embedded once, however many settings are compared."""
    return [
        (request, library.search(question, settings, question_vector(library, question)))
        for request in requests
        for question in (search_question(request),)
    ]


def question_vector(library: Library, question: str) -> Vectors:
    """Return the embedding of a question by the library's encoder for it, kept in this process."""
    return _vector(library.encoder_for(question).name, question)


@lru_cache(maxsize=4096)
def _vector(encoder_id: str, question: str) -> Vectors:
    row: Vectors = encoder(encoder_id).encode([question])[0]
    return row


def recall(results: Iterable[tuple[Request, Found]], top_k: int) -> Recall:
    """Return what searches found of the labels, over the requests that have any."""
    found: list[bool] = []
    shares: list[float] = []
    for request, result in results:
        if request.doc_ids:
            hits = {hit.id for hit in result.hits[:top_k]}
            found.append(request.doc_ids[0] in hits)
            possible = min(top_k, len(request.doc_ids))
            shares.append(len(hits & set(request.doc_ids)) / possible)
    mean = sum(shares) / len(shares) if shares else math.nan
    return Recall(Share(sum(found), len(found)), mean)


def auc(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """Return the chance that a positive scores higher than a negative; ties count half."""
    if not positives or not negatives:
        return math.nan
    pos, neg = np.asarray(positives)[:, None], np.asarray(negatives)[None, :]
    return float((pos > neg).mean() + (pos == neg).mean() / 2)


# --- semantic cache ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Candidate:
    """A cached neighbour of an asked question: whether its answer is right, and who objects."""

    cosine: float
    is_right: bool
    refused_by: frozenset[GuardId]


@dataclass(frozen=True, slots=True)
class Texts:
    """Questions with their vectors and what each means (equal labels, equal answer)."""

    texts: Sequence[str]
    vectors: Vectors
    meanings: Sequence[str]


@dataclass(frozen=True, slots=True)
class SweepRow:
    """A semantic cache at one threshold with some guards on.

    `hits` of all questions asked; `right` of the hits.
    """

    threshold: float
    guards: tuple[GuardId, ...]
    hits: Share
    right: Share

    def plain(self) -> dict[str, object]:
        """Return the row for JSON."""
        return {
            "threshold": self.threshold,
            "guards": list(self.guards),
            "hit_rate": self.hits.plain(),
            "right": self.right.plain(),
            "wrong_hits": self.right.n - self.right.k,
        }


def neighbourhoods(
    asked: Texts, cached: Texts, *, least: float, skip_self: bool = False
) -> list[tuple[Candidate, ...]]:
    """Return each asked question's nearest cached ones from cosine `least` on, nearest first.

    `skip_self` leaves out the question itself, where both sides are the same texts.
    """
    cosines: npt.NDArray[np.float32] = asked.vectors @ cached.vectors.T
    if skip_self:
        np.fill_diagonal(cosines, -1.0)
    count = min(NEIGHBOURS, cosines.shape[1])
    out: list[tuple[Candidate, ...]] = []
    for i, row in enumerate(cosines):
        near = np.argsort(-row, kind="stable")[:count]
        out.append(
            tuple(
                Candidate(
                    float(row[j]),
                    asked.meanings[i] == cached.meanings[j],
                    frozenset(o.guard for o in objections(asked.texts[i], cached.texts[j])),
                )
                for j in near
                if row[j] >= least
            )
        )
    return out


def sweep(
    asked: Sequence[tuple[Candidate, ...]],
    thresholds: Iterable[float],
    guards: Collection[GuardId] = ALL_GUARDS,
) -> tuple[SweepRow, ...]:
    """Return a row a threshold: the nearest candidate over it to which no guard objects is served.

    This is `SemanticLayer.find` over many questions at once.
    """
    on = frozenset(guards)
    rows = []
    for threshold in thresholds:
        served = [
            next((c for c in near if c.cosine >= threshold and not c.refused_by & on), None)
            for near in asked
        ]
        hits = [candidate.is_right for candidate in served if candidate is not None]
        rows.append(
            SweepRow(
                threshold,
                tuple(sorted(on)),
                Share(len(hits), len(asked)),
                Share(sum(hits), len(hits)),
            )
        )
    return tuple(rows)


def least_threshold(rows: Iterable[SweepRow], precision: float) -> SweepRow | None:
    """Return the row of the lowest threshold from which on the target holds, or None.

    "From which on": a lucky dip below a worse row does not count.
    """
    best: SweepRow | None = None
    for row in sorted(rows, key=lambda r: -r.threshold):
        if not row.right.n:
            continue
        if row.right.value < precision:
            break
        best = row
    return best

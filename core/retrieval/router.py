"""Routing by topic without a model call: the nearest centroid of labelled examples.

Honest about itself: the confidence is calibrated on the examples (each judged by centroids that
leave it out), and a message far from every topic or between two says so, for a model to decide.
How *hard* a message is cannot be read off its embedding; `bench router` measures that as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.errors import InputError
from core.retrieval.vectors import Vectors, unit

_TEMPERATURES = np.geomspace(0.01, 0.5, 40)  # searched for the calibrated one

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Route:
    """A topic with the probability that it is right; `runner_up` is the second, where there is one.

    `is_sure` tells whether to go without asking a model.
    """

    topic: str
    confidence: float
    runner_up: str | None
    is_sure: bool


class CentroidRouter:
    """Topics as the mean directions of their examples, with a calibrated softmax over cosines.

    Source: Snell et al. 2017 (class means in an embedding space); Guo et al. 2017 (temperature
    scaling), fitted here on leave-one-out scores instead of a held-out set.
    """

    def __init__(
        self, vectors: Vectors, topics: Sequence[str], *, least_confidence: float = 0.6
    ) -> None:
        """`vectors` are the examples, one row a topic label; every topic needs two examples.

        Below `least_confidence` a route is not sure. Raises: InputError for a topic with fewer.
        """
        self.topics = tuple(sorted(set(topics)))
        column = {topic: i for i, topic in enumerate(self.topics)}
        labels = np.array([column[topic] for topic in topics], dtype=np.int64)
        counts = np.bincount(labels, minlength=len(self.topics))
        for topic, examples in zip(self.topics, counts, strict=True):
            if examples < 2:
                raise InputError(f"router topic {topic!r} has {examples} example; two at least")
        self._least = least_confidence
        sums = np.zeros((len(self.topics), vectors.shape[1]), dtype=np.float32)
        np.add.at(sums, labels, vectors)
        self._centroids = unit(sums)
        self.temperature = _calibrated(_left_out(vectors, labels, sums), labels)

    def route(self, vector: Vectors) -> Route:
        """Return the topic of one message."""
        chances = _softmax((self._centroids @ vector)[None, :].astype(np.float64), self.temperature)
        order = np.argsort(-chances[0], kind="stable")
        best = float(chances[0, order[0]])
        runner_up = self.topics[order[1]] if len(order) > 1 else None
        return Route(self.topics[order[0]], best, runner_up, best >= self._least)


def _left_out(vectors: Vectors, labels: npt.NDArray[np.int64], sums: Vectors) -> Scores:
    """Return each example's cosines to the centroids, its own topic's made without it."""
    scores = (vectors @ unit(sums).T).astype(np.float64)
    own = unit(sums[labels] - vectors)
    scores[np.arange(len(labels)), labels] = np.einsum("ij,ij->i", own, vectors)
    return scores


def _calibrated(scores: Scores, labels: npt.NDArray[np.int64]) -> float:
    """Return the temperature under which the labels are most likely.

    As if one more example of every kind had gone wrong: otherwise examples that are all told apart
    would allow a claim of certainty. Source: Platt 1999, section 2.2 (out-of-sample targets).
    """
    count, topics = scores.shape
    doubt = 1 / (count + 2)
    target = np.full(scores.shape, doubt / max(1, topics - 1))
    target[np.arange(count), labels] = 1 - doubt
    losses = [
        -(target * np.log(np.maximum(_softmax(scores, float(t)), 1e-12))).sum(axis=1).mean()
        for t in _TEMPERATURES
    ]
    return float(_TEMPERATURES[int(np.argmin(losses))])


def _softmax(scores: Scores, temperature: float) -> Scores:
    raised = np.exp((scores - scores.max(axis=1, keepdims=True)) / temperature)
    chances: Scores = raised / raised.sum(axis=1, keepdims=True)
    return chances

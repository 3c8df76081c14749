"""Whether a small model's answer is good enough, judged without a model.

The gate of a cascade: the small model answers first, an answer that fails goes to the large one.
Each check is cheap and looks for one way in which small models go wrong; none of them knows whether
the answer is true. `bench retrieval` measures what the gate lets through.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from core.request import Lang
from core.retrieval.keywords import keyword_terms
from core.retrieval.quantities import quantities
from core.retrieval.script import script_of, words

Failing = Literal["empty", "language", "unfinished", "numbers", "off_topic"]

LEAST_SHARED = 0.35
"""Share of an answer's terms that its passages or question must hold. Source: `bench retrieval`:
right answers against answers to other questions."""

_LIST_NUMBER = re.compile(r"(?m)^\s*\d+[.)]\s")
_END = re.compile(r"[.!?。…)\]\"'”’~]\s*$")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an answer fails in; nothing means that it may be served."""

    failures: tuple[Failing, ...]

    @property
    def passes(self) -> bool:
        """Whether the small model's answer is kept."""
        return not self.failures


def judge(answer: str, *, question: str, passages: Sequence[str], lang: Lang) -> Verdict:
    """Return what is wrong with an answer to `question` from `passages`.

    Checks: something is said, in the language asked for, to the end; every quantity stands in the
    question or a passage; enough of its words do. Without passages the last two are left out.
    """
    plain = _LIST_NUMBER.sub("", answer)
    if not words(plain):
        return Verdict(("empty",))
    failures: list[Failing] = []
    if script_of(plain) != lang:
        failures.append("language")
    if not _END.search(answer):
        failures.append("unfinished")
    if passages:
        ground = " ".join((question, *passages))
        if not _values(plain) <= _values(ground):
            failures.append("numbers")
        said, known = set(keyword_terms(plain)), set(keyword_terms(ground))
        if len(said & known) < LEAST_SHARED * len(said):
            failures.append("off_topic")
    return Verdict(tuple(failures))


def _values(text: str) -> frozenset[str]:
    """Return the bare values of a text's quantities: an answer may name other units' words."""
    return frozenset(quantity.partition(" ")[0] for quantity in quantities(text))

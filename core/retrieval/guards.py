"""Three checks that two alike questions are the same question, before a cached answer is served.

Encoders put "within 30 days" and "after 30 days" closer together than two honest paraphrases, so no
threshold keeps near-misses out. Each guard looks for one kind of difference that an encoder reads
over, in English and Korean, and each is a switch: what it saves and the right hits it costs are
measured by `bench cache`. They are lists and patterns, made to be read and extended; what they do
not know passes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from core.retrieval.critical_terms import critical_differences
from core.retrieval.quantities import quantities

GuardId = Literal["numbers", "polarity", "critical_terms"]


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a cached answer must not be served: what only one of the two questions says."""

    guard: GuardId
    only_asked: tuple[str, ...]
    only_cached: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Guard:
    """A check by what only one of two questions says, for each of them; nothing is no objection."""

    id: GuardId
    differences: Callable[[str, str], tuple[frozenset[str], frozenset[str]]]

    def object_to(self, asked: str, cached: str) -> Objection | None:
        """Return what the two questions differ in, or None."""
        only_asked, only_cached = self.differences(asked, cached)
        if not only_asked and not only_cached:
            return None
        return Objection(self.id, tuple(sorted(only_asked)), tuple(sorted(only_cached)))


# "not only", "why not" and the like are read as negations too: a lost hit costs less than a wrong
# answer. Korean 안 counts only as a word of its own or before 되/돼/하/해, not in 안내 or 편안.
_NEGATION_EN = re.compile(
    r"\b(?:not|no|never|none|nothing|nobody|neither|nor|without|cannot|unable|isnt|dont|doesnt|"
    r"didnt|cant|wont|couldnt|hasnt|havent|wasnt|arent|\w+n['’]t)\b",
    re.IGNORECASE,
)
_NEGATION_KO = re.compile(
    r"(?<![가-힣])안\s|(?<![가-힣])안(?=[되돼됩된될하해합한할])|(?<![잘가-힣])못|지\s?(?:않|못|마|말)"
    r"|없|아니|아닌|말고|불가|(?<![가-힣])미(?=개봉|사용|배송)"
)


def _numbers(asked: str, cached: str) -> tuple[frozenset[str], frozenset[str]]:
    one, other = quantities(asked), quantities(cached)
    return one - other, other - one


def _polarity(asked: str, cached: str) -> tuple[frozenset[str], frozenset[str]]:
    one, other = _negations(asked), _negations(cached)
    return (frozenset(), frozenset()) if bool(one) == bool(other) else (one, other)


def _negations(question: str) -> frozenset[str]:
    found = (*_NEGATION_EN.findall(question), *_NEGATION_KO.findall(question))
    return frozenset(word.strip().lower() for word in found)


GUARDS: tuple[Guard, ...] = (
    Guard("numbers", _numbers),
    Guard("polarity", _polarity),
    Guard("critical_terms", critical_differences),
)

ALL_GUARDS: frozenset[GuardId] = frozenset(guard.id for guard in GUARDS)


def objections(
    asked: str, cached: str, switched_on: Iterable[GuardId] = ALL_GUARDS
) -> tuple[Objection, ...]:
    """Return what the switched-on guards hold against serving `cached`'s answer for `asked`."""
    chosen = frozenset(switched_on)
    found = (guard.object_to(asked, cached) for guard in GUARDS if guard.id in chosen)
    return tuple(objection for objection in found if objection is not None)

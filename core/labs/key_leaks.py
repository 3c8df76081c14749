"""What a cache hands over when its key leaves something out: asked twice, by two who differ.

The real exact layer's key is used with the parts left out, so a leak here is what would happen.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal, cast

from core.errors import UnknownName
from core.retrieval.keys import SCOPE_PARTS, CacheScope, Question
from core.retrieval.store import MemoryStore

Part = Literal["tenant", "prompt_version", "model", "parameters", "answer_lang", "index_version"]
PARTS: tuple[Part, ...] = cast("tuple[Part, ...]", SCOPE_PARTS)

FIRST = CacheScope.of(
    tenant="lumen-us",
    prompt_version="7",
    model="large",
    answer_lang="en",
    index_version="2026-10",
    parameters={"max_tokens": 400},
)
"""Who asks first. All others differ from it in one part."""

_OTHERS: dict[Part, CacheScope] = {
    "tenant": replace(FIRST, tenant="harbour-audio"),
    "prompt_version": replace(FIRST, prompt_version="8"),
    "model": replace(FIRST, model="small"),
    "parameters": replace(FIRST, parameters=(("max_tokens", "60"),)),
    "answer_lang": replace(FIRST, answer_lang="ko"),
    "index_version": replace(FIRST, index_version="2026-11"),
}


@dataclass(frozen=True, slots=True)
class Asking:
    """Two who ask the same words and differ in one part of the scope, and what the second gets.

    `first`, `second`: that part as each has it. `leaks`: the second gets the first one's answer.
    The keys are whole, as they would lie in the store.
    """

    part: Part
    first: str
    second: str
    leaks: bool
    first_key: str
    second_key: str


def askings(question: str, kept: Collection[str]) -> tuple[Asking, ...]:
    """Return for each part what happens when the key holds only the parts in `kept`.

    Raises: UnknownName for a part that does not exist, InputError for an empty question.
    """
    for name in kept:
        if name not in PARTS:
            raise UnknownName("part of the cache scope", name, PARTS)
    left_out = [part for part in PARTS if part not in kept]
    asked = Question(question)
    return tuple(_asking(part, asked, left_out) for part in PARTS)


def _asking(part: Part, question: Question, left_out: Collection[str]) -> Asking:
    second = _OTHERS[part]
    keys = [f"exact:{s.partition(left_out)}:{question.exact()}" for s in (FIRST, second)]
    store = MemoryStore()
    store.put(keys[0], b"the first one's answer", None)
    return Asking(
        part,
        _shown(FIRST, part),
        _shown(second, part),
        store.get(keys[1]) is not None,
        keys[0],
        keys[1],
    )


def _shown(scope: CacheScope, part: Part) -> str:
    value = getattr(scope, part)
    if isinstance(value, tuple):
        return ", ".join(f"{name}={setting}" for name, setting in value)
    return str(value)

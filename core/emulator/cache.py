"""A prompt cache that behaves like the vendors': which tokens of a prompt count as cached.

OpenAI's caches by itself: the longest prefix in common with an earlier prompt of the same key, from
a minimum, in steps. Anthropic's, and OpenAI's since GPT-5.6 when asked to, caches what is marked:
a marked prefix is found again only when it is exactly the same. An entry can be read only once the
answer of the request that wrote it has begun.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from core import tokens

LIFE_S = 300.0
"""How long an entry lives after its last use. Source: Anthropic's default, 5 minutes."""

MOST_ENTRIES = 256
"""Bound on memory; the entry used longest ago goes first."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """What the cache holds of one prompt; `commit` makes readable what it will hold."""

    read_tok: int
    written_tok: int
    commit: Callable[[], None]


class PromptCache:
    """The prompts of an emulator; `now` is its clock in seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._prompts: OrderedDict[tuple[str, str], tuple[str, float]] = OrderedDict()

    def automatic(self, scope: str, prompt: str, *, minimum_tok: int, step_tok: int) -> Lookup:
        """Look a prompt up by its longest prefix that an earlier prompt of the scope shares."""
        best = ""
        for (found_in, _), (text, until_s) in self._prompts.items():
            if found_in == scope and until_s > self._now():
                best = max(best, _shared(text, prompt), key=len)
        have = tokens.count(best)
        read = have // step_tok * step_tok if have >= minimum_tok else 0
        long_enough = tokens.count(prompt) >= minimum_tok
        return Lookup(read, 0, lambda: self._keep(scope, prompt) if long_enough else None)

    def marked(self, scope: str, prefixes: tuple[str, ...], *, minimum_tok: int) -> Lookup:
        """Look marked prefixes up, shortest first; the longest known one is read."""
        kept = [p for p in prefixes if tokens.count(p) >= minimum_tok]
        known = [p for p in kept if self._has(scope, p)]
        read = tokens.count(known[-1]) if known else 0
        written = tokens.count(kept[-1]) - read if kept else 0

        def commit() -> None:
            for prefix in kept:
                self._keep(scope, prefix)

        return Lookup(read, written, commit)

    def clear(self) -> None:
        """Forget everything."""
        self._prompts.clear()

    def _has(self, scope: str, text: str) -> bool:
        _, until_s = self._prompts.get((scope, _digest(text)), ("", 0.0))
        return until_s > self._now()

    def _keep(self, scope: str, text: str) -> None:
        key = (scope, _digest(text))
        self._prompts[key] = (text, self._now() + LIFE_S)
        self._prompts.move_to_end(key)
        while len(self._prompts) > MOST_ENTRIES:
            self._prompts.popitem(last=False)


def _shared(a: str, b: str) -> str:
    """Return the longest prefix that both texts begin with, by halving."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[:middle] == b[:middle]:
            low = middle
        else:
            high = middle - 1
    return a[:low]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

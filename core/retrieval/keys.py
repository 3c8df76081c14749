"""What a cached answer depends on, and the keys made of it.

An answer is right only for the same tenant, prompt, model, parameters, answer language and index,
and for the same question *in its conversation*. A key that leaves one of them out hands answers
over where they do not belong, so `CacheScope` has no defaults and refuses empty parts.

| layer | depends on | not on |
| --- | --- | --- |
| exact and semantic answer | every part of the scope, and the question | |
| retrieval | tenant, index version, search settings, question | prompt, model, answer language |
| embedding | encoder, text | anything else: a vector says nothing about a tenant |
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache

from core.errors import InputError, UnknownName
from core.request import Lang
from core.retrieval.script import normalise


@dataclass(frozen=True, slots=True)
class CacheScope:
    """Everything but the question that an answer depends on.

    `parameters` are those of the model call that change its output, sorted by name; build a scope
    with `CacheScope.of`, which sorts them. Raises: InputError for an empty part.
    """

    tenant: str
    prompt_version: str
    model: str
    parameters: tuple[tuple[str, str], ...]
    answer_lang: Lang
    index_version: str

    def __post_init__(self) -> None:
        for part in ("tenant", "prompt_version", "model", "answer_lang", "index_version"):
            if not getattr(self, part):
                raise InputError(f"cache scope: {part} is empty; name one, or answers would cross")
        if list(self.parameters) != sorted(dict(self.parameters).items()):
            raise InputError("cache scope: parameters must be sorted by name, each named once")

    @classmethod
    def of(
        cls,
        *,
        tenant: str,
        prompt_version: str,
        model: str,
        answer_lang: Lang,
        index_version: str,
        parameters: Mapping[str, object] | None = None,
    ) -> CacheScope:
        """Return a scope with its parameters as sorted text."""
        pairs = tuple(sorted((name, repr(value)) for name, value in (parameters or {}).items()))
        return cls(tenant, prompt_version, model, pairs, answer_lang, index_version)

    def partition(self, leave_out: Iterable[str] = ()) -> str:
        """Return the digest of the scope; answers are looked for only among those that share it.

        `leave_out` names parts to ignore. It exists to show what then goes wrong; nothing that
        serves answers passes it. Raises: UnknownName for a part that does not exist.
        """
        return _partition(self, frozenset(leave_out))


SCOPE_PARTS: tuple[str, ...] = tuple(field.name for field in fields(CacheScope))


@lru_cache(maxsize=1024)
def _partition(scope: CacheScope, dropped: frozenset[str]) -> str:
    for name in sorted(dropped - set(SCOPE_PARTS)):
        raise UnknownName("part of the cache scope", name, SCOPE_PARTS)
    kept = [(part, str(getattr(scope, part))) for part in SCOPE_PARTS if part not in dropped]
    return digest(*(text for pair in kept for text in pair))


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: the self-contained text, or a text with the turns it leans on.

    "And after that?" means something else in every conversation. Either a contextualising step has
    made the text stand alone, then `earlier` is empty; or `earlier` holds the turns before it, and
    only the same turns match. Raises: InputError for an empty text.
    """

    text: str
    earlier: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not normalise(self.text):
            raise InputError("cache key: the question is empty; give the self-contained question")

    def context(self) -> str:
        """Return the digest of the turns before the question."""
        return digest(*(normalise(turn) for turn in self.earlier))

    def exact(self) -> str:
        """Return the digest under which the exact layer looks for it."""
        return digest(normalise(self.text), *(normalise(turn) for turn in self.earlier))


def digest(*parts: str) -> str:
    """Return 128 bits, in hex, of the parts and their borders: ("ab", "c") is not ("a", "bc")."""
    pieces: list[bytes] = []
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        pieces.append(len(raw).to_bytes(8, "big"))
        pieces.append(raw)
    return hashlib.blake2b(b"".join(pieces), digest_size=16).hexdigest()

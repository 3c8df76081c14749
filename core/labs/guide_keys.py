"""A published saving counted again: the support assistant's long keys against short ones.

A vendor's guide says of its example, an assistant like ours, that shorter keys save 19 tokens.
Counted here are the same keys with their values left out, in both token tables; and once more with
each short key explained where it stands, as one writes it when nobody else knows the names.

Source: OpenAI, Latency optimization guide, the customer service example.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from core import tokens
from core.output import write
from core.plan import Field, LlmStep, Signature
from core.prompt import output_instructions
from core.scenarios import scenario

CLAIMED = 19
"""Tokens the guide says its short keys save."""

SCENARIO, STEP = "support", "assistant"


@dataclass(frozen=True, slots=True)
class KeyCount:
    """Tokens under one encoding: keys as they are, short, and short with comments.

    `keys` is how many keys the object has.
    """

    encoding: str
    keys: int
    long_tok: int
    short_tok: int
    commented_tok: int

    @property
    def saved(self) -> int:
        """What short keys save."""
        return self.long_tok - self.short_tok

    @property
    def saved_with_comments(self) -> int:
        """What is left of it when comments are written too; below 0 it costs."""
        return self.long_tok - self.commented_tok


@dataclass(frozen=True, slots=True)
class InPractice:
    """A real answer under one encoding, and the part of the prompt that explains the keys."""

    encoding: str
    answer_long_tok: int
    answer_short_tok: int
    answer_minified_tok: int
    prompt_long_tok: int
    prompt_short_tok: int


@lru_cache(maxsize=1)
def key_counts() -> tuple[KeyCount, ...]:
    """Count the routine fields (those the guide shortens) and all fields, in each table."""
    fields = _signature().fields
    routine = tuple(f for f in fields if f.difficulty == "routine")
    return tuple(
        _counted(table.encoding, chosen) for chosen in (routine, fields) for table in tokens.TABLES
    )


def _counted(encoding: str, fields: Sequence[Field]) -> KeyCount:
    def count(line: Callable[[Field], str]) -> int:
        return tokens.count("{\n" + "\n".join(line(f) for f in fields) + "\n}", encoding)

    return KeyCount(
        encoding,
        len(fields),
        count(lambda f: f'"{f.name}": "...",'),
        count(lambda f: f'"{f.alias}": "...",'),
        count(lambda f: f'"{f.alias}": "...", // {f.description}'),
    )


@lru_cache(maxsize=1)
def in_practice() -> tuple[InPractice, ...]:
    """Count the reference answer to the first example request, and the instructions for it."""
    signature = _signature()
    short = replace(signature, short_keys=True)
    minified = replace(short, minify=True)
    values = scenario(SCENARIO).requests[0].values
    answers = [write(s, values).text for s in (signature, short, minified)]
    prompts = [output_instructions(s) for s in (signature, short)]
    return tuple(
        InPractice(table.encoding, *(tokens.count(t, table.encoding) for t in (*answers, *prompts)))
        for table in tokens.TABLES
    )


def long_json() -> str:
    """Return the first example's answer as JSON with long keys: something to start from."""
    return write(_signature(), scenario(SCENARIO).requests[0].values).text


def _signature() -> Signature:
    step = scenario(SCENARIO).plan.step(STEP)
    if not isinstance(step, LlmStep):
        raise TypeError(f"{STEP} of {SCENARIO} is not a model call")
    return step.signature

"""What each family of hosted models accepts, with source and date; and what a request will lose.

One row per family, found by the longest prefix of the model's id. A row only decides what is sent
in the first place: an endpoint that still answers 400 is asked again without the option it names
(`core.providers.hosted`), so a missing or outdated row costs one round trip, not a failure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from core import tokens
from core.providers.base import CallRequest
from core.text import Note

Api = Literal["chat", "responses", "messages"]

RESPONSES_MIN_OUTPUT_TOK = 16
"""Smallest `max_output_tokens` the Responses API takes. Source: its error text, 2026-10."""


class Fact(StrEnum):
    """What a NOTE chunk's text says; the sentence is the text `provider.note.<id>`."""

    COLD_CONNECTION = "cold_connection"
    ESTIMATED_USAGE = "estimated_usage"
    TRUNCATED = "truncated"
    FILTERED = "filtered"
    EMPTY_ANSWER = "empty_answer"
    NO_FINISH_REASON = "no_finish_reason"
    NOTHING_CACHED = "nothing_cached"
    NO_PREDICTION = "no_prediction"
    PREDICTION_WITHOUT_LIMIT = "prediction_without_limit"
    NO_TEMPERATURE = "no_temperature"
    NO_STOP = "no_stop"
    THINKING_ALWAYS_ON = "thinking_always_on"
    NO_STREAM_OPTIONS = "no_stream_options"
    NO_MAX_COMPLETION_TOKENS = "no_max_completion_tokens"
    NO_MAX_TOKENS = "no_max_tokens"
    NO_RESPONSE_FORMAT = "no_response_format"
    NO_PROMPT_CACHE_KEY = "no_prompt_cache_key"
    NO_PROMPT_CACHE_OPTIONS = "no_prompt_cache_options"
    NO_REASONING_EFFORT = "no_reasoning_effort"
    NO_REASONING = "no_reasoning"
    NO_THINKING = "no_thinking"
    NO_OUTPUT_CONFIG = "no_output_config"
    NO_TEXT = "no_text"
    NO_MAX_OUTPUT_TOKENS = "no_max_output_tokens"

    @property
    def note(self) -> Note:
        """The fact as a sentence in both languages."""
        return Note.of(f"provider.note.{self.value}")


class Sampling(StrEnum):
    """When a model accepts a temperature."""

    ALWAYS = "always"
    WITHOUT_REASONING = "without_reasoning"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Family:
    """What the models whose id starts with `prefix` accept.

    `cache_marks`: only what is marked is cached, and asking not to cache is possible.
    `cache_write_factor`: price of writing over the price of plain input. `no_thinking`: the value
    of Anthropic's `thinking.type` that turns it off, "" where it is off unless asked for, None
    where it cannot be turned off. `manual_thinking`: thinking is asked for with a token budget.
    """

    prefix: str
    source: str
    date: str
    predictions: bool = False
    sampling: Sampling = Sampling.ALWAYS
    stop: bool = True
    efforts: bool = True
    cache_marks: bool = False
    cache_minimum_tok: int = 1024
    cache_write_factor: float = 1.0
    no_thinking: str | None = ""
    manual_thinking: bool = False


_OPENAI = "OpenAI API reference in the SDK, 3.57"
_OPENAI_CACHE = "OpenAI prompt caching guide and API reference in the SDK, 3.57"
_ANTHROPIC = "Anthropic model pages, prompt caching and thinking guides"

OPENAI: tuple[Family, ...] = (
    Family("gpt-4o", "OpenAI predicted outputs guide", "2026-10", predictions=True, efforts=False),
    Family("gpt-4.1", "OpenAI predicted outputs guide", "2026-10", predictions=True, efforts=False),
    Family("gpt-4", _OPENAI, "2026-11", efforts=False),
    Family("gpt-3.5", _OPENAI, "2026-11", efforts=False),
    Family("o", _OPENAI, "2026-11", sampling=Sampling.NEVER, stop=False),
    Family("gpt-5", _OPENAI, "2026-11", sampling=Sampling.NEVER, stop=False),
    *(
        Family(f"gpt-5.{n}", _OPENAI, "2026-11", sampling=Sampling.WITHOUT_REASONING)
        for n in range(1, 6)
    ),
    *(
        Family(
            prefix,
            _OPENAI_CACHE,
            "2026-11",
            sampling=Sampling.WITHOUT_REASONING,
            cache_marks=True,
            cache_write_factor=1.25,
        )
        for prefix in ("gpt-5.6", "gpt-5.7", "gpt-5.8", "gpt-5.9", "gpt-6", "gpt-7")
    ),
)
"""Chat Completions and Responses. Families later than the table are taken as the latest in it."""


def _claude(
    prefix: str,
    minimum_tok: int,
    *,
    sampling: Sampling = Sampling.NEVER,
    no_thinking: str | None = "disabled",
    efforts: bool = True,
    manual_thinking: bool = False,
) -> Family:
    return Family(
        prefix,
        _ANTHROPIC,
        "2026-10",
        sampling=sampling,
        efforts=efforts,
        cache_marks=True,
        cache_minimum_tok=minimum_tok,
        cache_write_factor=1.25,
        no_thinking=no_thinking,
        manual_thinking=manual_thinking,
    )


ANTHROPIC: tuple[Family, ...] = (
    _claude("claude", 1024),
    _claude("claude-haiku-5-5", 512),
    _claude("claude-sonnet-5-5", 512, no_thinking="between_tools"),
    _claude("claude-opus-5-5", 512, no_thinking=None),
    _claude("claude-fable", 512, no_thinking=None),
    _claude("claude-opus-5", 512),
    _claude("claude-sonnet-5", 1024),
    _claude("claude-opus-4-8", 1024),
    _claude("claude-opus-4-7", 2048),
    # 4.6: measured by users at 2,048 where 1,024 is documented (anthropic-sdk-python issue 1194)
    _claude("claude-sonnet-4-6", 1024, sampling=Sampling.ALWAYS, no_thinking=""),
    _claude("claude-opus-4-6", 4096, sampling=Sampling.ALWAYS, no_thinking=""),
    _claude(
        "claude-opus-4-5", 4096, sampling=Sampling.ALWAYS, no_thinking="", manual_thinking=True
    ),
    *(
        _claude(
            prefix,
            minimum_tok,
            sampling=Sampling.ALWAYS,
            no_thinking="",
            efforts=False,
            manual_thinking=True,
        )
        for prefix, minimum_tok in (("claude-haiku-4-5", 4096), ("claude-sonnet-4", 1024))
    ),
)
"""Messages. The first row is for names that no other row knows: the rules of the 5 family."""

COMPATIBLE = Family("", "servers differ: options they refuse are left out", "2026-11")


def family(model: str, table: tuple[Family, ...]) -> Family:
    """Return the row with the longest prefix of `model`, else `COMPATIBLE`."""
    rows = [row for row in table if model.startswith(row.prefix)]
    return max(rows, key=lambda row: len(row.prefix), default=COMPATIBLE)


def split_effort(model: str) -> tuple[str, str | None]:
    """Split a profile's name into the model's id and its effort: `gpt-5.5 (none)`, `gpt-4o`.

    What follows ` @ ` (the host, in names of models with several) is dropped.
    """
    found = re.fullmatch(r"(?P<id>[^()@]+?)\s*(?:\((?P<effort>[^()]+)\))?\s*(?:@.*)?", model)
    if found is None:
        return model, None
    return found["id"], found["effort"]


def reasons(effort: str | None, row: Family) -> bool:
    """Return whether a call at this effort may think first; without one, its default counts."""
    if effort is None:
        return row.sampling is not Sampling.ALWAYS
    return effort not in {"none", "no thinking"}


def accepts_temperature(effort: str | None, row: Family) -> bool:
    """Return whether a temperature may be sent."""
    if row.sampling is Sampling.WITHOUT_REASONING:
        return not reasons(effort, row)
    return row.sampling is Sampling.ALWAYS


def losses(request: CallRequest, api: Api, row: Family) -> tuple[Fact, ...]:
    """Return what the model's API cannot do of what the request asks, without asking it."""
    _, effort = split_effort(request.model)
    found = []
    if request.prediction is not None:
        if api != "chat" or not row.predictions:
            found.append(Fact.NO_PREDICTION)
        elif request.max_tokens is not None:
            found.append(Fact.PREDICTION_WITHOUT_LIMIT)
    if request.temperature is not None and not accepts_temperature(effort, row):
        found.append(Fact.NO_TEMPERATURE)
    if request.stop and (api == "responses" or not row.stop):
        found.append(Fact.NO_STOP)
    if api == "messages" and effort == "no thinking" and row.no_thinking is None:
        found.append(Fact.THINKING_ALWAYS_ON)
    return tuple(found)


def below_cache_minimum(request: CallRequest, row: Family) -> Note | None:
    """Return a note when the static prefix is too short for the model's prompt cache.

    Counts with OpenAI's newest table, which is an estimate for other vendors.
    """
    if request.cache_key is None:
        return None
    static = request.messages[: request.static_messages]
    have = sum(tokens.count(message.text) for message in static)
    if have >= row.cache_minimum_tok:
        return None
    return Note.of("provider.note.below_cache_minimum", have=have, minimum=row.cache_minimum_tok)

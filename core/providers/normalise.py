"""Vendors' usage counts and errors in this package's words; the only place that knows both.

Usage: OpenAI's prompt tokens include the cached ones, Anthropic's exclude both what was read from
the cache and what was written to it. A count that was not reported stays None.
"""

from __future__ import annotations

import email.utils
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core import tokens
from core.errors import BrokenStream, ProviderError, RateLimited, TimedOut
from core.keys import scrub
from core.providers.base import Message, Usage

if TYPE_CHECKING:
    import anthropic.types
    import openai.types
    import openai.types.responses

CACHE_WRITE_TOK = "cache_write_tok"
"""Key in `Usage.extra`: tokens written to a prompt cache, a subset of `tokens_in`."""

LONGEST_MESSAGE = 300
"""Vendors' error texts are cut here: some quote the whole request."""


def chat_usage(usage: openai.types.CompletionUsage) -> Usage:
    """Return the usage of a Chat Completions stream's last chunk."""
    prompt, completion = usage.prompt_tokens_details, usage.completion_tokens_details
    return Usage(
        tokens_in=usage.prompt_tokens,
        tokens_cached=prompt.cached_tokens if prompt else None,
        tokens_out=usage.completion_tokens,
        tokens_reasoning=completion.reasoning_tokens if completion else None,
        tokens_accepted=completion.accepted_prediction_tokens if completion else None,
        tokens_rejected=completion.rejected_prediction_tokens if completion else None,
        extra=_extra(prompt.cache_write_tokens if prompt else None),
    )


def responses_usage(usage: openai.types.responses.ResponseUsage) -> Usage:
    """Return the usage of a Responses stream's last event."""
    inputs, outputs = usage.input_tokens_details, usage.output_tokens_details
    return Usage(
        tokens_in=usage.input_tokens,
        tokens_cached=getattr(inputs, "cached_tokens", None),
        tokens_out=usage.output_tokens,
        tokens_reasoning=getattr(outputs, "reasoning_tokens", None),
        extra=_extra(getattr(inputs, "cache_write_tokens", None)),
    )


@dataclass(slots=True)
class MessagesUsage:
    """Anthropic's counts as they come in: each event's are cumulative, so the last value wins."""

    uncached: int | None = None
    read: int | None = None
    written: int | None = None
    out: int | None = None
    thinking: int | None = None

    def update(self, usage: anthropic.types.Usage | anthropic.types.MessageDeltaUsage) -> None:
        """Take what this event reports; what it does not report stays."""
        self.uncached = _latest(usage.input_tokens, self.uncached)
        self.read = _latest(usage.cache_read_input_tokens, self.read)
        self.written = _latest(usage.cache_creation_input_tokens, self.written)
        self.out = _latest(usage.output_tokens, self.out)
        details = usage.output_tokens_details
        self.thinking = _latest(details.thinking_tokens if details else None, self.thinking)

    def total(self) -> Usage | None:
        """Return the sum in this package's terms; None when no event reported anything."""
        if self.uncached is None and self.out is None:
            return None
        parts = (self.uncached, self.read, self.written)
        return Usage(
            tokens_in=None if self.uncached is None else sum(part or 0 for part in parts),
            tokens_cached=self.read,
            tokens_out=self.out,
            tokens_reasoning=self.thinking,
            extra=_extra(self.written),
        )


def estimated_usage(messages: Iterable[Message], answer: str) -> Usage:
    """Return one tokenisation of the joined texts, for endpoints that report no usage.

    The frames a chat format puts round each message are not counted.
    """
    return Usage(
        tokens_in=sum(tokens.count(message.text) for message in messages),
        tokens_out=tokens.count(answer),
        source="estimated",
    )


def _latest(new: int | None, old: int | None) -> int | None:
    return old if new is None else new


def _extra(written: int | None) -> Mapping[str, float]:
    return {} if written is None else {CACHE_WRITE_TOK: written}


@dataclass(frozen=True, slots=True)
class Sdk:
    """The error classes of one vendor's SDK that the map below tells apart."""

    timeout: type[Exception]
    connection: type[Exception]
    status: type[Exception]
    any_error: type[Exception]


def explain(
    error: Exception, sdk: Sdk, *, provider: str, begun: bool, keys: Iterable[str | None]
) -> ProviderError:
    """Return the error of this package that a vendor's or the network's error amounts to.

    `begun` says that the answer's headers had arrived: what goes wrong after them is a broken
    stream, whatever its class. The text names the provider and holds no key.
    """
    import httpx2  # noqa: PLC0415  (only needed once a call was made)

    if isinstance(error, (TimeoutError, sdk.timeout, httpx2.TimeoutException)):
        return TimedOut(f"{provider}: nothing arrived for longer than allowed")
    text = f"{provider}: {_short(scrub(_message_of(error), keys))}"
    status = getattr(error, "status_code", None) if isinstance(error, sdk.status) else None
    if status == 429 or _kind_of(error) == "rate_limit_error":
        return RateLimited(text, retry_after_s=_retry_after_s(error))
    if begun:
        return BrokenStream(text)
    if isinstance(error, (sdk.connection, httpx2.TransportError)):
        return ProviderError(f"{provider} cannot be reached: {_short(scrub(_root(error), keys))}")
    return ProviderError(text, status=status)


def _message_of(error: Exception) -> str:
    """Return what the vendor says, without the dump of the whole body the SDKs put around it."""
    body = getattr(error, "body", None)
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        if isinstance(inner, Mapping) and isinstance(inner.get("message"), str):
            return str(inner["message"])
        if isinstance(inner, str):
            return inner
    return str(error) or type(error).__name__


def _root(error: BaseException) -> str:
    """Return the text of the first cause; the SDKs say no more than "Connection error."."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error) or type(error).__name__


def _kind_of(error: Exception) -> object:
    body = getattr(error, "body", None)
    inner = body.get("error") if isinstance(body, Mapping) else None
    return inner.get("type") if isinstance(inner, Mapping) else None


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_MESSAGE else f"{line[:LONGEST_MESSAGE]} ..."


def _retry_after_s(error: Exception) -> float | None:
    """Return the wait the endpoint asked for; None where it did not say or cannot be read.

    Understands `retry-after-ms`, seconds, and a date (read against the response's own date, so
    that a wrong clock here does not matter).
    """
    headers = getattr(getattr(error, "response", None), "headers", {})
    for name, scale in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            return max(float(headers.get(name, "")) * scale, 0.0)
        except ValueError:
            continue
    try:
        until = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
        now = email.utils.parsedate_to_datetime(headers.get("date", ""))
    except ValueError:
        return None
    return max((until - now).total_seconds(), 0.0)

"""Anthropic's Messages, through the official SDK.

Prompt caching is explicit here: the static prefix is marked when it is on, and nothing is cached
when it is not, so no nonce is needed to keep two arms of a comparison apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, cast

from core.providers import normalise, rehearsal
from core.providers.base import CallRequest, ChunkKind, Message
from core.providers.capabilities import (
    ANTHROPIC,
    Api,
    Fact,
    Family,
    accepts_temperature,
    family,
    split_effort,
)
from core.providers.endpoint import Endpoint
from core.providers.hosted import HostedProvider
from core.providers.reading import EventStream, Piece, Reading
from core.providers.refusals import Body

if TYPE_CHECKING:
    import httpx2
    from anthropic import AsyncAnthropic
    from anthropic.types import RawContentBlockDeltaEvent, RawMessageStreamEvent

ANTHROPIC_URL = "https://api.anthropic.com"

DEFAULT_MAX_TOK = 4096
"""Limit sent where the request has none: the API insists on one. Assumption: long answers fit."""

THINKING_BUDGET_TOK = 1024
"""Budget for models that want one. Source: the API's documented minimum, 2026-11."""

ENDS = {
    "max_tokens": Fact.TRUNCATED,
    "model_context_window_exceeded": Fact.TRUNCATED,
    "refusal": Fact.FILTERED,
}
IN_EXTRA_BODY = ("temperature", "playground")
"""Fields that the SDK has no argument for: the first is gone from it since 1.0."""


@dataclass(slots=True)
class _Reading(Reading):
    counts: normalise.MessagesUsage = field(default_factory=normalise.MessagesUsage)


class AnthropicMessages(HostedProvider["AsyncAnthropic", "RawMessageStreamEvent"]):
    """Models behind Messages."""

    api: ClassVar[Api] = "messages"
    optional = ("temperature", "thinking", "output_config")

    rehearsal = rehearsal.MESSAGES

    def __init__(self, endpoint: Endpoint, *, name: str = "anthropic") -> None:
        super().__init__(endpoint, name=name)

    def family(self, model: str) -> Family:
        """Return what is known about the model."""
        return family(model, ANTHROPIC)

    def sdk(self) -> normalise.Sdk:
        """Import the SDK and return its error classes."""
        import anthropic  # noqa: PLC0415  (0.5 to 1.5 s)

        return normalise.Sdk(
            timeout=anthropic.APITimeoutError,
            connection=anthropic.APIConnectionError,
            status=anthropic.APIStatusError,
            any_error=anthropic.AnthropicError,
        )

    def make_client(self, http: httpx2.AsyncClient, endpoint: Endpoint) -> AsyncAnthropic:
        """Return the SDK's client."""
        from anthropic import AsyncAnthropic  # noqa: PLC0415  (as above)

        return AsyncAnthropic(
            api_key=endpoint.api_key,
            base_url=endpoint.base_url,
            max_retries=0,
            timeout=None,
            http_client=http,
            default_headers=endpoint.headers,
        )

    def messages(self, request: CallRequest) -> tuple[Message, ...]:
        """Return the messages to send: as they are, see the module's text."""
        return request.messages

    def body(self, request: CallRequest) -> Body:
        """Return the request as Messages takes it."""
        model, effort = split_effort(request.model)
        row = self.family(model)
        system, turns = self._prompt(request)
        body: Body = {
            "model": model,
            "messages": turns,
            "max_tokens": request.max_tokens or DEFAULT_MAX_TOK,
            **self.script(request),
        }
        if system:
            body["system"] = system
        if request.stop:
            body["stop_sequences"] = list(request.stop)
        if request.temperature is not None and accepts_temperature(effort, row):
            body["temperature"] = request.temperature
        _add_thinking(body, effort, row)
        config: Body = {}
        if effort is not None and row.efforts and effort not in {"thinking", "no thinking"}:
            config["effort"] = effort
        if request.json_schema is not None:
            config["format"] = {"type": "json_schema", "schema": request.json_schema}
        if config:
            body["output_config"] = config
        return body

    def _prompt(self, request: CallRequest) -> tuple[list[Body], list[Body]]:
        """Return the system blocks and the turns, the last static one marked for the cache."""
        system: list[Body] = []
        turns: list[Body] = []
        for number, message in enumerate(self.messages(request), start=1):
            block: Body = {"type": "text", "text": message.text}
            if request.cache_key is not None and number == request.static_messages:
                block["cache_control"] = {"type": "ephemeral"}
            if message.role == "system":
                system.append(block)
            else:
                turns.append({"role": message.role, "content": [block]})
        return system, turns

    async def send(self, client: AsyncAnthropic, body: Body) -> EventStream[RawMessageStreamEvent]:
        """Send the request; returns once the answer's headers are there."""
        known = {name: value for name, value in body.items() if name not in IN_EXTRA_BODY}
        extra = {name: body[name] for name in IN_EXTRA_BODY if name in body}
        opened = await client.messages.create(  # type: ignore[call-overload]
            stream=True, extra_body=extra or None, **known
        )
        return cast("EventStream[RawMessageStreamEvent]", opened)

    def new_reading(self) -> Reading:
        """Return a reading that adds up usage from several events."""
        return _Reading()

    def read(self, event: RawMessageStreamEvent, reading: Reading) -> Iterator[Piece]:
        """Yield the pieces of an event; usage is cumulative and the last value wins."""
        assert isinstance(reading, _Reading)  # noqa: S101  (made by `new_reading`)
        match event.type:
            case "content_block_delta":
                yield from _piece_of(event)
            case "content_block_start":
                if event.content_block.type == "text" and event.content_block.text:
                    yield ChunkKind.TEXT, event.content_block.text
            case "message_start":
                reading.counts.update(event.message.usage)
            case "message_delta":
                reading.counts.update(event.usage)
                reading.usage = reading.counts.total()
                if event.delta.stop_reason is not None:
                    reading.finish(ENDS.get(event.delta.stop_reason))
            case _:
                return


def _piece_of(event: RawContentBlockDeltaEvent) -> Iterator[Piece]:
    delta = event.delta
    match delta.type:
        case "text_delta":
            piece = (ChunkKind.TEXT, delta.text)
        case "thinking_delta":
            piece = (ChunkKind.REASONING, delta.thinking)
        case "input_json_delta":
            piece = (ChunkKind.TOOL, delta.partial_json)
        case _:
            return
    if piece[1]:
        yield piece


def _add_thinking(body: Body, effort: str | None, row: Family) -> None:
    """Turn thinking off or on as the profile's effort says; without one, the model decides."""
    if effort == "no thinking" and row.no_thinking:
        body["thinking"] = {"type": row.no_thinking}
    elif effort == "thinking" and row.manual_thinking:
        limit = body["max_tokens"]
        assert isinstance(limit, int)  # noqa: S101  (set by `body`)
        body["thinking"] = {"type": "enabled", "budget_tokens": THINKING_BUDGET_TOK}
        body["max_tokens"] = limit + THINKING_BUDGET_TOK

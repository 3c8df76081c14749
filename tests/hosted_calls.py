"""Calls of hosted providers: to the emulator, and to a server that sends recorded bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from core.emulator import EmulatedModel, Emulator
from core.providers.anthropic_messages import AnthropicMessages
from core.providers.base import CallRequest, Chunk, ChunkKind, Message, Usage
from core.providers.compatible import Compatible
from core.providers.endpoint import Endpoint
from core.providers.hosted import HostedProvider
from core.providers.openai_chat import OpenAIChat
from core.providers.openai_responses import OpenAIResponses
from tests.recorded_server import Recorded, events, named, recorded

FAST = EmulatedModel(ttft_s=0.01, tpot_s=0.0005)
KEY = "sk-test-0123456789"
ASK = CallRequest(
    "gpt-4o", (Message("system", "Be brief."), Message("user", "Hi")), deadline_s=30.0
)
LONG = (
    "The rules of this house are written on the wall beside the door, and nobody reads them. " * 90
)
CACHED = CallRequest(
    "gpt-4o",
    (Message("system", LONG), Message("user", "Hi")),
    static_messages=1,
    cache_key="rules",
    scripted_text="Yes.",
)

Event = dict[str, Any]
Hosted = HostedProvider[Any, Any]


def chat_delta(finish: str | None = None, **delta: object) -> Event:
    """A piece of a chat completion."""
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def response(status: str, **fields: object) -> Event:
    """The last event of OpenAI's Responses."""
    return {"type": f"response.{status}", "response": {"id": "1", "status": status, **fields}}


def response_delta(of: str, words: str) -> Event:
    """A piece of OpenAI's Responses."""
    place = {"item_id": "1", "output_index": 0, "content_index": 0}
    return {"type": f"response.{of}.delta", **place, "delta": words}


def message_start(**usage: int) -> Event:
    """The first event of Anthropic's Messages."""
    counts = {"input_tokens": 9, "output_tokens": 1, **usage}
    message = {"id": "1", "type": "message", "role": "assistant", "content": [], "model": "m"}
    return {"type": "message_start", "message": {**message, "usage": counts}}


def block_delta(**delta: str) -> Event:
    """A piece of Anthropic's Messages."""
    return {"type": "content_block_delta", "index": 0, "delta": delta}


def message_delta(reason: str | None = "end_turn", **usage: int) -> Event:
    """What Anthropic's Messages say at the end of an answer."""
    delta = {"stop_reason": reason, "stop_sequence": None}
    return {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 2, **usage}}


@dataclass(frozen=True)
class Dialect:
    """The events of a streamed answer in a vendor's words.

    `silent` are events without anything to read; `ends` are those that end an answer, by why it
    does: `stop`, `length` or `filter`.
    """

    encode: Callable[..., bytes]
    begin: tuple[Event, ...]
    silent: tuple[Event, ...]
    text: Callable[[str], Event]
    thought: Callable[[str], Event]
    tool: Callable[[str], Event]
    ends: Mapping[str, tuple[Event, ...]]
    failure: Callable[[str], Event]

    def answer(self, *words: str, end: str = "stop") -> bytes:
        """A whole answer."""
        return self.encode(*self.begin, *(self.text(w) for w in words), *self.ends[end])


CHAT = Dialect(
    events,
    (chat_delta(role="assistant", content=""),),
    (chat_delta(content=""), {"choices": None}, {"id": "x"}),
    lambda words: chat_delta(content=words),
    lambda words: chat_delta(reasoning_content=words, content=None),
    lambda words: chat_delta(
        content=None, tool_calls=[{"index": 0, "function": {"arguments": words}}]
    ),
    {
        why: (chat_delta(finish),)
        for why, finish in (("stop", "stop"), ("length", "length"), ("filter", "content_filter"))
    },
    lambda words: {"error": {"message": words}},
)
RESPONSES = Dialect(
    named,
    (),
    (response_delta("output_text", ""),),
    lambda words: response_delta("output_text", words),
    lambda words: response_delta("reasoning_text", words),
    lambda words: response_delta("function_call_arguments", words),
    {
        "stop": (response("completed"),),
        "length": (response("incomplete", incomplete_details={"reason": "max_output_tokens"}),),
        "filter": (response("incomplete", incomplete_details={"reason": "content_filter"}),),
    },
    lambda words: response("failed", error={"code": "server_error", "message": words}),
)
MESSAGES = Dialect(
    named,
    (message_start(),),
    (
        {"type": "ping"},
        block_delta(type="signature_delta", signature="x"),
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        block_delta(type="text_delta", text=""),
        block_delta(type="input_json_delta", partial_json=""),
    ),
    lambda words: block_delta(type="text_delta", text=words),
    lambda words: block_delta(type="thinking_delta", thinking=words),
    lambda words: block_delta(type="input_json_delta", partial_json=words),
    {
        why: (message_delta(reason), {"type": "message_stop"})
        for why, reason in (("stop", "end_turn"), ("length", "max_tokens"), ("filter", "refusal"))
    },
    lambda words: {"type": "error", "error": {"type": "overloaded_error", "message": words}},
)


@dataclass(frozen=True)
class Vendor:
    """How a provider is made and where it finds the emulator, a model of its, and its dialect."""

    make: Callable[[Endpoint], Hosted]
    url: Callable[[Emulator], str]
    model: str
    dialect: Dialect


VENDORS = {
    "openai": Vendor(OpenAIChat, lambda e: e.openai_url, "gpt-4o", CHAT),
    "responses": Vendor(OpenAIResponses, lambda e: e.openai_url, "gpt-4o", RESPONSES),
    "anthropic": Vendor(AnthropicMessages, lambda e: e.anthropic_url, "claude-haiku-4-5", MESSAGES),
    "compatible": Vendor(Compatible, lambda e: e.openai_url, "any-model", CHAT),
}


@asynccontextmanager
async def provider_at(vendor: str, url: str, **options: Any) -> AsyncIterator[Hosted]:
    """A provider of that vendor for an address; it is closed afterwards."""
    provider = VENDORS[vendor].make(Endpoint(url, KEY, **options))
    try:
        yield provider
    finally:
        await provider.aclose()


async def through_emulator(
    emulator: Emulator, vendor: str, *requests: CallRequest, fault: str | None = None
) -> list[list[Chunk]]:
    """The chunks of these calls, one after the other, by one provider."""
    headers = {} if fault is None else {"x-playground-fault": fault}
    url = VENDORS[vendor].url(emulator)
    async with provider_at(vendor, url, headers=headers, scripted=True) as provider:
        return [[chunk async for chunk in provider.stream(r)] for r in requests]


async def chunks_of(
    vendor: str, *pieces: bytes, request: CallRequest = ASK, **answer: Any
) -> list[Chunk]:
    """What a provider makes of these bytes."""
    async with (
        recorded(Recorded(pieces, **answer)) as server,
        provider_at(vendor, server.url) as provider,
    ):
        return [chunk async for chunk in provider.stream(request)]


def of(chunks: list[Chunk], kind: ChunkKind) -> list[str]:
    """The texts of the chunks of that kind."""
    return [chunk.text for chunk in chunks if chunk.kind is kind]


def usage_of(chunks: list[Chunk]) -> Usage:
    """The counts of a call."""
    return next(c.usage for c in chunks if c.usage is not None)

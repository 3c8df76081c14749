"""Anthropic's Messages: what is sent, and what its events say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from core import tokens
from core.emulator import EmulatedModel, Emulator, serve
from core.errors import BrokenStream, RateLimited
from core.providers.anthropic_messages import AnthropicMessages
from core.providers.base import CallRequest, Chunk, ChunkKind, Message, Usage
from core.providers.endpoint import Endpoint
from tests.recorded_server import Recorded, named, recorded

KEY = "sk-ant-test-0123456789"
FAST = EmulatedModel(ttft_s=0.01, tpot_s=0.0005, cache_minimum_tok=1024)
ASK = CallRequest(
    "claude-haiku-4-5", (Message("system", "Be brief."), Message("user", "Hi")), deadline_s=30.0
)
LONG = (
    "The rules of this house are written on the wall beside the door, and nobody reads them. " * 90
)


def started(**usage: int) -> dict[str, object]:
    counts = {"input_tokens": 9, "output_tokens": 1, **usage}
    message = {"id": "1", "type": "message", "role": "assistant", "content": [], "model": "m"}
    return {"type": "message_start", "message": {**message, "usage": counts}}


def piece(**delta: str) -> dict[str, object]:
    return {"type": "content_block_delta", "index": 0, "delta": delta}


def text(words: str) -> dict[str, object]:
    return piece(type="text_delta", text=words)


def ended(reason: str | None = "end_turn", **usage: int) -> dict[str, object]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 2, **usage}}


STOP: dict[str, object] = {"type": "message_stop"}
PING: dict[str, object] = {"type": "ping"}


async def chunks_of(*events: dict[str, object], request: CallRequest = ASK) -> list[Chunk]:
    async with recorded(Recorded((named(*events),))) as server:
        provider = AnthropicMessages(Endpoint(server.url, KEY))
        try:
            return [chunk async for chunk in provider.stream(request)]
        finally:
            await provider.aclose()


def of(chunks: list[Chunk], kind: ChunkKind) -> list[str]:
    return [chunk.text for chunk in chunks if chunk.kind is kind]


def usage_of(chunks: list[Chunk]) -> Usage:
    return next(c.usage for c in chunks if c.usage is not None)


@pytest.fixture(scope="module")
def server() -> Iterator[Emulator]:
    with serve(FAST) as emulator:
        yield emulator


@pytest.fixture
def emulator(server: Emulator) -> Emulator:
    server.retune(FAST)
    return server


async def through_emulator(
    emulator: Emulator, *requests: CallRequest, fault: str | None = None
) -> list[list[Chunk]]:
    headers = {} if fault is None else {"x-playground-fault": fault}
    end = Endpoint(emulator.anthropic_url, KEY, headers=headers, scripted=True)
    provider = AnthropicMessages(end)
    try:
        return [[chunk async for chunk in provider.stream(r)] for r in requests]
    finally:
        await provider.aclose()


async def test_pieces_by_kind_and_nothing_for_starts_pings_and_signatures() -> None:
    block = {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "text", "text": ""},
    }
    chunks = await chunks_of(
        started(),
        PING,
        piece(type="thinking_delta", thinking="hm"),
        piece(type="signature_delta", signature="x"),
        block,
        text(""),
        text("Hi"),
        piece(type="input_json_delta", partial_json=""),
        piece(type="input_json_delta", partial_json='{"a":1}'),
        ended(),
        STOP,
    )
    assert of(chunks, ChunkKind.REASONING) == ["hm"]
    assert of(chunks, ChunkKind.TEXT) == ["Hi"]
    assert of(chunks, ChunkKind.TOOL) == ['{"a":1}']


async def test_the_last_usage_wins_and_input_includes_the_cache() -> None:
    chunks = await chunks_of(
        started(cache_read_input_tokens=1000, cache_creation_input_tokens=200),
        text("Hi"),
        ended(None, output_tokens=5),
        ended("end_turn", output_tokens=7),
        STOP,
    )
    usage = usage_of(chunks)
    assert usage.tokens_in == 9 + 1000 + 200
    assert usage.tokens_cached == 1000
    assert usage.tokens_out == 7  # not 5 + 7: the counts are cumulative
    assert usage.extra == {"cache_write_tok": 200}


@pytest.mark.parametrize(
    ("reason", "fact"),
    [("max_tokens", "truncated"), ("refusal", "filtered"), ("end_turn", None)],
)
async def test_how_the_answer_ended(reason: str, fact: str | None) -> None:
    notes = of(await chunks_of(started(), text("Hi"), ended(reason), STOP), ChunkKind.NOTE)
    assert (fact in notes) if fact else not {"truncated", "filtered"} & set(notes)


def failure(kind: str) -> dict[str, object]:
    return {"type": "error", "error": {"type": kind, "message": f"no more, {KEY}"}}


async def test_an_error_event_in_a_good_stream_breaks_it() -> None:
    with pytest.raises(BrokenStream, match=r"anthropic: no more, \[key\]"):
        await chunks_of(started(), text("Hi"), failure("overloaded_error"))


async def test_a_rate_limit_in_a_good_stream_is_one() -> None:
    with pytest.raises(RateLimited):
        await chunks_of(started(), failure("rate_limit_error"))


async def test_a_stream_that_ends_without_a_reason_is_broken() -> None:
    with pytest.raises(BrokenStream, match="ended before"):
        await chunks_of(started(), text("Hi"))


async def test_the_prompt_is_split_into_system_and_turns(emulator: Emulator) -> None:
    await through_emulator(emulator, replace(ASK, stop=("#",), max_tokens=30))
    sent = emulator.ledger.last_body
    assert sent["system"] == [{"type": "text", "text": "Be brief."}]
    assert sent["messages"] == [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    assert sent["max_tokens"] == 30
    assert sent["stop_sequences"] == ["#"]


async def test_a_limit_is_always_sent(emulator: Emulator) -> None:
    await through_emulator(emulator, ASK)
    assert emulator.ledger.last_body["max_tokens"] == 4096


@pytest.mark.parametrize(
    ("model", "sent"),
    [
        ("claude-haiku-4-5 (no thinking)", {}),
        ("claude-sonnet-5 (no thinking)", {"thinking": {"type": "disabled"}}),
        ("claude-sonnet-5-5 (no thinking)", {"thinking": {"type": "between_tools"}}),
        ("claude-opus-5-5 (no thinking)", {}),
        ("claude-sonnet-4-6 (low)", {"output_config": {"effort": "low"}}),
        (
            "claude-haiku-4-5 (thinking)",
            {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 1074},
        ),
    ],
)
async def test_a_profiles_effort_in_the_words_of_each_generation(
    emulator: Emulator, model: str, sent: dict[str, Any]
) -> None:
    (chunks,) = await through_emulator(emulator, replace(ASK, model=model, max_tokens=50))
    body = emulator.ledger.last_body
    expected = {"max_tokens": 50, **sent}
    assert {
        k: body[k] for k in ("thinking", "output_config", "max_tokens") if k in body
    } == expected
    always_on = model.startswith("claude-opus-5-5")
    assert ("thinking_always_on" in of(chunks, ChunkKind.NOTE)) is always_on


async def test_a_temperature_goes_only_to_models_that_take_one(emulator: Emulator) -> None:
    await through_emulator(emulator, replace(ASK, temperature=0.0))
    assert emulator.ledger.last_body["temperature"] == 0.0
    newer = replace(ASK, temperature=0.0, model="claude-haiku-5-5")
    (chunks,) = await through_emulator(emulator, newer)
    assert "temperature" not in emulator.ledger.last_body
    assert "no_temperature" in of(chunks, ChunkKind.NOTE)


async def test_a_refused_temperature_is_left_out(emulator: Emulator) -> None:
    (chunks,) = await through_emulator(
        emulator, replace(ASK, temperature=0.0), fault="refuse=temperature"
    )
    assert "temperature" not in emulator.ledger.last_body
    assert "no_temperature" in of(chunks, ChunkKind.NOTE)


async def test_a_schema_is_sent(emulator: Emulator) -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    await through_emulator(emulator, replace(ASK, json_schema=schema))
    config = emulator.ledger.last_body["output_config"]
    assert config == {"format": {"type": "json_schema", "schema": schema}}


CACHED = replace(
    ASK,
    messages=(Message("system", LONG), Message("user", "Hi")),
    static_messages=1,
    cache_key="rules",
)


async def test_the_static_prefix_is_written_once_and_then_read(emulator: Emulator) -> None:
    other = replace(CACHED, messages=(CACHED.messages[0], Message("user", "Something else")))
    first, second = await through_emulator(emulator, CACHED, other)
    sent = emulator.ledger.last_body["system"]
    assert isinstance(sent, list)
    assert sent[0]["cache_control"] == {"type": "ephemeral"}
    written = usage_of(first).extra["cache_write_tok"]
    assert written == pytest.approx(tokens.count(LONG), abs=8)
    assert usage_of(first).tokens_cached == 0
    assert usage_of(second).tokens_cached == written
    assert usage_of(second).extra["cache_write_tok"] == 0
    assert (usage_of(second).tokens_in or 0) > written


async def test_the_mark_may_stand_on_an_example_turn(emulator: Emulator) -> None:
    examples = (Message("system", "s"), Message("user", "q"), Message("assistant", "a"))
    request = replace(CACHED, messages=(*examples, Message("user", "Hi")), static_messages=3)
    await through_emulator(emulator, request)
    turns = emulator.ledger.last_body["messages"]
    assert isinstance(turns, list)
    marked = ["cache_control" in turn["content"][0] for turn in turns]
    assert marked == [False, True, False]


async def test_without_a_key_nothing_is_marked_and_the_prompt_stays_as_it_is(
    emulator: Emulator,
) -> None:
    request = replace(CACHED, cache_key=None)
    for chunks in await through_emulator(emulator, request, request):
        assert usage_of(chunks).tokens_cached == 0
    assert emulator.ledger.last_body["system"] == [{"type": "text", "text": LONG}]


async def test_below_the_minimum_nothing_is_cached_and_that_is_said(emulator: Emulator) -> None:
    short = replace(ASK, cache_key="k", static_messages=1)
    (chunks,) = await through_emulator(emulator, short)
    assert "nothing_cached" in of(chunks, ChunkKind.NOTE)

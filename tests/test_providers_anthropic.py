"""Anthropic's Messages: what is sent, and what only its events say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.emulator import Emulator
from core.errors import RateLimited
from core.providers.base import CallRequest, Chunk, ChunkKind
from tests.hosted_calls import (
    ASK,
    MESSAGES,
    block_delta,
    chunks_of,
    message_delta,
    message_start,
    of,
    through_emulator,
    usage_of,
)
from tests.recorded_server import named

ASKED = replace(ASK, model="claude-haiku-4-5")


async def sent(
    emulator: Emulator, request: CallRequest, fault: str | None = None
) -> tuple[dict[str, Any], list[Chunk]]:
    """What the emulator was sent in the end, and what came back."""
    (chunks,) = await through_emulator(emulator, "anthropic", request, fault=fault)
    return dict(emulator.ledger.last_body), chunks


async def test_the_last_usage_wins_and_input_includes_the_cache() -> None:
    events = (
        message_start(cache_read_input_tokens=1000, cache_creation_input_tokens=200),
        block_delta(type="text_delta", text="Hi"),
        message_delta(None, output_tokens=5),
        message_delta("end_turn", output_tokens=7),
        {"type": "message_stop"},
    )
    usage = usage_of(await chunks_of("anthropic", named(*events)))
    assert usage.tokens_in == 9 + 1000 + 200
    assert usage.tokens_cached == 1000
    assert usage.tokens_out == 7  # not 5 + 7: the counts are cumulative
    assert usage.extra == {"cache_write_tok": 200}


async def test_a_rate_limit_in_a_good_stream_is_one() -> None:
    limit = {"type": "error", "error": {"type": "rate_limit_error", "message": "no more"}}
    with pytest.raises(RateLimited):
        await chunks_of("anthropic", named(*MESSAGES.begin, limit))


async def test_the_prompt_is_split_into_system_and_turns(emulator: Emulator) -> None:
    body, _ = await sent(emulator, replace(ASKED, stop=("#",), max_tokens=30))
    assert body["system"] == [{"type": "text", "text": "Be brief."}]
    assert body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    assert body["max_tokens"] == 30
    assert body["stop_sequences"] == ["#"]


async def test_a_limit_is_always_sent(emulator: Emulator) -> None:
    body, _ = await sent(emulator, ASKED)
    assert body["max_tokens"] == 4096


@pytest.mark.parametrize(
    ("model", "expected"),
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
    emulator: Emulator, model: str, expected: dict[str, Any]
) -> None:
    body, chunks = await sent(emulator, replace(ASKED, model=model, max_tokens=50))
    found = {k: body[k] for k in ("thinking", "output_config", "max_tokens") if k in body}
    assert found == {"max_tokens": 50, **expected}
    always_on = model.startswith("claude-opus-5-5")
    assert ("thinking_always_on" in of(chunks, ChunkKind.NOTE)) is always_on


async def test_a_temperature_goes_only_to_models_that_take_one(emulator: Emulator) -> None:
    body, _ = await sent(emulator, replace(ASKED, temperature=0.0))
    assert body["temperature"] == 0.0
    body, chunks = await sent(emulator, replace(ASKED, temperature=0.0, model="claude-haiku-5-5"))
    assert "temperature" not in body
    assert "no_temperature" in of(chunks, ChunkKind.NOTE)


async def test_a_refused_temperature_is_left_out(emulator: Emulator) -> None:
    body, chunks = await sent(emulator, replace(ASKED, temperature=0.0), "refuse=temperature")
    assert "temperature" not in body
    assert "no_temperature" in of(chunks, ChunkKind.NOTE)


async def test_a_schema_is_sent(emulator: Emulator) -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    body, _ = await sent(emulator, replace(ASKED, json_schema=schema))
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": schema}}

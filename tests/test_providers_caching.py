"""What prompts have in common is read from the provider's cache where a call allows it, only there.

Older models of OpenAI cache by themselves; newer ones, and Anthropic's, cache what is marked, and
report what was written.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from core import tokens
from core.emulator import Emulator
from core.providers.base import ChunkKind, Message
from tests.hosted_calls import ASK, CACHED, FAST, LONG, VENDORS, of, through_emulator, usage_of

BY_ITSELF = [("openai", "gpt-4o"), ("responses", "gpt-4o")]
MARKED = [
    ("openai", "gpt-5.6-luna (none)"),
    ("responses", "gpt-5.6-luna (none)"),
    ("anthropic", "claude-haiku-4-5"),
]
OTHER = replace(CACHED, messages=(CACHED.messages[0], Message("user", "Something else")))


@pytest.mark.parametrize(("vendor", "model"), [*BY_ITSELF, *MARKED])
async def test_with_a_key_the_second_call_reads_the_shared_prefix(
    emulator: Emulator, vendor: str, model: str
) -> None:
    calls = [replace(request, model=model) for request in (CACHED, OTHER)]
    first, second = (usage_of(c) for c in await through_emulator(emulator, vendor, *calls))
    assert first.tokens_cached == 0
    assert second.tokens_cached is not None
    assert tokens.count(LONG) - 128 <= second.tokens_cached <= tokens.count(LONG) + 8
    assert second.tokens_in == pytest.approx(first.tokens_in, abs=3)
    if (vendor, model) in MARKED:
        assert first.extra["cache_write_tok"] == second.tokens_cached
        assert second.extra["cache_write_tok"] == 0
    else:
        assert second.tokens_cached % 128 == 0


async def test_a_cached_prefix_brings_the_first_token_forward(emulator: Emulator) -> None:
    emulator.retune(replace(FAST, per_1k_s=0.2))
    ttft_s = [
        next(c.t_s for c in chunks if c.kind is ChunkKind.TEXT) - chunks[0].t_s
        for chunks in await through_emulator(emulator, "openai", CACHED, OTHER)
    ]
    assert ttft_s[0] >= 0.5 * 0.2 * tokens.count(LONG) / 1000  # the stamp of sending may be late
    assert ttft_s[1] < ttft_s[0]


@pytest.mark.parametrize("vendor", VENDORS)
async def test_without_a_key_no_call_finds_another_ones_prefix(
    emulator: Emulator, vendor: str
) -> None:
    request = replace(CACHED, model=VENDORS[vendor].model, cache_key=None)
    for chunks in await through_emulator(emulator, vendor, request, request):
        assert usage_of(chunks).tokens_cached == 0


@pytest.mark.parametrize(("vendor", "model"), MARKED)
async def test_below_the_minimum_nothing_is_cached_and_that_is_said(
    emulator: Emulator, vendor: str, model: str
) -> None:
    short = replace(ASK, model=model, cache_key="k", static_messages=1)
    (chunks,) = await through_emulator(emulator, vendor, short)
    assert "nothing_cached" in of(chunks, ChunkKind.NOTE)


# --- how a request says it ------------------------------------------------------------------------


async def test_openais_nonce_stands_at_the_very_start(emulator: Emulator) -> None:
    await through_emulator(emulator, "openai", replace(CACHED, cache_key=None))
    messages = emulator.ledger.last_body["messages"]
    assert isinstance(messages, list)
    assert messages[0]["content"].startswith("[")
    assert messages[0]["content"].endswith(f"]\n{LONG}")
    assert messages[1]["content"] == "Hi"


async def test_openais_newer_models_are_told_to_write_nothing_when_caching_is_off(
    emulator: Emulator,
) -> None:
    request = replace(CACHED, model="gpt-5.6-luna (none)", cache_key=None)
    (chunks,) = await through_emulator(emulator, "openai", request)
    assert emulator.ledger.last_body["prompt_cache_options"] == {"mode": "explicit"}
    assert usage_of(chunks).extra["cache_write_tok"] == 0


async def test_anthropics_mark_stands_at_the_end_of_what_is_the_same(emulator: Emulator) -> None:
    request = replace(CACHED, model="claude-haiku-4-5")
    await through_emulator(emulator, "anthropic", request)
    (system,) = emulator.ledger.last_body["system"]  # type: ignore[misc]
    assert system["cache_control"] == {"type": "ephemeral"}
    examples = (Message("system", "s"), Message("user", "q"), Message("assistant", "a"))
    turns = replace(request, messages=(*examples, Message("user", "Hi")), static_messages=3)
    await through_emulator(emulator, "anthropic", turns)
    sent = emulator.ledger.last_body["messages"]
    assert isinstance(sent, list)
    marked = ["cache_control" in turn["content"][0] for turn in sent]
    assert marked == [False, True, False]


async def test_without_a_key_anthropics_prompt_stays_as_it_is(emulator: Emulator) -> None:
    request = replace(CACHED, model="claude-haiku-4-5", cache_key=None)
    await through_emulator(emulator, "anthropic", request)
    assert emulator.ledger.last_body["system"] == [{"type": "text", "text": LONG}]

"""What holds for every hosted provider, checked against the emulator with the real SDKs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from core import tokens
from core.emulator import EmulatedModel, Emulator
from core.errors import BrokenStream, ProviderError, RateLimited, TimedOut, Unavailable
from core.providers.base import CallRequest, Chunk, ChunkKind, Message
from core.providers.endpoint import Endpoint
from tests.hosted_calls import FAST, KEY, VENDORS, Hosted, Vendor, of, usage_of

TEXT = "안녕하세요! Seoul is 맑음 today 🙂, and tomorrow too."


@pytest.fixture(params=VENDORS)
def vendor(request: pytest.FixtureRequest) -> Vendor:
    return VENDORS[request.param]


Open = Callable[..., Hosted]


@pytest.fixture
async def connect(vendor: Vendor, emulator: Emulator) -> AsyncIterator[Open]:
    made: list[Hosted] = []

    def make(fault: str | None = None, **options: Any) -> Hosted:
        headers = {} if fault is None else {"x-playground-fault": fault}
        end = Endpoint(vendor.url(emulator), KEY, headers=headers, scripted=True)
        made.append(vendor.make(replace(end, **options)))
        return made[-1]

    yield make
    for provider in made:
        await provider.aclose()


@pytest.fixture
def ask(vendor: Vendor) -> CallRequest:
    messages = (Message("system", "Be brief."), Message("user", "Weather?"))
    return CallRequest(vendor.model, messages, scripted_text=TEXT, deadline_s=30.0)


async def chunks_of(provider: Hosted, request: CallRequest) -> list[Chunk]:
    return [chunk async for chunk in provider.stream(request)]


async def into(got: list[Chunk], provider: Hosted, ask: CallRequest) -> None:
    async for chunk in provider.stream(ask):
        got.append(chunk)  # noqa: PERF401  (what came before an error is kept)


def facts(chunks: list[Chunk]) -> set[str]:
    return set(of(chunks, ChunkKind.NOTE))


async def eventually(holds: Callable[[], bool]) -> None:
    """Wait for the server's thread to notice; fails after five seconds."""
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110  (another thread's state: there is nothing to await)
            await asyncio.sleep(0.001)


async def test_a_call_is_sent_then_answered_then_counted(connect: Open, ask: CallRequest) -> None:
    chunks = await chunks_of(connect(), ask)
    assert chunks[0].kind is ChunkKind.SENT
    assert "".join(of(chunks, ChunkKind.TEXT)) == TEXT
    assert all(of(chunks, ChunkKind.TEXT))
    usage = usage_of(chunks)
    assert usage.source == "server"
    assert usage.tokens_out == tokens.count(TEXT)
    assert usage.tokens_cached == 0
    assert [c.t_s for c in chunks] == sorted(c.t_s for c in chunks)


async def test_thinking_comes_as_reasoning_before_the_text(
    connect: Open, ask: CallRequest, emulator: Emulator
) -> None:
    emulator.retune(replace(FAST, reasoning_tokens=3))
    chunks = await chunks_of(connect(), ask)
    kinds = [c.kind for c in chunks if c.kind in {ChunkKind.REASONING, ChunkKind.TEXT}]
    assert kinds[:3] == [ChunkKind.REASONING] * 3
    assert set(kinds[3:]) == {ChunkKind.TEXT}


async def test_a_chunk_may_hold_several_tokens(
    connect: Open, ask: CallRequest, emulator: Emulator
) -> None:
    emulator.retune(replace(FAST, tokens_per_chunk=5))
    chunks = await chunks_of(connect(), ask)
    usage = usage_of(chunks)
    assert usage.tokens_out == tokens.count(TEXT)
    assert len(of(chunks, ChunkKind.TEXT)) == -(-tokens.count(TEXT) // 5)


async def test_characters_cut_in_two_by_the_network_arrive_whole(
    connect: Open, ask: CallRequest
) -> None:
    chunks = await chunks_of(connect("fragments=5"), ask)
    assert "".join(of(chunks, ChunkKind.TEXT)) == TEXT


async def test_a_limit_that_was_hit_is_said(connect: Open, ask: CallRequest) -> None:
    chunks = await chunks_of(connect(), replace(ask, max_tokens=17, scripted_text=TEXT * 3))
    assert "truncated" in facts(chunks)
    usage = usage_of(chunks)
    assert usage.tokens_out == 17


async def test_a_stall_ends_at_the_deadline_and_frees_the_server(
    connect: Open, ask: CallRequest, emulator: Emulator
) -> None:
    left = emulator.ledger.left
    provider = connect("stall")
    await provider.warm_up()
    with pytest.raises(TimedOut):
        await chunks_of(provider, replace(ask, deadline_s=0.3))
    await eventually(lambda: emulator.ledger.left == left + 1)


async def test_a_stall_ends_at_the_longest_gap(connect: Open, ask: CallRequest) -> None:
    with pytest.raises(TimedOut):
        await chunks_of(connect("stall", max_gap_s=0.08), ask)


async def test_too_many_requests_says_how_long_to_wait(connect: Open, ask: CallRequest) -> None:
    with pytest.raises(RateLimited, match="too many requests") as caught:
        await chunks_of(connect("429=1.5"), ask)
    assert caught.value.retry_after_s == 1.5
    with pytest.raises(RateLimited) as caught:
        await chunks_of(connect("429"), ask)
    assert caught.value.retry_after_s is None


async def test_it_is_asked_once_only(connect: Open, ask: CallRequest, emulator: Emulator) -> None:
    refused = emulator.ledger.refused
    with pytest.raises(RateLimited):
        await chunks_of(connect("429"), ask)
    assert emulator.ledger.refused == refused + 1


async def test_a_cut_connection_breaks_the_stream_after_what_had_come(
    connect: Open, ask: CallRequest
) -> None:
    got: list[Chunk] = []
    with pytest.raises(BrokenStream):
        await into(got, connect("cut"), ask)
    assert TEXT.startswith("".join(of(got, ChunkKind.TEXT)))
    assert of(got, ChunkKind.TEXT)


async def test_an_error_in_the_stream_breaks_it(connect: Open, ask: CallRequest) -> None:
    with pytest.raises(BrokenStream, match="failed in the middle"):
        await chunks_of(connect("error_midstream"), ask)


async def test_closing_the_iterator_ends_the_request(
    connect: Open, ask: CallRequest, emulator: Emulator
) -> None:
    emulator.retune(EmulatedModel(ttft_s=0.01, tpot_s=0.02))
    left = emulator.ledger.left
    async with aclosing(connect().stream(ask)) as stream:
        async for chunk in stream:
            if chunk.kind is ChunkKind.TEXT:
                break
    sent = emulator.ledger.frames_sent
    await eventually(lambda: emulator.ledger.left == left + 1)
    assert emulator.ledger.frames_sent <= sent + 2


async def test_leaving_before_the_first_word_ends_the_request(
    connect: Open, ask: CallRequest, emulator: Emulator
) -> None:
    emulator.retune(EmulatedModel(ttft_s=5.0, tpot_s=0.02))
    left = emulator.ledger.left
    async with aclosing(connect().stream(ask)) as stream:
        assert (await anext(stream)).kind is ChunkKind.SENT
    await eventually(lambda: emulator.ledger.left == left + 1)


async def test_cancelling_the_task_ends_the_request(
    connect: Open, ask: CallRequest, emulator: Emulator
) -> None:
    emulator.retune(EmulatedModel(ttft_s=5.0, tpot_s=0.02))
    left, requests = emulator.ledger.left, emulator.ledger.requests
    task = asyncio.create_task(chunks_of(connect(), ask))
    await eventually(lambda: emulator.ledger.requests == requests + 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await eventually(lambda: emulator.ledger.left == left + 1)


async def test_calls_run_side_by_side(connect: Open, ask: CallRequest, emulator: Emulator) -> None:
    emulator.retune(EmulatedModel(ttft_s=0.2, tpot_s=0.0))
    provider = connect()
    await provider.warm_up()
    calls = await asyncio.gather(*(chunks_of(provider, ask) for _ in range(4)))
    last_sent_s = max(chunks[0].t_s for chunks in calls)
    firsts_s = (next(c.t_s for c in chunks if c.kind is ChunkKind.TEXT) for chunks in calls)
    assert last_sent_s < min(firsts_s)


async def test_a_new_connection_is_said_once(connect: Open, ask: CallRequest) -> None:
    provider = connect()
    assert "cold_connection" in facts(await chunks_of(provider, ask))
    assert "cold_connection" not in facts(await chunks_of(provider, ask))


async def test_a_warm_up_opens_the_connection_before_the_call(
    connect: Open, ask: CallRequest
) -> None:
    provider = connect()
    await provider.warm_up()
    assert "cold_connection" not in facts(await chunks_of(provider, ask))


async def test_without_keep_alive_every_call_pays_for_a_connection(
    connect: Open, ask: CallRequest
) -> None:
    provider = connect(keep_alive_s=0.0)
    for _ in range(2):
        assert "cold_connection" in facts(await chunks_of(provider, ask))


async def test_nobody_listening_is_a_provider_error(
    connect: Open, ask: CallRequest, unused_tcp_port: int
) -> None:
    provider = connect(base_url=f"http://127.0.0.1:{unused_tcp_port}")
    await provider.warm_up()
    with pytest.raises(ProviderError, match="cannot be reached") as caught:
        await chunks_of(provider, ask)
    assert KEY not in str(caught.value)


async def test_an_address_that_is_not_allowed_gets_no_request(
    connect: Open, ask: CallRequest, emulator: Emulator
) -> None:
    requests = emulator.ledger.requests
    provider = connect(allowed=lambda address: address != "127.0.0.1")
    with pytest.raises(ProviderError, match="private or reserved"):
        await chunks_of(provider, ask)
    await provider.warm_up()
    assert emulator.ledger.requests == requests


def test_one_object_serves_one_loop_at_a_time(
    vendor: Vendor, emulator: Emulator, ask: CallRequest
) -> None:
    provider = vendor.make(Endpoint(vendor.url(emulator), KEY, scripted=True))

    async def call_and_close() -> None:
        await chunks_of(provider, ask)
        await provider.aclose()

    asyncio.run(call_and_close())
    asyncio.run(call_and_close())
    with asyncio.Runner() as first:
        first.run(chunks_of(provider, ask))
        with asyncio.Runner() as second, pytest.raises(RuntimeError, match="another event loop"):
            second.run(chunks_of(provider, ask))
        first.run(provider.aclose())


async def test_a_missing_sdk_is_named(
    connect: Open, ask: CallRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = connect()

    def missing() -> object:
        raise ModuleNotFoundError("No module named 'sdk'", name="sdk")

    monkeypatch.setattr(type(provider), "_rehearsed", set())
    monkeypatch.setattr(provider, "sdk", missing)
    with pytest.raises(Unavailable, match="pip install sdk"):
        await chunks_of(provider, ask)

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Sequence

import pytest

from core.errors import BrokenStream, ProviderError, TimedOut
from core.local.client import Event, ask, constrained, forced, is_idle
from core.local.wire import HOST, Address, StampedReader, pieces

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
DONE = b"data: [DONE]\n\n"


def sse(data: object) -> bytes:
    return b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"


def delta(text: str | None, finish: str | None = None) -> bytes:
    return sse({"choices": [{"delta": {"content": text}, "finish_reason": finish}]})


def report(**timings: float) -> bytes:
    counts = {"cache_n": 10, "prompt_n": 5, "predicted_n": 3, "prompt_ms": 20, "predicted_ms": 30}
    return sse({"choices": [], "timings": counts | timings})


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


@contextlib.asynccontextmanager
async def serving(*writes: bytes) -> AsyncIterator[tuple[Address, list[bytes], asyncio.Event]]:
    """Serve one canned response; give the address, what was asked, and when the caller left."""
    asked: list[bytes] = []
    left = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError), contextlib.closing(writer):
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            asked.extend((head, await reader.readexactly(length)))
            for data in writes:
                writer.write(data)
                await writer.drain()
            if writes[-1] == b"":  # keep the connection open until the caller goes
                await reader.read()
                left.set()

    server = await asyncio.start_server(answer, HOST, 0)
    async with server:
        yield Address(server.sockets[0].getsockname()[1], "secret"), asked, left


async def answer_of(address: Address, limit_s: float = 5.0) -> list[Event]:
    deadline_s = asyncio.get_running_loop().time() + limit_s
    async with ask(address, {"messages": []}, deadline_s=deadline_s) as answer:
        return [event async for event in answer.events()]


async def test_always_asks_for_a_stream_with_progress_and_sends_the_key() -> None:
    async with serving(HEAD, chunk(DONE), chunk(b"")) as (address, asked, _):
        await answer_of(address)
    body = json.loads(asked[1])
    assert body["stream"] is True
    assert body["return_progress"] is True
    assert b"Authorization: Bearer secret\r\n" in asked[0]


async def test_text_progress_and_counts_become_events() -> None:
    progress = sse({"choices": [], "prompt_progress": {"total": 15, "cache": 10, "processed": 12}})
    stream = [progress, delta(None), delta("Hel"), delta("lo"), delta(None, "stop"), report(), DONE]
    async with serving(HEAD, *map(chunk, stream)) as (address, _, _):
        events = await answer_of(address)
    assert [event.progress for event in events if event.progress is not None] == [2 / 5]
    assert "".join(event.text for event in events) == "Hello"
    (counts,) = [event.counts for event in events if event.counts]
    assert (counts.tokens_in, counts.tokens_cached, counts.drafted) == (15, 10, None)
    assert counts.tokens_out == 2, "the invisible token at the end is not output"
    assert (counts.prompt_s, counts.decode_s) == (0.020, 0.030)


async def test_an_answer_cut_at_its_limit_has_no_end_token() -> None:
    stream = [delta("one two three", "length"), report(draft_n=8, draft_n_accepted=6), DONE]
    async with serving(HEAD, *map(chunk, stream)) as (address, _, _):
        events = await answer_of(address)
    assert events[0].finish == "length"
    counts = events[-1].counts
    assert counts is not None
    assert (counts.tokens_out, counts.drafted, counts.accepted) == (3, 8, 6)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
async def test_events_may_be_split_anywhere_also_inside_a_character(size: int) -> None:
    stream = b": ping\n\n" + delta("환불은 ") + delta("3일 걸려요 🙂") + DONE
    parts = [chunk(stream[k : k + size]) for k in range(0, len(stream), size)]
    async with serving(HEAD, *parts) as (address, _, _):
        events = await answer_of(address)
    assert "".join(event.text for event in events) == "환불은 3일 걸려요 🙂"


async def test_closing_early_closes_the_connection() -> None:
    async with serving(HEAD, chunk(delta("first")), b"") as (address, _, left):
        deadline_s = asyncio.get_running_loop().time() + 5
        async with ask(address, {}, deadline_s=deadline_s) as answer:
            events = answer.events()
            assert (await anext(events)).text == "first"
            await events.aclose()
        await asyncio.wait_for(left.wait(), 5)


@pytest.mark.parametrize(
    "writes",
    [
        (HEAD, chunk(delta("half an ans"))),
        (HEAD, b"40\r\ntoo short"),
        (HEAD, chunk(delta("text")), chunk(b"")),
        (b"HTTP/1.1 200",),
        (HEAD, chunk(sse({"choices": [], "timings": {"cache_n": 1}}))),
    ],
    ids=["between", "inside a chunk", "end without DONE", "inside the head", "report without n"],
)
async def test_an_answer_that_breaks_off_is_a_broken_stream(writes: Sequence[bytes]) -> None:
    async with serving(*writes) as (address, _, _):
        with pytest.raises(BrokenStream):
            await answer_of(address)


async def test_a_refusal_carries_status_and_reason_of_the_server() -> None:
    body = json.dumps({"error": {"message": "exceeds the context size", "code": 400}}).encode()
    head = b"HTTP/1.1 400 Bad Request\r\nContent-Length: %d\r\n\r\n" % len(body)
    async with serving(head + body) as (address, _, _):
        with pytest.raises(ProviderError, match="exceeds the context size") as caught:
            await answer_of(address)
    assert caught.value.status == 400


async def test_an_error_inside_the_stream_is_raised() -> None:
    failure = chunk(sse({"error": {"message": "out of memory"}}))
    async with serving(HEAD, failure) as (address, _, _):
        with pytest.raises(ProviderError, match="out of memory"):
            await answer_of(address)


async def test_a_silent_server_times_out_at_the_deadline() -> None:
    async with serving(HEAD, chunk(delta("x")), b"") as (address, _, _):
        with pytest.raises(TimedOut):
            await answer_of(address, limit_s=0.05)


async def test_nobody_there_is_a_provider_error_without_the_key() -> None:
    async with serving(DONE) as (address, _, _):
        pass
    with pytest.raises(ProviderError, match="does not answer") as caught:
        await answer_of(address)
    assert address.api_key not in str(caught.value)


@pytest.mark.parametrize("busy", [True, False])
async def test_idle_when_no_slot_works(busy: bool) -> None:
    body = json.dumps([{"id": 0, "is_processing": busy}]).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
    async with serving(head + body) as (address, _, _):
        deadline_s = asyncio.get_running_loop().time() + 5
        assert await is_idle(address, deadline_s=deadline_s) is not busy


def test_grammars() -> None:
    assert forced('Say "환불"\n') == '%llguidance {}\nstart: "Say \\"환불\\"\\n"'
    rule = constrained({"type": "object"}).removeprefix("%llguidance {}\nstart: %json ")
    assert json.loads(rule)["type"] == "object"
    assert json.loads(rule)["x-guidance"]["whitespace_flexible"] is False


async def test_pieces_carry_the_time_they_came_however_late_they_are_read() -> None:
    clock = iter([10.0, 20.0, 30.0, 31.0])
    reader = StampedReader(asyncio.get_running_loop(), lambda: next(clock))
    for data in (HEAD + chunk(b"one") + chunk(b"two"), b"5\r\nth", b"ree\r\n", chunk(b"")):
        reader.feed_data(data)
    reader.feed_eof()
    deadline_s = asyncio.get_running_loop().time() + 5
    found = [piece async for piece in pieces(reader, deadline_s=deadline_s)]
    assert found == [(10.0, b"one"), (10.0, b"two"), (30.0, b"three")]

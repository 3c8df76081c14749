"""When chunks are said to have come, against a server that sends when the test lets it.

No test here depends on how fast the machine is: times are compared with others of the same clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from core.emulator.anthropic_api import MESSAGES
from core.emulator.dialect import Asked, Dialect, Turn
from core.emulator.openai_api import CHAT, RESPONSES
from core.emulator.timing import Draw, EmulatedModel
from core.providers.anthropic_messages import AnthropicMessages
from core.providers.base import CallRequest, Chunk, ChunkKind, Message
from core.providers.compatible import Compatible
from core.providers.endpoint import Endpoint
from core.providers.hosted import HostedProvider
from core.providers.openai_chat import OpenAIChat
from core.providers.openai_responses import OpenAIResponses
from core.providers.scripted import script
from tests.recorded_server import Recorded, recorded

ASK = CallRequest("gpt-4o", (Message("user", "Hi"),), deadline_s=30.0)
WORDS = ("one", " two", " three")


@dataclass(frozen=True)
class Vendor:
    make: Callable[[Endpoint], HostedProvider[Any, Any]]
    dialect: Dialect


VENDORS = {
    "openai": Vendor(OpenAIChat, CHAT),
    "responses": Vendor(OpenAIResponses, RESPONSES),
    "anthropic": Vendor(AnthropicMessages, MESSAGES),
    "compatible": Vendor(Compatible, CHAT),
}


@pytest.fixture(params=VENDORS)
def vendor(request: pytest.FixtureRequest) -> Vendor:
    return VENDORS[request.param]


def parts(vendor: Vendor) -> tuple[bytes, bytes, bytes]:
    """The stream up to its first text, that text, and the rest."""
    answer = script("".join(WORDS))
    asked = Asked("m", "Hi", stream=True)
    model = EmulatedModel(ttft_s=0.0, tpot_s=0.0)
    turn = Turn(asked, 1, answer, Draw(0.0, 0.0), model, tokens_in=1, read_tok=0, written_tok=0)
    frames = [data for _, data in vendor.dialect.frames(turn)]
    first = next(k for k, data in enumerate(frames) if b'"one"' in data)
    return b"".join(frames[:first]), frames[first], b"".join(frames[first + 1 :])


@asynccontextmanager
async def call(vendor: Vendor, answer: Recorded) -> AsyncIterator[AsyncIterator[Chunk]]:
    async with recorded(answer) as server:
        provider = vendor.make(Endpoint(server.url, "none"))
        try:
            await provider.ready()
            async with aclosing(provider.stream(ASK)) as chunks:
                yield chunks
        finally:
            await provider.aclose()


async def after(delay_s: float, event: asyncio.Event) -> float:
    """Let the loop run for a while, then set the event; returns when that was."""
    loop = asyncio.get_running_loop()
    passed: asyncio.Future[None] = loop.create_future()
    loop.call_later(delay_s, passed.set_result, None)
    await passed
    event.set()
    return loop.time()


async def next_text(chunks: AsyncIterator[Chunk]) -> Chunk:
    async for chunk in chunks:
        if chunk.kind is ChunkKind.TEXT:
            return chunk
    raise AssertionError("the stream ended without text")


async def test_what_comes_before_the_first_text_is_not_the_first_token(vendor: Vendor) -> None:
    before, first, rest = parts(vendor)
    gate = asyncio.Event()
    async with call(vendor, Recorded((before, gate, first, rest))) as chunks:
        sent = await anext(chunks)
        text = asyncio.create_task(next_text(chunks))
        opened_s = await after(0.02, gate)
        assert not text.done()
        assert sent.kind is ChunkKind.SENT
        assert sent.t_s < opened_s <= (await text).t_s


async def test_a_pause_of_the_server_is_a_pause_between_stamps(vendor: Vendor) -> None:
    before, first, rest = parts(vendor)
    gate = asyncio.Event()
    async with call(vendor, Recorded((before, first, gate, rest))) as chunks:
        one = await next_text(chunks)
        waiting = asyncio.create_task(next_text(chunks))
        opened_s = await after(0.02, gate)
        two = await waiting
        assert (one.text, two.text) == WORDS[:2]
        assert one.t_s <= opened_s - 0.02
        assert two.t_s >= opened_s


async def test_late_headers_do_not_move_the_moment_of_sending(vendor: Vendor) -> None:
    gate = asyncio.Event()
    async with call(vendor, Recorded(parts(vendor), head_after=gate)) as chunks:
        waiting = asyncio.create_task(anext(chunks))  # type: ignore[arg-type]
        opened_s = await after(0.05, gate)
        sent = await waiting
        assert sent.kind is ChunkKind.SENT
        assert sent.t_s < opened_s


async def test_a_slow_reader_does_not_move_the_stamps(vendor: Vendor) -> None:
    before, first, rest = parts(vendor)
    gate = asyncio.Event()
    async with call(vendor, Recorded((before, first, gate, rest))) as chunks:
        await next_text(chunks)
        gate.set()  # the rest comes while nobody reads
        read_on_s = await after(0.1, asyncio.Event())
        assert (await next_text(chunks)).t_s < read_on_s


async def test_one_piece_is_one_moment(vendor: Vendor) -> None:
    async with call(vendor, Recorded((b"".join(parts(vendor)),))) as chunks:
        stamps = {chunk.t_s async for chunk in chunks if chunk.kind is ChunkKind.TEXT}
    assert len(stamps) == 1

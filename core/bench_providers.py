"""What measuring through a provider adds to the time to first token.

The yardstick is a bare socket on the same event loop that waits for the same bytes of the same
emulated model, which runs in a process of its own. Both are clocked from the moment the request
was handed to the system, in turns, so that what else the machine does hits both alike.
"""

from __future__ import annotations

import asyncio
import json
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from core.emulator import Address, EmulatedModel, serve_apart
from core.emulator.server import HOST
from core.errors import BrokenStream
from core.providers.base import CallRequest, ChunkKind, Message, Provider
from core.providers.endpoint import Endpoint

MARK = "Ready"
ANSWER = f"{MARK} steady go"
"""The mark is the answer's first token, so the bytes that hold it are the first token."""

TTFT_S = 0.02
"""Pace of the emulated model: long enough that sending and waiting do not overlap."""

BAR_S = 0.003
"""Largest median overhead that is good enough. Reason: a tenth of a frame a person can notice."""


@dataclass(frozen=True, slots=True)
class OverheadRow:
    """Medians over `n` calls each, in seconds; `overhead_s` is their difference."""

    provider: str
    n: int
    raw_ttft_s: float
    ttft_s: float

    @property
    def overhead_s(self) -> float:
        """What the provider adds."""
        return self.ttft_s - self.raw_ttft_s

    @property
    def within_bar(self) -> bool:
        """Whether that is little enough."""
        return self.overhead_s <= BAR_S


class _Warmable(Provider, Protocol):
    async def warm_up(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Case:
    provider: Callable[[Address], _Warmable]
    path: str
    body: dict[str, object]
    model: str


def overhead(n: int = 40) -> tuple[OverheadRow, ...]:
    """Measure every hosted provider; takes about `n` * 0.05 s each. Call without a running loop."""
    with serve_apart(EmulatedModel(ttft_s=TTFT_S, tpot_s=0.001)) as emulator:
        return asyncio.run(_rows(emulator, n))


async def _rows(emulator: Address, n: int) -> tuple[OverheadRow, ...]:
    return tuple([await _row(emulator, case, n) for case in _cases()])


def _cases() -> tuple[_Case, ...]:
    from core.providers.anthropic_messages import AnthropicMessages  # noqa: PLC0415  (lazy)
    from core.providers.compatible import Compatible  # noqa: PLC0415  (same)
    from core.providers.openai_chat import OpenAIChat  # noqa: PLC0415  (same)
    from core.providers.openai_responses import OpenAIResponses  # noqa: PLC0415  (same)

    messages = [{"role": "user", "content": "?"}]
    common = {"stream": True, "playground": {"answer": ANSWER}}
    chat: dict[str, object] = {"model": "m", "messages": messages, **common}
    responses: dict[str, object] = {"model": "m", "input": messages, **common}
    return (
        _Case(lambda e: OpenAIChat(_at(e.openai_url)), "/v1/chat/completions", chat, "gpt-4o"),
        _Case(lambda e: OpenAIResponses(_at(e.openai_url)), "/v1/responses", responses, "gpt-4o"),
        _Case(
            lambda e: AnthropicMessages(_at(e.anthropic_url)),
            "/v1/messages",
            {**chat, "max_tokens": 100},
            "claude-haiku-4-5",
        ),
        _Case(lambda e: Compatible(_at(e.openai_url)), "/v1/chat/completions", chat, "any"),
    )


def _at(url: str) -> Endpoint:
    return Endpoint(url, "none", scripted=True)


async def _row(emulator: Address, case: _Case, n: int) -> OverheadRow:
    provider = case.provider(emulator)
    request = CallRequest(case.model, (Message("user", "?"),), scripted_text=ANSWER)
    reader, writer = await asyncio.open_connection(HOST, emulator.port)
    try:
        await provider.warm_up()
        raw, through = [], []
        for _ in range(n):
            raw.append(await _raw_ttft_s(reader, writer, case))
            through.append(await _ttft_s(provider, request))
    finally:
        await provider.aclose()
        writer.close()
        await writer.wait_closed()
    return OverheadRow(provider.name, n, statistics.median(raw), statistics.median(through))


async def _raw_ttft_s(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, case: _Case
) -> float:
    """Return the time from the request's last byte to the piece that completes the mark."""
    loop = asyncio.get_running_loop()
    data = json.dumps(case.body).encode()
    head = f"POST {case.path} HTTP/1.1\r\nhost: {HOST}\r\ncontent-length: {len(data)}\r\n\r\n"
    writer.write(head.encode() + data)
    await writer.drain()
    sent_s = loop.time()
    first_s: float | None = None
    seen = b""
    while not seen.endswith(b"\r\n0\r\n\r\n"):  # the end of a chunked body
        piece = await reader.read(1 << 16)
        arrived_s = loop.time()
        if not piece:
            raise BrokenStream("the emulator closed the connection in the middle of an answer")
        seen += piece
        if first_s is None and MARK.encode() in seen:
            first_s = arrived_s
    if first_s is None:
        raise BrokenStream("the emulator's answer has no first token")
    return first_s - sent_s


async def _ttft_s(provider: Provider, request: CallRequest) -> float:
    """Return the time from SENT to the first visible text, as the metrics define it."""
    sent_s = first_s = None
    async for chunk in provider.stream(request):
        if chunk.kind is ChunkKind.SENT:
            sent_s = chunk.t_s
        elif chunk.kind is ChunkKind.TEXT and first_s is None:
            first_s = chunk.t_s
    if sent_s is None or first_s is None:
        raise BrokenStream(f"{provider.name} sent no text")
    return first_s - sent_s

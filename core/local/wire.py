"""HTTP on a loopback socket, as little of it as one llama.cpp server needs.

Plain asyncio streams and not an HTTP library: the two ends are ours and on one machine, each piece
is stamped as it leaves the socket, and cancelling is closing it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from core.errors import BrokenStream, ProviderError, TimedOut

HOST = "127.0.0.1"
_HEAD_LIMIT = 1 << 16  # bytes

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Address:
    """Where an engine listens, and the key that only its parent knows."""

    port: int
    api_key: str


@asynccontextmanager
async def exchange(
    address: Address, path: str, body: str | None, *, deadline_s: float
) -> AsyncIterator[asyncio.StreamReader]:
    """Send one request (POST where there is a body); entered when its bytes have left.

    Leaving the block closes the connection at once, which is how an answer is cancelled.

    Raises:
        ProviderError: nobody answers there.
        TimedOut: the deadline, a time of the running loop, passed.
    """
    payload = (body or "").encode()
    head = (
        f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\n"
        f"Host: {HOST}\r\nConnection: close\r\nAuthorization: Bearer {address.api_key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(payload)}\r\n\r\n"
    )
    writer: asyncio.StreamWriter | None = None
    try:
        try:
            async with asyncio.timeout_at(deadline_s):
                reader, writer = await asyncio.open_connection(
                    HOST, address.port, limit=_HEAD_LIMIT
                )
                writer.write(head.encode() + payload)
                await writer.drain()
        except TimeoutError as error:
            raise TimedOut("the local engine did not take the request in time") from error
        except OSError as error:
            raise ProviderError(f"the local engine does not answer: {error}") from error
        yield reader
    finally:
        if writer is not None:
            writer.transport.abort()


async def pieces(reader: asyncio.StreamReader, *, deadline_s: float) -> AsyncIterator[bytes]:
    """Yield the pieces of a response's body as they arrive.

    Raises:
        ProviderError: the status was not 200; the message is the server's.
        BrokenStream: the connection ended too early.
        TimedOut: the deadline passed.
    """
    status, length = await _before(deadline_s, _head(reader))
    if status != 200:
        text = await _before(deadline_s, reader.read())
        raise ProviderError(_refusal(text), status=status)
    if length is not None:
        yield await _before(deadline_s, reader.readexactly(length))
        return
    while size := int(await _before(deadline_s, reader.readuntil(b"\r\n")), 16):
        piece = await _before(deadline_s, reader.readexactly(size + 2))
        yield piece[:-2]


async def _head(reader: asyncio.StreamReader) -> tuple[int, int | None]:
    """Return the status and the content length; the length is None for a chunked body."""
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    length: int | None = None
    for line in lines[1:]:
        name, _, value = line.partition(":")
        if name.lower() == "content-length":
            length = int(value)
    return int(lines[0].split()[1]), length


async def _before(deadline_s: float, work: Awaitable[Result]) -> Result:
    """Await something off the socket, with this package's errors for what goes wrong there."""
    try:
        async with asyncio.timeout_at(deadline_s):
            return await work
    except TimeoutError as error:
        raise TimedOut("the local engine did not finish before the deadline") from error
    except (asyncio.IncompleteReadError, OSError) as error:
        raise BrokenStream("the connection to the local engine broke") from error


def _refusal(body: bytes) -> str:
    """Return the server's reason out of its JSON error, or the plain text where it is none."""
    try:
        reason = json.loads(body)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        reason = body.decode(errors="replace")[:200].strip()
    return f"the local engine refused the request: {reason or 'no reason given'}"

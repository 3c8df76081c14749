"""HTTP on a loopback socket, as little of it as one llama.cpp server needs.

Plain asyncio streams and not an HTTP library: the two ends are ours and on one machine, each piece
is stamped as it leaves the socket, however late it is read, and cancelling is closing it.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import SupportsIndex, TypeVar

from core.errors import BrokenStream, ProviderError, TimedOut

HOST = "127.0.0.1"
_HEAD_LIMIT = 1 << 16  # bytes

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Address:
    """Where an engine listens, and the key that only its parent knows."""

    port: int
    api_key: str


class StampedReader(asyncio.StreamReader):
    """A stream that remembers when its bytes came."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Callable[[], float]) -> None:
        """`clock` is asked whenever bytes leave the socket."""
        super().__init__(limit=_HEAD_LIMIT, loop=loop)
        self._clock = clock
        self._fed = 0
        self._marks: deque[tuple[int, float]] = deque()

    def feed_data(self, data: Iterable[SupportsIndex]) -> None:
        """Take bytes from the socket (asyncio calls this)."""
        now_s, piece = self._clock(), bytes(data)
        self._fed += len(piece)
        self._marks.append((self._fed, now_s))
        super().feed_data(piece)

    def arrived_s(self, count: int) -> float:
        """Return when the last of the first `count` bytes came; `count` must not fall."""
        while self._marks[0][0] < count:
            self._marks.popleft()
        return self._marks[0][1]


@asynccontextmanager
async def exchange(
    address: Address, path: str, body: str | None, *, deadline_s: float
) -> AsyncIterator[StampedReader]:
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
    loop = asyncio.get_running_loop()
    reader = StampedReader(loop, loop.time)
    writer: asyncio.StreamWriter | None = None
    try:
        try:
            async with asyncio.timeout_at(deadline_s):
                transport, protocol = await loop.create_connection(
                    lambda: asyncio.StreamReaderProtocol(reader), HOST, address.port
                )
                writer = asyncio.StreamWriter(transport, protocol, reader, loop)
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


async def pieces(
    reader: StampedReader, *, deadline_s: float
) -> AsyncGenerator[tuple[float, bytes]]:
    """Yield the pieces of a response's body, each with the loop's time when it had arrived.

    Raises:
        ProviderError: the status was not 200; the message is the server's.
        BrokenStream: the connection ended too early.
        TimedOut: the deadline passed.
    """
    head = await _before(deadline_s, reader.readuntil(b"\r\n\r\n"))
    status, length = _parsed(head)
    if status != 200:
        text = await _before(deadline_s, reader.read())
        raise ProviderError(_refusal(text), status=status)
    count = len(head)
    if length is not None:
        body = await _before(deadline_s, reader.readexactly(length))
        yield reader.arrived_s(count + length), body
        return
    while True:
        line = await _before(deadline_s, reader.readuntil(b"\r\n"))
        size = int(line, 16)
        if size == 0:
            return
        piece = await _before(deadline_s, reader.readexactly(size + 2))
        count += len(line) + len(piece)
        yield reader.arrived_s(count), piece[:-2]


def _parsed(head: bytes) -> tuple[int, int | None]:
    """Return the status and the content length; the length is None for a chunked body."""
    lines = head.decode("latin-1").split("\r\n")
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

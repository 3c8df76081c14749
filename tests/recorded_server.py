"""A server that answers with recorded bytes, for what no well-behaved server would send."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field


@dataclass
class Recorded:
    """One answer: its bytes in pieces, and events to wait for between them.

    `head_after` holds the headers back; `hang` leaves the connection open after the last piece.
    """

    pieces: tuple[bytes | asyncio.Event, ...]
    status: str = "200 OK"
    headers: dict[str, str] = field(default_factory=dict)
    hang: bool = False
    head_after: asyncio.Event | None = None


@dataclass
class Server:
    port: int
    bodies: list[dict[str, object]] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


def events(*data: object) -> bytes:
    """Chat-style events: JSON, or text as it is."""
    return b"".join(
        f"data: {d if isinstance(d, str) else json.dumps(d, ensure_ascii=False)}\n\n".encode()
        for d in data
    )


def named(*data: dict[str, object]) -> bytes:
    """Events with their type as name, as Anthropic and Responses send them."""
    return b"".join(f"event: {d['type']}\ndata: {json.dumps(d)}\n\n".encode() for d in data)


@contextlib.asynccontextmanager
async def recorded(*answers: Recorded) -> AsyncIterator[Server]:
    """Serve the answers in turn, the last one for ever."""
    left = list(answers)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = int(head.lower().partition("content-length:")[2].partition("\r\n")[0] or 0)
            server.heads.append(head)
            server.bodies.append(json.loads(await reader.readexactly(length) or b"{}"))
            answer = left.pop(0) if len(left) > 1 else left[0]
            if answer.head_after is not None:
                await answer.head_after.wait()
            headers = {"content-type": "text/event-stream", "connection": "close", **answer.headers}
            lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            writer.write(f"HTTP/1.1 {answer.status}\r\n{lines}\r\n".encode())
            for piece in answer.pieces:
                if isinstance(piece, asyncio.Event):
                    await piece.wait()
                else:
                    writer.write(piece)
                    await writer.drain()
            if answer.hang:
                await reader.read()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    listener = await asyncio.start_server(handle, "127.0.0.1", 0)
    server = Server(listener.sockets[0].getsockname()[1])
    async with listener:
        yield server

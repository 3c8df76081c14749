"""The connection under the SDKs: stamps what happens on it before anything is parsed.

The SDKs hide when bytes arrived. This transport goes below them: a background task reads the
answer's bytes as they come, stamps them on the event loop's clock and hands them up, so neither
parsing nor a slow reader moves a stamp. The SDKs' decoders finish every event of one piece before
they ask for the next piece; the stamp of an event is therefore the stamp of the piece that
completed it.
"""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from dataclasses import dataclass

import httpcore2
import httpx2

from core.providers.endpoint import Allowed

WIRE = "playground_wire"
"""Key of a response's extensions under which its `Wire` is found."""

CONNECT_TIMEOUT_S = 10.0
"""Longest wait for a connection, TLS included. Assumption: slower than that is unreachable."""


@dataclass(slots=True)
class Wire:
    """What happened on the connection of one request, in seconds of the event loop's clock."""

    sent_s: float = 0.0
    arrived_s: float = 0.0
    cold: bool = False


class StampingTransport(httpx2.AsyncBaseTransport):
    """A transport whose responses carry a `Wire`, and that refuses forbidden addresses."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, allowed: Allowed | None = None) -> None:
        self._inner = inner
        self._allowed = allowed

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request; its response's body is read in the background."""
        wire = Wire()

        async def trace(event: str, info: Mapping[str, object]) -> None:
            if event.endswith("send_request_body.complete"):
                wire.sent_s = asyncio.get_running_loop().time()
            elif event == "connection.connect_tcp.complete":
                wire.cold = True
                await self._check_peer(request, info.get("return_value"))

        request.extensions = {**request.extensions, "trace": trace}
        response = await self._inner.handle_async_request(request)
        wire.arrived_s = asyncio.get_running_loop().time()
        return httpx2.Response(
            status_code=response.status_code,
            headers=response.headers,
            stream=_StampedBody(response, wire),
            extensions={**response.extensions, WIRE: wire},
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()

    async def _check_peer(self, request: httpx2.Request, connection: object) -> None:
        """Refuse the address the name resolved to this time, before anything is sent to it."""
        if self._allowed is None:
            return
        assert isinstance(connection, httpcore2.AsyncNetworkStream)  # noqa: S101  (httpcore's)
        peer = connection.get_extra_info("server_addr")
        if not peer or not self._allowed(str(peer[0])):
            await connection.aclose()
            reason = "the base URL's host led to a private or reserved address"
            raise httpx2.ConnectError(reason, request=request)


class _StampedBody(httpx2.AsyncByteStream):
    """A response body read ahead by a task, each piece stamped when it arrived.

    It is its own iterator and not a generator: an SDK may ask for it twice (to drain what follows
    the last event), and generators that are dropped half-way close each other in no sure order.
    """

    def __init__(self, response: httpx2.Response, wire: Wire) -> None:
        self._response = response
        self._wire = wire
        self._arrived: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue()
        self._reader = asyncio.create_task(self._read_ahead())
        self._ended = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        piece = None if self._ended else await self._arrived.get()
        if piece is not None:
            self._wire.arrived_s, data = piece
            return data
        if not self._ended:
            self._ended = True
            await self._reader  # raises what ended the reading
        raise StopAsyncIteration

    async def _read_ahead(self) -> None:
        loop = asyncio.get_running_loop()
        stream = self._response.stream
        assert isinstance(stream, AsyncIterable)  # noqa: S101  (an async transport's body)
        try:
            async for data in stream:
                self._arrived.put_nowait((loop.time(), data))
        finally:
            self._arrived.put_nowait(None)

    async def aclose(self) -> None:
        """Stop reading and give the connection up; `wait` lets our own cancellation through."""
        self._ended = True
        self._reader.cancel()
        await asyncio.wait({self._reader})
        if not self._reader.cancelled():
            self._reader.exception()  # seen, so that asyncio does not report it as lost
        await self._response.aclose()


def connect(
    base_url: str, *, keep_alive_s: float, allowed: Allowed | None = None
) -> httpx2.AsyncClient:
    """Return a client for one endpoint; call on the event loop that will use it.

    No redirects are followed (they could lead to an address that was not checked) and the client
    has no timeouts but the connection's: the caller keeps the time. `keep_alive_s` is how long an
    idle connection is kept; 0 makes every call pay for a new one. `allowed` judges the address of
    each new connection. A proxy named in the environment is used for `https`, and then it is the
    proxy that resolves names, so there is no address to judge.
    """
    limits = httpx2.Limits(
        max_connections=100,
        max_keepalive_connections=20 if keep_alive_s > 0 else 0,
        keepalive_expiry=keep_alive_s,
    )
    url = httpx2.URL(base_url)
    proxy = _proxy_for(url)
    # Without TLS there is nothing to verify, and no certificates to load for a tenth of a second.
    inner = httpx2.AsyncHTTPTransport(verify=url.scheme == "https", limits=limits, proxy=proxy)
    transport = StampingTransport(inner, allowed if proxy is None else None)
    timeout = httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S)
    return httpx2.AsyncClient(transport=transport, timeout=timeout, follow_redirects=False)


def _proxy_for(url: httpx2.URL) -> str | None:
    if url.scheme != "https" or urllib.request.proxy_bypass(url.host):
        return None
    return urllib.request.getproxies().get("https")

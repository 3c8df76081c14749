"""Gzip for files that never change, each compressed once per process.

Streamlit sends its bundles uncompressed: at every request it would compress them anew. But they
are named by their content and marked `immutable`, so here the first request for a bundle
compresses it, in a thread, and all later ones get the kept bytes. A first visit costs less than
half; behind a proxy that compresses, nothing is lost.
"""

from __future__ import annotations

import asyncio
import gzip
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Level 6 makes Streamlit's largest bundle (4.7 MB) 30 % of its size in 0.2 s; level 9 takes a
# quarter longer for another 0.1 % (zlib of CPython 3.11).
LEVEL = 6
# Below this a packet is not saved.
SMALLEST_BYTES = 1_400
# All of Streamlit's bundles together are 7 MB compressed; beyond this, files go out as they are.
KEPT_BYTES = 32_000_000
# Where Streamlit serves its bundles, also below a base path. Requests for the same path wait for
# each other, which nothing else should.
BUNDLES = "/static/"

_TEXT_TYPES = ("text/", "application/javascript", "application/json", "image/svg+xml")


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer compressed once: its start message and its whole body."""

    start: Message
    body: bytes


class CompressedOnce:
    """ASGI middleware that keeps the compressed form of answers marked `immutable`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._kept: dict[str, Kept] = {}
        self._kept_bytes = 0
        self._busy: dict[str, asyncio.Lock] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request, compressed where that is possible and worth it."""
        if not _asks_for_gzip(scope):
            await self._app(scope, receive, send)
            return
        path: str = scope["path"]
        if path not in self._kept:
            # Everybody in a room opens the page at once: one compresses, the others wait for it.
            async with self._busy.setdefault(path, asyncio.Lock()):
                if path not in self._kept:
                    await self._first(path, scope, receive, send)
                    return
        await _send(self._kept[path], send)

    async def _first(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a path asked for the first time, and keep its compressed form if it may be kept."""
        start: Message = {}
        chunks: list[bytes] = []

        async def collect(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and self._may_keep(message):
                start = message
            elif start and message["type"] == "http.response.body":
                chunks.append(message.get("body", b""))
                if not message.get("more_body", False):
                    await _send(await self._keep(path, start, b"".join(chunks)), send)
            else:
                await send(message)

        await self._app(scope, receive, collect)
        if path not in self._kept:
            self._busy.pop(path, None)

    def _may_keep(self, start: Message) -> bool:
        headers = Headers(raw=start["headers"])
        size = int(headers.get("content-length", "0"))
        return (
            start["status"] == 200
            and "immutable" in headers.get("cache-control", "")
            and "content-encoding" not in headers
            and headers.get("content-type", "").startswith(_TEXT_TYPES)
            and SMALLEST_BYTES <= size <= KEPT_BYTES - self._kept_bytes
        )

    async def _keep(self, path: str, start: Message, body: bytes) -> Kept:
        packed = await asyncio.to_thread(gzip.compress, body, LEVEL, mtime=0)
        headers = MutableHeaders(raw=list(start["headers"]))
        headers["Content-Encoding"] = "gzip"
        headers["Content-Length"] = str(len(packed))
        headers.add_vary_header("Accept-Encoding")
        if etag := headers.get("etag"):
            headers["ETag"] = f"W/{etag.removeprefix('W/')}"  # the same file, other bytes
        self._kept[path] = Kept({**start, "headers": headers.raw}, packed)
        self._kept_bytes += len(packed)
        return self._kept[path]


def _asks_for_gzip(scope: Scope) -> bool:
    """Return whether this is a plain GET of a bundle from a client that takes gzip."""
    if scope["type"] != "http" or scope["method"] != "GET" or BUNDLES not in scope["path"]:
        return False
    headers = Headers(scope=scope)
    return "gzip" in headers.get("accept-encoding", "") and "range" not in headers


async def _send(kept: Kept, send: Send) -> None:
    await send(kept.start)
    await send({"type": "http.response.body", "body": kept.body})

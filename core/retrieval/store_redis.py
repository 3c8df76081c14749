"""The store seam on a Redis or Valkey server, shared by every process that uses the same one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, cast

from core.errors import Unavailable
from core.retrieval.libraries import library
from core.retrieval.store import check_ttl

TIMEOUT_S = 0.25
"""A cache that answers later than this is worth less than no cache; assumption of this project."""

_SCAN_COUNT = 500  # keys looked at per round trip of a scan


class RedisStore:
    """Entries on a server; their life is counted by the server's clock (`SET ... PX`).

    A server that cannot be reached raises Unavailable, which is to be counted and treated as a
    miss (`ForgivingStore`): an answer must not fail because its cache did.
    """

    is_local = False

    def __init__(self, url: str, *, namespace: str = "llp") -> None:
        """`url` as in redis://host:port/0; `namespace` is set before every key."""
        client = library("redis").Redis.from_url(
            url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S
        )
        self._client = cast("_Client", client)
        self._prefix = namespace + ":"

    def get(self, key: str) -> bytes | None:
        """Return the living entry; reading does not prolong its life."""
        with _as_unavailable():
            return self._client.get(self._prefix + key)

    def put(self, key: str, value: bytes, ttl_s: float | None) -> None:
        """Keep an entry for `ttl_s` seconds from now, at least one millisecond."""
        check_ttl(ttl_s)
        life_ms = None if ttl_s is None else max(1, round(ttl_s * 1000))
        with _as_unavailable():
            self._client.set(self._prefix + key, value, px=life_ms)

    def remove(self, key: str) -> bool:
        """Forget an entry; return whether it was there."""
        with _as_unavailable():
            return self._client.delete(self._prefix + key) > 0

    def keys(self, prefix: str) -> Iterator[str]:
        """Yield the keys of living entries that begin with `prefix`; scans, never blocks."""
        with _as_unavailable():
            pattern = re.sub(r"([*?\[\]\\^-])", r"\\\1", self._prefix + prefix) + "*"
            for raw in self._client.scan_iter(match=pattern, count=_SCAN_COUNT):
                yield raw.decode().removeprefix(self._prefix)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


class _Client(Protocol):
    def get(self, key: str) -> bytes | None: ...

    def set(self, key: str, value: bytes, *, px: int | None) -> object: ...

    def delete(self, key: str) -> int: ...

    def scan_iter(self, *, match: str, count: int) -> Iterator[bytes]: ...

    def close(self) -> None: ...


@contextmanager
def _as_unavailable() -> Iterator[None]:
    """Turn the client's errors into ours; the address may hold a password and is not repeated."""
    foreign = cast("type[Exception]", library("redis").RedisError)
    try:
        yield
    except foreign as error:
        raise Unavailable(f"the cache server did not answer: {type(error).__name__}") from None

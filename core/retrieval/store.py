"""Where cached entries lie: one seam, and the store in this process."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

from core.errors import InputError, Unavailable

T = TypeVar("T")


class Store(Protocol):
    """Entries by key with an absolute life: reading one never prolongs it.

    Keys are made of digests and layer names and hold no user text. Every method may raise
    Unavailable where the store is a server.
    """

    @property
    def is_local(self) -> bool:
        """Whether calls return at once; a store that is not must not be asked on an event loop."""
        ...

    def get(self, key: str) -> bytes | None:
        """Return the entry, or None where there is none or its life is over."""
        ...

    def put(self, key: str, value: bytes, ttl_s: float | None) -> None:
        """Keep an entry for `ttl_s` seconds from now; None keeps it until it is displaced.

        Raises: InputError for a life of zero or less.
        """
        ...

    def remove(self, key: str) -> bool:
        """Forget an entry; return whether it was there."""
        ...

    def keys(self, prefix: str) -> Iterator[str]:
        """Yield the keys of living entries that begin with `prefix`, in any order."""
        ...


class MemoryStore:
    """A store in this process, bounded: the entry unused for longest makes room for a new one.

    Safe for threads. `clock` returns seconds that never go back; tests give their own.
    """

    is_local = True

    def __init__(
        self, max_entries: int = 10_000, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`max_entries` bounds the number of entries. Raises: InputError below 1."""
        if max_entries < 1:
            raise InputError(f"cache size {max_entries} is not possible; at least 1")
        self._max = max_entries
        self._clock = clock
        self._entries: OrderedDict[str, tuple[bytes, float | None]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: str) -> bytes | None:
        """Return the living entry; its place in the order of use is renewed, its life is not."""
        with self._lock:
            found = self._entries.get(key)
            if found is None:
                return None
            value, ends_s = found
            if ends_s is not None and self._clock() >= ends_s:
                del self._entries[key]
                return None
            self._entries.move_to_end(key)
            return value

    def put(self, key: str, value: bytes, ttl_s: float | None) -> None:
        """Keep an entry for `ttl_s` seconds from now; None keeps it until it is displaced."""
        check_ttl(ttl_s)
        with self._lock:
            self._entries[key] = (value, None if ttl_s is None else self._clock() + ttl_s)
            self._entries.move_to_end(key)
            while len(self._entries) > self._max:
                self._entries.popitem(last=False)

    def remove(self, key: str) -> bool:
        """Forget an entry; return whether it was there."""
        with self._lock:
            return self._entries.pop(key, None) is not None

    def keys(self, prefix: str) -> Iterator[str]:
        """Yield the keys of living entries that begin with `prefix`, least recently used first."""
        with self._lock:
            now_s = self._clock()
            living = [
                key
                for key, (_, ends_s) in self._entries.items()
                if key.startswith(prefix) and (ends_s is None or now_s < ends_s)
            ]
        yield from living


class ForgivingStore:
    """A store whose failures count as misses: no answer fails because its cache does.

    After a failure the store is left alone for `pause_s`, so that a server that is down costs one
    timeout per pause and not one per request. `failures` counts them.
    """

    def __init__(
        self,
        store: Store,
        *,
        pause_s: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._pause_s = pause_s
        self._clock = clock
        self._resume_s = -math.inf
        self.failures = 0

    @property
    def is_local(self) -> bool:
        """As the store behind it."""
        return self._store.is_local

    def get(self, key: str) -> bytes | None:
        """Return the entry, or None where there is none or the store fails."""
        return self._tried(lambda: self._store.get(key), None)

    def put(self, key: str, value: bytes, ttl_s: float | None) -> None:
        """Keep an entry if the store takes it."""
        check_ttl(ttl_s)
        self._tried(lambda: self._store.put(key, value, ttl_s), None)

    def remove(self, key: str) -> bool:
        """Forget an entry. Raises: Unavailable - that a wrong answer stays must not be hidden."""
        return self._store.remove(key)

    def keys(self, prefix: str) -> Iterator[str]:
        """Yield the living keys with that prefix, or none where the store fails."""
        none: tuple[str, ...] = ()
        yield from self._tried(lambda: tuple(self._store.keys(prefix)), none)

    def _tried(self, work: Callable[[], T], otherwise: T) -> T:
        if self._clock() < self._resume_s:
            return otherwise
        try:
            return work()
        except Unavailable:
            self.failures += 1
            self._resume_s = self._clock() + self._pause_s
            return otherwise


def check_ttl(ttl_s: float | None) -> None:
    """Raise InputError for a life that would be over at once: 0 does not mean "for ever"."""
    if ttl_s is not None and not ttl_s > 0:
        raise InputError(f"cache life {ttl_s} s is not possible; more than 0, or None for no end")

"""Results that take long, made once for all who ask: also for those who ask while it is made."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as NotYet
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

LOOK_UP_S = 0.2
"""How often somebody who waits for another's result may do something else, such as give up."""


def _nothing() -> None:
    """Nothing to do meanwhile."""


class Once(Generic[K, V]):
    """The `size` results used last, by key."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._made: OrderedDict[K, Future[V]] = OrderedDict()
        self._lock = threading.Lock()

    def known(self, key: K) -> V | None:
        """Return the result, if there is one already."""
        with self._lock:
            future = self._made.get(key)
        if future is None or not future.done() or future.cancelled():
            return None
        return future.result()

    def get(self, key: K, make: Callable[[], V], meanwhile: Callable[[], None] = _nothing) -> V:
        """Return the result; make it here, or wait for whoever makes it and call `meanwhile`.

        Where the maker fails or gives up, it alone gets the error, and one of those who wait
        begins anew.
        """
        while True:
            with self._lock:
                future, mine = self._made.get(key), False
                if future is None:
                    future, mine = Future(), True
                    self._made[key] = future
                self._made.move_to_end(key)
            if mine:
                return self._make(key, future, make)
            try:
                return future.result(LOOK_UP_S)
            except NotYet:
                meanwhile()
            except CancelledError:
                continue

    def _make(self, key: K, future: Future[V], make: Callable[[], V]) -> V:
        try:
            value = make()
        except BaseException:
            with self._lock:
                self._made.pop(key, None)
            future.cancel()
            raise
        future.set_result(value)
        with self._lock:
            finished = [k for k, f in self._made.items() if f.done()]
            for old in finished[: max(0, len(finished) - self._size)]:
                del self._made[old]
        return value

"""Made once for all who ask, also at the same time; nobody inherits another's failure."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError

import pytest

from core.once import Once

LIMIT_S = 30.0


def test_a_result_is_made_once_and_known_afterwards() -> None:
    store: Once[str, int] = Once(2)
    assert store.known("a") is None
    assert store.get("a", lambda: 1) == 1
    assert store.get("a", lambda: 2) == 1
    assert store.known("a") == 1


def test_the_one_used_longest_ago_goes_first() -> None:
    store: Once[str, int] = Once(2)
    for key in "abac":
        store.get(key, lambda: 0)
    assert [store.known(key) for key in "abc"] == [0, None, 0]


class Slow:
    """Somebody at work on a result, until told to finish or to fail."""

    def __init__(self, store: Once[str, int], *, fails: bool = False) -> None:
        self.begun, self.go, self.fails = threading.Event(), threading.Event(), fails
        self.thread = threading.Thread(target=self._work, args=(store,))
        self.thread.start()
        assert self.begun.wait(LIMIT_S)

    def _work(self, store: Once[str, int]) -> None:
        def make() -> int:
            self.begun.set()
            assert self.go.wait(LIMIT_S)
            if self.fails:
                raise CancelledError
            return 1

        try:
            store.get("a", make)
        except CancelledError:
            assert self.fails

    def finish(self) -> None:
        self.go.set()
        self.thread.join(LIMIT_S)


def test_who_asks_meanwhile_waits_for_the_same_result() -> None:
    store: Once[str, int] = Once(2)
    slow = Slow(store)
    assert store.known("a") is None
    assert store.get("a", lambda: 2, meanwhile=slow.finish) == 1


def test_who_waits_may_give_up() -> None:
    store: Once[str, int] = Once(2)
    slow = Slow(store)

    def give_up() -> None:
        raise CancelledError

    with pytest.raises(CancelledError):
        store.get("a", lambda: 2, meanwhile=give_up)
    slow.finish()
    assert store.known("a") == 1


def test_when_the_maker_gives_up_who_waits_begins_anew() -> None:
    store: Once[str, int] = Once(2)
    slow = Slow(store, fails=True)
    assert store.get("a", lambda: 2, meanwhile=slow.finish) == 2


def test_a_failure_is_not_remembered() -> None:
    store: Once[str, int] = Once(2)
    with pytest.raises(ZeroDivisionError):
        store.get("a", lambda: 1 // 0)
    assert store.known("a") is None
    assert store.get("a", lambda: 3) == 3

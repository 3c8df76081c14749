"""The store seam: an absolute life, a bound, and the same behaviour in process and on a server."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError, Unavailable
from core.retrieval.cache import AnswerCache, ExactLayer
from core.retrieval.keys import CacheScope, Question
from core.retrieval.semantic import SemanticLayer
from core.retrieval.store import ForgivingStore, MemoryStore, Store
from core.retrieval.store_redis import RedisStore
from tests.cache_parts import ByFirstWord, Clock


@pytest.fixture(scope="session")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a real server that keeps nothing on disk; its log says when it is ready."""
    binary = shutil.which("redis-server") or shutil.which("valkey-server")
    if binary is None:
        pytest.skip("neither redis-server nor valkey-server is installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("server")
    options = ("--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(folder))
    process = subprocess.Popen(
        [binary, "--port", str(port), *options], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if "eady to accept connections" in line:
                break
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait(timeout=10)
        process.stdout.close()


@pytest.fixture(params=["memory", "server"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    if request.param == "memory":
        yield MemoryStore()
        return
    server = RedisStore(request.getfixturevalue("server_url"), namespace=request.node.name)
    yield server
    for key in tuple(server.keys("")):
        server.remove(key)
    server.close()


def test_what_is_put_is_got_listed_and_removed(store: Store) -> None:
    store.put("near:1:a", b"one \x00\xff", ttl_s=None)
    store.put("near:2:b", b"two", ttl_s=60)

    assert store.get("near:1:a") == b"one \x00\xff"
    assert store.get("near:3:c") is None
    assert set(store.keys("near:")) == {"near:1:a", "near:2:b"}
    assert list(store.keys("near:1:")) == ["near:1:a"]
    assert store.remove("near:1:a")
    assert not store.remove("near:1:a")
    assert store.get("near:1:a") is None


def test_a_life_of_zero_is_refused_and_not_taken_for_none(store: Store) -> None:
    for ttl_s in (0, -1, float("nan")):
        with pytest.raises(InputError, match="life"):
            store.put("k", b"v", ttl_s)
    assert store.get("k") is None


def test_reading_does_not_prolong_a_life_on_the_server(server_url: str) -> None:
    import redis

    store, raw = RedisStore(server_url, namespace="ttl"), redis.Redis.from_url(server_url)
    store.put("k", b"v", ttl_s=100)
    ends = raw.pexpiretime("ttl:k")
    assert store.get("k") == b"v"
    assert raw.pexpiretime("ttl:k") == ends
    raw.pexpireat("ttl:k", 1)  # the past
    assert store.get("k") is None
    store.close()
    raw.close()


def test_two_processes_share_answers_and_removals_through_the_server(server_url: str) -> None:
    clock = Clock()
    encoder = ByFirstWord()
    scope = CacheScope.of(
        tenant="t", prompt_version="1", model="m", answer_lang="en", index_version="1"
    )

    def process() -> AnswerCache:
        shared = RedisStore(server_url, namespace="shared")
        semantic = SemanticLayer(
            shared, threshold=0.9, ttl_s=60, guards=(), refresh_s=30, clock=clock
        )
        return AnswerCache(ExactLayer(shared, ttl_s=60), semantic)

    one, other = process(), process()
    assert other.lookup(scope, Question("refund when"), encoder).answer is None
    one.put(scope, Question("refund how"), "Like this.", encoder)
    assert other.lookup(scope, Question("refund how"), encoder).layer == "exact"
    clock.now_s += 30  # the other one's view of the server is refreshed
    near = other.lookup(scope, Question("refund when"), encoder)
    assert (near.layer, near.answer) == ("semantic", "Like this.")

    assert other.forget(scope, Question("refund when"), near) == 2
    assert one.lookup(scope, Question("refund how"), encoder).answer is None


def test_an_entry_dies_when_its_life_is_over_however_often_it_is_read() -> None:
    clock = Clock()
    store = MemoryStore(clock=clock)
    store.put("k", b"v", ttl_s=10)
    for _ in range(9):
        clock.now_s += 1
        assert store.get("k") == b"v"
    assert list(store.keys("")) == ["k"]
    clock.now_s += 1  # exactly ten seconds: over
    assert list(store.keys("")) == []
    assert store.get("k") is None


def test_the_entry_unused_for_longest_makes_room() -> None:
    store = MemoryStore(2)
    store.put("a", b"1", None)
    store.put("b", b"2", None)
    store.get("a")
    store.put("c", b"3", None)

    assert [store.get(key) for key in "abc"] == [b"1", None, b"3"]


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.booleans()), max_size=40))
def test_the_bound_holds_and_the_order_is_that_of_use(steps: list[tuple[str, bool]]) -> None:
    store, model = MemoryStore(3), {}
    for key, is_put in steps:
        if is_put:
            store.put(key, key.encode(), None)
            model.pop(key, None)
            model[key] = key
            if len(model) > 3:
                del model[next(iter(model))]
        elif store.get(key) is not None:
            model[key] = model.pop(key)
        assert list(store.keys("")) == list(model)


class Broken(MemoryStore):
    """A store whose server is down."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def get(self, key: str) -> bytes | None:
        self.asked += 1
        raise Unavailable(f"{key}: the cache server did not answer: TimeoutError")


def test_a_server_that_is_down_is_a_miss_and_is_left_alone_for_a_while() -> None:
    broken, clock = Broken(), Clock()
    store = ForgivingStore(broken, pause_s=5, clock=clock)

    assert [store.get("k"), store.get("k")] == [None, None]
    assert (broken.asked, store.failures) == (1, 1)
    clock.now_s += 5
    assert store.get("k") is None
    assert (broken.asked, store.failures) == (2, 2)


def test_an_unreachable_server_is_unavailable_and_its_address_stays_hidden() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening: refuses
        store = RedisStore(f"redis://:secret@127.0.0.1:{closed.getsockname()[1]}/0")
        with pytest.raises(Unavailable) as raised:
            store.get("k")
    assert "secret" not in str(raised.value)


def test_a_store_needs_room_for_one() -> None:
    with pytest.raises(InputError, match="at least 1"):
        MemoryStore(0)

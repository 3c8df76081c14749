"""The layers: what is served, what a miss costs, what is forgotten, and nothing on the loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import numpy as np
import pytest

from core.errors import InputError
from core.retrieval.cache import AnswerCache, CachedEncoder, ExactLayer
from core.retrieval.keys import CacheScope, Question
from core.retrieval.pool import EncoderPool
from core.retrieval.semantic import SemanticLayer
from core.retrieval.store import MemoryStore
from core.retrieval.vectors import Vectors
from tests.cache_parts import ByAngle, ByFirstWord, Clock

SCOPE = CacheScope.of(
    tenant="t", prompt_version="1", model="m", answer_lang="en", index_version="1"
)


def cache_of(store: MemoryStore, *, ttl_s: float | None = None, guards: object = ()) -> AnswerCache:
    semantic = SemanticLayer(store, threshold=0.9, ttl_s=ttl_s, guards=guards)  # type: ignore[arg-type]
    return AnswerCache(ExactLayer(store, ttl_s=ttl_s), semantic)


def test_an_exact_hit_never_reaches_the_encoder_and_a_miss_pays_for_every_layer() -> None:
    cache, encoder = cache_of(MemoryStore()), ByFirstWord()
    cache.put(SCOPE, Question("Refund?"), "In 5 days.", encoder)
    encoder.encoded.clear()

    hit = cache.lookup(SCOPE, Question("  refund "), encoder)
    miss = cache.lookup(SCOPE, Question("Delivery?"), encoder)

    assert (hit.answer, hit.layer, [s.step for s in hit.steps]) == (
        "In 5 days.",
        "exact",
        ["exact"],
    )
    assert (miss.answer, [s.step for s in miss.steps]) == (None, ["exact", "embed", "semantic"])
    assert encoder.encoded == ["Delivery?"]
    assert miss.took_s == sum(s.took_s for s in miss.steps) > 0


def test_a_semantic_hit_is_not_written_back_so_its_life_does_not_grow() -> None:
    clock = Clock()
    cache, encoder = cache_of(MemoryStore(clock=clock), ttl_s=10), ByFirstWord()
    cache.put(SCOPE, Question("refund when"), "In 5 days.", encoder)
    for _ in range(2):
        clock.now_s += 4.9
        assert cache.lookup(SCOPE, Question("refund time"), encoder).layer == "semantic"
    clock.now_s += 0.2
    assert cache.lookup(SCOPE, Question("refund time"), encoder).answer is None


def test_a_guard_refuses_the_nearest_and_the_next_one_is_served() -> None:
    near, nearer = "return after 12 days", "return after 42 days"
    encoder = ByAngle({"may I return it after 12 days": 0.0, near: 0.3, nearer: 0.1})
    cache = cache_of(MemoryStore(), guards={"numbers"})
    cache.put(SCOPE, Question(near), "yes", encoder)
    cache.put(SCOPE, Question(nearer), "no", encoder)

    found = cache.lookup(SCOPE, Question("may I return it after 12 days"), encoder)

    assert (found.answer, found.cached_question) == ("yes", "return after 12 days")
    assert [(o.guard, o.only_asked, o.only_cached) for o in found.refused] == [
        ("numbers", ("12 day",), ("42 day",))
    ]


def test_a_miss_tells_how_near_the_nearest_was() -> None:
    cache, encoder = cache_of(MemoryStore()), ByFirstWord()
    assert cache.lookup(SCOPE, Question("refund"), encoder).cosine is None
    cache.put(SCOPE, Question("refund"), "x", encoder)
    far = cache.lookup(SCOPE, Question("delivery"), encoder)
    assert far.cosine is not None
    assert far.cosine < 0.9


def test_a_wrong_answer_goes_from_every_layer_it_could_come_back_from() -> None:
    cache, encoder = cache_of(MemoryStore()), ByFirstWord()
    cache.put(SCOPE, Question("refund when"), "wrong", encoder)
    asked = Question("refund time")
    found = cache.lookup(SCOPE, asked, encoder)

    assert cache.forget(SCOPE, asked, found) == 2  # the semantic entry and its exact twin
    assert cache.lookup(SCOPE, asked, encoder).answer is None
    assert cache.lookup(SCOPE, Question("refund when"), encoder).answer is None


def test_dropping_a_scope_leaves_the_others() -> None:
    cache, encoder = cache_of(MemoryStore()), ByFirstWord()
    other = CacheScope.of(
        tenant="u", prompt_version="1", model="m", answer_lang="en", index_version="1"
    )
    for scope in (SCOPE, other):
        cache.put(scope, Question("refund"), scope.tenant, encoder)

    assert cache.drop(SCOPE) == 2
    assert cache.lookup(SCOPE, Question("refund"), encoder).answer is None
    assert cache.lookup(other, Question("refund"), encoder).answer == "u"


def test_the_index_is_only_a_view_a_displaced_entry_is_not_served() -> None:
    store = MemoryStore(2)
    semantic = SemanticLayer(store, threshold=0.9, ttl_s=None, guards=())
    cache, encoder = AnswerCache(None, semantic), ByFirstWord()
    for word in ("one", "two", "three"):
        cache.put(SCOPE, Question(f"{word} asked"), word, encoder)

    answers = [cache.lookup(SCOPE, Question(f"{w} again"), encoder).answer for w in ("one", "two")]
    assert answers == [None, "two"]


def test_a_layer_opened_later_finds_what_the_store_holds() -> None:
    store, encoder = MemoryStore(), ByFirstWord()
    cache_of(store).put(SCOPE, Question("refund when"), "In 5 days.", encoder)
    assert cache_of(store).lookup(SCOPE, Question("refund time"), encoder).layer == "semantic"


@pytest.mark.parametrize("threshold", [0, -0.1, 1.01, float("nan")])
def test_a_threshold_is_a_cosine_and_zero_is_not_unset(threshold: float) -> None:
    with pytest.raises(InputError, match="threshold"):
        SemanticLayer(MemoryStore(), threshold=threshold, ttl_s=None)


def test_a_cached_encoder_encodes_each_text_once_and_gives_the_same_rows() -> None:
    plain = ByFirstWord()
    cached = CachedEncoder(plain, MemoryStore())
    first = cached.encode(["a x", "b y", "a x"])
    plain.encoded.clear()
    again = cached.encode(["b y", "c z", "a x"])

    assert plain.encoded == ["c z"]
    np.testing.assert_array_equal(again[[2, 0]], first[:2])
    assert (cached.name, cached.dim) == (plain.name, plain.dim)


class Stuck(ByFirstWord):
    """An encoder that works until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go_on = threading.Event(), threading.Event()

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.begun.set()
        assert self.go_on.wait(timeout=30)
        return super().encode(texts)


async def test_a_slow_encoder_does_not_delay_another_sessions_stream_or_exact_hit() -> None:
    cache, slow = cache_of(MemoryStore()), Stuck()
    assert cache.exact is not None
    cache.exact.put(SCOPE, Question("known"), "at once")
    chunks: list[int] = []

    async def stream() -> None:
        for number in range(100):
            await asyncio.sleep(0)
            chunks.append(number)

    with EncoderPool() as pool:
        waiting = asyncio.create_task(cache.lookup_beside(SCOPE, Question("new one"), slow, pool))
        assert await asyncio.to_thread(slow.begun.wait, 30)
        await stream()
        known = await cache.lookup_beside(SCOPE, Question("known"), slow, pool)
        assert (known.answer, len(chunks), waiting.done()) == ("at once", 100, False)

        queued = asyncio.create_task(pool.encode(ByFirstWord(), ["next"]))
        await asyncio.sleep(0)
        slow.go_on.set()
        found = await waiting
        assert [step.step for step in found.steps] == ["exact", "embed", "semantic"]
        assert (await queued).queued_s > 0


async def test_a_call_that_waits_for_a_worker_can_be_cancelled() -> None:
    slow, never = Stuck(), ByFirstWord()
    with EncoderPool() as pool:
        running = asyncio.create_task(pool.encode(slow, ["a"]))
        assert await asyncio.to_thread(slow.begun.wait, 30)
        waiting = asyncio.create_task(pool.encode(never, ["b"]))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        slow.go_on.set()
        await running
        await pool.encode(ByFirstWord(), ["c"])  # the worker is free again, and past "b"
    assert never.encoded == []


def test_a_store_that_is_not_local_is_asked_in_another_thread() -> None:
    seen: list[str] = []

    class Far(MemoryStore):
        is_local = False

        def get(self, key: str) -> bytes | None:
            seen.append(threading.current_thread().name)
            return super().get(key)

    async def look() -> None:
        with EncoderPool() as pool:
            cache = cache_of(Far())
            cache.put(SCOPE, Question("refund"), "x", ByFirstWord())
            await cache.lookup_beside(SCOPE, Question("refund time"), ByFirstWord(), pool)

    asyncio.run(look())
    assert len(seen) == 2  # the exact layer and the semantic one
    assert threading.main_thread().name not in seen

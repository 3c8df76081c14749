from __future__ import annotations

import asyncio

import pytest

from core.errors import ProviderError, TimedOut, Unavailable
from core.local.lease import Kind, Lease
from core.local.pool import Limits, Pool

SMALL, LARGE, DRAFTS = Kind("small"), Kind("large"), Kind("large", drafts=True)


class FakeEngine:
    """Starts and stops at once; settles when told to."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.alive = False
        self.starts = 0
        self.fails = False
        self.settled = asyncio.Event()
        self.settled.set()
        self.stopped = asyncio.Event()

    async def start(self) -> None:
        self.starts += 1
        if self.fails:
            raise Unavailable("no memory")
        self.alive = True

    async def stop(self) -> None:
        self.alive = False
        self.stopped.set()

    async def settle(self) -> None:
        await self.settled.wait()


def pool_of(lanes: int = 2, idle_stop_s: float | None = None) -> Pool[FakeEngine]:
    limits = {SMALL: Limits(2, None), LARGE: Limits(1, None), DRAFTS: Limits(1, idle_stop_s)}
    return Pool(FakeEngine, limits, lanes=lanes)


def soon(seconds: float = 5.0) -> float:
    return asyncio.get_running_loop().time() + seconds


class Caller:
    """A call that holds its engine until told to end."""

    def __init__(self, pool: Pool[FakeEngine], kind: Kind = SMALL, key: str | None = None) -> None:
        self.places: list[int] = []
        self.served = asyncio.Event()
        self.may_end = asyncio.Event()
        self.lease: Lease[FakeEngine] | None = None
        self.engine: FakeEngine | None = None
        self.task = asyncio.create_task(self._run(pool, kind, key))

    async def _run(self, pool: Pool[FakeEngine], kind: Kind, key: str | None) -> None:
        with pool.lease(kind, key) as lease:
            self.lease = lease
            async for place in lease.places(deadline_s=soon()):
                self.places.append(place)
            self.engine = await lease.engine(deadline_s=soon())
            self.served.set()
            await self.may_end.wait()
            lease.finish()

    async def end(self) -> None:
        self.may_end.set()
        await self.task


async def queued(*callers: Caller) -> None:
    """Let everything run that can."""
    for _ in range(5 * len(callers) + 5):
        await asyncio.sleep(0)


async def test_first_come_first_served_and_everybody_knows_the_place() -> None:
    pool = pool_of()
    callers = [Caller(pool) for _ in range(6)]
    await queued(*callers)
    assert [caller.served.is_set() for caller in callers] == [True, True] + [False] * 4
    for caller in callers:
        await caller.end()
    assert [caller.places for caller in callers] == [[], [], [1], [2, 1], [3, 2, 1], [4, 3, 2, 1]]


async def test_where_two_engines_are_free_at_once_a_place_is_passed_over() -> None:
    pool = pool_of()
    callers = [Caller(pool) for _ in range(6)]
    await queued(*callers)
    for caller in callers[:2]:
        caller.may_end.set()
    await queued(*callers)
    assert [caller.places for caller in callers] == [[], [], [1], [2], [3, 1], [4, 2]]
    for caller in callers:
        await caller.end()
    assert [caller.places[-1:] for caller in callers[4:]] == [[1], [1]]


async def test_no_more_engines_work_than_there_are_lanes() -> None:
    pool = pool_of(lanes=2)
    small, large, drafts = Caller(pool), Caller(pool, LARGE), Caller(pool, DRAFTS)
    await queued(small, large, drafts)
    assert drafts.places == [1]
    await large.end()
    await asyncio.wait_for(drafts.served.wait(), 5)
    for caller in (small, drafts):
        await caller.end()


async def test_a_call_whose_engine_is_busy_lets_others_pass_and_keeps_its_place() -> None:
    pool = pool_of(lanes=2)
    first, second, small = Caller(pool, LARGE), Caller(pool, LARGE), Caller(pool)
    await queued(first, second, small)
    assert small.served.is_set()
    assert second.places == [1]
    later = Caller(pool)
    await queued(later)
    assert later.places == [2]
    await first.end()
    await asyncio.wait_for(second.served.wait(), 5)
    assert not later.served.is_set()
    for caller in (second, small, later):
        await caller.end()


async def test_leaving_the_line_moves_the_others_up() -> None:
    pool = pool_of(lanes=1)
    callers = [Caller(pool) for _ in range(3)]
    await queued(*callers)
    callers[1].task.cancel()
    await queued(*callers)
    assert callers[2].places == [2, 1]
    await callers[0].end()
    await callers[2].end()


async def test_a_call_gets_the_engine_that_holds_its_prefix() -> None:
    pool = pool_of()
    one, two = Caller(pool, key="one"), Caller(pool, key="two")
    await queued(one, two)
    assert one.engine is not two.engine
    assert one.lease is not None
    assert not one.lease.holds_prefix
    await one.end()
    await two.end()
    again = Caller(pool, key="two")
    await queued(again)
    assert again.engine is two.engine
    assert again.lease is not None
    assert again.lease.holds_prefix
    await again.end()


async def test_a_restarted_engine_holds_no_prefix() -> None:
    pool = pool_of(lanes=1)
    caller = Caller(pool, key="one")
    await queued(caller)
    await caller.end()
    assert caller.engine is not None
    caller.engine.alive = False  # it crashed
    again = Caller(pool, key="one")
    await queued(again)
    assert again.lease is not None
    assert again.lease.cold
    assert not again.lease.holds_prefix
    assert caller.engine.starts == 2
    await again.end()


async def test_a_call_cancelled_after_its_prompt_was_read_leaves_the_prefix() -> None:
    pool = pool_of(lanes=1)
    with pool.lease(SMALL, "one") as lease:
        await lease.engine(deadline_s=soon())
        lease.hold_prefix()
    again = Caller(pool, key="one")
    await asyncio.wait_for(again.served.wait(), 5)
    assert again.lease is not None
    assert again.lease.holds_prefix
    await again.end()


async def test_calls_without_a_key_never_reuse() -> None:
    pool = pool_of(lanes=1)
    for _ in range(2):
        caller = Caller(pool)
        await queued(caller)
        assert caller.lease is not None
        assert not caller.lease.holds_prefix
        await caller.end()


async def test_a_cancelled_call_holds_its_engine_until_that_has_noticed() -> None:
    pool = pool_of(lanes=1)
    cancelled, waiting = Caller(pool), Caller(pool)
    await queued(cancelled, waiting)
    assert cancelled.engine is not None
    cancelled.engine.settled.clear()
    cancelled.task.cancel()
    await queued(cancelled, waiting)
    assert not waiting.served.is_set()
    cancelled.engine.settled.set()
    await asyncio.wait_for(waiting.served.wait(), 5)
    await waiting.end()


async def test_an_engine_that_does_not_answer_after_a_cancellation_is_stopped() -> None:
    class Deaf(FakeEngine):
        async def settle(self) -> None:
            raise ProviderError("no answer")

    pool = Pool(Deaf, {SMALL: Limits(1, None)}, lanes=1)
    with pool.lease(SMALL) as lease:
        engine = await lease.engine(deadline_s=soon())
    await asyncio.wait_for(engine.stopped.wait(), 5)
    with pool.lease(SMALL) as lease:
        assert await lease.engine(deadline_s=soon()) is engine
        assert engine.starts == 2
        lease.finish()


async def test_an_engine_that_cannot_start_is_free_for_the_next_try() -> None:
    pool = pool_of(lanes=1)
    with pool.lease(SMALL) as lease:
        assert lease.seat is not None
        lease.seat.engine.fails = True
        with pytest.raises(Unavailable, match="no memory"):
            await lease.engine(deadline_s=soon())
    with pool.lease(SMALL) as lease:
        assert lease.seat is not None
        lease.seat.engine.fails = False
        assert (await lease.engine(deadline_s=soon())).alive
        lease.finish()


async def test_an_unused_engine_stops_and_starts_again_on_demand() -> None:
    pool = pool_of(idle_stop_s=0.0)
    caller = Caller(pool, DRAFTS)
    await queued(caller)
    await caller.end()
    assert caller.engine is not None
    await asyncio.wait_for(caller.engine.stopped.wait(), 5)
    assert pool.engines == ()
    again = Caller(pool, DRAFTS)
    await asyncio.wait_for(again.served.wait(), 5)
    assert again.engine is not caller.engine
    await again.end()


async def test_an_engine_in_use_is_not_stopped() -> None:
    pool = pool_of(idle_stop_s=0.0)
    caller = Caller(pool, DRAFTS)
    await queued(caller)
    again = Caller(pool, DRAFTS)
    await queued(again)
    await caller.end()  # its alarm is set and cleared in one go: the next caller takes over
    await asyncio.sleep(0)
    await queued(again)
    assert again.engine is caller.engine
    assert caller.engine is not None
    assert caller.engine.alive
    await again.end()


async def test_waiting_ends_at_the_deadline_with_the_place() -> None:
    pool = pool_of(lanes=1)
    holder = Caller(pool)
    await queued(holder)
    with pool.lease(SMALL) as lease, pytest.raises(TimedOut, match="place 1"):
        async for _ in lease.places(deadline_s=soon(0.0)):
            pass
    await holder.end()


async def test_warming_starts_as_many_engines_as_told() -> None:
    pool = pool_of()
    await pool.warm(SMALL, 2, deadline_s=soon())
    assert [engine.alive for engine in pool.engines] == [True, True]
    caller = Caller(pool)
    await queued(caller)
    assert caller.lease is not None
    assert not caller.lease.cold
    await caller.end()


async def test_closing_refuses_those_who_wait_and_stops_the_engines() -> None:
    pool = pool_of(lanes=1)
    holder, waiting = Caller(pool), Caller(pool)
    await queued(holder, waiting)
    await pool.aclose()
    with pytest.raises(Unavailable, match="shut down"):
        await waiting.task
    assert holder.engine is not None
    assert not holder.engine.alive
    with pool.lease(SMALL) as lease, pytest.raises(Unavailable, match="shut down"):
        async for _ in lease.places(deadline_s=soon()):
            pass
    await holder.end()

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from core.background import Background, Job, Tell
from core.errors import EngineError, Unavailable

LIMIT_S = 20.0


@pytest.fixture
def background() -> Iterator[Background]:
    made = Background("test")
    yield made
    made.close()


async def forever() -> None:
    await asyncio.get_running_loop().create_future()


def test_work_runs_on_one_loop_that_is_not_ours(background: Background) -> None:
    async def where(_: Tell) -> tuple[int, int]:
        return id(asyncio.get_running_loop()), threading.get_ident()

    first = background.submit(where).result(LIMIT_S)
    assert background.submit(where).result(LIMIT_S) == first
    assert first[1] != threading.get_ident()


def test_news_arrive_in_order_and_once(background: Background) -> None:
    async def count(tell: Tell) -> str:
        for number in range(3):
            tell(number)
        return "counted"

    job = background.submit(count)
    assert job.wait(LIMIT_S)
    assert job.news() == (0, 1, 2)
    assert job.news() == ()
    assert job.done
    assert job.result() == "counted"


def test_cancel_stops_the_work_and_lets_it_clean_up(background: Background) -> None:
    begun = threading.Event()

    async def work(tell: Tell) -> None:
        begun.set()
        try:
            await forever()
        finally:
            tell("cleaned up")

    job = background.submit(work)
    assert begun.wait(LIMIT_S)
    assert not job.done
    job.cancel()
    job.cancel()
    assert job.wait(LIMIT_S)
    assert job.cancelled
    assert job.news() == ("cleaned up",)
    with pytest.raises(Unavailable, match="stopped"):
        job.result()


def test_a_cancel_that_comes_before_the_start_counts(background: Background) -> None:
    hold = threading.Event()

    async def block(_: Tell) -> None:
        hold.wait(LIMIT_S)  # the loop is busy: the next job cannot start yet

    async def work(_: Tell) -> None:
        await forever()

    background.submit(block)
    job = background.submit(work)
    job.cancel()
    hold.set()
    assert job.wait(LIMIT_S)
    assert job.cancelled


def test_errors_reach_the_caller(background: Background) -> None:
    async def fail(_: Tell) -> None:
        raise EngineError("the model is asleep")

    job = background.submit(fail)
    with pytest.raises(EngineError, match="asleep"):
        job.result(LIMIT_S)
    assert not job.cancelled


def test_result_in_time_or_not_at_all(background: Background) -> None:
    async def work(_: Tell) -> None:
        await forever()

    job = background.submit(work)
    with pytest.raises(TimeoutError, match="goes on"):
        job.result(0.0)
    assert not job.done


def test_work_nobody_follows_is_cancelled(background: Background) -> None:
    async def work(_: Tell) -> None:
        await forever()

    left = background.submit(work, patience_s=0.02)
    assert left._stopped.wait(LIMIT_S)  # not `wait`: that would count as looking
    assert left.cancelled


def test_close_cancels_what_runs_and_refuses_more() -> None:
    background = Background("closing")
    begun, cleaned = threading.Event(), threading.Event()

    async def work(_: Tell) -> None:
        begun.set()
        try:
            await forever()
        finally:
            await asyncio.sleep(0)  # clean-up may await
            cleaned.set()

    job: Job[None] = background.submit(work)
    assert begun.wait(LIMIT_S)
    background.close()
    background.close()
    assert cleaned.is_set()
    assert job.cancelled
    assert not background._thread.is_alive()
    job.cancel()  # too late, and no error
    with pytest.raises(Unavailable, match="shutting down"):
        background.submit(work)


def test_many_threads_submit_at_once(background: Background) -> None:
    async def double(number: int) -> int:
        await asyncio.sleep(0)
        return 2 * number

    found: dict[int, int] = {}

    def ask(number: int) -> None:
        found[number] = background.submit(lambda _: double(number)).result(LIMIT_S)

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    assert found == {n: 2 * n for n in range(20)}

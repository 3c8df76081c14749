"""Jobs: at once an id, then every state, bounded in number, in time and in who may see them.

No test sleeps: the work of a job waits for events of the test, the test for events of the job.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator

import pytest

from core.errors import InputError, Unavailable
from core.jobs import Control, Jobs, Seen, Work
from core.text import Note

LIMIT_S = 30.0
"""Only a broken registry ever waits that long."""


class Gate:
    """Work that says it has begun, then waits until it may go on."""

    def __init__(self, result: object = "made") -> None:
        self.begun, self.open, self.result = threading.Event(), threading.Event(), result
        GATES.add(self)

    def __call__(self, control: Control) -> object:
        control.tell(0.25, Note.of("job.running"))
        self.begun.set()
        assert self.open.wait(LIMIT_S)
        control.check()
        return self.result


GATES: weakref.WeakSet[Gate] = weakref.WeakSet()


@pytest.fixture(autouse=True)
def _no_gate_stays_shut() -> Iterator[None]:
    """Let go whatever a test has left waiting."""
    yield
    for gate in GATES:
        gate.open.set()


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    registry = Jobs(at_once=1, most_waiting=3, most_each=2)
    yield registry
    registry.close()


def seen(jobs: Jobs, job_id: str) -> Seen:
    found = jobs.look(job_id)
    assert found is not None
    return found


def begun(jobs: Jobs, owner: str = "me") -> tuple[str, Gate]:
    gate = Gate()
    job_id = jobs.submit("kind", gate, owner=owner)
    assert gate.begun.wait(LIMIT_S)
    return job_id, gate


def ended(jobs: Jobs, work: Work, owner: str = "me") -> Seen:
    job_id = jobs.submit("kind", work, owner=owner)
    assert jobs.wait(job_id, LIMIT_S)
    return seen(jobs, job_id)


def test_a_job_has_an_id_at_once_and_a_result_later(jobs: Jobs) -> None:
    job_id, gate = begun(jobs)
    running = seen(jobs, job_id)
    assert (running.state, running.progress, running.message) == (
        "running",
        0.25,
        Note.of("job.running"),
    )
    assert not running.ended
    gate.open.set()
    assert jobs.wait(job_id, LIMIT_S)
    done = seen(jobs, job_id)
    assert (done.state, done.result, done.error, done.ended) == ("done", "made", "", True)


def test_jobs_wait_for_their_turn_and_know_their_place(jobs: Jobs) -> None:
    _, gate = begun(jobs)
    second, third = (jobs.submit("kind", Gate(), owner=name) for name in "ab")
    assert [seen(jobs, j).state for j in (second, third)] == ["queued", "queued"]
    assert [seen(jobs, j).ahead for j in (second, third)] == [0, 1]
    gate.open.set()


def test_several_run_at_once_where_that_is_allowed() -> None:
    both = Jobs(at_once=2)
    gates = [Gate(), Gate()]
    for gate in gates:
        both.submit("kind", gate, owner="me")
    assert all(gate.begun.wait(LIMIT_S) for gate in gates)
    for gate in gates:
        gate.open.set()
    both.close()


def test_a_running_job_stops_at_its_next_word(jobs: Jobs) -> None:
    job_id, gate = begun(jobs)
    jobs.cancel(job_id)
    assert seen(jobs, job_id).cancelling
    gate.open.set()
    assert jobs.wait(job_id, LIMIT_S)
    assert seen(jobs, job_id).state == "cancelled"
    assert seen(jobs, job_id).result is None


def test_a_waiting_job_is_cancelled_at_once_and_never_begins(jobs: Jobs) -> None:
    _, gate = begun(jobs)
    other = Gate()
    waiting = jobs.submit("kind", other, owner="me")
    jobs.cancel(waiting)
    jobs.cancel(waiting)
    assert seen(jobs, waiting).state == "cancelled"
    gate.open.set()
    assert ended(jobs, lambda _: 1, owner="third").state == "done"
    assert not other.begun.is_set()


def test_a_failure_is_one_line_and_the_next_job_runs(jobs: Jobs) -> None:
    def refused(_: Control) -> object:
        raise InputError("n is 0;\nit must be from 1")

    def broken(_: Control) -> object:
        raise ZeroDivisionError("what nobody outside may read")

    assert ended(jobs, refused).error == "n is 0; it must be from 1"
    found = ended(jobs, broken)
    assert (found.state, found.error) == ("failed", "ZeroDivisionError")
    assert ended(jobs, lambda _: 42).result == 42


def test_progress_stays_between_0_and_1_and_a_message_until_the_next(jobs: Jobs) -> None:
    told: list[tuple[float, Note | None]] = []

    def work(control: Control) -> object:
        for share, note in ((-1.0, Note.of("job.queued")), (7.0, None)):
            control.tell(share, note)
            told.append((control.progress, control.message))
        return None

    ended(jobs, work)
    assert told == [(0.0, Note.of("job.queued")), (1.0, Note.of("job.queued"))]


def test_nobody_takes_more_than_their_share(jobs: Jobs) -> None:
    _, gate = begun(jobs)
    jobs.submit("kind", Gate(), owner="me")
    with pytest.raises(Unavailable, match="2 of your jobs"):
        jobs.submit("kind", Gate(), owner="me")
    for name in "ab":
        jobs.submit("kind", Gate(), owner=name)
    with pytest.raises(Unavailable, match="3 jobs are waiting"):
        jobs.submit("kind", Gate(), owner="c")
    gate.open.set()


def test_ids_cannot_be_guessed_and_unknown_ones_say_nothing(jobs: Jobs) -> None:
    ids = {ended(jobs, lambda _: 1, owner=str(k)).id for k in range(8)}
    assert len(ids) == 8
    assert all(len(job_id) >= 22 for job_id in ids)  # 128 random bits
    assert jobs.look("x" * 22) is None
    jobs.cancel("x" * 22)
    assert jobs.wait("x" * 22)


def test_what_ended_is_forgotten_after_a_while_and_beyond_a_number() -> None:
    now = [0.0]
    registry = Jobs(at_once=1, most_kept=2, keep_s=60.0, clock=lambda: now[0])
    first = ended(registry, lambda _: 1).id
    now[0] = 50.0
    second = ended(registry, lambda _: 2).id
    now[0] = 61.0
    assert registry.look(first) is None
    assert registry.look(second) is not None
    third, fourth = ended(registry, lambda _: 3).id, ended(registry, lambda _: 4).id
    assert registry.look(second) is None
    assert [seen(registry, j).result for j in (third, fourth)] == [3, 4]
    registry.close()


def test_a_job_that_runs_is_never_forgotten() -> None:
    now = [0.0]
    registry = Jobs(at_once=1, keep_s=60.0, clock=lambda: now[0])
    job_id, gate = begun(registry)
    now[0] = 1e6
    assert seen(registry, job_id).state == "running"
    gate.open.set()
    registry.close()


def test_a_closed_registry_cancels_all_and_takes_no_more() -> None:
    registry = Jobs(at_once=1)
    running, gate = begun(registry)
    waiting = registry.submit("kind", Gate(), owner="me")
    registry.close()
    registry.close()
    gate.open.set()
    assert registry.wait(running, LIMIT_S)
    assert [seen(registry, j).state for j in (running, waiting)] == ["cancelled", "cancelled"]
    with pytest.raises(Unavailable, match="shutting down"):
        registry.submit("kind", Gate(), owner="me")


def test_work_is_let_go_once_it_has_ended(jobs: Jobs) -> None:
    import weakref

    work = Gate()
    work.open.set()
    gone = weakref.ref(work)
    ended(jobs, work)
    del work
    assert gone() is None

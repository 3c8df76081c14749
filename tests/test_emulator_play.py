"""The emulator's clock, on a virtual one: exact times with and without faults."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from core.emulator.faults import parse
from core.emulator.play import Play
from tests.virtual_time import run

FRAMES = tuple((0.1 + k * 0.01, f"<{k}>".encode()) for k in range(10))
Sent = list[tuple[float, str, bytes]]
"""Time, kind and bytes of what was sent."""


async def play(
    fault: str | None = None,
    *,
    leaves_at_s: float = 1000.0,
    slow: Callable[[], Awaitable[object]] | None = None,
) -> tuple[Sent, bool]:
    loop = asyncio.get_running_loop()
    sent: Sent = []
    stayed: list[bool] = []

    async def send(message: Any) -> None:
        kind = message["type"].removeprefix("http.response.")
        end = kind == "body" and not message["more_body"]
        sent.append((loop.time(), "end" if end else kind, message.get("body", b"")))
        if slow is not None and not end:
            await slow()

    async def receive() -> Any:
        gone: asyncio.Future[None] = loop.create_future()
        loop.call_at(leaves_at_s, gone.set_result, None)
        await gone
        return {"type": "http.disconnect"}

    answer = Play(
        frames=FRAMES,
        arrived_s=0.0,
        headers_s=0.0 if fault is None or "slow" not in fault else 0.1 + 0.05,
        media_type="text/event-stream",
        fault=parse(fault),
        error_frame=b"<error>",
        on_frame=lambda: None,
        ended=stayed.append,
    )
    await answer({"type": "http"}, receive, send)
    return sent, stayed[0]


def bodies(sent: Sent) -> list[tuple[float, bytes]]:
    return [(at, body) for at, kind, body in sent if kind == "body"]


def test_frames_go_out_at_their_times() -> None:
    sent, stayed = run(play())
    assert sent[0][:2] == (0.0, "start")
    assert tuple(bodies(sent)) == FRAMES
    assert sent[-1][:2] == (FRAMES[-1][0], "end")
    assert stayed


def test_a_slow_connection_does_not_push_later_frames_back() -> None:
    sent, _ = run(play(slow=lambda: asyncio.sleep(0.004)))
    assert tuple(bodies(sent)) == FRAMES  # 4 ms late every time, and never added up


def test_a_stall_is_silence_until_the_client_leaves() -> None:
    sent, stayed = run(play("stall", leaves_at_s=5.0))
    assert tuple(bodies(sent)) == FRAMES[:5]
    assert not stayed
    assert "end" not in {kind for _, kind, _ in sent}


def test_a_short_stall_moves_the_second_half() -> None:
    sent, _ = run(play("stall=0.2"))
    assert bodies(sent)[4] == FRAMES[4]
    assert bodies(sent)[5] == (pytest.approx(FRAMES[5][0] + 0.2), FRAMES[5][1])
    assert bodies(sent)[9] == (pytest.approx(FRAMES[9][0] + 0.2), FRAMES[9][1])


def test_a_cut_answer_has_no_end() -> None:
    sent, _ = run(play("cut"))
    assert tuple(bodies(sent)) == FRAMES[:5]
    assert "end" not in {kind for _, kind, _ in sent}


def test_an_error_takes_the_place_of_the_second_half() -> None:
    sent, _ = run(play("error_midstream"))
    assert bodies(sent)[5:] == [(FRAMES[5][0], b"<error>")]
    assert sent[-1][1] == "end"


def test_a_buffer_lets_everything_through_at_the_end() -> None:
    sent, _ = run(play("buffering"))
    assert bodies(sent) == [(FRAMES[-1][0], b"".join(data for _, data in FRAMES))]


def test_late_headers_hold_the_first_frames_back() -> None:
    sent, _ = run(play("slow_headers=0.05"))
    assert sent[0][0] == pytest.approx(0.15)
    assert [at for at, _ in bodies(sent)][:5] == pytest.approx([0.15] * 5)
    assert bodies(sent)[6] == FRAMES[6]


def test_fragments_keep_the_bytes_and_the_times() -> None:
    sent, _ = run(play("fragments=2"))
    assert b"".join(data for _, data in bodies(sent)) == b"".join(data for _, data in FRAMES)
    assert bodies(sent)[:2] == [(0.1, b"<0"), (0.1, b">")]


def test_a_client_that_leaves_stops_the_answer_at_once() -> None:
    sent, stayed = run(play(leaves_at_s=0.145))
    assert tuple(bodies(sent)) == FRAMES[:5]
    assert not stayed

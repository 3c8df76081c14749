"""The per-call measures on streams whose figures are worked out by hand."""

from __future__ import annotations

import pytest

from core.calls import CallRecord, Recorder, lengths_differ
from core.providers.base import Chunk, ChunkKind, Usage

TOKENS = [" a"] * 100
"""A hundred tokens of one visible character each."""


def record(
    chunks: list[tuple[float, str]],
    *,
    kind: ChunkKind = ChunkKind.TEXT,
    usage: Usage | None = None,
    seen: bool = True,
    before: tuple[Chunk, ...] = (),
) -> CallRecord:
    """A finished call asked at 9 s and sent at 10 s of the loop's clock; the run began at 9 s."""
    recorder = Recorder("answer", "", "large", "test", "m", clock_zero_s=9.0, asked_s=0.0)
    arrived = (Chunk(ChunkKind.SENT, 10.0), *before, *(Chunk(kind, 10.0 + t, x) for t, x in chunks))
    for chunk in arrived:
        taken = recorder.take(chunk, chunk.t_s)
        if seen and taken.kind is ChunkKind.TEXT:
            recorder.seen(taken.t_s)
    return recorder.close("done", usage or Usage(tokens_in=9, tokens_out=100))


def evenly(size: int = 1, gap_s: float = 0.02, first_s: float = 0.5) -> list[tuple[float, str]]:
    return [
        (first_s + k * gap_s, "".join(TOKENS[k * size : (k + 1) * size]))
        for k in range(len(TOKENS) // size)
    ]


@pytest.mark.parametrize(
    ("chunks", "seen", "ttft", "e2e", "tpot", "longest"),
    [
        (evenly(), True, 0.50, 2.48, 0.0200, 0.020),
        ([(2.48, "".join(TOKENS))], False, None, 2.48, None, None),
        (evenly(5, 0.1), True, 0.50, 2.40, 0.0200, 0.100),
        (
            [(t + (3.0 if k >= 50 else 0.0), x) for k, (t, x) in enumerate(evenly())],
            True, 0.50, 5.48, 0.0503, 3.020,
        ),
    ],
    ids=["one by one", "not streamed", "five at a time", "a stall"],
)  # fmt: skip
def test_reference_vectors(
    chunks: list[tuple[float, str]],
    seen: bool,
    ttft: float | None,
    e2e: float,
    tpot: float | None,
    longest: float | None,
) -> None:
    call = record(chunks, seen=seen)
    assert call.ttft_s == (None if ttft is None else pytest.approx(ttft))
    assert call.e2e_s == pytest.approx(e2e)
    assert call.tpot_s == (None if tpot is None else pytest.approx(tpot, abs=5e-5))
    assert call.itl_max_s == (None if longest is None else pytest.approx(longest))
    assert call.queue_s == pytest.approx(1.0)


def test_the_usual_formula_would_be_wrong_with_several_tokens_in_a_chunk() -> None:
    call = record(evenly(5, 0.1))
    assert (call.content[-1].t_s - call.content[0].t_s) / 99 == pytest.approx(0.0192, abs=5e-5)
    assert call.tpot_s == pytest.approx(0.02)


def test_reasoning_counts_as_first_content_and_not_as_something_seen() -> None:
    thinking = (Chunk(ChunkKind.REASONING, 10.2, " hm"),)
    call = record([(1.0, " a"), (1.1, " a")], before=thinking)
    assert call.ttft_any_s == pytest.approx(0.2)
    assert call.ttft_s == pytest.approx(1.0)


def test_a_call_of_tools_only_has_a_first_token() -> None:
    call = record([(0.4, '{"city":'), (0.6, '"Jeju"}')], kind=ChunkKind.TOOL)
    assert call.ttft_any_s == pytest.approx(0.4)
    assert call.ttft_s is None
    assert call.e2e_s == pytest.approx(0.6)
    assert call.text == ""


def test_hidden_reasoning_and_rejected_tokens_were_never_sent() -> None:
    counted = Usage(tokens_in=9, tokens_out=160, tokens_reasoning=40, tokens_rejected=20)
    assert record(evenly(), usage=counted).tpot_s == pytest.approx(0.02)


def test_without_usage_the_joined_text_is_counted_once() -> None:
    assert record(evenly(5, 0.1), usage=Usage(source="estimated")).tpot_s == pytest.approx(0.02)


def test_another_tokenizers_count_is_split_in_proportion() -> None:
    # twice as many tokens in the same time: the first chunk's share doubles with the rest
    assert record(evenly(5, 0.1), usage=Usage(tokens_out=200)).tpot_s == pytest.approx(0.01)


def test_percentiles_of_gaps_need_enough_gaps() -> None:
    call = record(evenly())
    assert call.itl_p50_s == pytest.approx(0.02)
    assert call.itl_p95_s == pytest.approx(0.02)
    few = record(evenly(20, 0.1))
    assert few.itl_p50_s == pytest.approx(0.1)
    assert few.itl_p95_s is None


def test_usage_and_notes_come_after_the_end_and_do_not_move_it() -> None:
    recorder = Recorder("answer", "", "large", "test", "m", clock_zero_s=0.0, asked_s=0.0)
    late = (
        Chunk(ChunkKind.TEXT, 1.0, " a"),
        Chunk(ChunkKind.NOTE, 1.0, "cold_connection"),
        Chunk(ChunkKind.USAGE, 3.0, usage=Usage(tokens_out=1)),
        Chunk(ChunkKind.NOTE, 3.0, "cold_connection"),
    )
    for chunk in (Chunk(ChunkKind.SENT, 0.5), *late):
        recorder.take(chunk, chunk.t_s + 0.25)
    assert recorder.usage == Usage(tokens_out=1)
    call = recorder.close("done", Usage(tokens_out=1))
    assert call.e2e_s == pytest.approx(0.5)
    assert call.notes == ("cold_connection",)
    assert call.lag_s == pytest.approx(0.25)


def test_a_call_that_did_not_end_by_itself_has_no_end() -> None:
    recorder = Recorder("answer", ".hedge", "large", "test", "m", clock_zero_s=0.0, asked_s=0.0)
    recorder.take(Chunk(ChunkKind.SENT, 0.5), 0.5)
    recorder.take(Chunk(ChunkKind.TEXT, 0.7, " a"), 0.7)
    recorder.take(Chunk(ChunkKind.TEXT, 0.8, " a"), 0.8)
    call = recorder.close("cancelled", Usage(tokens_out=100, source="estimated"))
    assert call.e2e_s is None
    assert call.tpot_s is None
    assert call.ttft_any_s == pytest.approx(0.2)


def test_a_call_that_was_never_sent_has_no_times() -> None:
    recorder = Recorder("answer", "", "large", "test", "m", clock_zero_s=0.0, asked_s=0.0)
    call = recorder.close("failed", Usage(), "refused")
    assert (call.queue_s, call.ttft_any_s, call.ttft_s, call.e2e_s, call.tpot_s) == (None,) * 5
    assert (call.itl_p50_s, call.itl_max_s) == (None, None)


def test_an_answer_held_back_and_sent_at_once_is_told() -> None:
    assert record(evenly(1, 0.0001, 2.4)).buffered
    assert not record(evenly()).buffered
    assert not record([(2.4, " a"), (2.4, " a")]).buffered


def test_arms_of_unequal_length_are_told() -> None:
    short = record(evenly(), usage=Usage(tokens_out=94))
    near = record(evenly(), usage=Usage(tokens_out=95))
    assert lengths_differ([short], [record(evenly())])
    assert not lengths_differ([near], [record(evenly())])
    assert not lengths_differ([], [])

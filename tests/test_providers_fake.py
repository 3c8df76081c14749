from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import tokens
from core.errors import BrokenStream, InputError, RateLimited, TimedOut
from core.providers.base import CallRequest, Chunk, ChunkKind, Message
from core.providers.fake import FakeProvider, Pace
from core.providers.scripted import FILLER, script
from tests.virtual_time import run

PACE = Pace(ttft_s=0.5, tpot_s=0.02)
ASK = CallRequest(
    "any", (Message("user", "Hi"),), scripted_text="안녕하세요 🙂 hello", deadline_s=60.0
)


async def stream(
    pace: Pace = PACE, request: CallRequest = ASK
) -> tuple[list[Chunk], Exception | None]:
    """Chunks, and the error after them."""
    got: list[Chunk] = []
    try:
        async for chunk in FakeProvider(pace).stream(request):
            got.append(chunk)  # noqa: PERF401  (what came before an error is kept)
    except Exception as error:  # noqa: BLE001  (it is what is looked at)
        return got, error
    return got, None


def chunks_of(pace: Pace = PACE, request: CallRequest = ASK) -> list[Chunk]:
    got, error = run(stream(pace, request))
    assert error is None
    return got


def text_of(chunks: list[Chunk]) -> list[Chunk]:
    return [c for c in chunks if c.kind is ChunkKind.TEXT]


def test_token_k_comes_at_ttft_plus_k_tpot_exactly() -> None:
    request = replace(ASK, scripted_text="one two three four")
    chunks = chunks_of(PACE, request)
    assert [(c.kind, c.t_s, c.text) for c in chunks[:-1]] == [
        (ChunkKind.SENT, 0.0, ""),
        (ChunkKind.TEXT, 0.5, "one"),
        (ChunkKind.TEXT, 0.5 + 1 * 0.02, " two"),
        (ChunkKind.TEXT, 0.5 + 2 * 0.02, " three"),
        (ChunkKind.TEXT, 0.5 + 3 * 0.02, " four"),
    ]
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.tokens_out == 4
    assert chunks[-1].usage.tokens_in == tokens.count("Hi")


@given(st.text(max_size=60), st.integers(1, 40))
def test_the_text_arrives_whole_up_to_the_limit(text: str, limit: int) -> None:
    request = replace(ASK, scripted_text=text, max_tokens=limit)
    said = "".join(c.text for c in text_of(chunks_of(PACE, request)))
    assert text.startswith(said)
    if tokens.count(text) <= limit:
        assert said == text


def test_a_limit_cuts_and_says_so() -> None:
    chunks = chunks_of(PACE, replace(ASK, scripted_text="one two three four", max_tokens=2))
    assert "".join(c.text for c in text_of(chunks)) == "one two"
    assert [c.text for c in chunks if c.kind is ChunkKind.NOTE] == ["truncated"]


def test_a_stop_sequence_ends_the_answer_before_it() -> None:
    chunks = chunks_of(PACE, replace(ASK, scripted_text="one two # three", stop=("#", "three")))
    assert "".join(c.text for c in text_of(chunks)) == "one two "


def test_an_empty_answer_takes_the_time_to_say_nothing() -> None:
    chunks = chunks_of(PACE, replace(ASK, scripted_text=""))
    assert not text_of(chunks)
    assert chunks[-1].t_s == 0.5


def test_accepted_prediction_tokens_come_four_times_faster() -> None:
    text = "a b c d e f g h i j k l m n o p"  # 16 tokens, all of them predicted
    chunks = chunks_of(PACE, replace(ASK, scripted_text=text, prediction=text))
    stamps = [c.t_s for c in text_of(chunks)]
    assert stamps[-1] == pytest.approx(0.5 + 15 * 0.02 / 4)
    usage = chunks[-1].usage
    assert usage is not None
    assert (usage.tokens_accepted, usage.tokens_rejected) == (16, 0)


def test_the_deadline_bites_at_its_exact_time() -> None:
    async def timed() -> tuple[float, Exception | None, int]:
        got, error = await stream(PACE, replace(ASK, scripted_text=FILLER, deadline_s=0.53))
        return asyncio.get_running_loop().time(), error, len(text_of(got))

    ended_s, error, seen = run(timed())
    assert isinstance(error, TimedOut)
    assert ended_s == 0.53
    assert seen == 2  # at 0.50 and 0.52


@pytest.mark.parametrize(("after", "seen"), [(0, 0), (2, 2)])
def test_scripted_errors_come_after_so_many_tokens(after: int, seen: int) -> None:
    pace = replace(PACE, error=BrokenStream("cut"), error_after=after)
    got, error = run(stream(pace, replace(ASK, scripted_text="one two three")))
    assert isinstance(error, BrokenStream)
    assert len(text_of(got)) == seen


def test_the_pace_may_depend_on_the_request() -> None:
    def pace(request: CallRequest) -> Pace:
        if request.model == "busy":
            return Pace(0.1, 0.0, error=RateLimited("wait", retry_after_s=2.0))
        return Pace(0.1 * len(request.messages), 0.0, tokens_cached=7)

    async def both() -> tuple[list[Chunk], type | None]:
        provider = FakeProvider(pace)
        chunks = [c async for c in provider.stream(ASK)]
        try:
            async for _ in provider.stream(replace(ASK, model="busy")):
                pass
        except RateLimited as error:
            return chunks, type(error)
        return chunks, None

    chunks, error = run(both())
    assert text_of(chunks)[0].t_s == 0.1
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.tokens_cached == 7
    assert error is RateLimited


def test_calls_side_by_side_do_not_disturb_each_other() -> None:
    async def together() -> list[list[float]]:
        provider = FakeProvider(PACE)

        async def stamps(text: str) -> list[float]:
            request = replace(ASK, scripted_text=text)
            return [c.t_s async for c in provider.stream(request) if c.kind is ChunkKind.TEXT]

        return list(await asyncio.gather(*(stamps("one two three") for _ in range(3))))

    assert run(together()) == [[0.5, 0.5 + 0.02, 0.5 + 2 * 0.02]] * 3


def test_negative_times_are_refused() -> None:
    with pytest.raises(InputError, match="negative"):
        Pace(ttft_s=-0.1, tpot_s=0.0)


def test_a_cut_answer_is_tokenised_as_it_is_sent() -> None:
    cut = script("안녕하세요 여러분, 반갑습니다!", max_tokens=3)
    assert "".join(cut.pieces) == cut.text
    assert len(cut.pieces) == len(cut.at)


def test_chunks_of_several_tokens_come_with_their_first() -> None:
    answer = script("one two three four five")
    assert answer.chunks(2) == ((0.0, "one two"), (2.0, " three four"), (4.0, " five"))

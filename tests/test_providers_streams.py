"""What every hosted provider makes of a stream, whatever its vendor calls things."""

from __future__ import annotations

import pytest

from core.errors import BrokenStream
from core.providers.base import ChunkKind
from tests.hosted_calls import KEY, VENDORS, Dialect, chunks_of, of


@pytest.fixture(params=VENDORS)
def vendor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def dialect(vendor: str) -> Dialect:
    return VENDORS[vendor].dialect


async def test_pieces_come_by_kind_and_events_without_any_give_nothing(
    vendor: str, dialect: Dialect
) -> None:
    pieces = (dialect.thought("hm"), *dialect.silent, dialect.text("Hi"), dialect.tool('{"a":1}'))
    chunks = await chunks_of(vendor, dialect.encode(*dialect.begin, *pieces, *dialect.ends["stop"]))
    assert of(chunks, ChunkKind.REASONING) == ["hm"]
    assert of(chunks, ChunkKind.TEXT) == ["Hi"]
    assert of(chunks, ChunkKind.TOOL) == ['{"a":1}']


@pytest.mark.parametrize(
    ("end", "facts"), [("stop", set()), ("length", {"truncated"}), ("filter", {"filtered"})]
)
async def test_how_the_answer_ended_is_said(
    vendor: str, dialect: Dialect, end: str, facts: set[str]
) -> None:
    chunks = await chunks_of(vendor, dialect.answer("Hi", end=end))
    assert {"truncated", "filtered"} & set(of(chunks, ChunkKind.NOTE)) == facts


async def test_an_error_in_a_good_stream_breaks_it_and_shows_no_key(
    vendor: str, dialect: Dialect
) -> None:
    failure = dialect.failure(f"no more, {KEY}")
    with pytest.raises(BrokenStream, match=r"no more, \[key\]"):
        await chunks_of(vendor, dialect.encode(*dialect.begin, dialect.text("Hi"), failure))


async def test_a_stream_that_ends_without_a_reason_is_broken_at_the_vendor_and_doubtful_elsewhere(
    vendor: str, dialect: Dialect
) -> None:
    unfinished = dialect.encode(*dialect.begin, dialect.text("Hi"))
    if vendor == "compatible":
        assert "no_finish_reason" in of(await chunks_of(vendor, unfinished), ChunkKind.NOTE)
    else:
        with pytest.raises(BrokenStream, match="ended before"):
            await chunks_of(vendor, unfinished)

"""The local engine on its real weights; `python -m core models pull` brings them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from core.errors import BrokenStream, ProviderError, TimedOut, Unavailable
from core.local.engine import Engine
from core.local.models import locate
from core.local.provider import LocalFact, LocalProvider
from core.local.settings import EngineSettings
from core.providers.base import CallRequest, Chunk, ChunkKind, Message, Usage

pytestmark = [
    *(pytest.mark.engine, pytest.mark.alone, pytest.mark.slow),
    pytest.mark.usefixtures("local_model"),
    pytest.mark.asyncio(loop_scope="module"),
]

RULES = Message("system", " ".join(f"Rule {n}: answer kindly." for n in range(20)))
ASK = CallRequest(
    model="small",
    messages=(RULES, Message("user", "Where is my parcel?")),
    static_messages=1,
    scripted_text="It is on its way and will be there on Friday.",
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def provider() -> AsyncIterator[LocalProvider]:
    provider = LocalProvider(lanes=1)
    await provider.warm("small")
    yield provider
    await provider.aclose()


async def chunks_of(provider: LocalProvider, request: CallRequest) -> list[Chunk]:
    return [chunk async for chunk in provider.stream(request)]


async def answer(provider: LocalProvider, request: CallRequest) -> tuple[str, Usage]:
    chunks = await chunks_of(provider, request)
    (usage,) = [chunk.usage for chunk in chunks if chunk.usage]
    return "".join(chunk.text for chunk in chunks if chunk.kind is ChunkKind.TEXT), usage


@pytest.mark.parametrize(
    "text",
    [
        "Plain prose, with a comma.",
        '{"query": "a \\"quoted\\" word", "n": [1, 2.5, null]}\n{"next": "line"}',
        "환불은 영업일 기준 3일에서 5일 걸려요.",
        "größer, 5 €, 👩‍👩‍👧 🙂",
        "tab\there, back\\slash, C:\\new, $x^2$, %llguidance {}\nstart: x",
        "bell \x07, line \u2028 separator, no-break\u00a0space, \ufeffmark\r\n",
        " leading and trailing space ",
        "x",
        "",
    ],
)
async def test_the_engine_writes_exactly_the_scripted_text(
    provider: LocalProvider, text: str
) -> None:
    written, usage = await answer(provider, replace(ASK, scripted_text=text))
    assert written == text
    assert usage.tokens_out is not None
    assert (usage.tokens_out == 0) == (text == "")


@pytest.mark.parametrize("text", ["a \x7f b", "<|im_end|> first", "later <|im_start|> and on"])
async def test_a_text_the_model_has_no_tokens_for_is_an_error_not_another_text(
    provider: LocalProvider, text: str
) -> None:
    with pytest.raises(ProviderError, match="cannot write this text"):
        await chunks_of(provider, replace(ASK, scripted_text=text))
    assert (await answer(provider, ASK))[0] == ASK.scripted_text


async def test_chunks_come_in_order_and_are_stamped_as_they_come(provider: LocalProvider) -> None:
    chunks = await chunks_of(provider, ASK)
    kinds = [chunk.kind for chunk in chunks]
    assert kinds[0] is ChunkKind.SENT
    assert kinds[-1] is ChunkKind.USAGE
    assert [c.fraction for c in chunks if c.kind is ChunkKind.PROGRESS][-1] == 1.0
    assert [c.t_s for c in chunks] == sorted(c.t_s for c in chunks)
    assert kinds.count(ChunkKind.TEXT) > 5
    assert all(chunk.text for chunk in chunks if chunk.kind is ChunkKind.TEXT)


async def test_a_prefix_is_reused_only_under_its_key_and_no_more_than_it(
    provider: LocalProvider,
) -> None:
    keyed = replace(ASK, cache_key="test")
    cached = [
        (await answer(provider, request))[1].tokens_cached
        for request in (ASK, keyed, keyed, ASK, keyed, keyed)
    ]
    (_, alone) = await answer(provider, replace(ASK, messages=(RULES,), scripted_text="x"))
    assert alone.tokens_in is not None
    assert cached[0] == cached[1] == cached[3] == 0
    for reused in (cached[2], cached[4], cached[5]):
        # The template adds the few tokens that open the next message or the answer.
        assert reused == pytest.approx(alone.tokens_in, abs=6)


async def test_json_follows_the_schema_and_is_compact(provider: LocalProvider) -> None:
    schema: Mapping[str, object] = {
        "type": "object",
        "properties": {"late": {"type": "boolean"}, "days": {"type": "integer", "maximum": 9}},
        "required": ["late", "days"],
        "additionalProperties": False,
    }
    text, _ = await answer(provider, replace(ASK, scripted_text=None, json_schema=schema))
    assert set(json.loads(text)) == {"late", "days"}
    assert " " not in text


async def test_free_text_is_the_same_each_time_and_cut_at_its_limit(
    provider: LocalProvider,
) -> None:
    free = replace(ASK, scripted_text=None, max_tokens=6)
    first, usage = await answer(provider, free)
    again, _ = await answer(provider, free)
    assert first == again != ""
    assert usage.tokens_out == 6
    notes = [c.text for c in await chunks_of(provider, free) if c.kind is ChunkKind.NOTE]
    assert notes == [LocalFact.TRUNCATED]


async def test_a_stop_text_ends_the_answer_before_it(provider: LocalProvider) -> None:
    assert (await answer(provider, replace(ASK, stop=(" and",))))[0] == "It is on its way"


async def test_a_predicted_output_is_accepted_and_changes_no_letter(
    provider: LocalProvider,
) -> None:
    text = " ".join(f"Item {n} costs {3 * n} euros and comes in blue." for n in range(8))
    predicting = replace(ASK, scripted_text=text, prediction=text.replace("Item 4", "Thing 4"))
    written, usage = await answer(provider, predicting)
    assert written == text
    assert usage.tokens_accepted is not None
    assert usage.tokens_rejected is not None
    assert usage.tokens_accepted > usage.tokens_rejected
    _, plain = await answer(provider, replace(predicting, prediction=None))
    assert plain.tokens_accepted is None


async def test_a_prompt_too_long_is_refused_with_its_size(provider: LocalProvider) -> None:
    request = replace(ASK, messages=(Message("user", "word " * 9000),))
    with pytest.raises(ProviderError, match="context size") as caught:
        await chunks_of(provider, request)
    assert caught.value.status == 400
    assert (await answer(provider, ASK))[0] == ASK.scripted_text


async def test_a_deadline_ends_the_call_and_frees_the_engine(provider: LocalProvider) -> None:
    long = replace(ASK, scripted_text="and on " * 400)
    with pytest.raises(TimedOut):
        await chunks_of(provider, replace(long, deadline_s=0.3))
    assert (await answer(provider, ASK))[0] == ASK.scripted_text


async def test_a_cancelled_task_frees_the_engine(provider: LocalProvider) -> None:
    long = replace(ASK, scripted_text="and on " * 400)
    started = asyncio.Event()

    async def read() -> None:
        async for chunk in provider.stream(long):
            if chunk.kind is ChunkKind.TEXT:
                started.set()

    task = asyncio.create_task(read())
    await asyncio.wait_for(started.wait(), 60)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert (await answer(provider, ASK))[0] == ASK.scripted_text


async def test_a_killed_engine_breaks_its_call_and_is_started_again(
    provider: LocalProvider,
) -> None:
    stream = provider.stream(replace(ASK, scripted_text="and on " * 400))
    async for chunk in stream:
        if chunk.kind is ChunkKind.TEXT:
            break
    for engine in provider.pool.engines:
        assert engine.pid is not None
        os.kill(engine.pid, signal.SIGKILL)
    with pytest.raises(BrokenStream):
        async for _ in stream:
            pass
    chunks = await chunks_of(provider, ASK)
    assert LocalFact.COLD_ENGINE in [chunk.text for chunk in chunks]
    assert "".join(c.text for c in chunks if c.kind is ChunkKind.TEXT) == ASK.scripted_text


async def test_what_is_no_model_cannot_be_loaded_and_leaves_no_process(tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    engine = Engine(lambda: EngineSettings(path=path))
    with pytest.raises(Unavailable, match=r"could not load broken\.gguf"):
        await engine.start()
    assert engine.pid is None
    with pytest.raises(Unavailable, match="no weights at"):
        await Engine(lambda: EngineSettings(path=tmp_path / "none.gguf")).start()


async def test_a_start_that_is_cancelled_leaves_no_process() -> None:
    engine = Engine(lambda: EngineSettings(path=locate("small").path))
    start = asyncio.create_task(engine.start())
    while engine.pid is None:  # noqa: ASYNC110 - the engine tells nobody that it spawned
        await asyncio.sleep(0)
    pid = engine.pid
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)

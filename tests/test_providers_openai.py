"""OpenAI's two APIs and compatible servers: what is sent, and streams as servers break them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from core import tokens
from core.emulator import EmulatedModel, Emulator, serve
from core.errors import BrokenStream, ProviderError
from core.providers import hosted
from core.providers.base import CallRequest, Chunk, ChunkKind, Message, Usage
from core.providers.compatible import Compatible
from core.providers.endpoint import Endpoint
from core.providers.hosted import HostedProvider
from core.providers.openai_chat import OpenAIChat, is_strict
from core.providers.openai_responses import OpenAIResponses
from tests.recorded_server import Recorded, Server, events, named, recorded

FAST = EmulatedModel(ttft_s=0.01, tpot_s=0.0005)
KEY = "sk-test-0123456789"
CLOSED = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
ASK = CallRequest(
    "gpt-4o", (Message("system", "Be brief."), Message("user", "Hi")), deadline_s=30.0
)


def delta(text: str, finish: str | None = None) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]}


STOP = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
USAGE = {
    "choices": [],
    "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
}
ROLE = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}


@asynccontextmanager
async def provider_at(
    server: Server, make: type[HostedProvider[Any, Any]] = OpenAIChat, **options: Any
) -> AsyncIterator[HostedProvider[Any, Any]]:
    provider = make(Endpoint(server.url, KEY, **options))  # type: ignore[call-arg]
    try:
        yield provider
    finally:
        await provider.aclose()


async def chunks_of(
    *pieces: bytes,
    make: type[HostedProvider[Any, Any]] = OpenAIChat,
    request: CallRequest = ASK,
    **answer: Any,
) -> list[Chunk]:
    async with (
        recorded(Recorded(pieces, **answer)) as server,
        provider_at(server, make) as provider,
    ):
        return [chunk async for chunk in provider.stream(request)]


def of(chunks: list[Chunk], kind: ChunkKind) -> list[str]:
    return [chunk.text for chunk in chunks if chunk.kind is kind]


def usage_of(chunks: list[Chunk]) -> Usage:
    return next(c.usage for c in chunks if c.usage is not None)


@pytest.fixture(scope="module")
def server() -> Iterator[Emulator]:
    with serve(FAST) as emulator:
        yield emulator


@pytest.fixture
def emulator(server: Emulator) -> Emulator:
    server.retune(FAST)
    return server


async def through_emulator(
    emulator: Emulator,
    *requests: CallRequest,
    make: type[HostedProvider[Any, Any]] = OpenAIChat,
    fault: str | None = None,
) -> list[list[Chunk]]:
    headers = {} if fault is None else {"x-playground-fault": fault}
    end = Endpoint(emulator.openai_url, KEY, headers=headers, scripted=True)
    provider = make(end)  # type: ignore[call-arg]
    try:
        return [[chunk async for chunk in provider.stream(r)] for r in requests]
    finally:
        await provider.aclose()


# Streams


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ((events(ROLE, delta("Hi"), delta(" there"), STOP, USAGE, "[DONE]"),), ["Hi", " there"]),
        ((events(ROLE, delta(""), delta("Hi"), STOP, "[DONE]"),), ["Hi"]),
        ((events(delta("Hi", "stop"), "[DONE]"),), ["Hi"]),
        ((b": ping\n\n", events(delta("Hi")), b": ping\n\n", events(STOP)), ["Hi"]),
        ((events(delta("Hi"), STOP).replace(b"data: ", b"data:"),), ["Hi"]),
        ((events(delta("Hi"), STOP).replace(b"\n", b"\r\n"),), ["Hi"]),
        ((events({"choices": None}, {"id": "x"}, delta("Hi"), STOP),), ["Hi"]),
        ((events(delta("안"))[:-9], events(delta("안"))[-9:], events(STOP)), ["안"]),
        ((events(delta(" "), delta("x"), STOP),), [" ", "x"]),
    ],
)
async def test_forms_in_which_servers_send_the_same(
    pieces: tuple[bytes, ...], text: list[str]
) -> None:
    chunks = await chunks_of(*pieces)
    assert of(chunks, ChunkKind.TEXT) == text


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_thinking_of_compatible_servers_is_not_text(field: str) -> None:
    thought = {"choices": [{"index": 0, "delta": {field: "hmm", "content": None}}]}
    chunks = await chunks_of(events(ROLE, thought, delta("Hi"), STOP), make=Compatible)
    assert of(chunks, ChunkKind.REASONING) == ["hmm"]
    assert of(chunks, ChunkKind.TEXT) == ["Hi"]


async def test_a_stream_of_tool_calls_only_has_tokens_too() -> None:
    def call(**function: str) -> dict[str, object]:
        calls = [{"index": 0, "function": function}]
        return {"choices": [{"index": 0, "delta": {"content": None, "tool_calls": calls}}]}

    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    chunks = await chunks_of(
        events(
            ROLE, call(name="f", arguments=""), call(arguments='{"a":'), call(arguments="1}"), end
        )
    )
    assert of(chunks, ChunkKind.TOOL) == ['{"a":', "1}"]
    assert not of(chunks, ChunkKind.TEXT)
    assert "empty_answer" not in of(chunks, ChunkKind.NOTE)


async def test_without_usage_the_joined_text_is_counted_once() -> None:
    words = [delta(piece) for piece in ("un", "believ", "able", "!")]
    chunks = await chunks_of(events(ROLE, *words, STOP, "[DONE]"))
    usage = usage_of(chunks)
    assert usage.source == "estimated"
    assert usage.tokens_out == tokens.count("unbelievable!")
    assert usage.tokens_in == tokens.count("Be brief.") + tokens.count("Hi")
    assert usage.tokens_cached is None
    assert "estimated_usage" in of(chunks, ChunkKind.NOTE)


async def test_usage_that_is_reported_all_along_counts_once_at_the_end() -> None:
    running = [
        {**delta(t), "usage": {**USAGE["usage"], "completion_tokens": n}}  # type: ignore[dict-item]
        for n, t in ((1, "a"), (2, "b"))
    ]
    chunks = await chunks_of(events(*running, STOP))
    assert usage_of(chunks).tokens_out == 2
    assert len([c for c in chunks if c.kind is ChunkKind.USAGE]) == 1


async def test_a_server_that_never_hangs_up_does_not_cost_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hosted, "GRACE_S", 0.03)
    chunks = await chunks_of(events(delta("Hi"), STOP), hang=True)
    assert of(chunks, ChunkKind.TEXT) == ["Hi"]
    assert usage_of(chunks).source == "estimated"


async def test_an_answer_without_anything_is_said() -> None:
    assert "empty_answer" in of(await chunks_of(events(ROLE, STOP)), ChunkKind.NOTE)


async def test_a_stream_that_ends_without_a_reason_is_broken_at_openai() -> None:
    with pytest.raises(BrokenStream, match="ended before"):
        await chunks_of(events(ROLE, delta("Hi")))


async def test_a_stream_that_ends_without_a_reason_is_doubtful_elsewhere() -> None:
    chunks = await chunks_of(events(ROLE, delta("Hi")), make=Compatible)
    assert "no_finish_reason" in of(chunks, ChunkKind.NOTE)


@pytest.mark.parametrize(
    "bad",
    [
        b"data: {broken\n\n",
        b"data: \xff\xfe\n\n",
        events({"choices": [{"index": 0, "delta": "text"}]}),
        events({"choices": "text"}),
        events([1, 2]),
        events({"error": {"message": "the model fell over"}}),
    ],
)
async def test_what_no_client_understands_breaks_the_stream(bad: bytes) -> None:
    with pytest.raises(BrokenStream):
        await chunks_of(events(delta("Hi")), bad)


async def test_content_filters_are_said() -> None:
    chunks = await chunks_of(events(delta("Hi", "content_filter")))
    assert "filtered" in of(chunks, ChunkKind.NOTE)


# Errors


async def test_an_error_never_shows_the_key() -> None:
    body = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}", "code": "x"}})
    headers = {"content-type": "application/json"}
    with pytest.raises(ProviderError) as caught:
        await chunks_of(body.encode(), status="401 Unauthorized", headers=headers)
    assert caught.value.status == 401
    assert str(caught.value) == "openai: Incorrect API key provided: [key]"
    assert caught.value.__cause__ is None


async def test_an_error_page_is_cut_short() -> None:
    with pytest.raises(ProviderError) as caught:
        await chunks_of(b"<html>" + b"x" * 9000, status="502 Bad Gateway")
    assert caught.value.status == 502
    assert len(str(caught.value)) < 400


async def test_redirects_are_not_followed() -> None:
    async with recorded(Recorded((events(delta("Hi"), STOP),))) as other:
        with pytest.raises(ProviderError) as caught:
            await chunks_of(b"", status="307 Moved", headers={"location": other.url})
        assert caught.value.status == 307
        assert not other.bodies


# Requests


async def test_a_refused_option_is_left_out_and_remembered(emulator: Emulator) -> None:
    refused = emulator.ledger.refused
    first, second = await through_emulator(emulator, ASK, ASK, fault="refuse=stream_options")
    assert emulator.ledger.refused == refused + 1
    for chunks in (first, second):
        assert "no_stream_options" in of(chunks, ChunkKind.NOTE)
        assert usage_of(chunks).source == "estimated"
        assert of(chunks, ChunkKind.TEXT)


async def test_a_refused_name_of_the_limit_is_replaced_by_the_older_one(emulator: Emulator) -> None:
    request = replace(ASK, max_tokens=7)
    (chunks,) = await through_emulator(emulator, request, fault="refuse=max_completion_tokens")
    assert emulator.ledger.last_body["max_tokens"] == 7
    assert "no_max_completion_tokens" in of(chunks, ChunkKind.NOTE)
    assert usage_of(chunks).tokens_out == 7


async def test_options_may_be_refused_one_after_the_other(emulator: Emulator) -> None:
    request = replace(ASK, max_tokens=7, stop=("#",), cache_key="k", json_schema=CLOSED)
    fault = "refuse=stream_options+stop+response_format+prompt_cache_key+max_tokens"
    (chunks,) = await through_emulator(emulator, request, make=Compatible, fault=fault)
    sent = emulator.ledger.last_body
    assert not {"stream_options", "stop", "response_format", "prompt_cache_key"} & set(sent)
    assert sent["max_completion_tokens"] == 7
    assert {"no_stop", "no_response_format", "no_max_tokens"} <= set(of(chunks, ChunkKind.NOTE))


async def test_a_400_about_something_else_is_an_error() -> None:
    body = json.dumps({"error": {"message": "messages is too long", "param": "messages"}})
    headers = {"content-type": "application/json"}
    with pytest.raises(ProviderError, match="too long") as caught:
        await chunks_of(body.encode(), status="400 Bad Request", headers=headers)
    assert caught.value.status == 400


async def test_a_422_that_names_the_option_in_its_text_counts_as_refusal() -> None:
    refusal = json.dumps({"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs"}]})
    answers = (
        Recorded((refusal.encode(),), "422 Unprocessable", {"content-type": "application/json"}),
        Recorded((events(delta("Hi"), STOP),)),
    )
    async with recorded(*answers) as server, provider_at(server, Compatible) as provider:
        chunks = [chunk async for chunk in provider.stream(ASK)]
    assert of(chunks, ChunkKind.TEXT) == ["Hi"]
    assert ["stream_options" in body for body in server.bodies] == [True, False]


async def test_every_option_of_a_request_is_sent_where_the_model_takes_it(
    emulator: Emulator,
) -> None:
    request = replace(
        ASK, max_tokens=50, stop=("#",), temperature=0.2, json_schema=CLOSED, cache_key="k"
    )
    await through_emulator(emulator, request)
    sent = emulator.ledger.last_body
    assert sent["max_completion_tokens"] == 50
    assert sent["stop"] == ["#"]
    assert sent["temperature"] == 0.2
    assert sent["prompt_cache_key"] == "k"
    form = {"name": "answer", "schema": CLOSED, "strict": True}
    assert sent["response_format"] == {"type": "json_schema", "json_schema": form}


async def test_a_profiles_effort_is_sent_apart_from_the_models_id(emulator: Emulator) -> None:
    await through_emulator(emulator, replace(ASK, model="gpt-5.4-mini (none)"))
    assert emulator.ledger.last_body["model"] == "gpt-5.4-mini"
    assert emulator.ledger.last_body["reasoning_effort"] == "none"
    request = replace(ASK, model="gpt-5.4-mini (none)")
    await through_emulator(emulator, request, make=OpenAIResponses)
    assert emulator.ledger.last_body["reasoning"] == {"effort": "none"}


async def test_responses_keep_nothing_at_the_vendor_and_take_no_tiny_limit(
    emulator: Emulator,
) -> None:
    request = replace(ASK, max_tokens=3, stop=("#",), json_schema=CLOSED)
    (chunks,) = await through_emulator(emulator, request, make=OpenAIResponses)
    sent = emulator.ledger.last_body
    assert sent["store"] is False
    assert sent["max_output_tokens"] == 16
    assert sent["text"] == {
        "format": {"type": "json_schema", "name": "answer", "schema": CLOSED, "strict": True}
    }
    assert "no_stop" in of(chunks, ChunkKind.NOTE)


def test_only_closed_schemas_are_strict() -> None:
    assert is_strict(CLOSED)
    assert is_strict(
        {
            "type": "object",
            "properties": {"l": {"type": "array", "items": CLOSED}},
            "required": ["l"],
            "additionalProperties": False,
        }
    )
    assert not is_strict({**CLOSED, "additionalProperties": True})
    assert not is_strict({**CLOSED, "required": []})
    assert not is_strict({"type": "array", "items": {"type": "object"}})


async def test_other_vendors_do_not_learn_about_the_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-secret")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "admin-secret")
    async with (
        recorded(Recorded((events(delta("Hi"), STOP),))) as server,
        provider_at(server, Compatible) as provider,
    ):
        assert [chunk async for chunk in provider.stream(ASK)]
    assert "secret" not in "".join(server.heads)


async def test_without_script_the_reference_text_stays_here() -> None:
    request = replace(ASK, scripted_text="the reference")
    async with (
        recorded(Recorded((events(delta("Hi"), STOP),))) as server,
        provider_at(server) as provider,
    ):
        assert [chunk async for chunk in provider.stream(request)]
    assert "the reference" not in json.dumps(server.bodies)


# Predicted outputs


async def test_a_prediction_is_sent_and_counted(emulator: Emulator) -> None:
    known = "The quick brown fox jumps over the lazy dog and runs away into the dark forest."
    said = known.replace("dark", "green")
    request = replace(ASK, prediction=known, scripted_text=said, max_tokens=100)
    (chunks,) = await through_emulator(emulator, request)
    sent = emulator.ledger.last_body
    assert sent["prediction"] == {"type": "content", "content": known}
    assert "max_completion_tokens" not in sent
    assert "prediction_without_limit" in of(chunks, ChunkKind.NOTE)
    usage = usage_of(chunks)
    assert usage.tokens_accepted
    assert usage.tokens_rejected
    # rejected tokens are billed: a subset of the output, beside the answer itself
    assert usage.tokens_out == tokens.count(said) + usage.tokens_rejected


@pytest.mark.parametrize(
    ("make", "model"),
    [(OpenAIChat, "gpt-5.4 (none)"), (OpenAIResponses, "gpt-4o"), (Compatible, "gpt-4o")],
)
async def test_where_predictions_are_not_taken_none_is_sent(
    emulator: Emulator, make: type[HostedProvider[Any, Any]], model: str
) -> None:
    request = replace(ASK, model=model, prediction="Hi there")
    (chunks,) = await through_emulator(emulator, request, make=make)
    assert "prediction" not in emulator.ledger.last_body
    assert "no_prediction" in of(chunks, ChunkKind.NOTE)


# Prompt caching

LONG = (
    "The rules of this house are written on the wall beside the door, and nobody reads them. " * 90
)
CACHED = CallRequest(
    "gpt-4o",
    (Message("system", LONG), Message("user", "Hi")),
    static_messages=1,
    cache_key="rules",
    scripted_text="Yes.",
)


@pytest.mark.parametrize("make", [OpenAIChat, OpenAIResponses])
async def test_with_a_key_the_second_call_reads_the_shared_prefix(
    emulator: Emulator, make: type[HostedProvider[Any, Any]]
) -> None:
    emulator.retune(replace(FAST, per_1k_s=0.2))
    other = replace(CACHED, messages=(CACHED.messages[0], Message("user", "Something else")))
    first, second = await through_emulator(emulator, CACHED, other, make=make)
    assert usage_of(first).tokens_cached == 0
    cached = usage_of(second).tokens_cached or 0
    assert 1024 <= cached <= tokens.count(LONG) + 8
    assert cached % 128 == 0
    assert usage_of(second).tokens_in == pytest.approx(usage_of(first).tokens_in, abs=3)
    ttft_s = [
        next(c.t_s for c in chunks if c.kind is ChunkKind.TEXT) - chunks[0].t_s
        for chunks in (first, second)
    ]
    assert ttft_s[0] >= 0.5 * 0.2 * tokens.count(LONG) / 1000  # the stamp of sending may be late
    assert ttft_s[1] < ttft_s[0]


@pytest.mark.parametrize("make", [OpenAIChat, OpenAIResponses, Compatible])
async def test_without_a_key_no_call_finds_another_ones_prefix(
    emulator: Emulator, make: type[HostedProvider[Any, Any]]
) -> None:
    request = replace(CACHED, cache_key=None)
    for chunks in await through_emulator(emulator, request, request, make=make):
        assert usage_of(chunks).tokens_cached == 0


async def test_the_nonce_stands_at_the_very_start(emulator: Emulator) -> None:
    await through_emulator(emulator, replace(CACHED, cache_key=None))
    messages = emulator.ledger.last_body["messages"]
    assert isinstance(messages, list)
    assert messages[0]["content"].startswith("[")
    assert messages[0]["content"].endswith(f"]\n{LONG}")
    assert messages[1]["content"] == "Hi"


@pytest.mark.parametrize("make", [OpenAIChat, OpenAIResponses])
async def test_newer_models_cache_the_marked_prefix_and_report_what_was_written(
    emulator: Emulator, make: type[HostedProvider[Any, Any]]
) -> None:
    newer = replace(CACHED, model="gpt-5.6-luna (none)")
    other = replace(newer, messages=(newer.messages[0], Message("user", "Something else")))
    first, second = await through_emulator(emulator, newer, other, make=make)
    written = usage_of(first).extra["cache_write_tok"]
    assert written >= 1024
    assert usage_of(second).tokens_cached == written
    assert usage_of(second).extra["cache_write_tok"] == 0


async def test_newer_models_are_told_to_write_nothing_when_caching_is_off(
    emulator: Emulator,
) -> None:
    request = replace(CACHED, model="gpt-5.6-luna (none)", cache_key=None)
    (chunks,) = await through_emulator(emulator, request)
    assert emulator.ledger.last_body["prompt_cache_options"] == {"mode": "explicit"}
    assert usage_of(chunks).extra["cache_write_tok"] == 0


async def test_a_prefix_below_the_minimum_is_said_to_cache_nothing(emulator: Emulator) -> None:
    short = replace(ASK, model="gpt-5.6-luna (none)", cache_key="k", static_messages=1)
    (chunks,) = await through_emulator(emulator, short)
    assert "nothing_cached" in of(chunks, ChunkKind.NOTE)


# Responses' own events


async def responses(*sent: dict[str, object]) -> list[Chunk]:
    return await chunks_of(named(*sent), make=OpenAIResponses)


def response(status: str, **fields: object) -> dict[str, object]:
    return {"type": f"response.{status}", "response": {"id": "1", "status": status, **fields}}


async def test_responses_pieces_by_kind() -> None:
    place = {"item_id": "1", "output_index": 0, "content_index": 0}
    chunks = await responses(
        {"type": "response.reasoning_text.delta", **place, "delta": "hm"},
        {"type": "response.output_text.delta", **place, "delta": ""},
        {"type": "response.output_text.delta", **place, "delta": "Hi"},
        {"type": "response.refusal.delta", **place, "delta": "No"},
        {"type": "response.function_call_arguments.delta", **place, "delta": "{}"},
        response("completed"),
    )
    assert of(chunks, ChunkKind.REASONING) == ["hm"]
    assert of(chunks, ChunkKind.TEXT) == ["Hi", "No"]
    assert of(chunks, ChunkKind.TOOL) == ["{}"]
    assert usage_of(chunks).source == "estimated"


async def test_an_incomplete_response_was_cut_or_filtered() -> None:
    cut = await responses(
        response("incomplete", incomplete_details={"reason": "max_output_tokens"})
    )
    assert "truncated" in of(cut, ChunkKind.NOTE)
    refused = await responses(
        response("incomplete", incomplete_details={"reason": "content_filter"})
    )
    assert "filtered" in of(refused, ChunkKind.NOTE)


@pytest.mark.parametrize(
    "last",
    [
        response("failed", error={"code": "server_error", "message": f"boom {KEY}"}),
        {"type": "error", "code": "server_error", "message": f"boom {KEY}", "param": None},
    ],
)
async def test_a_failed_response_is_a_broken_stream(last: dict[str, object]) -> None:
    with pytest.raises(BrokenStream, match="boom") as caught:
        await responses(last)
    assert KEY not in str(caught.value)

"""OpenAI's two APIs and compatible servers: what is sent, and streams as servers break them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from core import tokens
from core.emulator import Emulator
from core.errors import BrokenStream, ProviderError
from core.providers import hosted
from core.providers.base import ChunkKind
from core.providers.openai_chat import is_strict
from tests.hosted_calls import (
    ASK,
    KEY,
    chat_delta,
    chunks_of,
    of,
    provider_at,
    response,
    response_delta,
    through_emulator,
    usage_of,
)
from tests.recorded_server import Recorded, events, named, recorded

CLOSED = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}


def delta(text: str, finish: str | None = None) -> dict[str, object]:
    return chat_delta(finish, content=text)


STOP = chat_delta("stop")
ROLE = chat_delta(role="assistant", content="")
USAGE = {
    "choices": [],
    "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
}


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
    chunks = await chunks_of("openai", *pieces)
    assert of(chunks, ChunkKind.TEXT) == text


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_thinking_of_compatible_servers_is_not_text(field: str) -> None:
    thought = chat_delta(**{field: "hmm"}, content=None)
    chunks = await chunks_of("compatible", events(ROLE, thought, delta("Hi"), STOP))
    assert of(chunks, ChunkKind.REASONING) == ["hmm"]
    assert of(chunks, ChunkKind.TEXT) == ["Hi"]


async def test_a_stream_of_tool_calls_only_has_tokens_too() -> None:
    def call(**function: str) -> dict[str, object]:
        return chat_delta(content=None, tool_calls=[{"index": 0, "function": function}])

    end = chat_delta("tool_calls")
    chunks = await chunks_of(
        "openai",
        events(
            ROLE, call(name="f", arguments=""), call(arguments='{"a":'), call(arguments="1}"), end
        ),
    )
    assert of(chunks, ChunkKind.TOOL) == ['{"a":', "1}"]
    assert not of(chunks, ChunkKind.TEXT)
    assert "empty_answer" not in of(chunks, ChunkKind.NOTE)


async def test_without_usage_the_joined_text_is_counted_once() -> None:
    words = [delta(piece) for piece in ("un", "believ", "able", "!")]
    chunks = await chunks_of("openai", events(ROLE, *words, STOP, "[DONE]"))
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
    chunks = await chunks_of("openai", events(*running, STOP))
    assert usage_of(chunks).tokens_out == 2
    assert len([c for c in chunks if c.kind is ChunkKind.USAGE]) == 1


async def test_a_server_that_never_hangs_up_does_not_cost_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hosted, "GRACE_S", 0.03)
    chunks = await chunks_of("openai", events(delta("Hi"), STOP), hang=True)
    assert of(chunks, ChunkKind.TEXT) == ["Hi"]
    assert usage_of(chunks).source == "estimated"


async def test_an_answer_without_anything_is_said() -> None:
    assert "empty_answer" in of(await chunks_of("openai", events(ROLE, STOP)), ChunkKind.NOTE)


@pytest.mark.parametrize(
    "bad",
    [
        b"data: {broken\n\n",
        b"data: \xff\xfe\n\n",
        events({"choices": [{"index": 0, "delta": "text"}]}),
        events({"choices": "text"}),
        events([1, 2]),
    ],
)
async def test_what_no_client_understands_breaks_the_stream(bad: bytes) -> None:
    with pytest.raises(BrokenStream):
        await chunks_of("openai", events(delta("Hi")), bad)


# Errors


async def test_an_error_never_shows_the_key() -> None:
    body = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}", "code": "x"}})
    headers = {"content-type": "application/json"}
    with pytest.raises(ProviderError) as caught:
        await chunks_of("openai", body.encode(), status="401 Unauthorized", headers=headers)
    assert caught.value.status == 401
    assert str(caught.value) == "openai: Incorrect API key provided: [key]"
    assert caught.value.__cause__ is None


async def test_an_error_page_is_cut_short() -> None:
    with pytest.raises(ProviderError) as caught:
        await chunks_of("openai", b"<html>" + b"x" * 9000, status="502 Bad Gateway")
    assert caught.value.status == 502
    assert len(str(caught.value)) < 400


async def test_redirects_are_not_followed() -> None:
    async with recorded(Recorded((events(delta("Hi"), STOP),))) as other:
        with pytest.raises(ProviderError) as caught:
            await chunks_of("openai", b"", status="307 Moved", headers={"location": other.url})
        assert caught.value.status == 307
        assert not other.bodies


# Requests


async def test_a_refused_option_is_left_out_and_remembered(emulator: Emulator) -> None:
    refused = emulator.ledger.refused
    first, second = await through_emulator(
        emulator, "openai", ASK, ASK, fault="refuse=stream_options"
    )
    assert emulator.ledger.refused == refused + 1
    for chunks in (first, second):
        assert "no_stream_options" in of(chunks, ChunkKind.NOTE)
        assert usage_of(chunks).source == "estimated"
        assert of(chunks, ChunkKind.TEXT)


async def test_a_refused_name_of_the_limit_is_replaced_by_the_older_one(emulator: Emulator) -> None:
    request = replace(ASK, max_tokens=7)
    (chunks,) = await through_emulator(
        emulator, "openai", request, fault="refuse=max_completion_tokens"
    )
    assert emulator.ledger.last_body["max_tokens"] == 7
    assert "no_max_completion_tokens" in of(chunks, ChunkKind.NOTE)
    assert usage_of(chunks).tokens_out == 7


async def test_options_may_be_refused_one_after_the_other(emulator: Emulator) -> None:
    request = replace(ASK, max_tokens=7, stop=("#",), cache_key="k", json_schema=CLOSED)
    fault = "refuse=stream_options+stop+response_format+prompt_cache_key+max_tokens"
    (chunks,) = await through_emulator(emulator, "compatible", request, fault=fault)
    sent = emulator.ledger.last_body
    assert not {"stream_options", "stop", "response_format", "prompt_cache_key"} & set(sent)
    assert sent["max_completion_tokens"] == 7
    assert {"no_stop", "no_response_format", "no_max_tokens"} <= set(of(chunks, ChunkKind.NOTE))


async def test_a_400_about_something_else_is_an_error() -> None:
    body = json.dumps({"error": {"message": "messages is too long", "param": "messages"}})
    headers = {"content-type": "application/json"}
    with pytest.raises(ProviderError, match="too long") as caught:
        await chunks_of("openai", body.encode(), status="400 Bad Request", headers=headers)
    assert caught.value.status == 400


async def test_a_422_that_names_the_option_in_its_text_counts_as_refusal() -> None:
    refusal = json.dumps({"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs"}]})
    answers = (
        Recorded((refusal.encode(),), "422 Unprocessable", {"content-type": "application/json"}),
        Recorded((events(delta("Hi"), STOP),)),
    )
    async with recorded(*answers) as server, provider_at("compatible", server.url) as provider:
        chunks = [chunk async for chunk in provider.stream(ASK)]
    assert of(chunks, ChunkKind.TEXT) == ["Hi"]
    assert ["stream_options" in body for body in server.bodies] == [True, False]


async def test_every_option_of_a_request_is_sent_where_the_model_takes_it(
    emulator: Emulator,
) -> None:
    request = replace(
        ASK, max_tokens=50, stop=("#",), temperature=0.2, json_schema=CLOSED, cache_key="k"
    )
    await through_emulator(emulator, "openai", request)
    sent = emulator.ledger.last_body
    assert sent["max_completion_tokens"] == 50
    assert sent["stop"] == ["#"]
    assert sent["temperature"] == 0.2
    assert sent["prompt_cache_key"] == "k"
    form = {"name": "answer", "schema": CLOSED, "strict": True}
    assert sent["response_format"] == {"type": "json_schema", "json_schema": form}


async def test_a_profiles_effort_is_sent_apart_from_the_models_id(emulator: Emulator) -> None:
    await through_emulator(emulator, "openai", replace(ASK, model="gpt-5.4-mini (none)"))
    assert emulator.ledger.last_body["model"] == "gpt-5.4-mini"
    assert emulator.ledger.last_body["reasoning_effort"] == "none"
    request = replace(ASK, model="gpt-5.4-mini (none)")
    await through_emulator(emulator, "responses", request)
    assert emulator.ledger.last_body["reasoning"] == {"effort": "none"}


async def test_responses_keep_nothing_at_the_vendor_and_take_no_tiny_limit(
    emulator: Emulator,
) -> None:
    request = replace(ASK, max_tokens=3, stop=("#",), json_schema=CLOSED)
    (chunks,) = await through_emulator(emulator, "responses", request)
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
        provider_at("compatible", server.url) as provider,
    ):
        assert [chunk async for chunk in provider.stream(ASK)]
    assert "secret" not in "".join(server.heads)


async def test_without_script_the_reference_text_stays_here() -> None:
    request = replace(ASK, scripted_text="the reference")
    async with (
        recorded(Recorded((events(delta("Hi"), STOP),))) as server,
        provider_at("openai", server.url) as provider,
    ):
        assert [chunk async for chunk in provider.stream(request)]
    assert "the reference" not in json.dumps(server.bodies)


# Predicted outputs


async def test_a_prediction_is_sent_and_counted(emulator: Emulator) -> None:
    known = "The quick brown fox jumps over the lazy dog and runs away into the dark forest."
    said = known.replace("dark", "green")
    request = replace(ASK, prediction=known, scripted_text=said, max_tokens=100)
    (chunks,) = await through_emulator(emulator, "openai", request)
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
    ("vendor", "model"),
    [("openai", "gpt-5.4 (none)"), ("responses", "gpt-4o"), ("compatible", "gpt-4o")],
)
async def test_where_predictions_are_not_taken_none_is_sent(
    emulator: Emulator, vendor: str, model: str
) -> None:
    request = replace(ASK, model=model, prediction="Hi there")
    (chunks,) = await through_emulator(emulator, vendor, request)
    assert "prediction" not in emulator.ledger.last_body
    assert "no_prediction" in of(chunks, ChunkKind.NOTE)


# Responses' own events


async def test_a_refusal_is_text_and_what_is_not_counted_is_estimated() -> None:
    words = response_delta("refusal", "No")
    chunks = await chunks_of("responses", named(words, response("completed")))
    assert of(chunks, ChunkKind.TEXT) == ["No"]
    assert usage_of(chunks).source == "estimated"


async def test_an_error_of_its_own_breaks_the_stream() -> None:
    error = {"type": "error", "code": "server_error", "message": f"boom {KEY}", "param": None}
    with pytest.raises(BrokenStream, match=r"boom \[key\]"):
        await chunks_of("responses", named(error))

"""The emulator as a client meets it, over HTTP."""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from core import tokens
from core.emulator import EmulatedModel, Emulator, serve, serve_apart
from core.errors import InputError

FAST = EmulatedModel(ttft_s=0.005, tpot_s=0.0, name="m-1")
TEXT = "안녕하세요, hello 🙂"
CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
MESSAGES = {**CHAT, "max_tokens": 100}
RESPONSES = {"model": "m", "input": "Hi"}

pytestmark = pytest.mark.usefixtures("emulator")


@pytest.fixture
def emulator(emulator_server: Emulator) -> Emulator:
    emulator_server.retune(FAST)
    return emulator_server


@pytest.fixture(scope="module")
def http(emulator_server: Emulator) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=emulator_server.url, verify=False, trust_env=False) as client:
        yield client


def scripted(body: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**body, "playground": {"answer": TEXT}, **more}


def test_openais_sdk_reads_answers_in_one_piece(emulator: Emulator) -> None:
    import openai

    client = openai.OpenAI(api_key="none", base_url=emulator.openai_url, max_retries=0)
    with client:
        chat = client.chat.completions.create(**CHAT, extra_body=scripted({}))  # type: ignore[call-overload]
        assert chat.choices[0].message.content == TEXT
        assert chat.choices[0].finish_reason == "stop"
        assert chat.usage.completion_tokens == tokens.count(TEXT)
        assert chat.model == "m-1"
        response = client.responses.create(**RESPONSES, extra_body=scripted({}))  # type: ignore[call-overload]
        assert response.output_text == TEXT
        assert response.usage.output_tokens == tokens.count(TEXT)


@pytest.mark.slow
def test_anthropics_sdk_reads_answers_in_one_piece(emulator: Emulator) -> None:
    import anthropic

    client = anthropic.Anthropic(api_key="none", base_url=emulator.anthropic_url, max_retries=0)
    with client:
        message = client.messages.create(**MESSAGES, extra_body=scripted({}))  # type: ignore[call-overload]
    assert message.content[0].text == TEXT
    assert message.stop_reason == "end_turn"
    assert message.usage.output_tokens == tokens.count(TEXT)


def test_an_answer_in_one_piece_takes_as_long_as_the_stream(
    emulator: Emulator, http: httpx2.Client
) -> None:
    emulator.retune(replace(FAST, tpot_s=0.01))
    answer = http.post("/v1/chat/completions", json=scripted(CHAT))
    assert answer.elapsed.total_seconds() >= 0.01 * (tokens.count(TEXT) - 1)


def test_streams_ask_proxies_not_to_buffer(http: httpx2.Client) -> None:
    answer = http.post("/v1/chat/completions", json=scripted(CHAT, stream=True))
    assert answer.headers["x-accel-buffering"] == "no"
    assert answer.headers["content-type"].startswith("text/event-stream")


def data_of(answer: httpx2.Response) -> list[Any]:
    lines = [line for line in answer.text.splitlines() if line.startswith("data: {")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def test_a_chat_stream_begins_without_text_and_ends_without_choices(http: httpx2.Client) -> None:
    options = {"stream_options": {"include_usage": True}}
    answer = http.post("/v1/chat/completions", json=scripted(CHAT, stream=True, **options))
    first, *middle, last = data_of(answer)
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert "".join(e["choices"][0]["delta"].get("content", "") for e in middle) == TEXT
    assert last["choices"] == []
    assert last["usage"]["completion_tokens"] == tokens.count(TEXT)
    assert answer.text.endswith("data: [DONE]\n\n")


def test_usage_comes_only_when_asked_for(http: httpx2.Client) -> None:
    answer = http.post("/v1/chat/completions", json=scripted(CHAT, stream=True))
    assert all(event["choices"] for event in data_of(answer))


def test_a_responses_stream_counts_its_events(http: httpx2.Client) -> None:
    events = data_of(http.post("/v1/responses", json=scripted(RESPONSES, stream=True)))
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert events[0]["type"] == "response.created"
    assert events[-1]["type"] == "response.completed"


def test_a_messages_stream_pings_before_its_first_token(http: httpx2.Client) -> None:
    events = data_of(http.post("/v1/messages", json=scripted(MESSAGES, stream=True)))
    types = [event["type"] for event in events]
    assert types[:3] == ["message_start", "ping", "content_block_start"]
    assert types[-3:] == ["content_block_stop", "message_delta", "message_stop"]


def test_an_answer_may_come_in_a_header(http: httpx2.Client) -> None:
    header = {"x-playground-answer": base64.b64encode(TEXT.encode()).decode()}
    answer = http.post("/v1/chat/completions", json=CHAT, headers=header)
    assert answer.json()["choices"][0]["message"]["content"] == TEXT
    bad = http.post("/v1/chat/completions", json=CHAT, headers={"x-playground-answer": "~"})
    assert bad.status_code == 400
    assert "base64" in bad.json()["error"]["message"]


def test_a_long_answer_fits_into_a_header(http: httpx2.Client) -> None:
    long = "안녕하세요 여러분. " * 5000
    header = {"x-playground-answer": base64.b64encode(long.encode()).decode()}
    answer = http.post("/v1/chat/completions", json=CHAT, headers=header)
    assert answer.json()["choices"][0]["message"]["content"] == long


def test_without_a_script_there_is_filler(http: httpx2.Client) -> None:
    answer = http.post("/v1/chat/completions", json={**CHAT, "max_tokens": 12}).json()
    assert answer["usage"]["completion_tokens"] == 12
    assert answer["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        ("/v1/chat/completions", b"{", "not JSON"),
        ("/v1/chat/completions", b"[]", "not a JSON object"),
        ("/v1/chat/completions", b"{}", "messages is not a list"),
        ("/v1/chat/completions", b'{"messages": [1]}', "messages is not a list"),
        ("/v1/chat/completions", b'{"messages": [{"role": "user"}]}', "neither text nor"),
        ("/v1/chat/completions", b'{"messages": [{"content": [{}]}]}', "has no text"),
        ("/v1/messages", b'{"messages": [{"role": "user", "content": "a"}]}', "max_tokens"),
        ("/v1/responses", b'{"input": 3}', "input is not a list"),
        ("/v1/responses", b'{"input": "a", "max_output_tokens": "9"}', "max_output_tokens"),
    ],
)
def test_broken_requests_are_answered_with_400(
    http: httpx2.Client, path: str, body: bytes, says: str
) -> None:
    answer = http.post(path, content=body)
    assert answer.status_code == 400
    assert says in answer.json()["error"]["message"]


def test_a_prediction_forbids_a_limit_as_at_openai(http: httpx2.Client) -> None:
    prediction = {"type": "content", "content": "x"}
    body = {**CHAT, "prediction": prediction, "max_completion_tokens": 5}
    assert http.post("/v1/chat/completions", json=body).status_code == 400


def test_an_unknown_fault_is_named(http: httpx2.Client) -> None:
    answer = http.post("/v1/messages", json=MESSAGES, headers={"x-playground-fault": "stal"})
    assert answer.status_code == 400
    assert "did you mean 'stall'" in answer.json()["error"]["message"]


def test_the_pace_can_be_seen_and_changed_while_it_runs(http: httpx2.Client) -> None:
    assert http.get("/emulator/profile").json()["ttft_s"] == 0.005
    changed = http.post("/emulator/profile", json={"ttft_s": 0.03, "tokens_per_chunk": 4})
    assert changed.json()["tokens_per_chunk"] == 4
    answer = http.post("/v1/chat/completions", json=scripted(CHAT))
    assert answer.elapsed.total_seconds() >= 0.03
    for wrong in ({"ttft_s": -1}, {"speed": 2}, {"name": 3}):
        refused = http.post("/emulator/profile", json=wrong)
        assert refused.status_code == 400
        assert refused.json()["error"]
    assert http.get("/emulator/profile").json()["ttft_s"] == 0.03


def test_the_ledger_counts(http: httpx2.Client) -> None:
    before = http.get("/emulator/state").json()
    http.post("/v1/chat/completions", json=scripted(CHAT))
    http.post("/v1/chat/completions", json=CHAT, headers={"x-playground-fault": "429"})
    after = http.get("/emulator/state").json()
    changes = {
        key: after[key] - before[key] for key in ("requests", "refused", "completed", "left")
    }
    assert changes == {"requests": 1, "refused": 1, "completed": 1, "left": 0}
    assert "last_body" not in after


def test_a_taken_port_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} cannot be used"), serve(FAST, port):
            pass


@pytest.mark.slow
def test_it_can_run_in_a_process_of_its_own() -> None:
    with serve_apart(replace(FAST, name="apart")) as address:
        seen = httpx2.get(f"{address.url}/emulator/profile", verify=False, trust_env=False)
        assert seen.json()["name"] == "apart"
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(f"{address.url}/emulator/profile", verify=False, trust_env=False)

from __future__ import annotations

import httpx2
import openai
import pytest

from core.providers.refusals import Refusals, named_option

OPTIONS = ["stream_options", "max_completion_tokens", "max_tokens", "stop", "text", "temperature"]


def answer(status: int, message: str, param: str | None = None) -> openai.APIStatusError:
    request = httpx2.Request("POST", "https://api.example.com/v1")
    body = {"message": message, "param": param}
    response = httpx2.Response(status, request=request)
    return openai.APIStatusError(f"Error code: {status} - {body}", response=response, body=body)


@pytest.mark.parametrize(
    ("message", "param", "option"),
    [
        (
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.",
            "max_tokens",
            "max_tokens",
        ),
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.", None, "max_tokens"),
        ("Unrecognized request argument supplied: stream_options", None, "stream_options"),
        ("temperature is deprecated for this model.", None, "temperature"),
        ("stop: Extra inputs are not permitted", None, "stop"),
        ("this form is not supported", "text.format", "text"),
        ('Invalid JSON payload received. Unknown name "stream_options"', None, "stream_options"),
    ],
)
def test_refusals_of_known_servers(message: str, param: str | None, option: str) -> None:
    assert named_option(answer(400, message, param), OPTIONS) == option


@pytest.mark.parametrize(
    ("status", "message", "param"),
    [
        (400, "max_tokens is too large: 99999; this model takes at most 4096", "max_tokens"),
        (400, "the context is too long, input text not supported", None),
        (400, "the server had to stop: unknown reason", None),
        (400, "unsupported model", "model"),
        (404, "unsupported parameter: stop", "stop"),
        (500, "unexpected error in stream_options", None),
    ],
)
def test_other_errors_are_no_refusals(status: int, message: str, param: str | None) -> None:
    assert named_option(answer(status, message, param), OPTIONS) is None


def test_what_was_refused_is_left_out_from_then_on_for_that_model() -> None:
    refusals = Refusals()
    body: dict[str, object] = {"max_tokens": 9, "stop": ["#"]}
    assert refusals.learn(answer(400, "unsupported", "max_tokens"), body, "m", OPTIONS)
    assert body == {"max_completion_tokens": 9, "stop": ["#"]}
    later: dict[str, object] = {"max_tokens": 5}
    refusals.apply(later, "m")
    assert later == {"max_completion_tokens": 5}
    other: dict[str, object] = {"max_tokens": 5}
    refusals.apply(other, "another")
    assert other == {"max_tokens": 5}
    assert [str(fact) for fact in refusals.facts("m")] == ["no_max_tokens"]


def test_a_limit_refused_under_both_names_is_left_out() -> None:
    refusals = Refusals()
    body: dict[str, object] = {"max_completion_tokens": 9}
    assert refusals.learn(answer(400, "unsupported", "max_completion_tokens"), body, "m", OPTIONS)
    assert refusals.learn(answer(400, "unsupported", "max_tokens"), body, "m", OPTIONS)
    assert body == {}
    assert not refusals.learn(answer(400, "unsupported", "max_tokens"), body, "m", OPTIONS)

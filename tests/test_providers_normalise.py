from __future__ import annotations

import httpx2
import openai
import pytest
from openai.types import CompletionUsage
from openai.types.responses import ResponseUsage

from core.errors import BrokenStream, ProviderError, RateLimited, TimedOut
from core.providers import normalise
from core.providers.base import Message, Usage
from core.providers.openai_chat import openai_errors

REQUEST = httpx2.Request("POST", "https://api.example.com/v1")


def test_chat_usage_keeps_subsets_as_they_are() -> None:
    usage = CompletionUsage.model_validate(
        {
            "prompt_tokens": 2000,
            "completion_tokens": 300,
            "total_tokens": 2300,
            "prompt_tokens_details": {"cached_tokens": 1024, "cache_write_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": 100,
                "accepted_prediction_tokens": 40,
                "rejected_prediction_tokens": 5,
            },
        }
    )
    assert normalise.chat_usage(usage) == Usage(
        2000, 1024, 300, 100, 40, 5, extra={"cache_write_tok": 0}
    )


def test_what_is_not_reported_is_none_and_not_zero() -> None:
    usage = CompletionUsage(prompt_tokens=5, completion_tokens=2, total_tokens=7)
    assert normalise.chat_usage(usage) == Usage(5, None, 2)


def test_responses_usage() -> None:
    usage = ResponseUsage.model_validate(
        {
            "input_tokens": 2000,
            "input_tokens_details": {"cached_tokens": 1024, "cache_write_tokens": 300},
            "output_tokens": 50,
            "output_tokens_details": {"reasoning_tokens": 20},
            "total_tokens": 2050,
        }
    )
    expected = Usage(2000, 1024, 50, 20, extra={"cache_write_tok": 300})
    assert normalise.responses_usage(usage) == expected


def test_messages_input_excludes_the_cache_and_is_added_up() -> None:
    from anthropic.types import MessageDeltaUsage
    from anthropic.types import Usage as ClaudeUsage

    counts = normalise.MessagesUsage()
    assert counts.total() is None
    counts.update(
        ClaudeUsage(
            input_tokens=50,
            output_tokens=1,
            cache_read_input_tokens=1000,
            cache_creation_input_tokens=200,
        )
    )
    counts.update(MessageDeltaUsage(output_tokens=90))
    assert counts.total() == Usage(1250, 1000, 90, extra={"cache_write_tok": 200})


def test_messages_without_cache_counts_do_not_say_zero() -> None:
    from anthropic.types import Usage as ClaudeUsage

    counts = normalise.MessagesUsage()
    counts.update(ClaudeUsage(input_tokens=50, output_tokens=1))
    assert counts.total() == Usage(50, None, 1)


def test_an_estimate_says_that_it_is_one() -> None:
    usage = normalise.estimated_usage((Message("user", "one two"),), "three four five")
    assert usage == Usage(tokens_in=2, tokens_out=3, source="estimated")


def explain(error: Exception, *, begun: bool = False) -> ProviderError:
    return normalise.explain(error, openai_errors(), provider="p", begun=begun, keys=("topsecret",))


def status(code: int, headers: dict[str, str] | None = None, body: object = None) -> Exception:
    response = httpx2.Response(code, request=REQUEST, headers=headers)
    return openai.APIStatusError("dump of the body", response=response, body=body)


@pytest.mark.parametrize(
    "error",
    [TimeoutError(), openai.APITimeoutError(REQUEST), httpx2.ReadTimeout("", request=REQUEST)],
)
def test_all_kinds_of_silence_are_timeouts(error: Exception) -> None:
    assert isinstance(explain(error), TimedOut)
    assert isinstance(explain(error, begun=True), TimedOut)


def test_a_connection_that_breaks_is_told_apart_by_when() -> None:
    error = openai.APIConnectionError(request=REQUEST)
    error.__cause__ = OSError("no route to topsecret")
    before, after = explain(error), explain(error, begun=True)
    assert type(before) is ProviderError
    assert str(before) == "p cannot be reached: no route to [key]"
    assert isinstance(after, BrokenStream)


def test_a_vendors_own_words_without_the_dump() -> None:
    error = explain(status(400, body={"message": "topsecret is\n bad", "param": None}))
    assert (str(error), error.status) == ("p: [key] is bad", 400)
    nested = {"type": "error", "error": {"type": "api_error", "message": "down"}}
    assert str(explain(status(500, body=nested))) == "p: down"


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "-1"}, 0.0),
        (
            {
                "retry-after": "Mon, 30 Nov 2026 10:00:07 GMT",
                "date": "Mon, 30 Nov 2026 10:00:00 GMT",
            },
            7.0,
        ),
        ({"retry-after": "Mon, 30 Nov 2026 10:00:07 GMT"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], wait_s: float | None) -> None:
    error = explain(status(429, headers))
    assert isinstance(error, RateLimited)
    assert error.retry_after_s == wait_s

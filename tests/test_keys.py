from __future__ import annotations

import io
import logging

import pytest

from core import keys
from core.errors import Unavailable

KEY = "sk-proj-abcDEF123456"


def test_an_explicit_key_wins_over_the_environment() -> None:
    assert keys.lookup("K", " mine \n", environ={"K": "theirs"}) == "mine"
    assert keys.lookup("K", environ={"K": "theirs"}) == "theirs"


@pytest.mark.parametrize("blank", [None, "", "  \n"])
def test_a_blank_key_is_no_key(blank: str | None) -> None:
    assert keys.lookup("K", blank, environ={"K": " "}) is None


def test_a_missing_key_names_the_variable() -> None:
    with pytest.raises(Unavailable, match="set OPENAI_API_KEY"):
        keys.require("openai", "OPENAI_API_KEY", environ={})


@pytest.mark.parametrize("pasted", ["sk-한글", "sk-a b", "sk-a\x00b"])
def test_a_key_with_impossible_characters_is_refused_without_being_shown(pasted: str) -> None:
    with pytest.raises(Unavailable) as caught:
        keys.require("openai", "OPENAI_API_KEY", pasted, environ={})
    assert pasted not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        f"Incorrect API key provided: {KEY}.",
        "key sk-ant-api03-AAAA_BBBB-CCCC is not valid",
        "Incorrect API key provided: sk-pr***********************3456",
        "authorization: Bearer eyJhbGciOi.J9",
        "x-api-key: verysecret123",
        "https://example.com/v1?key=AIzaSyA1234567890123456789",
        "gsk_abcdefghijklmnop1234 was rejected",
    ],
)
def test_whatever_looks_like_a_key_is_scrubbed(text: str) -> None:
    scrubbed = keys.scrub(text)
    assert keys.HIDDEN in scrubbed
    for secret in (KEY, "AAAA_BBBB", "3456", "eyJ", "verysecret", "AIza", "gsk_"):
        assert secret not in scrubbed


def test_given_keys_of_any_form_are_scrubbed_the_longer_first() -> None:
    assert keys.scrub("a plainkey9 b plainkey99", ("plainkey9", "plainkey99")) == (
        f"a {keys.HIDDEN} b {keys.HIDDEN}"
    )


def test_words_are_left_alone() -> None:
    text = "the task-list of risk-averse people, a short x and sk-1"
    assert keys.scrub(text, (None, "", "x")) == text


def test_the_filter_scrubs_message_arguments_traceback_and_stack() -> None:
    plain = str(10**9)  # not in the source, which tracebacks quote
    shown = io.StringIO()
    handler = logging.StreamHandler(shown)
    handler.addFilter(keys.KeyFilter(lambda: (plain,)))
    logger = logging.getLogger("test_keys")
    logger.propagate = False
    logger.addHandler(handler)
    try:
        float(f"{plain}!")
    except ValueError:
        logger.exception("call with %s and %s", KEY, plain, stack_info=True)
    finally:
        logger.removeHandler(handler)
    assert KEY not in shown.getvalue()
    assert plain not in shown.getvalue()
    assert f"call with {keys.HIDDEN} and {keys.HIDDEN}" in shown.getvalue()
    assert f"could not convert string to float: '{keys.HIDDEN}!'" in shown.getvalue()
    assert "Stack (most recent call last)" in shown.getvalue()

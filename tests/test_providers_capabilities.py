from __future__ import annotations

from dataclasses import replace

import pytest

from core import profiles
from core.providers import capabilities
from core.providers.anthropic_messages import AnthropicMessages
from core.providers.base import CallRequest, Message
from core.providers.capabilities import ANTHROPIC, OPENAI, Fact, Sampling, family, split_effort
from core.providers.compatible import Compatible
from core.providers.endpoint import Endpoint
from core.providers.openai_chat import OpenAIChat
from core.providers.openai_responses import OpenAIResponses
from core.text import LANGS, Note, say

AT = Endpoint("https://api.example.com", "none")
ASK = CallRequest("gpt-4o", (Message("user", "Hi"),))


@pytest.mark.parametrize(
    ("name", "model", "effort"),
    [
        ("gpt-4o", "gpt-4o", None),
        ("gpt-5.6-luna (none)", "gpt-5.6-luna", "none"),
        ("claude-haiku-4-5 (no thinking)", "claude-haiku-4-5", "no thinking"),
        ("llama-4 (low) @ groq", "llama-4", "low"),
        ("llama-4 @ groq", "llama-4", None),
        ("vendor/model:free", "vendor/model:free", None),
    ],
)
def test_a_profiles_name_holds_model_and_effort(name: str, model: str, effort: str | None) -> None:
    assert split_effort(name) == (model, effort)


@pytest.mark.parametrize(
    ("model", "prefix"),
    [
        ("gpt-4o-mini", "gpt-4o"),
        ("gpt-4.1-nano-2025-04-14", "gpt-4.1"),
        ("gpt-5-mini", "gpt-5"),
        ("gpt-5.4-nano", "gpt-5.4"),
        ("gpt-5.6-sol", "gpt-5.6"),
        ("gpt-6.1-sol", "gpt-6"),
        ("o4-mini", "o"),
        ("something-else", ""),
    ],
)
def test_openai_families(model: str, prefix: str) -> None:
    assert family(model, OPENAI).prefix == prefix


@pytest.mark.parametrize(
    ("model", "minimum_tok", "no_thinking"),
    [
        ("claude-haiku-4-5-20251001", 4096, ""),
        ("claude-haiku-5-5", 512, "disabled"),
        ("claude-sonnet-4-5", 1024, ""),
        ("claude-sonnet-5", 1024, "disabled"),
        ("claude-sonnet-5-5", 512, "between_tools"),
        ("claude-opus-5-5", 512, None),
        ("claude-opus-4-7", 2048, "disabled"),
        ("claude-fable-5-1", 512, None),
        ("claude-someday-9", 1024, "disabled"),
    ],
)
def test_claude_families(model: str, minimum_tok: int, no_thinking: str | None) -> None:
    row = family(model, ANTHROPIC)
    assert (row.cache_minimum_tok, row.no_thinking) == (minimum_tok, no_thinking)


def test_every_row_has_a_source_and_a_date() -> None:
    for row in (*OPENAI, *ANTHROPIC, capabilities.COMPATIBLE):
        assert row.source
        assert row.date.startswith("2026-")


def test_prefixes_are_unique() -> None:
    for table in (OPENAI, ANTHROPIC):
        assert len({row.prefix for row in table}) == len(table)


def test_predictions_are_for_the_same_models_as_in_the_profiles() -> None:
    for name, profile in profiles.models().items():
        if profile.provider == "openai":
            model, _ = split_effort(name)
            assert family(model, OPENAI).predictions == profile.predictions, name


def keys_of(notes: tuple[Note, ...]) -> set[str]:
    return {note.key.removeprefix("provider.note.") for note in notes}


def test_predictions_work_on_chat_completions_of_two_families_only() -> None:
    asked = replace(ASK, prediction="text", max_tokens=10)
    assert keys_of(OpenAIChat(AT).unsupported(asked)) == {"prediction_without_limit"}
    assert keys_of(OpenAIChat(AT).unsupported(replace(asked, max_tokens=None))) == set()
    for provider in (OpenAIResponses(AT), AnthropicMessages(AT), Compatible(AT)):
        assert "no_prediction" in keys_of(provider.unsupported(asked))


def test_temperature_and_stop_by_family() -> None:
    asked = replace(ASK, temperature=0.0, stop=("#",))
    lost = {
        model: keys_of(OpenAIChat(AT).unsupported(replace(asked, model=model)))
        for model in ("gpt-4o", "o3", "gpt-5.4 (none)", "gpt-5.4 (low)")
    }
    assert lost == {
        "gpt-4o": set(),
        "o3": {"no_temperature", "no_stop"},
        "gpt-5.4 (none)": set(),
        "gpt-5.4 (low)": {"no_temperature"},
    }
    assert keys_of(OpenAIResponses(AT).unsupported(asked)) == {"no_stop"}


def test_a_prefix_too_short_for_the_cache_is_said_with_both_numbers() -> None:
    asked = CallRequest(
        "claude-haiku-4-5",
        (Message("system", "one two three"), Message("user", "Hi")),
        static_messages=1,
        cache_key="k",
    )
    (note,) = AnthropicMessages(AT).unsupported(asked)
    assert dict(note.args) == {"have": 3, "minimum": 4096}
    assert "4096" in say(note, "ko")
    long = replace(asked, messages=(Message("system", "word " * 5000), *asked.messages[1:]))
    assert AnthropicMessages(AT).unsupported(long) == ()
    assert AnthropicMessages(AT).unsupported(replace(asked, cache_key=None)) == ()


def test_every_fact_is_a_sentence_in_both_languages() -> None:
    for fact in Fact:
        for lang in LANGS:
            assert say(fact.note, lang)


def test_every_option_that_may_be_refused_has_its_fact() -> None:
    for provider in (OpenAIChat, OpenAIResponses, AnthropicMessages, Compatible):
        for option in provider.optional:
            assert Fact(f"no_{option}")


def test_sampling_has_a_rule_for_every_kind() -> None:
    for kind in Sampling:
        row = replace(capabilities.COMPATIBLE, sampling=kind)
        assert capabilities.accepts_temperature("low", row) is (kind is Sampling.ALWAYS)
        assert capabilities.accepts_temperature("none", row) is (kind is not Sampling.NEVER)

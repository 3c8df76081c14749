from __future__ import annotations

import json
from dataclasses import replace

import pytest

from core.errors import ProviderError, Unavailable
from core.local.client import Counts, Event
from core.local.models import FILE_VARIABLES, FOLDER_VARIABLE, ROLES, State
from core.local.provider import LocalFact, LocalProvider, chunks_of
from core.local.question import FREE_TEXT_LIMIT_TOK, lacks_prediction, question
from core.local.script import Script
from core.local.watch import Phase
from core.providers.base import CallRequest, ChunkKind, Message
from core.text import LANGS, Note, say

ASK = CallRequest(
    model="small",
    messages=(Message("system", "Be kind."), Message("user", "Where is my parcel?")),
)


def texts(request: CallRequest, *, reuse: bool = True) -> list[str]:
    messages = question(request, reuse=reuse, nonce="5eed")["messages"]
    assert isinstance(messages, list)
    return [message["content"] for message in messages]


def test_scripted_text_is_forced_and_not_bounded() -> None:
    body = question(replace(ASK, scripted_text="On its way."), reuse=False, nonce="5eed")
    assert body["grammar"] == '%llguidance {}\nstart: "On its way."'
    assert "max_tokens" not in body


def test_an_empty_scripted_text_is_still_scripted() -> None:
    body = question(replace(ASK, scripted_text=""), reuse=False, nonce="5eed")
    assert body["grammar"] == '%llguidance {}\nstart: ""'


def test_scripted_text_wins_over_the_schema() -> None:
    request = replace(ASK, scripted_text='{"a":1}', json_schema={"type": "object"})
    assert "%json" not in str(question(request, reuse=False, nonce="5eed")["grammar"])


def test_free_text_is_bounded_and_repeatable() -> None:
    body = question(ASK, reuse=False, nonce="5eed")
    assert "grammar" not in body
    assert body["max_tokens"] == FREE_TEXT_LIMIT_TOK
    assert body["temperature"] == 0.0


def test_free_text_follows_the_schema_and_the_limits_of_the_call() -> None:
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
    request = replace(ASK, json_schema=schema, max_tokens=9, stop=("\n",), temperature=0.7)
    body = question(request, reuse=False, nonce="5eed")
    rule = json.loads(str(body["grammar"]).partition("%json ")[2])
    assert rule["properties"] == schema["properties"]
    assert (body["max_tokens"], body["stop"], body["temperature"]) == (9, ["\n"], 0.7)


def test_without_a_cache_key_nothing_is_reused_or_marked() -> None:
    assert question(ASK, reuse=False, nonce="5eed")["cache_prompt"] is False
    assert texts(replace(ASK, static_messages=1)) == ["Be kind.", "Where is my parcel?"]


def test_with_a_cache_key_only_the_static_messages_can_be_reused() -> None:
    request = replace(ASK, cache_key="run", static_messages=1)
    assert question(request, reuse=True, nonce="5eed")["cache_prompt"] is True
    assert texts(request) == ["Be kind.", "[5eed] Where is my parcel?"]
    assert texts(replace(request, static_messages=2)) == ["Be kind.", "Where is my parcel?"]


def test_a_prediction_must_be_in_the_prompt() -> None:
    request = replace(ASK, prediction="On its way.")
    assert lacks_prediction(request)
    assert texts(request)[1] == "Where is my parcel?\n\nExpected answer:\nOn its way."
    known = replace(request, messages=(Message("user", "Improve: On its way."),))
    assert not lacks_prediction(known)
    assert texts(known) == ["Improve: On its way."]


def test_a_prediction_goes_to_the_user_not_into_a_begun_answer() -> None:
    begun = (*ASK.messages, Message("assistant", "Your parcel"))
    request = replace(ASK, messages=begun, prediction="On its way.")
    assert texts(request)[2] == "Your parcel"
    assert texts(request)[1].endswith("On its way.")


def test_events_become_chunks_with_their_own_time() -> None:
    (progress,) = chunks_of(Event(1.5, progress=0.25), drafts=False)
    assert (progress.kind, progress.t_s, progress.fraction) == (ChunkKind.PROGRESS, 1.5, 0.25)
    (text,) = chunks_of(Event(2.0, text="Hi"), drafts=False)
    assert (text.kind, text.text) == (ChunkKind.TEXT, "Hi")
    (note,) = chunks_of(Event(2.5, finish="length"), drafts=False)
    assert (note.kind, note.text) == (ChunkKind.NOTE, LocalFact.TRUNCATED)
    assert list(chunks_of(Event(3.0), drafts=False)) == []


@pytest.mark.parametrize(
    ("drafts", "drafted", "accepted", "expected"),
    [(False, None, None, (None, None)), (True, 12, 9, (9, 3)), (True, None, None, (0, 0))],
    ids=["no drafts", "drafts", "engine that found nothing to draft"],
)
def test_usage(
    drafts: bool, drafted: int | None, accepted: int | None, expected: tuple[int | None, int | None]
) -> None:
    counts = Counts(15, 10, 4, 0.2, 0.1, drafted, accepted)
    (chunk,) = chunks_of(Event(1.0, counts=counts), drafts=drafts)
    usage = chunk.usage
    assert usage is not None
    assert (usage.tokens_in, usage.tokens_cached, usage.tokens_out) == (15, 10, 4)
    assert (usage.tokens_accepted, usage.tokens_rejected) == expected
    assert usage.extra == {"engine_prompt_s": 0.2, "engine_decode_s": 0.1}


async def test_unknown_models_are_named_with_those_there_are() -> None:
    provider = LocalProvider()
    with pytest.raises(Unavailable, match=r"'gpt'.*small, large"):
        await anext(provider.stream(replace(ASK, model="gpt")))
    await provider.aclose()


async def test_missing_weights_say_how_to_get_them(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    for variable in FILE_VARIABLES.values():
        monkeypatch.delenv(variable, raising=False)
    provider = LocalProvider(lanes=1)
    for model in ("large", "small", "small"):  # what failed must not stand in the next one's way
        with pytest.raises(Unavailable, match=f"models pull {model}"):
            await anext(provider.stream(replace(ASK, model=model)))
    await provider.aclose()


def test_everything_said_has_words_in_both_languages() -> None:
    keys = [f"model.{role}" for role in ROLES] + ["model.stand_in", "model.scripted", "model.free"]
    keys += [f"state.{state}" for state in State] + [f"phase.{phase}" for phase in Phase]
    for lang in LANGS:
        assert all(say(fact.note, lang) for fact in LocalFact)
        assert all(say(Note.of(f"local.{key}"), lang) for key in keys)


def test_a_script_is_followed_in_any_pieces() -> None:
    script = Script("It is 3 일.", ends_early=False)
    for piece in ("It", " is 3", "", " 일."):
        script.follow(piece)
    script.end("stop")


@pytest.mark.parametrize("finish", ["stop", "length"])
def test_only_the_limit_or_a_stop_text_may_end_a_script_early(finish: str) -> None:
    for ends_early in (True, False):
        script = Script("It is here.", ends_early=ends_early)
        script.follow("It is")
        if finish == "stop" and not ends_early:
            with pytest.raises(ProviderError, match=r"failed at ' here\.'"):
                script.end(finish)
        else:
            script.end(finish)


def test_leaving_the_script_is_noticed_at_once() -> None:
    script = Script("It is here.", ends_early=False)
    script.follow("It is")
    with pytest.raises(ProviderError, match=r"failed at ' here\.'"):
        script.follow(" over there")
    free = Script(None, ends_early=False)
    free.follow("anything")
    free.end("stop")

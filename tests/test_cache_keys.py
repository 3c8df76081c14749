"""No answer crosses a tenant, prompt, model, parameter, language, index or conversation."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError, UnknownName
from core.retrieval.cache import AnswerCache, ExactLayer
from core.retrieval.keys import SCOPE_PARTS, CacheScope, Question, digest
from core.retrieval.semantic import SemanticLayer
from core.retrieval.store import MemoryStore
from tests.cache_parts import AllAlike

SCOPE = CacheScope.of(
    tenant="a",
    prompt_version="1",
    model="large",
    answer_lang="en",
    index_version="1",
    parameters={"temperature": 0},
)
OTHER_PART = {
    "tenant": "b",
    "prompt_version": "2",
    "model": "small",
    "parameters": (("temperature", "1"),),
    "answer_lang": "ko",
    "index_version": "2",
}


def answer_cache() -> AnswerCache:
    store = MemoryStore()
    semantic = SemanticLayer(store, threshold=0.5, ttl_s=None, guards=())
    return AnswerCache(ExactLayer(store, ttl_s=None), semantic)


def test_the_parts_that_are_varied_are_all_parts() -> None:
    assert set(OTHER_PART) == set(SCOPE_PARTS)


@pytest.mark.parametrize("part", SCOPE_PARTS)
def test_an_answer_never_crosses_a_part_of_the_scope(part: str) -> None:
    cache, encoder = answer_cache(), AllAlike()
    cache.put(SCOPE, Question("How long?"), "of scope a", encoder)
    elsewhere = replace(SCOPE, **{part: OTHER_PART[part]})

    assert cache.lookup(elsewhere, Question("How long?"), encoder).answer is None
    assert cache.lookup(SCOPE, Question("How much?"), encoder).answer == "of scope a"


words = st.text(min_size=1, max_size=12).filter(str.strip)
scopes = st.builds(
    CacheScope.of,
    tenant=st.sampled_from(["a", "b", "ab", "a\x00"]),
    prompt_version=st.sampled_from(["1", "11", "b1"]),
    model=st.sampled_from(["m", "m1"]),
    answer_lang=st.sampled_from(["en", "ko"]),
    index_version=st.sampled_from(["1", "11"]),
    parameters=st.dictionaries(st.sampled_from(["t", "top_p"]), st.sampled_from([0, 1, "0"])),
)


@given(st.lists(st.tuples(scopes, words, words), min_size=1, max_size=12), scopes, words)
def test_whatever_is_stored_only_answers_of_the_same_scope_come_back(
    stored: list[tuple[CacheScope, str, str]], asked_in: CacheScope, asked: str
) -> None:
    try:
        question = Question(asked)
    except InputError:  # punctuation only
        return
    cache, encoder = answer_cache(), AllAlike()
    for scope, text, context in stored:
        try:
            written = Question(text, (context,) if len(context) % 2 else ())
        except InputError:
            continue
        cache.put(scope, written, repr((scope, written.earlier)), encoder)

    found = cache.lookup(asked_in, question, encoder)

    assert found.answer in (None, repr((asked_in, question.earlier)))


def test_a_question_in_a_conversation_is_not_the_same_question_outside_it() -> None:
    cache, encoder = answer_cache(), AllAlike()
    cache.put(SCOPE, Question("And after that?", ("I bought a lamp.",)), "about lamps", encoder)

    assert cache.lookup(SCOPE, Question("And after that?"), encoder).answer is None
    other = Question("And after that?", ("I bought a phone.",))
    assert cache.lookup(SCOPE, other, encoder).answer is None
    same = Question("and after  THAT", ("I bought a lamp",))
    assert cache.lookup(SCOPE, same, encoder).layer == "exact"


@given(st.lists(st.text(max_size=6), max_size=4), st.lists(st.text(max_size=6), max_size=4))
def test_a_digest_keeps_the_borders_of_its_parts(one: list[str], other: list[str]) -> None:
    assert (digest(*one) == digest(*other)) == (one == other)


@pytest.mark.parametrize("part", ["tenant", "prompt_version", "index_version", "answer_lang"])
def test_leaving_a_part_out_shows_the_leak(part: str) -> None:
    elsewhere = replace(SCOPE, **{part: OTHER_PART[part]})

    assert SCOPE.partition() != elsewhere.partition()
    assert SCOPE.partition(leave_out=[part]) == elsewhere.partition(leave_out=[part])


def test_a_part_that_does_not_exist_is_named() -> None:
    with pytest.raises(UnknownName, match="did you mean 'tenant'"):
        SCOPE.partition(leave_out=["tenants"])


@pytest.mark.parametrize("part", ["tenant", "prompt_version", "model", "index_version"])
def test_an_empty_part_is_refused(part: str) -> None:
    with pytest.raises(InputError, match=part):
        replace(SCOPE, **{part: ""})


def test_parameters_are_compared_by_value_and_type_not_by_order() -> None:
    def scope(**parameters: object) -> CacheScope:
        return CacheScope.of(
            tenant="a",
            prompt_version="1",
            model="m",
            answer_lang="en",
            index_version="1",
            parameters=parameters,
        )

    assert scope(a=1, b=2) == scope(b=2, a=1)
    assert scope(a=0) != scope(a=0.0)
    assert scope(a=0) != scope()  # 0 is not "unset"


def test_a_question_of_punctuation_is_refused() -> None:
    with pytest.raises(InputError, match="empty"):
        Question(" ?! ")

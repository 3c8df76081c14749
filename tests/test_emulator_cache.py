from __future__ import annotations

import pytest

from core import tokens
from core.emulator.cache import LIFE_S, MOST_ENTRIES, Lookup, PromptCache

RULES = "The rules of this house are written on the wall beside the door. " * 100
HAVE = tokens.count(RULES)


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(clock: Clock) -> PromptCache:
    return PromptCache(clock)


def automatic(cache: PromptCache, prompt: str, scope: str = "k") -> Lookup:
    found = cache.automatic(scope, prompt, minimum_tok=1024, step_tok=128)
    found.commit()
    return found


def test_the_longest_shared_prefix_counts_in_steps(cache: PromptCache) -> None:
    assert automatic(cache, RULES + "first question").read_tok == 0
    read = automatic(cache, RULES + "second question").read_tok
    assert read % 128 == 0
    assert HAVE - 128 < read <= HAVE


def test_below_the_minimum_nothing_is_read(cache: PromptCache) -> None:
    short = "word " * 1000
    automatic(cache, short + "a")
    assert tokens.count(short) < 1024
    assert automatic(cache, short + "b").read_tok == 0


def test_a_different_first_word_spoils_everything(cache: PromptCache) -> None:
    automatic(cache, f"[1] {RULES}")
    assert automatic(cache, f"[2] {RULES}").read_tok == 0


def test_keys_keep_prompts_apart(cache: PromptCache) -> None:
    automatic(cache, RULES, scope="a")
    assert automatic(cache, RULES, scope="b").read_tok == 0
    assert automatic(cache, RULES, scope="a").read_tok > 0


def test_nothing_is_read_before_the_first_answer_has_begun(cache: PromptCache) -> None:
    first = cache.automatic("k", RULES, minimum_tok=1024, step_tok=128)
    second = cache.automatic("k", RULES, minimum_tok=1024, step_tok=128)
    assert second.read_tok == 0
    first.commit()
    assert cache.automatic("k", RULES, minimum_tok=1024, step_tok=128).read_tok > 0


def test_entries_end_after_their_life_and_live_on_when_used(
    cache: PromptCache, clock: Clock
) -> None:
    automatic(cache, RULES)
    clock.now_s = LIFE_S - 1
    assert automatic(cache, RULES).read_tok > 0
    clock.now_s = 2 * LIFE_S - 2
    assert automatic(cache, RULES).read_tok > 0
    clock.now_s = 4 * LIFE_S
    assert automatic(cache, RULES).read_tok == 0


def marked(cache: PromptCache, *prefixes: str) -> Lookup:
    found = cache.marked("", prefixes, minimum_tok=512)
    found.commit()
    return found


def test_marked_prefixes_are_written_once_and_then_read(cache: PromptCache) -> None:
    first, second = marked(cache, RULES), marked(cache, RULES)
    assert (first.read_tok, first.written_tok) == (0, HAVE)
    assert (second.read_tok, second.written_tok) == (HAVE, 0)


def test_a_longer_mark_writes_only_what_is_new(cache: PromptCache) -> None:
    longer = RULES + "And one more rule. " * 40
    marked(cache, RULES)
    found = marked(cache, RULES, longer)
    assert found.read_tok == HAVE
    assert found.written_tok == tokens.count(longer) - HAVE


def test_a_marked_prefix_must_be_the_same_to_the_letter(cache: PromptCache) -> None:
    marked(cache, RULES)
    assert marked(cache, RULES + ".").read_tok == 0


def test_a_mark_below_the_minimum_is_neither_read_nor_written(cache: PromptCache) -> None:
    for _ in range(2):
        found = marked(cache, "short")
        assert (found.read_tok, found.written_tok) == (0, 0)


def test_no_marks_no_cache(cache: PromptCache) -> None:
    assert marked(cache).read_tok == 0


def test_the_entry_used_longest_ago_goes_first(cache: PromptCache) -> None:
    marked(cache, RULES)
    for n in range(MOST_ENTRIES):
        marked(cache, f"{n} {RULES}")
    assert marked(cache, RULES).read_tok == 0


def test_clearing_forgets(cache: PromptCache) -> None:
    marked(cache, RULES)
    cache.clear()
    assert marked(cache, RULES).read_tok == 0

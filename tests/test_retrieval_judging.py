"""Routing, the cascade's gate, prompt prefixes and the statistics that judge them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import bench_retrieval
from core.errors import InputError, InvalidData
from core.retrieval.bench_cache import labelled_questions
from core.retrieval.bench_router import DOMAINS, domain_of
from core.retrieval.gate import judge
from core.retrieval.prefix import PrefixRule, analyse, shared_tokens
from core.retrieval.quality import Candidate, Share, auc, least_threshold, sweep
from core.retrieval.router import CentroidRouter
from core.retrieval.speed import timed
from core.retrieval.vectors import unit

# --- router --------------------------------------------------------------------------------------


def cloud(rng: np.random.Generator, centre: int, n: int, spread: float) -> np.ndarray:
    rows = np.eye(16, dtype=np.float32)[centre] + spread * rng.standard_normal((n, 16))
    return unit(rows.astype(np.float32))


def test_topics_are_told_apart_and_confidence_is_what_it_says() -> None:
    rng = np.random.default_rng(0)
    topics = ["refund", "delivery", "repair"]
    train = np.vstack([cloud(rng, i, 60, 0.45) for i in range(3)])
    router = CentroidRouter(train, [t for t in topics for _ in range(60)])
    test = [(t, v) for i, t in enumerate(topics) for v in cloud(rng, i, 400, 0.45)]
    routes = [(topic, router.route(vector)) for topic, vector in test]

    right = np.array([topic == route.topic for topic, route in routes])
    stated = np.array([route.confidence for _, route in routes])
    # The mean confidence is the share right, up to four standard errors.
    error = math.sqrt(right.mean() * (1 - right.mean()) / len(right))
    assert 0.7 < right.mean() < 1
    assert stated.mean() == pytest.approx(right.mean(), abs=4 * error + 0.02)
    assert right[stated >= 0.9].mean() > right[stated < 0.9].mean()


def test_between_two_topics_the_router_is_not_sure_and_names_both() -> None:
    rng = np.random.default_rng(1)
    train = np.vstack([cloud(rng, i, 30, 0.1) for i in range(2)])
    router = CentroidRouter(train, ["a"] * 30 + ["b"] * 30)
    middle = unit((np.eye(16)[0] + np.eye(16)[1]).astype(np.float32).reshape(1, -1))[0]
    route = router.route(middle)

    assert {route.topic, route.runner_up} == {"a", "b"}
    assert not route.is_sure
    assert router.route(train[0]).is_sure
    assert router.route(train[0]).confidence < 1 - 1 / 100  # 60 examples do not show more


def test_a_topic_with_one_example_is_refused() -> None:
    with pytest.raises(InputError, match="'b' has 1 example"):
        CentroidRouter(np.eye(3, dtype=np.float32), ["a", "a", "b"])


def test_domains_cover_what_they_name() -> None:
    assert domain_of("top_up_failed") == "top-up"
    assert domain_of("card_arrival") == "card"
    assert domain_of("country_support") == ""
    assert len(DOMAINS) == 10


# --- gate ----------------------------------------------------------------------------------------

PASSAGES = ("You can return a product within 30 days of delivery. A fee of $6 is taken off.",)


@pytest.mark.parametrize(
    ("answer", "failures"),
    [
        ("You can return the product within 30 days; a fee of $6 is taken off.", ()),
        ("1. You can return the product.\n2. A fee of $6 is taken off the delivery.", ()),
        ("You can return the product within 60 days of delivery.", ("numbers",)),
        ("You can return the product within 30 days of", ("unfinished",)),
        ("30일 안에 반품할 수 있어요.", ("language", "off_topic")),
        ("Bananas grow in warm countries near the sea.", ("off_topic",)),
        ("  ", ("empty",)),
    ],
)
def test_the_gate_names_what_is_wrong(answer: str, failures: tuple[str, ...]) -> None:
    verdict = judge(answer, question="How long can I return it?", passages=PASSAGES, lang="en")
    assert verdict.failures == failures
    assert verdict.passes is (failures == ())


def test_small_talk_needs_no_passages() -> None:
    assert judge(
        "천만에요! 더 궁금한 점이 있으세요?", question="고마워요", passages=(), lang="ko"
    ).passes


# --- prefix --------------------------------------------------------------------------------------


def letters(text: str) -> list[int]:
    return [ord(letter) for letter in text]


def test_a_change_at_the_start_spoils_what_stands_after_it() -> None:
    rule = PrefixRule(minimum_tok=10, step_tok=4)
    static_first = analyse(["rules and examples: A", "rules and examples: B"], letters)
    dynamic_first = analyse(["A rules and examples", "B rules and examples"], letters)

    assert (static_first.shared_tok, static_first.text) == (20, "rules and examples: ")
    assert static_first.first_differences == ("A", "B")
    assert rule.reusable(static_first.shared_tok) == 18  # 10 + 2 steps of 4
    assert dynamic_first.shared_tok == 0
    assert [rule.reusable(n) for n in (0, 9, 10, 13, 14)] == [0, 0, 10, 10, 14]


@given(st.lists(st.integers(0, 2), max_size=8), st.lists(st.integers(0, 2), max_size=8))
def test_shared_tokens_is_the_longest_common_start(one: list[int], other: list[int]) -> None:
    n = shared_tokens(one, other)
    assert one[:n] == other[:n]
    assert n == min(len(one), len(other)) or one[n] != other[n]


# --- statistics ----------------------------------------------------------------------------------


def test_the_wilson_interval_of_published_cases() -> None:
    # Newcombe 1998, table I: 81 of 263 and 0 of 20.
    assert Share(81, 263).interval == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert Share(0, 20).interval == pytest.approx((0.0, 0.1611), abs=1e-4)
    assert Share(0, 0).plain()["share"] is None


def test_a_sweep_serves_the_nearest_that_no_guard_refuses() -> None:
    near_miss = Candidate(0.95, is_right=False, refused_by=frozenset({"numbers"}))
    paraphrase = Candidate(0.85, is_right=True, refused_by=frozenset())
    asked = [(near_miss, paraphrase), (paraphrase,), ()]

    (bare,) = sweep(asked, [0.8], ())
    (guarded,) = sweep(asked, [0.8])
    (strict,) = sweep(asked, [0.9])
    assert ((bare.hits.k, bare.hits.n), (bare.right.k, bare.right.n)) == ((2, 3), (1, 2))
    assert (guarded.right.k, guarded.right.n) == (2, 2)
    assert strict.hits.k == 0


def test_a_threshold_is_chosen_from_above_so_a_lucky_dip_does_not_count() -> None:
    good = Candidate(0.9, is_right=True, refused_by=frozenset())
    bad = Candidate(0.8, is_right=False, refused_by=frozenset())
    lucky = Candidate(0.7, is_right=True, refused_by=frozenset())
    asked = [(good,), (bad,), *[(lucky,)] * 98]
    rows = sweep(asked, [0.7, 0.8, 0.9])

    assert rows[0].right.value == 0.99
    chosen = least_threshold(rows, 0.95)
    assert chosen is not None
    assert chosen.threshold == 0.9


def test_auc_is_the_chance_of_the_right_order() -> None:
    assert auc([0.9, 0.5], [0.5, 0.1]) == (1 + 1 + 0.5 + 1) / 4
    assert math.isnan(auc([], [1.0]))


def test_a_timing_counts_every_call_after_the_warm_up() -> None:
    calls: list[int] = []
    timing = timed("x", calls.append, 50)
    assert calls == [*range(20), *range(50)]
    assert (timing.n, timing.p50_s <= timing.p95_s) == (50, True)


# --- benches -------------------------------------------------------------------------------------


def test_a_bench_names_the_file_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"banking77_train\.csv is not in"):
        bench_retrieval.router(tmp_path)
    with pytest.raises(InputError, match=r"banking77_train\.csv is not in"):
        bench_retrieval.cache(tmp_path)
    (tmp_path / "t.csv").write_text("text,label\nx,y\n", encoding="utf-8")
    with pytest.raises(InvalidData, match=r"t\.csv:1: category"):
        labelled_questions(tmp_path / "t.csv")

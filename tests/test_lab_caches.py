"""What the Cache lab works out: labelled pairs, sweeps, keys with a part missing, streams."""

from __future__ import annotations

import asyncio
import json

import pytest

from core.errors import InputError, UnknownName
from core.labs import cache_stream, cache_sweep
from core.labs.cache_stream import LAYERS, OUTCOMES, StreamSettings, streamed
from core.labs.cached_pair import judge, liken
from core.labs.desk import Desk
from core.labs.example_pairs import KINDS, example_pairs
from core.labs.key_leaks import PARTS, askings
from core.labs.pairs import asked, likenesses
from core.profiles import setting
from core.retrieval.guards import ALL_GUARDS, objections
from core.retrieval.semantic import NEIGHBOURS
from core.scenarios import SCENARIOS, scenario
from core.text import LANGS, Lang

# --- labelled pairs -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_measured_table_says_what_the_guards_say_today(name: str) -> None:
    by_id = {r.id: r for r in scenario(name).requests}
    pairs = likenesses(name)
    assert len(pairs) > 500
    for pair in pairs[:: max(1, len(pairs) // 150)]:
        said = {o.guard for o in objections(by_id[pair.one].message, by_id[pair.other].message)}
        assert said == pair.refused_by, (pair.one, pair.other)


@pytest.mark.parametrize("lang", LANGS)
def test_every_request_is_asked_against_its_nearest_others(lang: Lang) -> None:
    rows = asked("support", lang)
    alone = [r for r in scenario("support").requests if r.lang == lang and not r.history]
    assert [row.request for row in rows] == alone
    for row in rows:
        cosines = [n.cosine for n in row.near]
        assert len(cosines) == NEIGHBOURS
        assert cosines == sorted(cosines, reverse=True)
        assert all(n.request is not row.request and n.request.lang == lang for n in row.near)


@pytest.mark.parametrize("lang", LANGS)
def test_there_is_an_example_of_every_kind_and_its_guard_speaks(lang: Lang) -> None:
    found = {pair.kind: pair for pair in example_pairs(lang)}
    assert set(found) == set(KINDS)
    for guard in ALL_GUARDS:
        said = objections(found[guard].asked, found[guard].cached)
        assert [o.guard for o in said] == [guard]
    assert objections(found["same"].asked, found["same"].cached) == ()


# --- the sweep ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("lang", LANGS)
def test_guards_take_wrong_hits_away_and_the_cost_is_shown(name: str, lang: Lang) -> None:
    found = cache_sweep.swept(name, lang, 0.86, ALL_GUARDS)
    assert found is not None
    wrong = found.here_bare.right.n - found.here_bare.right.k
    assert wrong > 0  # near misses are alike
    assert found.wrong == ()  # and no guard lets one through at a shipped threshold
    hits = [row.hits.k for row in found.guarded]
    assert hits == sorted(hits, reverse=True)
    assert all(g.hits.k <= b.hits.k for g, b in zip(found.guarded, found.bare, strict=True))


def test_lost_hits_are_those_a_guard_refused_and_wrong_ones_those_nobody_did() -> None:
    found = cache_sweep.swept("travel", "en", 0.75, ALL_GUARDS)
    assert found is not None
    assert found.lost
    for example in found.lost:
        assert example.request.intent == example.neighbour.request.intent
        assert example.neighbour.refused_by
    bare = cache_sweep.swept("travel", "en", 0.75, frozenset())
    assert bare is not None
    assert len(bare.wrong) == bare.here.right.n - bare.here.right.k > 0
    assert bare.lost == ()


def test_the_figure_is_plain_data_on_the_scale_of_requests_asked() -> None:
    found = cache_sweep.swept("support", "en", 0.8, ALL_GUARDS)
    assert found is not None
    line = cache_sweep.Line("n", "#000001")
    words = cache_sweep.SweepWords("x", "y", "0.80", "%{y}")
    drawn = json.loads(json.dumps(cache_sweep.figure(found, 0.8, words, (line, line, line, line))))
    assert len(drawn["data"]) == 4
    assert all(0 <= y <= 1 for trace in drawn["data"] for y in trace["y"])
    hits = drawn["data"][-1]["y"]
    at = cache_sweep.THRESHOLDS.index(0.8)
    assert hits[at] == pytest.approx(found.here.hits.value, abs=1e-4)


# --- two questions --------------------------------------------------------------------------------


def test_the_decision_follows_the_layers() -> None:
    refund, exchange = (
        "Can I get a refund for the speaker?",
        "Can I get an exchange for the speaker?",
    )
    assert judge("Where is it?", " where IS it ", 0.1, 0.9, ALL_GUARDS).decision == "exact"
    assert judge(refund, exchange, 0.95, 0.9, ALL_GUARDS).decision == "refused"
    assert judge(refund, exchange, 0.95, 0.9, ()).serves
    assert judge(refund, exchange, 0.85, 0.9, ()).decision == "too_far"
    assert (
        judge("Where is it?", "어디에 있나요?", 0.99, 0.5, ALL_GUARDS).decision == "other_language"
    )


@pytest.mark.slow
def test_two_questions_are_compared_beside_the_caller() -> None:
    pool = Desk().pool
    found = asyncio.run(
        liken(pool, "When do I get my money?", "How long is a refund?", "minilm-en")
    )
    pool.close()
    assert found.encoder == "minilm-en"
    assert 0.3 < found.cosine < 1.0
    assert min(found.load_s, found.encode_s, found.guards_s) > 0


# --- keys -----------------------------------------------------------------------------------------


def test_with_every_part_in_the_key_no_answer_crosses() -> None:
    rows = askings("Where is my order?", PARTS)
    assert [row.part for row in rows] == list(PARTS)
    assert not any(row.leaks for row in rows)
    assert len({row.second_key for row in rows} | {rows[0].first_key}) == len(PARTS) + 1


@pytest.mark.parametrize("missing", PARTS)
def test_a_part_left_out_leaks_between_those_who_differ_in_it(missing: str) -> None:
    rows = askings("Where is my order?", [p for p in PARTS if p != missing])
    assert {row.part for row in rows if row.leaks} == {missing}
    (row,) = [row for row in rows if row.leaks]
    assert row.first_key == row.second_key
    assert row.first != row.second


def test_a_key_without_anything_leaks_everything_and_nonsense_is_refused() -> None:
    assert all(row.leaks for row in askings("x", ()))
    with pytest.raises(UnknownName):
        askings("x", ("colour",))
    with pytest.raises(InputError):
        askings("   ", PARTS)


# --- streams --------------------------------------------------------------------------------------


def test_every_request_ends_in_one_way_and_misses_are_counted() -> None:
    found = streamed(StreamSettings("travel", threshold=0.8, guards=False), setting())
    assert [g.outcome for g in found.groups] == list(OUTCOMES)
    assert sum(g.n for g in found.groups) == found.n == cache_stream.N
    by = {g.outcome: g for g in found.groups}
    assert min(by["exact"].n, by["right"].n, by["wrong"].n, by["miss"].n) > 0
    miss = by["miss"]
    assert miss.before.p50 is not None
    assert miss.after.p50 is not None
    assert miss.after.p50 > miss.before.p50  # the look-up is paid first
    assert miss.after.p50 - miss.before.p50 == pytest.approx(found.miss_cost_s, rel=2.0)
    assert by["exact"].after.p50 is not None
    assert by["exact"].after.p50 < 0.1


def test_guards_turn_wrong_hits_into_misses() -> None:
    bare, guarded = (
        streamed(StreamSettings("travel", threshold=0.8, guards=on), setting())
        for on in (False, True)
    )
    assert bare.count("wrong") > 0
    assert guarded.count("wrong") == 0
    assert guarded.count("exact") == bare.count("exact")


def test_inner_layers_work_where_no_answer_is_kept() -> None:
    inner = ("embedding", "retrieval")
    found = streamed(StreamSettings("support", inner), setting())
    by = {layer.layer: layer for layer in found.inner}
    assert found.count("exact", "right", "wrong") == 0
    assert 0 < by["embedding"].found < by["embedding"].asked
    assert found.miss_cost_s == 0.0
    nothing = streamed(StreamSettings("support", ()), setting())
    assert nothing.count("miss") == nothing.n
    assert nothing.inner == ()


def test_more_repeats_mean_more_hits() -> None:
    few, many = (
        streamed(StreamSettings("support", LAYERS, repeat_share=s), setting()) for s in (0.1, 0.8)
    )
    assert few.count("exact") < many.count("exact")


# --- the desk -------------------------------------------------------------------------------------


def test_a_job_is_done_once_and_again_only_when_forgotten() -> None:
    desk = Desk()
    done: list[int] = []

    def work() -> int:
        done.append(1)
        return len(done)

    try:
        assert desk.ask_thread("k", work).result(10) == 1
        assert desk.ask_thread("k", work).result(10) == 1
        desk.forget("k")
        assert desk.ask_thread("k", work).result(10) == 2
    finally:
        desk.close()


def test_a_failure_is_kept_until_forgotten() -> None:
    desk = Desk()
    tried: list[int] = []

    def work() -> int:
        tried.append(1)
        raise InputError("no")

    try:
        for _ in range(2):
            with pytest.raises(InputError):
                desk.ask_thread("k", work).result(10)
        assert len(tried) == 1
    finally:
        desk.close()

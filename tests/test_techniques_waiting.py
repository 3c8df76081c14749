"""What techniques of retrieval, of answers at hand, tails and the screen do: worked examples."""

from dataclasses import replace

import numpy as np
import pytest

from core.examples import two_stage_retrieval
from core.metrics import metric
from core.plan import AnswerCache, Form, Gate, LlmStep, Timeout, WorkKind, WorkStep
from core.profiles import setting
from core.simulate import simulate
from core.small_talk import is_small_talk, recognised
from core.timeline import State
from core.workload import only, stream
from tests.technique_cases import (
    DRAWN,
    QUESTION,
    READER,
    SUPPORT,
    TRAVEL,
    end,
    once,
    p50,
    rewritten,
    span,
)

# --- retrieval -----------------------------------------------------------------------------------


def test_inline_snippets_save_the_second_lookup_exactly() -> None:
    old = two_stage_retrieval(SUPPORT.plan)
    new = rewritten(SUPPORT, "inline_snippets", start=old)
    before, after = once(SUPPORT, old, QUESTION), once(SUPPORT, new, QUESTION)
    saved = span(before, "fetch_documents")
    assert before.total_s[0] - after.total_s[0] == pytest.approx(saved, abs=1e-9)
    assert "fetch_documents" not in {s.id for s in new.steps}


def test_a_rerank_that_is_left_out_passes_its_passages_on() -> None:
    old = two_stage_retrieval(SUPPORT.plan)
    new = rewritten(SUPPORT, "rerank_gate", start=old, close_share=0.0)
    assert any(isinstance(p, Gate) for p in new.step("rerank").policies)
    before, after = once(SUPPORT, old, QUESTION), once(SUPPORT, new, QUESTION)
    check = DRAWN.service("score_check").latency().median_s
    assert span(after, "rerank") == pytest.approx(check, rel=1e-6)
    assert after.usage.tokens_in.sum() == before.usage.tokens_in.sum()


def test_a_filter_saves_time_only_where_the_search_compares_everything() -> None:
    def local(step: WorkStep) -> WorkStep:
        here = replace(step, service="local_vector_search")
        return here if step.work is WorkKind.SEARCH else step

    for move in (False, True):
        start = SUPPORT.plan
        if move:
            start = start.with_steps(*(local(s) for s in start.work_steps))
        plan = rewritten(SUPPORT, "metadata_filter", start=start)
        before, after = once(SUPPORT, start, QUESTION), once(SUPPORT, plan, QUESTION)
        assert (span(after, "search_docs") < span(before, "search_docs")) == move


def test_fail_fast_writes_nothing_where_nothing_was_found() -> None:
    plan = rewritten(SUPPORT, "fail_fast")
    lost = next(r for r in SUPPORT.requests if not r.answerable)
    before, after = once(SUPPORT, SUPPORT.plan, lost), once(SUPPORT, plan, lost)
    assert after.state[0, after.column("assistant")] == State.SKIPPED
    assert after.hit[0]
    assert after.total_s[0] == pytest.approx(end(before, "search_docs"), abs=0.01)
    assert after.visible.total_chars[0] > 0
    kept = once(SUPPORT, plan, QUESTION)
    assert kept.state[0, kept.column("assistant")] == State.RAN


def test_a_router_in_process_replaces_only_calls_that_sort() -> None:
    support, travel = (rewritten(s, "local_router") for s in (SUPPORT, TRAVEL))
    assert isinstance(support.step("retrieval_check"), WorkStep)
    assert isinstance(support.step("contextualize"), LlmStep)
    assert isinstance(travel.step("route"), WorkStep)
    assert isinstance(travel.step("extract"), LlmStep)


# --- answers at hand -----------------------------------------------------------------------------


def test_fixed_replies_know_small_talk_and_nothing_else() -> None:
    for where in (SUPPORT, TRAVEL):
        plan = rewritten(where, "hard_code")
        timeline = simulate(plan, DRAWN, stream(where, 2000, repeat_share=1.0))
        answered = [r for r, hit in zip(timeline.requests, timeline.hit, strict=True) if hit]
        assert answered
        assert all(is_small_talk(r) and recognised(r.message) for r in answered)


def test_layers_share_one_lookup() -> None:
    plan = rewritten(TRAVEL, "hard_code", "precompute", "caching")
    layered = [s for s in plan.work_steps if s.layers]
    assert [layer.layer for s in layered for layer in s.layers] == [
        "fixed", "precomputed", "exact", "semantic",
    ]  # fmt: skip
    assert len(layered) == 1


def test_precomputed_answers_are_there_from_the_first_request_on() -> None:
    plan = rewritten(TRAVEL, "precompute", similar=False)
    first = simulate(plan, DRAWN, only(TRAVEL, TRAVEL.requests[0]))
    known = replace(only(TRAVEL, TRAVEL.requests[0]), fresh=np.array([False]))
    assert not first.hit[0]  # fresh words, and only the same ones are looked for
    assert simulate(plan, DRAWN, known).hit[0]
    layers = plan.step("cache_lookup")
    assert isinstance(layers, WorkStep)
    assert layers.layers == (AnswerCache("precomputed", 86_400.0, 1.0, entries=12),)


def test_a_cache_without_hits_is_a_loss() -> None:
    plan = rewritten(SUPPORT, "caching")
    found = once(SUPPORT, plan, QUESTION)
    assert found.total_s[0] > once(SUPPORT, SUPPORT.plan, QUESTION).total_s[0]


# --- waiting, tails and transport ----------------------------------------------------------------


def test_a_buffering_proxy_makes_the_first_word_the_last() -> None:
    plan = rewritten(SUPPORT, "streaming", "no_buffering")
    timeline = simulate(plan, DRAWN, stream(SUPPORT, 300))
    first = metric("first_visible_s").compute(timeline, READER)
    assert np.allclose(first, timeline.total_s, rtol=0, atol=1e-12)
    free = rewritten(SUPPORT, "no_buffering", start=plan, proxy_buffers=False)
    assert not free.transport.buffered


def test_a_background_job_is_taken_on_at_once_and_comes_in_one_piece() -> None:
    plan = rewritten(TRAVEL, "items_jsonl", "background_job")
    assert p50(TRAVEL, plan, "ack_s") < 0.05
    assert not any(s.stream for s in plan.llm_steps)
    assert p50(TRAVEL, plan, "first_visible_s") > p50(TRAVEL, TRAVEL.plan, "first_visible_s") - 0.5


def test_stage_messages_come_early_and_change_nothing_else() -> None:
    plan = rewritten(SUPPORT, "show_steps")
    before = simulate(SUPPORT.plan, DRAWN, stream(SUPPORT, 300))
    after = simulate(plan, DRAWN, stream(SUPPORT, 300))
    assert np.array_equal(before.total_s, after.total_s)
    assert metric("ack_s").compute(after, READER).max() == 0.0


def test_hedging_is_for_the_slow_end() -> None:
    plan = rewritten(TRAVEL, "hedge")
    before, after = (simulate(p, DRAWN, stream(TRAVEL, 4000)).total_s for p in (TRAVEL.plan, plan))
    middle, tail = (np.nanpercentile(before, q) - np.nanpercentile(after, q) for q in (50, 95))
    assert tail > 3 * middle > 0
    assert np.isnan(after).sum() < np.isnan(before).sum()


def test_a_search_that_fails_or_takes_too_long_is_left_out() -> None:
    plan = rewritten(TRAVEL, "timeout_fallback", after_s=0.8)
    assert Timeout(0.8) in plan.step("web_search").policies
    timeline = simulate(plan, DRAWN, stream(TRAVEL, 1000))
    column = timeline.column("web_search")
    took = timeline.end_s[:, column] - timeline.ready_s[:, column]
    assert took.max() <= 0.8 + 1e-9
    assert not timeline.failed.any()


def test_a_deadline_keeps_the_slow_end_and_degrades_the_slow_ones() -> None:
    plan = rewritten(TRAVEL, "deadline_budget", slo_s=6.0)
    before, after = (simulate(p, DRAWN, stream(TRAVEL, 2000)) for p in (TRAVEL.plan, plan))
    assert np.nanpercentile(after.total_s, 95) < np.nanpercentile(before.total_s, 95) - 1.0
    shorter = after.visible.total_chars < before.visible.total_chars
    assert shorter.any()
    assert not shorter.all()
    assert (after.visible.total_chars[~after.failed] > 0).all()


def test_a_near_region_saves_the_way_and_a_warm_connection_two_more() -> None:
    far = setting(route="Seoul > us-west-2")
    near = rewritten(SUPPORT, "near_region", told=far)
    warm = rewritten(SUPPORT, "keep_alive", told=far)
    certain = replace(far, certain=True)
    base = once(SUPPORT, SUPPORT.plan, QUESTION, certain).total_s[0]
    # three calls pay the way; the first one also opens the connection: two trips and a look-up
    rtt = far.route.rtt_s
    assert base - once(SUPPORT, warm, QUESTION, certain).total_s[0] == pytest.approx(2 * rtt + 0.02)
    saved = base - once(SUPPORT, near, QUESTION, certain).total_s[0]
    assert saved == pytest.approx(5 * (rtt - DRAWN.route.rtt_s))


def test_a_faster_tier_writes_faster_and_costs_more() -> None:
    plan = rewritten(SUPPORT, "service_tier")
    before, after = once(SUPPORT, SUPPORT.plan, QUESTION), once(SUPPORT, plan, QUESTION)
    assert after.total_s[0] < before.total_s[0]
    assert after.usage.cost_usd.sum() == pytest.approx(2 * before.usage.cost_usd.sum())


def test_cards_come_one_by_one_and_the_whole_takes_longer() -> None:
    plan = rewritten(TRAVEL, "items_jsonl")
    assert all(
        s.signature.form is Form.JSONL
        for s in plan.llm_steps
        if any(f.shown == "cards" for f in s.signature.fields)
    )
    assert p50(TRAVEL, plan, "first_useful_s") < p50(TRAVEL, TRAVEL.plan, "first_useful_s") - 2.0
    assert p50(TRAVEL, plan, "total_s") > p50(TRAVEL, TRAVEL.plan, "total_s")

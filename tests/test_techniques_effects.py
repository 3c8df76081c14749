"""What single techniques do to plans and times: worked examples, and the catch of each."""

from itertools import pairwise

import numpy as np
import pytest

from core.losses import losses
from core.plan import Cascade, LlmStep
from core.rewrite import Choice, Context, apply, parameters
from core.simulate import simulate
from core.techniques import PRESETS, choose, technique
from core.timeline import State
from core.workload import only, stream
from tests.technique_cases import (
    CERTAIN,
    DRAWN,
    QUESTION,
    SUPPORT,
    THANKS,
    TRAVEL,
    WISH,
    end,
    once,
    p50,
    rewritten,
    span,
)

# --- presets -------------------------------------------------------------------------------------


def test_guide_has_five_steps_each_of_which_gains() -> None:
    plan, log = apply(SUPPORT.plan, choose(PRESETS["guide"]), Context(SUPPORT, DRAWN))
    assert [e.technique for e in log] == list(PRESETS["guide"])
    totals = [p50(SUPPORT, SUPPORT.plan, "total_s")]
    totals += [p50(SUPPORT, e.after, "total_s") for e in log]
    assert all(later < earlier for earlier, later in pairwise(totals))
    assert len(plan.llm_steps) == 3


def test_guide_reasons_beside_the_search() -> None:
    plan = rewritten(SUPPORT, *PRESETS["guide"])
    reasoning = plan.step("reasoning")
    assert isinstance(reasoning, LlmStep)
    assert reasoning.role == "small"
    assert plan.starts_after("reasoning") == ()
    assert "passages" not in reasoning.reads
    merged = "contextualize+retrieval_check"
    assert "reasoning" not in plan.ancestors("search_docs")
    assert {merged, "search_docs", "reasoning"} <= plan.ancestors("assistant")
    answer = plan.step("assistant")
    assert isinstance(answer, LlmStep)
    assert [f.name for f in answer.signature.fields] == [
        "enough_information_in_context",
        "response",
    ]
    assert "user_sentiment" in answer.reads


def test_travel_post_shows_something_useful_in_time() -> None:
    plan = rewritten(TRAVEL, *PRESETS["travel-post"])
    assert 5.0 <= p50(TRAVEL, TRAVEL.plan, "total_s") <= 8.0
    assert p50(TRAVEL, plan, "first_useful_s") <= 2.2
    before, after = (p50(TRAVEL, p, "reader_wait_s") for p in (TRAVEL.plan, plan))
    assert after <= before / 2


# --- split and divide ----------------------------------------------------------------------------


def test_split_waits_for_the_rewording_where_it_has_to() -> None:
    plan = rewritten(SUPPORT, "split_reasoning", "parallel", told=DRAWN)
    assert plan.starts_after("reasoning") == ()
    split = rewritten(SUPPORT, "split_reasoning", from_request=False)
    free = rewritten(SUPPORT, "parallel", start=split)
    assert free.starts_after("reasoning") == ("contextualize",)


def test_split_keeps_examples_and_instructions_with_their_fields() -> None:
    plan = rewritten(SUPPORT, "split_reasoning")
    reasoning, answer = plan.step("reasoning"), plan.step("assistant")
    assert isinstance(reasoning, LlmStep)
    assert isinstance(answer, LlmStep)
    for one, own, other in (
        (reasoning, '"user_sentiment"', '"response"'),
        (answer, '"response"', '"user_sentiment"'),
    ):
        assert one.signature.examples
        assert all(own in e and other not in e for e in one.signature.examples)
    assert any("query_type is one of" in i for i in reasoning.signature.instructions)
    assert not any("query_type is one of" in i for i in answer.signature.instructions)


def test_divided_parts_write_the_same_cards_side_by_side() -> None:
    whole = once(TRAVEL, TRAVEL.plan, WISH)
    plan = rewritten(TRAVEL, "divide_conquer")
    parts = once(TRAVEL, plan, WISH)
    names = ["recommend.stays", "recommend.food", "recommend.sights"]
    assert [s.id for s in plan.llm_steps if s.id.startswith("recommend")] == names
    assert max(span(parts, n) for n in names) < span(whole, "recommend")
    assert parts.visible.total_chars[0] == whole.visible.total_chars[0]
    assert np.nansum(parts.usage.tokens_in) > np.nansum(whole.usage.tokens_in)


def test_the_join_is_waited_for_but_holds_nothing_back() -> None:
    plan = rewritten(TRAVEL, "divide_conquer", "items_jsonl")
    timeline = once(TRAVEL, plan, WISH)
    assert "join" in plan.waits("show")
    assert timeline.total_s[0] >= end(timeline, "join")
    assert timeline.visible.t_s[0, 0] < end(timeline, "join")


# --- speculation ---------------------------------------------------------------------------------


def test_speculation_hides_the_guard_where_it_agrees() -> None:
    plan = rewritten(SUPPORT, "speculate_guard")
    before, after = once(SUPPORT, SUPPORT.plan, QUESTION), once(SUPPORT, plan, QUESTION)
    # all that follows begins when the question is reworded, beside the check
    chain = sum(span(before, s) for s in ("embed_query", "search_docs", "assistant", "moderate"))
    expected = end(before, "contextualize") + chain
    # a warm connection is at hand: the rewording has ended
    assert after.total_s[0] == pytest.approx(expected, abs=1e-9)
    assert after.usage.calls.sum() == before.usage.calls.sum()


def test_speculation_starts_again_where_the_guard_disagrees() -> None:
    plan = rewritten(SUPPORT, "speculate_guard")
    before, after = once(SUPPORT, SUPPORT.plan, THANKS), once(SUPPORT, plan, THANKS)
    column = after.column("search_docs")
    assert after.state[0, column] in (State.CANCELLED, State.SKIPPED)
    assert after.total_s[0] == pytest.approx(before.total_s[0], abs=1e-9)
    assert after.usage.calls.sum() >= before.usage.calls.sum()


def test_nothing_comes_out_before_the_guard_has_spoken() -> None:
    plan = rewritten(SUPPORT, "speculate_guard", "streaming")
    timeline = simulate(plan, DRAWN, stream(SUPPORT, 500))
    said = timeline.end_s[:, timeline.column("retrieval_check")]
    assert (timeline.visible.t_s[:, 0] >= said - 1e-12).all()


# --- models --------------------------------------------------------------------------------------


def test_a_cascade_that_always_escalates_is_slower_than_going_large_at_once() -> None:
    never = rewritten(SUPPORT, "cascade", escalation_rate=0.0)
    always = rewritten(SUPPORT, "cascade", escalation_rate=1.0)
    plain = p50(SUPPORT, SUPPORT.plan, "total_s")
    assert p50(SUPPORT, never, "total_s") < plain < p50(SUPPORT, always, "total_s")


def test_a_cascade_cannot_stream_before_its_gate() -> None:
    plan = rewritten(SUPPORT, "cascade", "streaming")
    timeline = simulate(plan, CERTAIN, only(SUPPORT, QUESTION))
    policy = next(p for p in plan.step("assistant").policies if isinstance(p, Cascade))
    assert policy.escalation_rate < 0.5  # without luck: passed
    gone = timeline.first_s[0, timeline.column("assistant")]
    assert gone == end(timeline, "assistant")
    assert timeline.visible.t_s[0, 0] == gone


def test_rules_send_short_small_talk_to_the_small_model() -> None:
    plan = rewritten(SUPPORT, "rule_router")
    for request, faster in ((THANKS, True), (QUESTION, False)):
        before, after = once(SUPPORT, SUPPORT.plan, request), once(SUPPORT, plan, request)
        assert (span(after, "assistant") < span(before, "assistant")) == faster


def test_distilled_prompts_hold_no_examples_and_cost_less() -> None:
    plan = rewritten(SUPPORT, "distill_prompt")
    routine = [s for s in plan.llm_steps if s.signature.routine]
    assert all(s.role == "small" and not s.signature.examples for s in routine)


# --- less to write and to read -------------------------------------------------------------------


def test_facts_are_shown_but_not_written() -> None:
    plan = rewritten(TRAVEL, "ui_instead")
    before, after = once(TRAVEL, TRAVEL.plan, WISH), once(TRAVEL, plan, WISH)
    assert after.visible.total_chars[0] == before.visible.total_chars[0]
    assert after.usage.tokens_out.sum() < before.usage.tokens_out.sum()
    facts = {u.part for u in after.units[0]}
    assert facts == {"name", "area", "reason", "price_level"}


def test_answer_first_brings_the_first_word_forward_only_in_a_stream() -> None:
    still = rewritten(SUPPORT, "answer_first")
    gain = p50(SUPPORT, SUPPORT.plan, "first_visible_s") - p50(SUPPORT, still, "first_visible_s")
    assert abs(gain) < 0.05
    late = rewritten(SUPPORT, "streaming")
    soon = rewritten(SUPPORT, "answer_first", "streaming")
    assert p50(SUPPORT, late, "first_visible_s") - p50(SUPPORT, soon, "first_visible_s") > 1.0


def test_an_output_limit_cuts_and_says_how_often() -> None:
    plan = rewritten(SUPPORT, "output_limit", max_tok=160)
    found = {x.key: x for x in losses(SUPPORT.plan, plan, SUPPORT)}
    assert found["whole"].before == 1.0
    assert 0.0 < found["whole"].after < 1.0
    assert found["text"].after < found["text"].before == 1.0


def test_a_tight_context_loses_documents_and_says_how_many() -> None:
    plan = rewritten(SUPPORT, "context_budget", top_k=1, budget_tok=300)
    found = {x.key: x for x in losses(SUPPORT.plan, plan, SUPPORT)}
    assert found["found"].after < found["found"].before <= 1.0


def test_pruning_loses_less_evidence_the_more_sentences_it_keeps() -> None:
    def after(keep: int) -> dict[str, float]:
        plan = rewritten(SUPPORT, "prune_context", keep=keep)
        return {x.key: x.after for x in losses(SUPPORT.plan, plan, SUPPORT)}

    few, more, most = after(4), after(8), after(16)
    assert few["evidence"] < more["evidence"] < most["evidence"] < 1.0
    assert few["found"] <= more["found"] <= most.get("found", 1.0)


def test_concise_answers_are_shorter_and_streaming_loses_nothing() -> None:
    shorter = losses(SUPPORT.plan, rewritten(SUPPORT, "concise"), SUPPORT)
    assert [x.key for x in shorter] == ["text"]
    assert losses(SUPPORT.plan, rewritten(SUPPORT, "streaming"), SUPPORT) == ()


def test_a_history_window_keeps_a_memo_of_what_came_before() -> None:
    plan = rewritten(SUPPORT, "history_window", turns=2)
    inputs = [i for s in plan.llm_steps for i in s.signature.inputs]
    windows = {i.last_turns for i in inputs if i.value == "history"}
    assert windows == {2}


def test_a_short_prefix_is_not_worth_turning() -> None:
    _, log = apply(TRAVEL.plan, choose(["static_prefix"]), Context(TRAVEL, DRAWN))
    reason = log[0].reason
    assert reason is not None
    assert reason.key == "reason.prefix_too_short"
    assert dict(reason.args)["minimum"] == 1024


def test_parameters_of_a_choice_are_used() -> None:
    found = technique("concise")
    choice = Choice(found, parameters(found, {"keep": 0.2}))
    plan, _ = apply(SUPPORT.plan, [choice], Context(SUPPORT, DRAWN))
    answer = plan.step("assistant")
    assert isinstance(answer, LlmStep)
    assert answer.signature.concise == 0.2

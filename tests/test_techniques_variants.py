"""Retries, tuned models and early ends: what they do, and that both readers of a plan agree."""

from dataclasses import replace

import numpy as np
import pytest

from core.counts import call
from core.execute.own_words import read_values
from core.losses import losses
from core.output import write
from core.plan import LlmStep
from core.profiles import Setting
from core.rewrite import Choice, Context, apply, parameters
from core.scenarios import Scenario
from core.simulate import simulate
from core.techniques import choose
from core.timeline import State
from core.workload import only, stream
from tests.agreement import disagreements
from tests.technique_cases import CERTAIN, DRAWN, QUESTION, SUPPORT, TRAVEL, WISH, once, rewritten

SEARCH = DRAWN.service("web_search")


def failing(rate: float, told: Setting = DRAWN) -> Setting:
    """The setting with a web search that fails so often."""
    services = {**told.services, SEARCH.name: replace(SEARCH, fail_rate=rate)}
    return replace(told, services=services)


# --- retries -------------------------------------------------------------------------------------


@pytest.mark.parametrize("attempts", [2, 3])
def test_a_request_is_lost_only_where_every_attempt_fails(attempts: int) -> None:
    n, rate = 4000, 0.3
    plan = rewritten(TRAVEL, "retry", attempts=attempts)
    timeline = simulate(plan, failing(rate), stream(TRAVEL, n))
    asked = timeline.state[:, timeline.column("web_search")] != State.SKIPPED
    expected = rate**attempts
    error = np.sqrt(expected * (1 - expected) / asked.sum())
    assert abs(timeline.failed[asked].mean() - expected) < 4 * error


def test_pauses_double_and_the_tail_gets_longer() -> None:
    plan = rewritten(TRAVEL, "retry", attempts=3, backoff_s=0.2)
    lost = once(TRAVEL, plan, WISH, failing(1.0, CERTAIN))
    column = lost.column("web_search")
    took = lost.end_s[0, column] - lost.ready_s[0, column]
    assert took == pytest.approx(3 * SEARCH.latency().median_s + 0.2 + 0.4)
    assert lost.failed[0]
    before, after = (simulate(p, failing(0.3), stream(TRAVEL, 2000)) for p in (TRAVEL.plan, plan))
    assert np.nanpercentile(after.total_s, 95) > np.nanpercentile(before.total_s, 95) + 0.5


def test_a_time_limit_holds_for_all_attempts_together() -> None:
    plan = rewritten(TRAVEL, "retry", "timeout_fallback", after_s=1.5)
    timeline = simulate(plan, failing(1.0), stream(TRAVEL, 300))
    column = timeline.column("web_search")
    assert (timeline.end_s[:, column] - timeline.ready_s[:, column]).max() <= 1.5 + 1e-9
    assert not timeline.failed.any()


# --- a tuned small model -------------------------------------------------------------------------


def test_a_tuned_model_writes_everything_at_its_own_price() -> None:
    tuned = rewritten(SUPPORT, "small_model", tuned=True, tuned_price=2.5)
    assert {s.role for s in tuned.llm_steps} == {"small"}
    base = tuned.with_steps(*(replace(s, price_x=1.0) for s in tuned.llm_steps))
    a, b = once(SUPPORT, base, QUESTION), once(SUPPORT, tuned, QUESTION)
    assert b.usage.cost_usd.sum() == pytest.approx(2.5 * a.usage.cost_usd.sum())
    assert b.total_s[0] == a.total_s[0] < once(SUPPORT, SUPPORT.plan, QUESTION).total_s[0]


# --- early ends ----------------------------------------------------------------------------------


def test_a_stop_leaves_out_what_nobody_reads_and_nothing_else() -> None:
    plan = rewritten(TRAVEL, "output_limit", max_tok=4000)
    step = plan.step("recommend")
    assert isinstance(step, LlmStep)
    assert step.signature.stop == '"confidence":'
    before, after = once(TRAVEL, TRAVEL.plan, WISH), once(TRAVEL, plan, WISH)
    assert after.visible.total_chars[0] == before.visible.total_chars[0]
    assert after.usage.tokens_out.sum() < before.usage.tokens_out.sum()
    assert losses(TRAVEL.plan, plan, TRAVEL) == ()
    short = replace(step.signature, short_keys=True)
    assert short.stop == '"c":'
    for signature in (step.signature, short):
        text = write(signature, WISH.values).text
        assert signature.stop not in text
        shown = {f.name: WISH.values[f.name] for f in signature.fields if f.shown != "no"}
        assert read_values(signature, text) == shown


def test_a_limit_by_length_lets_so_many_answers_come_to_their_end() -> None:
    plan = rewritten(SUPPORT, "output_limit", by_length=True, whole=0.9)
    (limit,) = {s.max_output_tok for s in plan.llm_steps} - {None}
    answer = SUPPORT.plan.step("assistant")
    assert isinstance(answer, LlmStep)
    lengths = call(SUPPORT, answer).tokens_out
    assert limit == np.sort(lengths)[int(np.ceil(0.9 * (len(lengths) - 1)))]
    found = {x.key: x for x in losses(SUPPORT.plan, plan, SUPPORT)}
    assert 0.9 <= found["whole"].after < 1.0


# --- simulated and executed ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("technique_id", "params"),
    [
        ("small_model", {"tuned": True}),
        ("distill_prompt", {"tuned_price": 3.0}),
        ("output_limit", {"max_tok": 24}),
        ("output_limit", {"by_length": True, "whole": 0.5}),
    ],
    ids=str,
)
@pytest.mark.parametrize("where", [SUPPORT, TRAVEL], ids=lambda s: s.id)
def test_both_readers_agree(where: Scenario, technique_id: str, params: dict[str, object]) -> None:
    (choice,) = choose([technique_id])
    chosen = Choice(choice.technique, parameters(choice.technique, params))
    more = choose(["streaming", "short_keys", "items_jsonl"])
    plan, log = apply(where.plan, [chosen, *more], Context(where, DRAWN))
    assert log[0].applied
    for request in (where.requests[0], where.requests[-1]):
        assert not disagreements(plan, CERTAIN, only(where, request))


@pytest.mark.parametrize("after_s", [1.7, 9.0])
@pytest.mark.parametrize("ids", [("retry",), ("retry", "hedge")], ids=str)
def test_both_readers_agree_on_searches_that_fail(ids: tuple[str, ...], after_s: float) -> None:
    plan = rewritten(TRAVEL, *ids, "timeout_fallback", after_s=after_s)
    assert not disagreements(plan, failing(1.0, CERTAIN), only(TRAVEL, WISH))

"""Runs of small plans on a virtual clock: what happens when, and what is left if it goes wrong."""

from __future__ import annotations

import asyncio
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from core.errors import (
    BrokenStream,
    InputError,
    ProviderError,
    RateLimited,
    TimedOut,
    UnknownName,
)
from core.execute import Done, Engine, Job, Run, Service, execute, merged, repeated
from core.execute.export import jsonl
from core.execute.news import Appeared, Arrived, News, StepBegan, StepEnded
from core.metrics import METRICS, Reader, metric
from core.plan import (
    AnswerCache,
    Cascade,
    Deadline,
    Hedge,
    Input,
    LlmStep,
    Plan,
    Retry,
    ShowStep,
    Speculate,
    Timeout,
    Transport,
    When,
    WorkKind,
    WorkStep,
)
from core.profiles import Setting
from core.providers.base import ChunkKind, Usage
from core.request import Document, Value
from core.signature import Field, Form, Signature
from core.simulate import simulate
from core.text import LANGS, catalogue, say
from core.timeline import State
from core.workload import Workload, asked_before
from tests.agreement import events
from tests.stage import (
    ENOUGH,
    Play,
    StageModel,
    answer,
    asked,
    call,
    engine,
    plan,
    stage,
    where,
    work,
)
from tests.virtual_time import VirtualTimeLoop, run

TALK = Play(("Yes", ".", " It", " is", "."), first_s=1.0, gap_s=0.1)


def done(
    of: Plan,
    by: Engine,
    setting: Setting | None = None,
    *,
    services: dict[str, Service] | None = None,
    limit_s: float = 100.0,
    news: list[News] | None = None,
    **values: Value,
) -> Run:
    """The run of a plan's only request."""
    told: list[News] = [] if news is None else news
    return run(
        execute(
            of,
            by,
            setting or where(),
            asked(of, **values),
            services=services,
            limit_s=limit_s,
            report=told.append,
        )
    )


def span(of: Run, step: str) -> tuple[float, float, float]:
    """Start, first output and end."""
    c = of.timeline.column(step)
    t = of.timeline
    return float(t.start_s[0, c]), float(t.first_s[0, c]), float(t.end_s[0, c])


def state(of: Run, step: str) -> State:
    return State(int(of.timeline.state[0, of.timeline.column(step)]))


def value(of: Run, metric_id: str) -> float:
    return float(metric(metric_id).compute(of.timeline, Reader())[0])


def shown_s(of: Run) -> list[float]:
    """When each visible event was."""
    return [t for t, *_ in events(of.timeline)]


def note_keys(of: Run) -> list[str]:
    return [note.key.removeprefix("execute.note.") for note in of.notes]


# --- when things happen --------------------------------------------------------------------------


def test_steps_run_side_by_side_and_wait_for_what_they_read() -> None:
    of = plan(call("a"), call("b"), answer("a_value", "b_value"))
    by = engine(a=[Play(first_s=1.0)], b=[Play(first_s=2.5)], say=[TALK])
    found = done(of, by, a_value="ok", b_value="ok")
    assert span(found, "a") == pytest.approx((0.0, 1.0, 1.0))
    assert span(found, "b") == pytest.approx((0.0, 2.5, 2.5))
    assert span(found, "say") == pytest.approx((2.5, 3.5, 3.9))
    assert events(found.timeline)[0][0] == pytest.approx(3.5)
    assert value(found, "total_s") == pytest.approx(3.9)
    assert value(found, "overlap") == pytest.approx((1.0 + 2.5 + 1.4) / 3.9)
    assert not found.failed


def test_each_call_is_kept_with_its_chunks() -> None:
    of = plan(call("a"), answer("a_value"))
    found = done(of, engine(a=[Play(first_s=1.0)], say=[TALK]), a_value="ok")
    first, second = found.calls
    assert (first.step, second.step) == ("a", "say")
    assert second.asked_s == pytest.approx(1.0)
    assert second.ttft_s == pytest.approx(1.0)
    assert second.e2e_s == pytest.approx(1.4)
    assert [c.t_s for c in second.content] == pytest.approx([2.0, 2.1, 2.2, 2.3, 2.4])
    assert first.ttft_s is None  # nothing of it is shown
    assert second.model == "say-large"


def test_what_does_not_stream_appears_at_its_end() -> None:
    of = plan(answer(stream=False))
    found = done(of, engine(say=[TALK]))
    assert shown_s(found) == pytest.approx([1.4] * 5)
    assert found.calls[0].ttft_s is None


def test_a_check_of_the_whole_holds_everything_and_one_on_the_stream_each_sentence() -> None:
    whole = plan(answer(), work("check", "quick", "answer"), gates=("check_value",))
    found = done(whole, engine(say=[TALK]), check_value="ok")
    assert shown_s(found) == pytest.approx([1.4 + 0.2] * 5)

    check = work("check", "quick", "answer", per_piece=True)
    on_stream = plan(answer(), check, gates=("check_value",))
    found = done(on_stream, engine(say=[TALK]), check_value="ok")
    # "Yes." is known to be a sentence when " It" comes at 1.2, the rest when the answer ends
    assert [(t, x) for t, _, _, x in events(found.timeline)] == [
        (pytest.approx(1.4), "Yes"),
        (pytest.approx(1.4), "."),
        (pytest.approx(1.6), " It"),
        (pytest.approx(1.6), " is"),
        (pytest.approx(1.6), "."),
    ]
    assert span(found, "check") == pytest.approx((1.0, 1.4, 1.6))


def test_a_buffering_proxy_shows_nothing_before_the_end() -> None:
    news: list[News] = []
    of = plan(answer(), transport=Transport(buffered=True))
    found = done(of, engine(say=[TALK]), news=news)
    assert shown_s(found) == pytest.approx([1.4] * 5)
    assert [n.t_s for n in news if isinstance(n, Appeared)] == pytest.approx([1.4] * 5)


# --- what goes wrong -----------------------------------------------------------------------------


def test_a_failed_call_fails_the_request_and_stops_the_others_at_once() -> None:
    slow = StageModel((Play(("x",) * 100, first_s=0.5),))
    of = plan(call("a"), call("b"), answer("a_value", "b_value"))
    by = engine(a=[Play((), first_s=2.0, error=ProviderError("a is down", status=500))], b=slow)
    found = done(of, by, a_value="ok", b_value="ok")
    assert found.failed
    assert str(found.error) == "a is down"
    assert (state(found, "a"), state(found, "b")) == (State.FAILED, State.CANCELLED)
    assert (state(found, "say"), state(found, "show")) == (State.SKIPPED, State.SKIPPED)
    assert slow.ended_s == [pytest.approx(2.0)]
    assert span(found, "b") == pytest.approx((0.0, 0.5, 2.0))
    assert {r.step: r.ended for r in found.calls} == {"a": "failed", "b": "cancelled"}
    for name in ("total_s", "first_visible_s", "done_s", "reader_wait_s", "qoe"):
        assert math.isnan(value(found, name))
    assert np.isfinite(found.timeline.end_s).all()


def test_a_broken_stream_is_no_success_even_if_it_was_nearly_whole() -> None:
    broken = Play(("Yes", ".", " It"), error=BrokenStream("cut"), usage=None)
    found = done(plan(answer()), engine(say=[broken]))
    assert found.failed
    assert events(found.timeline) == []
    assert math.isnan(value(found, "total_s"))
    record = found.calls[0]
    assert (record.ended, record.error, record.text) == ("failed", "cut", "Yes. It")
    assert record.e2e_s is None


def test_a_step_with_a_fallback_fails_alone() -> None:
    of = plan(call("a", policies=(Timeout(5.0),)), answer("message", "a_value"))
    by = engine(a=[Play((), first_s=2.0, error=ProviderError("a is down"))], say=[TALK])
    found = done(of, by, a_value="ok")
    assert not found.failed
    assert span(found, "say") == pytest.approx((2.0, 3.0, 3.4))
    assert "gave_up" in note_keys(found)
    assert "a_value" not in stage(by, "say").asked[0].messages[1].text


def test_a_timeout_closes_the_stream_and_keeps_what_was_seen() -> None:
    of = plan(answer(policies=(Timeout(1.25),)))
    by = engine(say=[TALK])
    found = done(of, by)
    assert stage(by, "say").ended_s == [pytest.approx(1.25)]
    assert [x for *_, x in events(found.timeline)] == ["Yes", ".", " It"]
    assert value(found, "total_s") == pytest.approx(1.25)
    assert found.calls[0].ended == "cancelled"


def test_a_late_answer_that_does_not_stream_is_not_shown_in_part() -> None:
    found = done(plan(answer(stream=False, policies=(Timeout(1.25),))), engine(say=[TALK]))
    assert events(found.timeline) == []
    assert not found.failed


def test_retries_follow_each_other_and_what_failed_is_not_shown() -> None:
    broken = Play(("No",), first_s=0.5, error=BrokenStream("cut"), usage=None)
    found = done(plan(answer(policies=(Retry(3, 0.25),))), engine(say=[broken, broken, TALK]))
    # two tries of 0.6 s, pauses of 0.25 and 0.5 s, then the answer
    assert span(found, "say") == pytest.approx((0.0, 1.95 + 1.0, 1.95 + 1.4))
    assert "".join(x for *_, x in events(found.timeline)) == "Yes. It is."
    assert [r.label for r in found.calls] == ["", ".try2", ".try3"]
    assert value(found, "calls") == 3


def test_the_last_try_decides() -> None:
    down = Play((), error=ProviderError("down"))
    found = done(plan(answer(policies=(Retry(2),))), engine(say=[down]))
    assert found.failed
    assert value(found, "calls") == 2


def test_a_pause_the_endpoint_asks_for_is_kept() -> None:
    busy = Play((), first_s=0.1, error=RateLimited("busy", retry_after_s=4.0))
    found = done(plan(answer(policies=(Retry(2, 0.5),))), engine(say=[busy, TALK]))
    assert span(found, "say")[1] == pytest.approx(0.1 + 4.0 + 1.0)


def test_checks_begin_anew_when_an_answer_does() -> None:
    broken = Play(("No. ", "Not"), first_s=0.5, error=BrokenStream("cut"), usage=None)
    check = work("check", "quick", "answer", per_piece=True)
    of = plan(answer(policies=(Retry(2, 0.5),)), check, gates=("check_value",))
    found = done(of, engine(say=[broken, TALK]), check_value="ok")
    assert "".join(x for *_, x in events(found.timeline)) == "Yes. It is."
    assert events(found.timeline)[0][0] == pytest.approx(0.7 + 0.5 + 1.2 + 0.2)


def test_the_first_to_begin_wins_a_hedge_and_the_other_is_cancelled_then() -> None:
    late = Play(("Late.",), first_s=9.0)
    by = engine(say=[late, TALK])
    found = done(plan(answer(policies=(Hedge(2.0),))), by)
    assert span(found, "say") == pytest.approx((0.0, 3.0, 3.4))
    assert stage(by, "say").ended_s == [pytest.approx(3.0), pytest.approx(3.4)]
    assert {r.label: r.ended for r in found.calls} == {"": "cancelled", ".hedge": "done"}
    assert value(found, "calls") == 2


def test_no_second_request_where_the_first_has_begun_or_failed() -> None:
    for play, failed in ((TALK, False), (Play((), first_s=1.0, error=ProviderError("x")), True)):
        by = engine(say=[play])
        found = done(plan(answer(policies=(Hedge(1.1),))), by)
        assert len(stage(by, "say").asked) == 1
        assert found.failed is failed


def test_a_hedge_survives_the_failure_of_one_of_two() -> None:
    down = Play((), first_s=2.5, error=ProviderError("down"))
    for plays in ([down, TALK], [Play(("Yes.",), first_s=5.0), down]):
        found = done(plan(answer(policies=(Hedge(2.0),))), engine(say=plays))
        assert not found.failed
    found = done(plan(answer(policies=(Hedge(2.0),))), engine(say=[down]))
    assert span(found, "say")[2] == pytest.approx(2.0 + 2.5)
    assert found.failed


def test_a_cascade_shows_nothing_before_its_gate_has_passed_the_small_answer() -> None:
    for rate, first_s in ((0.0, 1.4 + 0.2), (1.0, 1.4 + 0.2 + 1.0)):
        of = plan(answer(policies=(Cascade("quick", rate),)))
        found = done(of, engine(say=[TALK]))
        assert events(found.timeline)[0][0] == pytest.approx(first_s)
        assert [r.role for r in found.calls] == (["small"] if rate == 0.0 else ["small", "large"])


def test_a_real_gate_decides_by_what_it_sees() -> None:
    async def strict(_: Job) -> Done:
        return Done(passed=False)

    of = plan(answer(policies=(Cascade("strict", 0.0),)))
    found = done(of, engine(say=[TALK]), services={"strict": strict})
    assert [r.role for r in found.calls] == ["small", "large"]


def test_a_guess_is_held_back_and_cancelled_when_the_guard_says_no() -> None:
    guard = call("guard", decides=("allowed",))
    guessed = answer(when=(When("allowed"),), policies=(Speculate("guard"),))
    by = engine(guard=[Play(first_s=1.15)], say=[TALK])
    yes = done(plan(guard, guessed), by, guard_value="ok", allowed=True)
    assert span(yes, "say") == pytest.approx((0.0, 1.15, 1.4))
    assert shown_s(yes) == pytest.approx([1.15, 1.15, 1.2, 1.3, 1.4])

    by = engine(guard=[Play(first_s=1.15)], say=[TALK])
    no = done(plan(guard, guessed), by, guard_value="ok", allowed=False)
    assert state(no, "say") is State.CANCELLED
    assert stage(by, "say").ended_s == [pytest.approx(1.15)]
    assert events(no.timeline) == []
    assert value(no, "calls") == 2


def test_a_deadline_leaves_out_what_would_come_too_late() -> None:
    slow = work("slow", "slow", policies=(Deadline(2.0, 0.5),))
    found = done(plan(slow, answer("message", "slow_value")), engine(say=[TALK]), slow_value="x")
    assert span(found, "slow") == pytest.approx((0.0, 1.5, 1.5))
    late = work("late", "quick", "first_value", policies=(Deadline(2.0, 0.5),))
    of = plan(work("first", "slow"), late, answer("message", "late_value"))
    found = done(of, engine(say=[TALK]), first_value="x", late_value="x")
    assert state(found, "late") is State.SKIPPED


def test_the_whole_request_has_a_limit_of_its_own() -> None:
    by = engine(say=[Play(("x",) * 50, first_s=1.0)])
    found = done(plan(answer()), by, limit_s=2.05)
    assert isinstance(found.error, TimedOut)
    assert stage(by, "say").ended_s == [pytest.approx(2.05)]
    assert stage(by, "say").asked[0].deadline_s == pytest.approx(2.05)
    assert state(found, "say") is State.CANCELLED
    assert math.isnan(value(found, "total_s"))


def test_cancelling_the_run_closes_all_streams_at_once() -> None:
    of = plan(call("a"), call("b", policies=(Hedge(0.5),)), answer("a_value", "b_value"))
    models = {name: StageModel((Play(("x",) * 50),)) for name in ("a", "b", "say")}

    async def stopped() -> None:
        work = asyncio.create_task(
            execute(of, engine(**models), where(), asked(of, a_value="x", b_value="x"))
        )
        await asyncio.sleep(0.75)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    run(stopped())
    assert models["a"].ended_s == [pytest.approx(0.75)]
    assert models["b"].ended_s == [pytest.approx(0.75)] * 2
    assert models["say"].asked == []


def test_mistakes_of_the_caller_are_raised_as_they_are() -> None:
    with pytest.raises(UnknownName, match="nowhere"):
        done(plan(work("x", "nowhere"), answer("x_value")), engine(say=[TALK]), x_value="x")
    with pytest.raises(InputError, match="forbidden"):
        done(plan(answer()), engine(say=[Play((), error=InputError("forbidden"))]))


# --- what is asked, and what comes of it ---------------------------------------------------------


def test_a_call_carries_what_its_step_says() -> None:
    step = answer(prompt_cache=True, max_output_tok=7, form=Form.JSON)
    by = engine(say=[TALK])
    done(plan(step), by)
    request = stage(by, "say").asked[0]
    assert request.max_tokens == 7
    assert request.scripted_text == '{"answer": "Yes. It is."}'
    assert request.json_schema is None
    assert request.static_messages == 1
    assert request.cache_key is not None
    other = engine(say=[TALK])
    done(plan(step), other)
    assert stage(other, "say").asked[0].cache_key == request.cache_key
    plain = engine(say=[TALK])
    done(plan(answer()), plain)
    assert stage(plain, "say").asked[0].cache_key is None


def free(by: Engine) -> Engine:
    return Engine(by.name, by.large, by.small, by.tuned, scripted=False)


def test_free_words_are_held_to_the_form_and_go_on_to_the_next_step() -> None:
    of = plan(call("a"), answer("a_value", form=Form.JSON))
    own = Play(('{"answer": "My', ' own."}'))
    by = free(engine(a=[Play(("something else",))], say=[own]))
    found = done(of, by, a_value="the reference")
    request = stage(by, "say").asked[0]
    assert "something else" in request.messages[1].text
    assert "the reference" not in request.messages[1].text
    assert request.scripted_text is None
    assert request.json_schema == {
        "type": "object",
        "properties": {"answer": {"type": "string"}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    assert [x for *_, x in events(found.timeline)] == ["My", " own."]


def test_a_model_that_leaves_its_script_is_told_and_read_as_it_writes() -> None:
    found = done(plan(answer()), engine(say=[Play(("No", "."))]))
    assert note_keys(found) == ["own_words"]
    assert [x for *_, x in events(found.timeline)] == ["No", "."]
    odd = done(plan(answer(form=Form.JSON)), engine(say=[Play(("no JSON",))]))
    assert set(note_keys(odd)) == {"own_words", "unreadable"}
    assert events(odd.timeline) == []


def test_what_a_model_did_not_write_is_missing_later() -> None:
    of = plan(call("a"), answer("message", "a_value"))
    by = free(engine(a=[Play(())], say=[TALK]))
    done(of, by, a_value="the reference")
    assert "a_value" not in stage(by, "say").asked[0].messages[1].text


def test_real_services_are_measured_and_their_finds_are_used() -> None:
    found_document = Document("x", "en", "Found", "kind", "Found in truth.", "2026-01-01")

    async def search(job: Job) -> Done:
        assert (job.purpose, job.step.id) == ("work", "search")
        await asyncio.sleep(0.75)
        return Done(values={"passages": ("Found in truth.",)}, passages=(found_document,))

    step = work("search", "library")
    step = type(step)(step.id, step.work, step.service, step.reads, ("passages",))
    by = engine(say=[TALK])
    found = done(plan(step, answer("passages")), by, services={"library": search}, passages=("x",))
    assert span(found, "search") == pytest.approx((0.0, 0.75, 0.75))
    assert "Found in truth." in stage(by, "say").asked[0].messages[1].text
    assert found.simulated == ()


def test_simulated_work_is_told_apart() -> None:
    found = done(plan(work("x"), answer("x_value")), engine(say=[TALK]), x_value="x")
    assert found.simulated == ("x",)
    assert note_keys(found) == ["simulated"]


def test_simulated_services_fail_as_their_figures_say() -> None:
    of = plan(work("x"), answer("x_value"))
    assert done(of, engine(say=[TALK]), where(quick=1.0), x_value="x").failed


def test_a_check_gets_the_text_it_checks() -> None:
    texts: list[tuple[str, str, int]] = []

    async def checker(job: Job) -> Done:
        texts.append((job.purpose, job.text, job.chars))
        return Done()

    check = work("check", "checker", "answer", per_piece=True)
    done(plan(answer(), check), engine(say=[TALK]), services={"checker": checker}, check_value="ok")
    assert texts == [("piece0", "Yes.", 4), ("piece1", " It is.", 5)]
    whole = work("check", "checker", "answer")
    done(plan(answer(), whole), engine(say=[TALK]), services={"checker": checker}, check_value="ok")
    assert texts[-1] == ("work", "Yes. It is.", 9)


def test_counts_that_were_not_reported_are_missing_and_not_zero() -> None:
    play = Play(TALK.chunks, usage=Usage(tokens_in=50, tokens_out=5))
    found = done(plan(answer()), engine(say=[play]))
    assert value(found, "tokens_in") == 50
    assert math.isnan(value(found, "tokens_cached"))
    assert value(found, "cost_usd") > 0
    silent = done(plan(answer()), engine(say=[Play(TALK.chunks, usage=None)]))
    assert silent.calls[0].usage.source == "estimated"
    assert value(silent, "tokens_out") == 5


def test_a_call_cut_short_is_reckoned_in_full() -> None:
    found = done(plan(answer(policies=(Timeout(1.15),))), engine(say=[TALK]))
    usage = found.calls[0].usage
    assert (usage.source, usage.tokens_out) == ("estimated", 5)
    assert value(found, "tokens_out") == 5


# --- news, several runs, export ------------------------------------------------------------------


def test_the_news_tell_the_run_as_it_goes() -> None:
    news: list[News] = []
    check = work("check", "quick", "answer", per_piece=True)
    of = plan(answer(), check, gates=("check_value",))
    done(of, engine(say=[TALK]), news=news, check_value="ok")
    assert "".join(n.text for n in news if isinstance(n, Appeared)) == "Yes. It is."
    arrived = [n for n in news if isinstance(n, Arrived) and n.chunk.kind is ChunkKind.TEXT]
    assert [n.chunk.t_s for n in arrived] == pytest.approx([1.0, 1.1, 1.2, 1.3, 1.4])
    assert [n.step for n in news if isinstance(n, StepBegan)] == ["say", "check"]
    assert [n.step for n in news if isinstance(n, StepEnded)] == ["say", "check", "show"]
    stamps = [n.t_s for n in news if isinstance(n, Appeared | StepBegan)]
    assert stamps == sorted(stamps)


def three(of: Plan, by: Engine, workload: Workload) -> list[Run]:
    async def runs() -> list[Run]:
        return [r async for r in repeated(of, by, where(), workload, times=3)]

    return run(runs())


def test_runs_stack_to_one_timeline() -> None:
    of = plan(call("a", announce=True), answer("a_value"))
    say = [TALK, Play(("Yes.",)), Play(("Yes. It",), error=BrokenStream("cut"))]
    runs = three(of, engine(a=[Play()], say=say), asked(of, a_value="ok"))
    together = merged([r.timeline for r in runs])
    assert together.n == 3
    for one in METRICS:
        alone = [float(one.compute(r.timeline, Reader())[0]) for r in runs]
        np.testing.assert_allclose(one.compute(together, Reader()), alone, equal_nan=True)
    assert together.failed.tolist() == [False, False, True]
    assert len(together.units) == 3
    assert together.status["a"].tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(InputError, match="same plan"):
        merged([together, done(plan(answer()), engine(say=[TALK])).timeline])
    with pytest.raises(InputError, match="no run"):
        merged([])


def test_a_run_is_written_down_line_by_line() -> None:
    of = plan(
        work("x"), call("a", policies=(Timeout(0.5),)), answer("message", "a_value", "x_value")
    )
    found = done(of, engine(a=[Play()], say=[TALK]), a_value="ok", x_value="x")
    lines = [json.loads(line) for line in jsonl(found, {"machine": "test"})]
    head = lines[0]
    assert (head["kind"], head["request"], head["machine"], head["error"]) == (
        "run",
        "r",
        "test",
        None,
    )
    chunks = [x for x in lines if x["kind"] == "chunk" and x["is"] == "text" and x["call"] == 1]
    assert [(c["t_s"], c["text"]) for c in chunks] == [
        (1.5, "Yes"), (1.6, "."), (1.7, " It"), (1.8, " is"), (1.9, "."),
    ]  # fmt: skip
    assert [x["ended"] for x in lines if x["kind"] == "call"] == ["cancelled", "done"]
    assert [x["state"] for x in lines if x["kind"] == "step"] == ["ran"] * 4
    assert "".join(x["text"] for x in lines if x["kind"] == "event") == "Yes. It is."
    figures = {x["id"]: x["value"] for x in lines if x["kind"] == "metric"}
    assert figures["total_s"] == pytest.approx(1.9)
    assert "NaN" not in "".join(jsonl(found))


def test_a_failed_run_is_written_down_too() -> None:
    found = done(plan(answer()), engine(say=[Play((), error=ProviderError("down"))]))
    lines = [json.loads(line) for line in jsonl(found)]
    assert lines[0]["error"] == "down"
    assert next(x["value"] for x in lines if x.get("id") == "total_s") is None


def test_an_engine_closes_each_provider_once() -> None:
    by = engine(say=[TALK], a=[TALK])
    run(by.aclose())
    assert stage(by, "say").closed == 1
    assert stage(by, "a").closed == 1


def test_every_note_has_its_sentence_in_both_languages() -> None:
    keys = {k for k in catalogue()["en"] if k.startswith("execute.note.")}
    assert keys == {
        f"execute.note.{n}"
        for n in ("own_words", "unreadable", "gave_up", "simulated", "reference_branches")
    }
    of = plan(call("a", policies=(Timeout(0.5),)), answer("message", "a_value"))
    found = done(of, engine(a=[Play()], say=[Play(("No",))]), a_value="ok")
    assert all(say(note, lang) for note in found.notes for lang in LANGS)


def test_free_runs_say_that_branches_follow_the_reference() -> None:
    guard = call("guard", decides=("allowed",))
    of = plan(guard, answer(when=(When("allowed"),)))
    by = free(engine(guard=[Play(("no",))], say=[TALK]))
    found = done(of, by, guard_value="yes", allowed=True)
    assert "reference_branches" in note_keys(found)
    assert state(found, "say") is State.RAN


def test_a_run_needs_no_time_of_the_wall() -> None:
    loop = VirtualTimeLoop()
    of = plan(answer())
    try:
        loop.run_until_complete(asyncio.sleep(1000.0))
        found = loop.run_until_complete(execute(of, engine(say=[TALK]), where(), asked(of)))
    finally:
        loop.close()
    assert span(found, "say") == pytest.approx((0.0, 1.0, 1.4))
    assert found.calls[0].usage == ENOUGH


# --- caches, chance, odd plans -------------------------------------------------------------------


def test_an_answer_at_hand_is_shown_at_once_and_nothing_else_runs() -> None:
    look = WorkStep(
        "look", WorkKind.COMPUTE, "quick", ("message",), ("missed",),
        layers=(AnswerCache("exact", 3600.0),),
    )  # fmt: skip
    of = plan(look, answer(when=(When("missed"),)))
    news: list[News] = []
    by = engine(say=[TALK])
    known = asked(of)
    again = asked_before(known.scenario, known.scenario.requests[0])
    found = run(execute(of, by, where(), again, report=news.append))
    assert stage(by, "say").asked == []
    assert (state(found, "look"), state(found, "say")) == (State.CACHED, State.SKIPPED)
    assert shown_s(found) == pytest.approx([0.2] * len(shown_s(found)))
    assert "".join(n.text for n in news if isinstance(n, Appeared)) == "Yes. It is."
    assert found.timeline.hit.tolist() == [True]
    first = run(execute(of, by, where(), known))
    assert state(first, "say") is State.RAN


def test_the_same_seed_gives_services_the_same_luck_as_in_the_simulator() -> None:
    of = plan(work("x"), work("y", "slow", "x_value"), answer("y_value"))
    by_chance = {name: replace(s, p95_s=3 * s.p50_s) for name, s in where().services.items()}
    chancy = replace(where(), services=by_chance, certain=False)
    workload = asked(of, x_value="x", y_value="y")
    ends = set()
    for seed in range(3):
        expected = simulate(of, chancy, workload, seed=seed)
        found = run(execute(of, engine(say=[TALK]), chancy, workload, seed=seed))
        for step in ("x", "y"):
            at = expected.column(step)
            assert span(found, step)[2] == pytest.approx(float(expected.end_s[0, at]))
        ends.add(span(found, "y")[2])
    assert len(ends) == 3


def test_a_check_waits_only_for_what_it_reads() -> None:
    check = work("check", "quick", "first", per_piece=True)
    of = Plan(
        "stage",
        (
            _shown("one", "message", "first"),
            check,
            _shown("two", "check_value", "second"),
            ShowStep("show", ("first", "second"), ("check_value",)),
        ),
        ("first", "second"),
    )
    by = engine(one=[Play(("A.",))], two=[Play(("B.",))])
    found = done(of, by, first="A.", second="B.", check_value="ok")
    assert [(t, x) for t, _, _, x in events(found.timeline)] == [
        (pytest.approx(1.2), "A."),
        (pytest.approx(2.2), "B."),
    ]


def _shown(step_id: str, reads: str, gives: str) -> LlmStep:
    fields = (Field(gives, gives[:1], "shown", "open", "text"),)
    signature = Signature("Answer.", (), (Input(reads),), fields, form=Form.TEXT)
    return LlmStep(step_id, signature, stream=True)

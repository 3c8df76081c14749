from __future__ import annotations

from dataclasses import replace

import pytest

from core.compare import rewritten, typical
from core.counterparts import LEAD, REST, asked, counterparts, parts
from core.plan import Plan
from core.profiles import setting
from core.prompt import PER_MESSAGE_TOK, render
from core.scenarios import SCENARIOS, scenario
from core.techniques import TECHNIQUES, choose
from core.timeline import State

SETTING = setting()


def fates(before: Plan, after: Plan) -> list[tuple[str, list[str], list[str]]]:
    return [
        (c.fate, [s.id for s in c.before], [s.id for s in c.after])
        for c in counterparts(before, after)
    ]


def test_a_plan_matches_itself_call_by_call() -> None:
    plan = scenario("support").plan
    assert fates(plan, plan) == [("kept", [s.id], [s.id]) for s in plan.llm_steps]


def test_merged_and_split_calls_stand_beside_what_they_came_from() -> None:
    base = scenario("support")
    merged, _ = rewritten(base, choose(("merge_requests",)), SETTING)
    one = "contextualize+retrieval_check"
    assert fates(base.plan, merged) == [
        ("merged", ["contextualize", "retrieval_check"], [one]),
        ("kept", ["assistant"], ["assistant"]),
    ]
    assert fates(merged, base.plan)[0] == ("split", [one], ["contextualize", "retrieval_check"])


def test_calls_that_only_one_side_has_are_new_or_gone() -> None:
    plan = scenario("support").plan
    call = plan.llm_steps[-1]
    fields = tuple(
        replace(f, name=f"other_{f.name}", alias=f"o_{f.alias}") for f in call.signature.fields
    )
    other = replace(call, signature=replace(call.signature, fields=fields))
    shown = replace(plan.show, reads=("other_response",), gates=())
    steps = [s for s in plan.steps if s.id not in {call.id, plan.show.id, "moderate"}]
    changed = replace(
        plan, steps=(*steps, other, replace(shown, after=())), answer=("other_response",)
    )
    assert fates(plan, changed)[-2:] == [("gone", [call.id], []), ("new", [], [call.id])]


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_call_of_every_technique_has_its_place_once(name: str) -> None:
    base = scenario(name)
    for technique in TECHNIQUES:
        after, _ = rewritten(base, choose((technique.id,)), SETTING)
        found = counterparts(base.plan, after)
        for steps, plan in (
            ([s for c in found for s in c.before], base.plan),
            ([s for c in found for s in c.after], after),
        ):
            assert sorted(s.id for s in steps) == sorted(s.id for s in plan.llm_steps)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_shown_prompts_are_those_that_were_simulated(name: str) -> None:
    """The text shown has the tokens the simulator counted, to the rounding at its seams."""
    base = scenario(name)
    for technique in TECHNIQUES:
        for request in base.requests[::13]:
            timeline = typical(base, request, choose((technique.id,)), SETTING).after
            for step in timeline.plan.llm_steps:
                one = asked(timeline, step, request)
                column = timeline.column(step.id)
                used = float(timeline.usage.tokens_in[-1, column])
                assert one.ran == (used > 0)
                # A guess that failed, a hedge or a cascade pays for more than one call.
                if timeline.usage.calls[-1, column] == 1:
                    inputs = len(step.signature.inputs)
                    assert abs(one.tokens - used) <= inputs, (technique.id, request.id, step.id)


def test_what_was_skipped_is_not_in_the_prompt() -> None:
    base = scenario("support")
    small_talk = next(r for r in base.requests if not r.flag("needs_retrieval"))
    timeline = typical(base, small_talk, (), SETTING).before
    answer = asked(timeline, timeline.plan.llm_steps[-1], small_talk)
    assert timeline.state[-1, timeline.column("search_docs")] == State.SKIPPED
    assert "## passages" not in answer.prompt.messages[1].text
    assert "passages" not in [p.name for p in answer.parts]


def test_parts_add_up_to_the_prompt() -> None:
    base = scenario("support")
    request = base.requests[0]
    step = base.plan.llm_steps[-1]
    naive = render(step.signature, request)
    found = parts(step, naive, request)
    assert sum(p.tokens for p in found) == naive.tokens()
    assert [found[0].name, found[-1].name] == [LEAD, REST]
    assert found[0].tokens == naive.static_tokens()


def test_with_the_fixed_part_first_nothing_fixed_is_left_behind() -> None:
    base = scenario("support")
    request = base.requests[0]
    step = base.plan.llm_steps[-1]
    step = replace(step, signature=replace(step.signature, static_first=True))
    prompt = render(step.signature, request)
    found = parts(step, prompt, request)
    assert REST not in [p.name for p in found]
    left = prompt.tokens() - sum(p.tokens for p in found)
    assert 0 <= left <= PER_MESSAGE_TOK * len(prompt.messages)

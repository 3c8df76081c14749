"""Plans check themselves: what cannot exist is refused with the name of what is at fault."""

from __future__ import annotations

import dataclasses

import pytest

from core.errors import InvalidPlan, UnknownName
from core.plan import (
    Field,
    Input,
    LlmStep,
    Plan,
    ShowStep,
    Signature,
    When,
    WorkKind,
    WorkStep,
)
from core.scenarios import SCENARIOS, scenario


def llm(step_id: str, reads: tuple[str, ...], gives: tuple[str, ...], **more: object) -> LlmStep:
    fields = tuple(Field(g, f"{g}_", g) for g in gives)
    signature = Signature("task", (), tuple(Input(r) for r in reads), fields)
    return LlmStep(step_id, signature, **more)  # type: ignore[arg-type]


SHOW = ShowStep("show", ("b",))


def test_needs_follow_from_who_gives_what() -> None:
    plan = Plan("x", (SHOW, llm("two", ("a",), ("b",)), llm("one", ("message",), ("a",))), ("b",))
    assert [s.id for s in plan.steps] == ["one", "two", "show"]
    assert plan.needs == {"one": (), "two": ("one",), "show": ("two",)}
    assert plan.ancestors("show") == {"one", "two"}


def test_a_condition_is_a_need() -> None:
    asked = llm("two", ("message",), ("b",), when=(When("a"),))
    plan = Plan("x", (llm("one", ("message",), ("a",)), asked, SHOW), ("b",))
    assert plan.needs["two"] == ("one",)


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ((llm("one", ("b",), ("a",)), llm("two", ("a",), ("b",)), SHOW), "one -> two -> one"),
        ((llm("one", ("nowhere",), ("b",)), SHOW), "reads 'nowhere'"),
        ((llm("one", ("message",), ("b",)), llm("one", ("b",), ("c",)), SHOW), "'one'"),
        ((llm("one", ("message",), ("b",)), llm("two", ("b",), ("b",)), SHOW), "'b' is given by"),
        ((llm("one", ("message",), ("b",), after=("ghost",)), SHOW), "unknown step 'ghost'"),
        ((llm("one", ("message",), ("b",)),), "exactly one step"),
        ((llm("one", ("message",), ("b",)), ShowStep("show", ("message",))), "'b' is not shown"),
    ],
)
def test_a_plan_that_cannot_exist_is_refused(steps: tuple[LlmStep, ...], says: str) -> None:
    with pytest.raises(InvalidPlan) as error:
        Plan("x", steps, ("b",))
    assert says in str(error.value)


def test_with_steps_moves_order_edges_of_what_is_dropped() -> None:
    work = WorkStep("middle", WorkKind.COMPUTE, "rule_check", ("a",), ("c",), after=("one",))
    last = llm("two", ("a",), ("b",), after=("middle",))
    plan = Plan("x", (llm("one", ("message",), ("a",)), work, last, SHOW), ("b",))
    assert plan.with_steps(drop=("middle",)).step("two").after == ("one",)


def test_unknown_step_names_the_valid_ones() -> None:
    with pytest.raises(UnknownName, match="valid are one, show"):
        Plan("x", (llm("one", ("message",), ("b",)), SHOW), ("b",)).step("x")


@pytest.mark.parametrize("name", SCENARIOS)
def test_shipped_plans_run_everything_in_sequence(name: str) -> None:
    plan = scenario(name).plan
    for before, after in zip(plan.steps, plan.steps[1:], strict=False):
        branches = {"recommend", "answer_text"}
        if {before.id, after.id} != branches:
            assert before.id in plan.ancestors(after.id)


def test_plans_are_values() -> None:
    plan = scenario("support").plan
    again = dataclasses.replace(plan)
    assert plan == again
    assert hash(plan) == hash(again)

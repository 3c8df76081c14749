from __future__ import annotations

import functools
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import get_args

import pytest

from core.compare import rewritten, typical
from core.graph import Run, Words, links, marks, sentences
from core.graph_svg import ICONS, graph
from core.plan import AnswerCache, LlmStep, Plan, Policy, ShowStep, WorkKind, guards
from core.profiles import setting
from core.scenarios import SCENARIOS, scenario
from core.techniques import TECHNIQUES, choose
from core.text import LANGS, catalogue
from core.timeline import State
from tests.sampling import every

SETTING = setting()
SVG = "{http://www.w3.org/2000/svg}"


@functools.cache
def texts(lang: str = "en") -> dict[str, str]:
    found = {
        k.removeprefix("section.graph."): v
        for k, v in catalogue()[lang].items()
        if k.startswith("section.graph.")
    }
    kinds = {k.removeprefix("race."): v for k, v in catalogue()[lang].items() if "kind_" in k}
    return found | kinds | {"in_s": catalogue()[lang]["race.in_s"]}


def words(plan: Plan, lang: str = "en") -> Words:
    base = scenario(plan.scenario)
    return Words("Plan", {s.id: base.label(s.id, lang) for s in plan.steps}, texts(lang))


@functools.cache
def after(name: str, *techniques: str) -> Plan:
    return rewritten(scenario(name), choose(techniques), SETTING)[0]


def parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314  what is parsed was drawn here


IDS = tuple(t.id for t in TECHNIQUES)
PLANS = [(name, ids) for name in SCENARIOS for ids in ((), *((t,) for t in IDS), IDS)]
"""Scenarios, and what is switched on."""


def told(of: str | tuple[str, tuple[str, ...]]) -> str:
    return (
        of if isinstance(of, str) else "-".join((of[0], *(of[1] if len(of[1]) < 2 else ("all",))))
    )


# --- what a plan waits for ------------------------------------------------------------------------


def test_the_naive_support_bot_waits_for_data_and_for_its_turn() -> None:
    found = {(e.source, e.target): (e.data, e.decides) for e in links(scenario("support").plan)}
    assert found == {
        ("contextualize", "retrieval_check"): (False, False),  # only its turn
        ("contextualize", "embed_query"): (True, False),
        ("retrieval_check", "embed_query"): (True, True),  # only whether
        ("embed_query", "search_docs"): (True, False),
        ("search_docs", "assistant"): (True, False),
        ("assistant", "moderate"): (True, False),
        ("moderate", "show"): (True, False),
    }


def test_side_by_side_nothing_waits_for_its_turn() -> None:
    assert all(e.data for e in links(after("support", "parallel")))


def test_a_stream_flows_past_the_check_or_through_it() -> None:
    def streams(*techniques: str) -> set[tuple[str, str]]:
        found = links(after("support", *techniques))
        return {(e.source, e.target) for e in found if e.streams}

    assert streams("streaming") == {("assistant", "show")}
    assert streams("streaming", "chunking") == {("assistant", "moderate"), ("moderate", "show")}
    assert streams() == set()


def reached(step_id: str, edges: list[tuple[str, str]]) -> set[str]:
    found: set[str] = set()
    stack = [step_id]
    while stack:
        here = stack.pop()
        more = {a for a, b in edges if b == here} - found
        found |= more
        stack += more
    return found


@pytest.mark.parametrize("of", PLANS, ids=told)
def test_what_is_left_out_follows_from_what_is_drawn(of: tuple[str, tuple[str, ...]]) -> None:
    plan = after(of[0], *of[1])
    found = links(plan)
    data = [(e.source, e.target) for e in found if e.data]
    every = [(e.source, e.target) for e in found]
    assert len(set(every)) == len(every)
    for step in plan.steps:
        guarding = guards(step)
        assert {n for n in plan.needs[step.id] if n not in guarding} <= reached(step.id, data)
        assert set(plan.starts_after(step.id)) <= reached(step.id, every)


# --- words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", LANGS)
def test_everything_a_plan_can_hold_has_words(lang: str) -> None:
    own = texts(lang)
    assert {f"policy_{p.__name__.lower()}" for p in get_args(Policy)} <= set(own)
    layers = get_args(AnswerCache.__annotations__["layer"]) or (
        "exact",
        "semantic",
        "precomputed",
        "fixed",
        "not_found",
    )
    assert {f"layer_{layer}" for layer in layers} <= set(own)
    assert {f"state_{s.name.lower()}" for s in State if s is not State.RAN} <= set(own)
    assert {f"kind_{kind}" for kind in ("llm", *WorkKind, "show")} <= set(own)
    assert set(ICONS) == {"llm", *WorkKind, "show"}


def test_a_condition_is_said_where_a_chain_first_has_it() -> None:
    plan = scenario("support").plan
    said = {s.id: marks(plan, s, words(plan)) for s in plan.steps}
    assert said["embed_query"] == ("if needs_retrieval",)
    assert said["search_docs"] == ()


def test_a_step_says_what_is_special_about_it() -> None:
    plan = after("support", "streaming", "predicted_output", "small_model", "caching")
    by_kind = {s.id: marks(plan, s, words(plan)) for s in plan.steps}
    assert by_kind["assistant"] == ("streams", "with prediction", "prompt cache")
    assert by_kind["show"] == ("shows before the check",)
    assert "remembers results" in by_kind["embed_query"]
    assert by_kind["cache_lookup"][0] == "exact answers"


@pytest.mark.parametrize(("of", "lang"), every(PLANS, LANGS), ids=told)
def test_every_plan_can_be_told_and_drawn(of: tuple[str, tuple[str, ...]], lang: str) -> None:
    plan = after(of[0], *of[1])
    said = sentences(plan, words(plan, lang))
    assert len(said) == len(plan.steps)
    drawn = graph(plan, words(plan, lang))
    root = parsed(drawn.svg)
    assert len([g for g in root.iter(f"{SVG}g") if "node" in g.get("class", "")]) == len(plan.steps)
    assert len([g for g in root.iter(f"{SVG}g") if "link" in g.get("class", "")]) == len(
        links(plan)
    )
    assert root.findtext(f"{SVG}desc") == " ".join(said)
    assert float(root.get("width", "0")) == round(drawn.width)


# --- one run --------------------------------------------------------------------------------------


def test_a_run_marks_the_critical_path_and_what_was_skipped() -> None:
    base = scenario("support")
    small_talk = next(r for r in base.requests if not r.flag("needs_retrieval"))
    timeline = typical(base, small_talk, (), SETTING).before
    run = Run.of(timeline)
    assert run.critical == ("contextualize", "retrieval_check", "assistant", "moderate", "show")
    assert run.state["search_docs"] is State.SKIPPED
    root = parsed(graph(timeline.plan, words(timeline.plan), run).svg)
    nodes = [g for g in root.iter(f"{SVG}g") if "node" in g.get("class", "")]
    assert sum("critical" in n.get("class", "") for n in nodes) == len(run.critical)
    assert sum("skipped" in n.get("class", "") for n in nodes) == 2
    assert "not needed" in "".join(root.itertext())
    took = run.seconds["assistant"]
    assert f"{took:.2f} s" in "".join(root.itertext())


def test_names_stay_text() -> None:
    plan = scenario("support").plan
    hostile = "</text><script>alert(1)</script>\x00\ud800&\"'"
    named = Words(hostile, dict.fromkeys((s.id for s in plan.steps), hostile), texts())
    root = parsed(graph(plan, named).svg)
    assert not list(root.iter(f"{SVG}script"))
    assert "<script>alert(1)</script>" in (root.findtext(f"{SVG}title") or "")


def test_a_plan_of_one_step_is_a_graph() -> None:
    base = scenario("support").plan
    call = replace(
        base.llm_steps[-1],
        signature=replace(
            base.llm_steps[-1].signature,
            inputs=base.llm_steps[-1].signature.inputs[:1],
            fields=tuple(replace(f, reads=None) for f in base.llm_steps[-1].signature.fields),
        ),
        after=(),
    )
    show = ShowStep("show", ("response",))
    plan = Plan("support", (call, show), ("response",))
    assert isinstance(plan.steps[0], LlmStep)
    assert [(e.source, e.target) for e in links(plan)] == [("assistant", "show")]
    assert parsed(graph(plan, words(plan)).svg).tag == f"{SVG}svg"

"""The contract every technique keeps, over the whole catalogue and both scenarios."""

import dataclasses
import itertools
import re
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from core import text
from core.examples import two_stage_retrieval
from core.plan import Plan
from core.plan_io import from_plain, to_plain
from core.profiles import setting
from core.rewrite import Choice, Context, LogEntry, NotApplicable, apply, parameters
from core.scenarios import SCENARIOS, scenario
from core.simulate import simulate
from core.techniques import HEADLINE_ORDER, PRESETS, TECHNIQUES, choose, technique
from core.text import LANGS, Note, say
from core.workload import stream

FOLDER = Path(__file__).parent.parent / "core" / "techniques"
PLANS = (*SCENARIOS, "two_stage")
FIRST = {"chunking": ("streaming",), "no_buffering": ("streaming",)}
"""What has to be on before a technique has anything to do."""

IDS = [t.id for t in TECHNIQUES]
each = pytest.mark.parametrize("technique_id", IDS)
on_each = pytest.mark.parametrize("name", PLANS)


@lru_cache
def context(name: str) -> Context:
    # a far endpoint, so that a near one is worth something
    return Context(
        scenario("support" if name == "two_stage" else name), setting(route="Seoul > us-west-2")
    )


def naive(name: str) -> Plan:
    plan = context(name).scenario.plan
    return two_stage_retrieval(plan) if name == "two_stage" else plan


def prepared(name: str, technique_id: str) -> Plan:
    plan, _ = apply(naive(name), choose(FIRST.get(technique_id, ())), context(name))
    return plan


def applied(plan: Plan, technique_id: str, name: str) -> LogEntry:
    _, log = apply(plan, choose((technique_id,)), context(name))
    return log[0]


def notes(entry: LogEntry) -> list[Note]:
    return [*entry.changes, *([entry.reason] if entry.reason else [])]


def test_every_module_is_in_the_catalogue_once() -> None:
    modules = {f.stem for f in FOLDER.glob("*.py") if not f.stem.startswith("_")}
    assert modules == set(IDS)
    assert len(IDS) == len(set(IDS))


@each
@on_each
def test_a_rewrite_gives_a_valid_plan_or_a_reason(technique_id: str, name: str) -> None:
    plan = prepared(name, technique_id)
    entry = applied(plan, technique_id, name)
    if entry.applied:
        assert entry.after != plan
        assert entry.after.answer == plan.answer
        assert entry.changes
        assert from_plain(to_plain(entry.after)) == entry.after
    else:
        assert entry.after == plan
    for note in notes(entry):
        assert all(say(note, lang) for lang in LANGS)


@each
def test_it_has_something_to_do_somewhere(technique_id: str) -> None:
    assert any(applied(prepared(n, technique_id), technique_id, n).applied for n in PLANS)


@each
@on_each
def test_a_second_time_there_is_nothing_left_to_do(technique_id: str, name: str) -> None:
    once = applied(prepared(name, technique_id), technique_id, name)
    again = applied(once.after, technique_id, name)
    assert not again.applied or again.after == once.after


@each
@on_each
def test_its_plan_can_be_simulated(technique_id: str, name: str) -> None:
    entry = applied(prepared(name, technique_id), technique_id, name)
    where = context(name)
    timeline = simulate(entry.after, where.setting, stream(where.scenario, 50))
    done = ~timeline.failed
    assert np.isfinite(timeline.total_s[done]).all()
    assert (timeline.end_s >= timeline.ready_s).all()
    assert (timeline.visible.total_chars[done] > 0).all()


@each
def test_its_texts_are_complete_and_its_parameters_documented(technique_id: str) -> None:
    found = technique(technique_id)
    for lang in LANGS:
        for part in ("title", "help", "when", "catch"):
            assert text.text(lang, f"technique.{technique_id}.{part}")
        for field in dataclasses.fields(found.params):
            assert text.text(lang, f"technique.{technique_id}.param.{field.name}")
    for field in dataclasses.fields(found.params):
        assert f"`{field.name}`" in (found.params.__doc__ or ""), field.name
    assert found.source
    assert 0 <= found.principle <= 7


@each
def test_numbers_have_limits_and_defaults_within_them(technique_id: str) -> None:
    found = technique(technique_id)
    given = {}
    for field in dataclasses.fields(found.params):
        if not isinstance(field.default, bool):
            limits = field.metadata["range"]
            assert limits.low <= field.default <= limits.high
        given[field.name] = field.default
    assert parameters(found, given) == found.params()


@each
@on_each
def test_it_stands_the_ends_of_its_ranges(technique_id: str, name: str) -> None:
    found = technique(technique_id)
    for field in dataclasses.fields(found.params):
        limits = field.metadata.get("range")
        whole = isinstance(field.default, int)
        ends: tuple[object, ...] = (False, True)
        if limits is not None:
            ends = tuple(int(x) if whole else float(x) for x in (limits.low, limits.high))
        for value in ends:
            params = parameters(found, {field.name: value})
            plan, _ = apply(prepared(name, technique_id), [Choice(found, params)], context(name))
            assert plan.answer == naive(name).answer


def test_every_reason_in_the_code_is_written_in_both_languages() -> None:
    used = set()
    for file in FOLDER.glob("*.py"):
        used |= set(re.findall(r'"(reason\.\w+)"', file.read_text(encoding="utf-8")))
    for lang in LANGS:
        written = {k for k in text.catalogue()[lang] if k.startswith("reason.")}
        assert used == written


def test_names_of_principles_and_presets() -> None:
    for lang in LANGS:
        assert all(text.text(lang, f"principle.{n}") for n in range(8))
        for name in PRESETS:
            key = name.replace("-", "_")
            assert text.text(lang, f"preset.{key}.title")
            assert text.text(lang, f"preset.{key}.help")


@on_each
def test_all_subsets_of_the_headline_eight(name: str) -> None:
    for size in range(len(HEADLINE_ORDER) + 1):
        for ids in itertools.combinations(HEADLINE_ORDER, size):
            plan, log = apply(naive(name), choose(ids), context(name))
            assert plan.answer == naive(name).answer
            assert {e.technique for e in log} == set(ids)


@pytest.mark.slow
@on_each
def test_all_pairs_can_be_combined(name: str) -> None:
    where = context(name)
    requests = stream(where.scenario, 20)
    for ids in itertools.combinations(IDS, 2):
        plan, _ = apply(naive(name), choose(ids), where)
        assert plan.answer == naive(name).answer
        timeline = simulate(plan, where.setting, requests)
        assert np.isfinite(timeline.total_s[~timeline.failed]).all(), ids


@on_each
def test_all_at_once(name: str) -> None:
    where = context(name)
    plan, log = apply(naive(name), choose(IDS), where)
    assert len(log) == len(IDS)
    assert from_plain(to_plain(plan)) == plan
    timeline = simulate(plan, where.setting, stream(where.scenario, 200))
    assert np.isfinite(timeline.total_s[~timeline.failed]).all()


@on_each
def test_a_rewrite_never_touches_the_plan_it_is_given(name: str) -> None:
    plan = naive(name)
    before = to_plain(plan)
    for found in TECHNIQUES:
        result = found.rewrite(plan, found.params(), context(name))
        assert isinstance(result, Plan | NotApplicable)
    assert to_plain(plan) == before

"""The Playground without a browser: what it shows, what its address means, what a toggle costs."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.scenarios import SCENARIOS, scenario
from core.techniques import HEADLINE_ORDER, PRESETS
from core.text import LANGS, Lang, text
from pages._ui.sections import SECTIONS
from tests import app_pages
from tests.sampling import every, slow_but

PROCESSOR = time.process_time
opened = partial(app_pages.opened, None)


def payload(at: AppTest) -> Any:
    return json.loads(at.get("bidi_component")[0].proto.json)


def marks(at: AppTest) -> list[dict[str, float]]:
    return [lane["marks"] for lane in payload(at)["lanes"]]


def test_the_first_screen_tells_the_story() -> None:
    before, yours = marks(opened())
    assert yours["first_visible_s"] < 0.6 * before["first_visible_s"]
    assert yours["total_s"] < 0.8 * before["total_s"]


@pytest.mark.parametrize("lang", LANGS)
def test_a_reader_meets_their_language(lang: Lang) -> None:
    at = opened(lang)
    assert at.toggle(key="streaming").label == text(lang, "technique.streaming.title")
    question = payload(at)["lanes"][0]["question"]
    assert any("가" <= c <= "힣" for c in question) == (lang == "ko")


def test_the_address_restores_the_view() -> None:
    at = opened(
        pipeline="travel",
        streaming="false",
        parallel="false",
        small_model="false",
        short_keys="false",
        caching="true",
        repeated="true",
        large="gpt-4.1",
        pace="2.0",
    )
    assert at.segmented_control(key="pipeline").value == "travel"
    assert at.toggle(key="caching").value
    assert not at.toggle(key="streaming").value
    assert at.selectbox(key="large").value == "gpt-4.1"
    assert at.number_input(key="pace").value == 2.0
    assert marks(at)[1]["total_s"] < 0.1  # asked before, answered from the cache


def test_nonsense_in_the_address_falls_back_to_the_defaults() -> None:
    at = opened(pipeline="moon", streaming="maybe", large="gpt-99", pace="-3", view="nothing")
    assert at.segmented_control(key="pipeline").value == "support"
    assert at.selectbox(key="large").value == "gpt-5.5 (none)"


@pytest.mark.parametrize(("preset", "pipeline"), every(PRESETS, SCENARIOS))
def test_presets_switch_their_techniques_on_and_undo_brings_the_old_ones_back(
    preset: str, pipeline: str
) -> None:
    at = opened(pipeline=pipeline)
    first = {t: at.toggle(key=t).value for t in HEADLINE_ORDER}
    at.button(key=f"preset_{preset}").click().run()
    assert not at.exception
    assert {t for t in HEADLINE_ORDER if at.toggle(key=t).value} == set(PRESETS[preset]) & set(
        HEADLINE_ORDER
    )
    at.button(key="preset_undo").click().run()
    assert {t: at.toggle(key=t).value for t in HEADLINE_ORDER} == first


def test_with_nothing_on_both_sides_are_the_same_and_it_says_so() -> None:
    at = opened()
    at.button(key="preset_naive").click().run()
    before, yours = marks(at)
    assert before == yours
    assert text("en", "playground.all_off") in [i.value for i in at.info]


def test_a_technique_that_does_nothing_says_why() -> None:
    at = opened(streaming="false", chunking="true")
    reason = text("en", "reason.needs_streaming")
    assert any(reason in c.value for c in at.caption)


def test_own_words_are_answered_by_the_nearest_example() -> None:
    at = opened(source="own", ask="how do i return something i bought")
    lanes = payload(at)["lanes"]
    assert lanes[0]["question"] == "how do i return something i bought"
    assert any("How do I return something?" in c.value for c in at.caption)


def test_own_words_no_example_can_answer_are_refused_politely() -> None:
    at = opened(source="own", ask="what is the capital of France")
    assert len(at.warning) == 1
    assert "none of them is close" in at.warning[0].value


def test_markup_in_the_message_stays_text() -> None:
    attack = "How do I return something? <img src=x onerror=alert(1)>"
    at = opened(source="own", ask=attack)
    assert payload(at)["lanes"][0]["question"] == attack


def test_a_very_long_message_is_cut_off_by_the_field_or_refused() -> None:
    at = opened(source="own", ask="x" * 1_000_000)
    assert not at.exception
    assert len(payload(at)["lanes"][0]["question"]) <= 2000


def test_a_slower_small_model_is_said_to_be_slower() -> None:
    at = opened(large="gpt-4o", small="gpt-4o-mini")
    assert {w.value for w in at.warning} == {
        text("en", "warning.small_answers_later"),
        text("en", "warning.small_writes_slower"),
    }


@pytest.mark.parametrize(("view", "lang"), every(SECTIONS, LANGS))
def test_every_section_opens(view: str, lang: Lang) -> None:
    opened(lang, view=view, pipeline="travel")


@pytest.mark.parametrize("step", slow_but(50, (50, 17)))
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_example_question_can_be_shown(name: str, step: int) -> None:
    at = opened(pipeline=name)
    for request in scenario(name).requests[::step]:
        at.selectbox(key=f"{name}_q").set_value(request.id)
        at.run()
        assert not at.exception
        assert payload(at)["lanes"][1]["question"] == request.message


BARE = """
import streamlit as st
for i, n in enumerate({options}):
    st.selectbox(f"s{{i}}", [f"option {{k}}" for k in range(n)], key=f"s{{i}}")
for i, n in enumerate({pills}):
    st.segmented_control(f"p{{i}}", [f"option {{k}}" for k in range(n)], key=f"p{{i}}")
for i in range({toggles}):
    st.toggle(f"t{{i}}", key=f"t{{i}}", bind="query-params", help="what it does")
for i in range({buttons}):
    st.button(f"b{{i}}", help="what it does")
for i in range({numbers}):
    st.number_input(f"n{{i}}", 0, 10, 1, key=f"n{{i}}", bind="query-params")
for i in range({texts}):
    st.caption(f"some text {{i}}")
"""


def rerun_s(at: AppTest, flip: Callable[[int], AppTest], times: int = 25) -> float:
    """Median processor time of a rerun: what other programs do does not count."""
    spent = []
    for i in range(times):
        before = PROCESSOR()
        flip(i).run()
        spent.append(PROCESSOR() - before)
        assert not at.exception
    return statistics.median(spent)


@pytest.mark.alone
@pytest.mark.slow
def test_a_toggle_costs_at_most_three_bare_pages_with_as_many_widgets() -> None:
    at = opened()

    def flip(i: int) -> AppTest:
        # Through the state, so that the whole page runs and not only what the toggle changes.
        at.session_state["parallel"] = bool(i % 2)
        return at

    for i in (0, 1):
        flip(i).run()  # both plans are known from here on
    ours = rerun_s(at, flip)
    script = BARE.format(
        options=[len(box.options) for box in (*at.selectbox, *at.multiselect)],
        pills=[len(control.options) for control in at.segmented_control],
        toggles=len(at.toggle) + len(at.checkbox),
        buttons=len(at.button),
        numbers=len(at.number_input),
        texts=len(at.caption) + len(at.markdown),
    )
    bare = AppTest.from_string(script, default_timeout=60).run()
    theirs = rerun_s(bare, lambda i: bare.toggle(key="t0").set_value(bool(i % 2)))
    print(f"a toggle: {ours * 1e3:.1f} ms against {theirs * 1e3:.1f} ms of a bare page")
    assert ours <= 3 * theirs

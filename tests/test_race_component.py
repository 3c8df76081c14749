"""The race in a browser: its clock, its panes, its rows, its table."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
TEXT = tomllib.loads((ROOT / "sample_data" / "text" / "race.toml").read_text(encoding="utf-8"))

APP = """
import tomllib
import streamlit as st
from pages._ui.race import Lane, Marks, RacePayload, StepBar, VisibleEvent as E, race, run_id_of

st.session_state.runs = st.session_state.get("runs", 0) + 1
lang = "ko" if st.checkbox("korean") else "en"
st.checkbox("unrelated")
faster = st.checkbox("faster")
with open("sample_data/text/race.toml", "rb") as file:
    labels = tomllib.load(file)[lang]

before = Lane(
    "before", labels["restart"], "", "May I send it back?",
    Marks(6.0, 6.0, 6.0, 6.0, 6.1, None),
    (E(6.0, "text", "Yes."), E(6.0, "done")),
    (StepBar("check", "Check", "llm", 0, 0.1, 2, 0.5, critical=True),
     StepBar("answer", "Answer", "llm", 2, 2, 6, 3, critical=True)),
)
start = 0.5 if faster else 1.0
words = tuple(E(start + i * 0.1, "text", f"w{i} ", "p") for i in range(10))
steps = (StepBar("search", "Search", "search", 0, 0, 0.003, state="cached"),
         StepBar("answer", "Answer", "llm", 0, 0.2, 2, start, critical=True),
         StepBar("rank", "Rank", "rerank", 0.2, 0.2, 0.2, state="skipped"))
yours = Lane(
    "yours", labels["next"], "", "<img src=x> May I?",
    Marks(0.2, start, start, 3.5, 3.5, 9.5),
    (E(0.2, "status", "Looking"), *words, E(2.2, "withdraw", "Not so", "p"),
     E(2.5, "field", "Olle House", "c", "name"), E(2.75, "field", "3", "c", "price_level"),
     E(3.0, "field", "Seogwipo", "c", "area"), E(3.5, "done")),
    steps[:2] if faster else steps,
)
lanes = (before, yours)
if not st.checkbox("away"):
    race(RacePayload(run_id_of(lanes), lang, labels, 8.0, lanes), key="race")
st.text(f"run {st.session_state.runs} is over")
"""

COUNT_TICKS = """
window.ticks = new Map();
const request = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (call) => request((now) => {
  if (call.name === "tick") window.ticks.set(now, (window.ticks.get(now) ?? 0) + 1);
  call(now);
});
"""

Opener = Callable[..., Any]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    script = tmp_path_factory.mktemp("race") / "app.py"
    script.write_text(APP, encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.headless=true"]
    options = [
        f"--server.port={port}",
        "--server.address=127.0.0.1",
        "--server.fileWatcherType=none",
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command + options, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert any("URL:" in line for line in process.stdout), "the server did not start"
        yield f"http://127.0.0.1:{port}"
        process.terminate()
        process.wait(timeout=30)  # before its output is closed: it still has a word to say


@pytest.fixture
def open_race(server: str, chromium: Any) -> Iterator[Opener]:
    """Open the app in a fresh context; any error in the page fails the test."""
    errors: list[str] = []
    contexts: list[Any] = []

    def opener(**options: Any) -> Any:
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 1400}} | options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.add_init_script(COUNT_TICKS)
        page.goto(server)
        page.locator(".race[data-run-id]").wait_for()
        page.get_by_text("run 1 is over").wait_for()
        return page

    yield opener
    for context in contexts:
        context.close()
    assert errors == []


def fact(page: Any, name: str) -> str:
    return str(page.locator(".race").get_attribute(f"data-{name}"))


def toggle(page: Any, name: str, run: int) -> None:
    page.get_by_text(name, exact=True).click()
    page.get_by_text(f"run {run} is over").wait_for()


def stand_at(page: Any, tenths: int) -> None:
    """Pause, and move the clock to `tenths` of a second by keyboard."""
    scale = page.get_by_role("slider")
    scale.focus()
    if fact(page, "state") == "playing":
        scale.press(" ")
    scale.press("Home")
    for _ in range(tenths // 10):
        scale.press("Shift+ArrowRight")
    for _ in range(tenths % 10):
        scale.press("ArrowRight")
    assert fact(page, "time") == f"{tenths / 10:.2f}"


def test_an_unrelated_toggle_leaves_a_playing_race_alone(open_race: Opener) -> None:
    page = open_race()
    page.locator(".race[data-state=playing]").wait_for()
    page.get_by_role("slider").press("1")
    page.locator(".race").evaluate("node => { node.mine = true }")
    before = float(fact(page, "time"))
    toggle(page, "unrelated", run=2)
    assert fact(page, "calls") == "1"
    assert fact(page, "state") == "playing"
    assert float(fact(page, "time")) > before
    assert page.locator(".race").evaluate("node => node.mine") is True


def test_other_labels_keep_the_clock_and_another_run_starts_it_anew(open_race: Opener) -> None:
    page = open_race()
    stand_at(page, 15)
    seen = page.locator("[data-lane=yours] .transcript").inner_text()
    toggle(page, "korean", run=2)
    page.locator(".race[lang=ko]").wait_for()
    assert (fact(page, "time"), fact(page, "state")) == ("1.50", "paused")
    assert page.locator(".play").get_attribute("aria-label") == TEXT["ko"]["play"]
    assert page.locator("[data-lane=yours] .transcript").inner_text() == seen

    page.get_by_role("slider").press("1")
    run, height = fact(page, "run-id"), page.locator(".race").bounding_box()["height"]
    toggle(page, "faster", run=3)
    page.locator(f".race[data-state=playing]:not([data-run-id='{run}'])").wait_for()
    assert float(fact(page, "time")) < 1.5
    assert page.locator("[data-step=rank]").count() == 0
    assert page.locator(".race").bounding_box()["height"] == pytest.approx(height, abs=1)


def test_many_data_changes_leave_one_animation_loop(open_race: Opener) -> None:
    page = open_race()
    page.get_by_role("slider").press("1")
    for run in range(2, 8):
        toggle(page, "korean" if run % 2 else "faster", run=run)
    assert int(fact(page, "calls")) == 7
    assert fact(page, "state") == "playing"
    page.evaluate("window.ticks.clear()")
    page.wait_for_function("window.ticks.size >= 30")
    assert page.evaluate("Math.max(...window.ticks.values())") == 1


def test_a_race_that_was_left_stops_its_loop_and_goes_on_where_it_stood(open_race: Opener) -> None:
    page = open_race()
    stand_at(page, 20)
    page.get_by_role("slider").press("1")
    page.get_by_role("slider").press(" ")
    toggle(page, "away", run=2)
    page.locator(".race").wait_for(state="detached")
    page.evaluate("window.ticks.clear()")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.evaluate("window.ticks.size") == 0
    toggle(page, "away", run=3)
    page.locator(".race[data-state=playing]").wait_for()
    assert fact(page, "calls") == "1"
    assert 2.0 <= float(fact(page, "time")) < 6.0


def test_the_keyboard_moves_the_clock(open_race: Opener) -> None:
    page = open_race()
    stand_at(page, 13)
    scale = page.get_by_role("slider")
    scale.press("ArrowLeft")
    assert scale.get_attribute("aria-valuenow") == "1.20"
    assert scale.get_attribute("aria-valuetext") == "1.20 s of 8.00 s"
    scale.press(" ")
    assert fact(page, "state") == "playing"
    scale.press(" ")
    assert fact(page, "state") == "paused"
    for key, speed in zip("12345", ("0.25", "0.5", "1", "2", "4"), strict=True):
        scale.press(key)
        assert fact(page, "speed") == speed
    scale.press("End")
    assert (fact(page, "time"), fact(page, "state")) == ("8.00", "finished")
    scale.press("Home")
    assert fact(page, "time") == "0.00"


def test_any_moment_looks_the_same_from_both_sides(open_race: Opener) -> None:
    page = open_race()
    transcript = page.locator("[data-lane=yours] .transcript")
    stand_at(page, 1)
    assert transcript.locator(".typing").is_visible()
    stand_at(page, 14)  # words at 1.0, 1.1, 1.2, 1.3, 1.4
    text = transcript.locator("[data-event=text]")
    assert text.inner_text().split() == ["w0", "w1", "w2", "w3", "w4"]
    page.get_by_role("slider").press("End")
    assert text.get_attribute("data-withdrawn") == ""
    assert transcript.locator(".pips .on").count() == 3
    stand_at(page, 14)
    assert text.inner_text().split() == ["w0", "w1", "w2", "w3", "w4"]
    assert text.get_attribute("data-withdrawn") is None
    stand_at(page, 26)  # name at 2.5, price at 2.75, area at 3.0
    waiting = transcript.locator(".card [data-waiting]")
    assert sorted(slot.get_attribute("data-field") for slot in waiting.all()) == [
        "area",
        "price_level",
    ]


def test_each_pane_stops_its_clock_when_its_answer_is_complete(open_race: Opener) -> None:
    page = open_race()
    page.get_by_role("slider").press("End")
    assert page.locator(".pane[data-lane=before]").get_attribute("data-clock") == "6.00"
    yours = page.locator(".pane[data-lane=yours]")
    assert yours.get_attribute("data-clock") == "3.50"
    assert yours.locator(".caption").inner_text() == "2.50 s sooner"
    assert yours.locator("[data-mark=total_s] dd").inner_text() == "3.50 s"
    assert (
        page.locator(".pane[data-lane=before] [data-mark=reader_done_s] dd").inner_text() == "none"
    )


def test_jumps_dragging_and_bars_move_to_their_moments(open_race: Opener) -> None:
    page = open_race()
    stand_at(page, 0)
    jump = page.get_by_role("button", name=TEXT["en"]["mark_first_visible_s"])
    for expected in ("1.00", "6.00", "1.00"):  # yours, before, and round again
        jump.click()
        assert fact(page, "time") == expected
    assert page.locator(".ticker").inner_text().endswith("First useful part, 1.00 s")

    box = page.get_by_role("slider").bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 5)
    page.mouse.up()
    assert float(fact(page, "time")) == pytest.approx(2.0, abs=0.02)

    page.locator("[data-lane=before] .track.seen").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    tip = page.get_by_role("tooltip")
    assert "Until first output\n1.00 s" in tip.inner_text()
    page.keyboard.press("Enter")
    assert fact(page, "time") == "2.00"
    page.keyboard.press("Escape")
    assert not tip.is_visible()


def test_who_asked_for_calm_gets_the_end_and_steps_through_it(open_race: Opener) -> None:
    page = open_race(reduced_motion="reduce")
    assert (fact(page, "time"), fact(page, "state")) == ("8.00", "finished")
    assert page.evaluate("window.ticks.size") == 0
    page.locator(".previous").click()
    assert fact(page, "time") == "6.10"
    page.locator(".previous").click()
    assert fact(page, "time") == "6.00"
    page.locator(".next").click()
    assert fact(page, "time") == "6.10"
    assert TEXT["en"]["mark_total_s"] in page.locator(".ticker").inner_text()


def test_the_table_tells_the_same_facts_and_text_is_never_markup(open_race: Opener) -> None:
    page = open_race()
    page.locator(".facts summary").click()
    marks = page.locator("[data-table=marks] tbody tr").all_inner_texts()
    assert [row.split("\t")[1:3] for row in marks] == [
        ["6.00 s", "0.20 s"],
        ["6.00 s", "1.00 s"],
        ["6.00 s", "1.00 s"],
        ["6.00 s", "3.50 s"],
        ["none", "9.50 s"],
        ["6.10 s", "3.50 s"],
    ]
    steps = page.locator("[data-table=steps] tbody tr")
    assert steps.count() == 5
    cached = steps.nth(2).inner_text().split("\t")
    assert (cached[0], cached[3], cached[9]) == ("Search", "from cache", "3 ms")
    assert page.locator(".race img").count() == 0
    assert page.locator("[data-lane=yours] .question").inner_text() == "<img src=x> May I?"


def test_on_a_phone_panes_stack_and_fingers_find_their_targets(open_race: Opener) -> None:
    page = open_race(viewport={"width": 390, "height": 1400})
    first, second = (pane.bounding_box() for pane in page.locator(".pane").all())
    assert second["y"] >= first["y"] + first["height"]
    for target in page.locator(".race button, .race .track, .race .scale").all():
        box = target.bounding_box()
        assert min(box["width"], box["height"]) >= 43.9, target.get_attribute("class")
    assert page.locator(".race").evaluate("node => node.scrollWidth <= node.clientWidth")

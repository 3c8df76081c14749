"""The measuring pages without a browser: engines, keys, runs, calibration, verdicts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import fitted_io
from core.accuracy import NAIVE, Accuracy, AccuracyRow
from core.bench_accuracy import Asked, report
from core.engines import Target
from core.errors import InvalidData
from core.execute import Engine, Model
from core.profiles import Setting
from core.providers.fake import FakeProvider, Pace
from core.text import text
from core.verdicts import Verdict, judged
from pages._ui import job
from pages._ui.live import matrix, shared, shelf
from pages._ui.live.keys import Key
from pages._ui.live.line import Line
from pages._ui.live.visitor import while_here
from tests import app_pages
from tests.virtual_time import run

KEY = "sk-proj-abcdefghijklmnop1234567890"
QUICK = Pace(ttft_s=0.002, tpot_s=0.0001)
PATIENT_S = 120

pytestmark = pytest.mark.usefixtures("quick_services")


def en(key: str, /, **args: object) -> str:
    return text("en", key, **args)


def opened(page: str, **address: str) -> AppTest:
    return app_pages.opened(f"measure/{page}.py", **address)


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No files of this account, no keys, not hosted, and nothing left running."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PLAYGROUND_MODELS", str(tmp_path / "models"))
    monkeypatch.delenv("PLAYGROUND_HOSTED", raising=False)
    yield
    shared.close()


def answering(monkeypatch: pytest.MonkeyPatch, pace: Pace) -> None:
    """Let every engine be a fake one of that pace."""

    async def open_fake(target: Target, setting: Setting) -> Engine:
        provider = FakeProvider(pace)
        large, small = (Model(provider, p.name, p) for p in (setting.large, setting.small))
        return Engine(target.engine, large, small, scripted=target.scripted)

    monkeypatch.setattr(shared, "opened", open_fake)


def labelled(at: AppTest, label: str) -> Any:
    return next(button for button in at.button if button.label == label)


# --- live run -------------------------------------------------------------------------------------


def test_a_run_ends_in_a_race_with_every_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, QUICK)
    at = opened("live", engine="emulator", repeats="2")
    at.button(key="live_start").click().run()
    assert at.session_state["live_running"].job.wait(PATIENT_S)
    at.run()
    assert not at.exception
    name, found = at.session_state["live_measured"]
    assert found.race.before.n == found.race.after.n == 2
    lanes = json.loads(at.get("bidi_component")[0].proto.json)["lanes"]
    assert all(lane["subtitle"].startswith("measured") for lane in lanes)
    shown = found.typical_repeat
    total_s = float(found.race.after.total_s[shown])
    assert lanes[1]["marks"]["total_s"] == pytest.approx(total_s, abs=1e-6)
    cards = next(h.proto.body for h in at.get("html") if "class='repeats'" in h.proto.body)
    assert cards.count("class='point'") % 4 == 0  # both sides, both repeats, of every metric
    assert "class='guess'" in cards
    for again in (opened("live", engine="emulator", repeats="2", measured=name), at.run()):
        assert json.loads(again.get("bidi_component")[0].proto.json)["lanes"] == lanes
        assert name in again.query_params["measured"]
    at.button(key="live_start").click().run()
    assert "measured" not in at.query_params


def test_a_result_that_is_gone_leaves_the_address() -> None:
    at = opened("live", engine="emulator", measured="nobody-knows")
    assert "measured" not in at.query_params
    assert en("live.empty") in [caption.value for caption in at.caption]


def test_the_oldest_results_make_room() -> None:
    kept = shelf.Shelf()
    names = [kept.put(object()) for _ in range(shelf.MOST + 1)]  # type: ignore[arg-type]
    assert [kept.get(name) is None for name in names] == [True, *[False] * shelf.MOST]


def test_a_run_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, Pace(ttft_s=600.0, tpot_s=0.0))
    at = opened("live", engine="emulator")
    at.button(key="live_start").click().run()
    running = at.session_state["live_running"].job
    at.button(key="live_cancel").click().run()
    said = [info.value for info in at.info]  # already, where it has stopped by then
    assert running.wait(PATIENT_S)
    at.run()
    assert en("live.stopped") in [*said, *(info.value for info in at.info)]
    assert running.cancelled
    assert at.button(key="live_start")


def test_a_link_carries_the_toggles_over() -> None:
    at = opened("live", streaming="false", caching="true", pipeline="travel", engine="emulator")
    assert not at.toggle(key="streaming").value
    assert at.toggle(key="caching").value
    assert at.segmented_control(key="pipeline").value == "travel"


def test_what_was_measured_is_not_passed_off_as_what_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answering(monkeypatch, QUICK)
    at = opened("live", engine="emulator", repeats="1")
    at.button(key="live_start").click().run()
    assert at.session_state["live_running"].job.wait(PATIENT_S)
    at.run()
    assert en("live.changed") not in [info.value for info in at.info]
    at.toggle(key="parallel").set_value(False).run()
    assert en("live.changed") in [info.value for info in at.info]


def test_without_local_models_there_is_one_click_to_get_them() -> None:
    at = opened("live")
    assert at.button(key="models_get")
    assert at.button(key="live_start").disabled
    assert en("live.lacks.models") in [info.value for info in at.info]
    table = next(h.proto.body for h in at.get("html") if "SmolLM2" in h.proto.body)
    assert "Apache-2.0" in table


# --- keys and the hosted switch -------------------------------------------------------------------


def test_a_key_is_used_for_the_visit_and_shown_nowhere() -> None:
    at = opened("live", engine="openai")
    assert at.button(key="live_start").disabled
    at.text_input(key="key_field_openai").set_value(KEY)
    labelled(at, en("live.key.use")).click().run()
    assert not at.exception
    assert not at.button(key="live_start").disabled
    assert at.text_input(key="key_field_openai").value == ""
    assert en("live.key.from_visit") in [caption.value for caption in at.caption]
    at.run()
    address = [at.query_params[name] for name in at.query_params]
    assert KEY not in repr(at) + repr(address) + repr(at.session_state["key_of_visit"])
    at.button(key="key_forget").click().run()
    assert at.button(key="live_start").disabled


def test_a_key_does_not_print_itself() -> None:
    assert KEY not in repr(Key("visit", KEY)) + repr(Target("openai", "a", "b", api_key=KEY))


def test_a_key_of_the_environment_is_used_on_ones_own_machine_and_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    at = opened("live", engine="anthropic")
    assert not at.button(key="live_start").disabled
    told = en("live.key.from_environment", variable="ANTHROPIC_API_KEY")
    assert told in [caption.value for caption in at.caption]
    assert KEY not in repr(at)


def test_a_hosted_app_spends_no_key_of_its_own_and_takes_no_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PLAYGROUND_HOSTED", "1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    at = opened("live", engine="openai", openai_url="http://10.0.0.1/v1")
    assert at.button(key="live_start").disabled
    assert "openai_url" not in [field.key for field in at.text_input]
    assert en("provider.title.compatible") not in at.selectbox(key="engine").options
    assert en("live.engine.hosted") in [caption.value for caption in at.caption]
    assert opened("live", engine="compatible").selectbox(key="engine").value == "local"


@pytest.mark.parametrize(("word", "offered"), [("0", True), ("", True), ("yes", False)])
def test_the_hosted_switch_is_a_word(
    word: str, offered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAYGROUND_HOSTED", word)
    options = opened("live").selectbox(key="engine").options
    assert (en("provider.title.compatible") in options) == offered


# --- calibrate ------------------------------------------------------------------------------------


def test_a_calibration_is_shown_kept_used_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, QUICK)
    at = opened("calibrate", engine="emulator", roles="small")
    at.button(key="calibrate_start").click().run()
    assert job.registry().wait(at.session_state["job_id"], PATIENT_S)
    at.run()
    assert not at.exception
    assert not at.error, [e.value for e in at.error]
    assert len(at.get("plotly_chart")) == 2
    (name,) = fitted_io.saved()
    assert fitted_io.load(name).machine
    at.button(key="saved_use_large").click().run()
    assert not at.exception
    assert at.selectbox(key="large").value == f"fitted:{name}"
    at.switch_page("play/playground.py").run()
    assert not at.exception
    assert at.selectbox(key="large").value == f"fitted:{name}"
    at.switch_page("measure/calibrate.py").run()
    at.button(key="saved_delete").click().run()
    assert fitted_io.saved() == ()


def test_a_hosted_app_keeps_no_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, QUICK)
    monkeypatch.setenv("PLAYGROUND_HOSTED", "1")
    at = opened("calibrate", engine="emulator", roles="small")
    at.button(key="calibrate_start").click().run()
    assert job.registry().wait(at.session_state["job_id"], PATIENT_S)
    at.run()
    assert en("calibrate.not_kept") in [caption.value for caption in at.caption]
    assert fitted_io.saved() == ()


# --- predicted or true ----------------------------------------------------------------------------


def test_a_short_matrix_is_measured_as_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, QUICK)
    at = opened("accuracy", engine="emulator", cases="parallel")
    at.button(key="accuracy_start").click().run()
    assert job.registry().wait(at.session_state["job_id"], PATIENT_S)
    at.run()
    assert not at.exception
    assert not at.error, [e.value for e in at.error]
    assert any("class='verdict-" in h.proto.body for h in at.get("html"))


def test_without_a_calibration_nothing_is_predicted() -> None:
    at = opened("accuracy", engine="compatible")
    assert "accuracy_start" not in [button.key for button in at.button]


def row(
    technique: str, predicted_s: float, low_s: float, high_s: float, repeats: int = 3
) -> AccuracyRow:
    middle = (low_s + high_s) / 2
    return AccuracyRow("support", technique, "total_s", predicted_s, middle, low_s, high_s, repeats)


@pytest.mark.parametrize(
    ("predicted_s", "low_s", "high_s", "verdict"),
    [
        (7.0, 6.8, 7.2, "right"),  # predicted 30 % faster, measured 30 %
        (8.0, 6.0, 6.8, "off"),  # 20 % against 36 %: more than the share allowed
        (9.0, 10.8, 11.2, "wrong"),  # predicted faster, measured slower
        (10.0, 10.5, 11.1, "right"),  # no change predicted: 8 % slower is a miss, no direction
        (9.8, 9.4, 10.2, "unclear"),  # repeats overlap those of the naive plan, as predicted
        (7.0, 9.4, 10.2, "off"),  # a large gain was predicted, none was seen
    ],
)
def test_verdicts(predicted_s: float, low_s: float, high_s: float, verdict: Verdict) -> None:
    rows = (row(NAIVE, 10.0, 9.9, 10.1), row("parallel", predicted_s, low_s, high_s))
    (one,) = judged(Accuracy(rows, (), (), 0), "total_s")
    assert one.verdict == verdict


def test_one_repeat_is_no_ground_for_a_verdict() -> None:
    rows = (row(NAIVE, 10.0, 10.0, 10.0, repeats=1), row("parallel", 9.5, 10.4, 10.4, repeats=1))
    (one,) = judged(Accuracy(rows, (), (), 0), "total_s")
    assert one.verdict == "unclear"


def test_the_kept_table_is_read_back_or_named_as_broken(tmp_path: Path) -> None:
    file = tmp_path / "accuracy.json"
    assert matrix.kept(file) is None
    totals = (row(NAIVE, 10.0, 9.9, 10.1), row("parallel", 7.0, 6.8, 7.2))
    rows = (*totals, *(replace(r, metric="first_visible_s") for r in totals))
    measured = Accuracy(rows, ("support s1",), (0.1, 0.1, 0.3), 0)
    data = report(Asked(scenarios=("support",)), (), measured)
    file.write_text(json.dumps(data))
    found = matrix.kept(file)
    assert found is not None
    assert found.found == measured
    assert found.noise == 0.1
    assert not found.whole
    file.write_text("{}")
    with pytest.raises(InvalidData, match=r"accuracy\.json"):
        matrix.kept(file)


# --- the line and the visitor ---------------------------------------------------------------------


def test_those_who_wait_are_told_their_place_and_served_in_order() -> None:
    async def scene() -> list[tuple[str, int]]:
        line, told, release = Line(), [], asyncio.Event()

        async def one(name: str) -> None:
            async with line.turn(lambda ahead: told.append((name, ahead))):
                await release.wait()

        tasks = [asyncio.create_task(one(name)) for name in "abc"]
        await asyncio.sleep(0)
        tasks[1].cancel()  # b gives up: c moves up
        await asyncio.sleep(0)
        release.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        return told

    told = run(scene())
    assert told == [("a", 0), ("b", 1), ("c", 2), ("c", 1), ("c", 0)]


def test_work_ends_soon_after_its_visitor_has_gone() -> None:
    async def scene() -> float:
        loop = asyncio.get_running_loop()
        gone_s = loop.time() + 20.0
        with pytest.raises(asyncio.CancelledError):
            await while_here(asyncio.sleep(3600.0), lambda: loop.time() < gone_s)
        return loop.time() - gone_s

    assert 4.0 <= run(scene()) <= 7.0


def test_a_short_gap_in_the_connection_ends_nothing() -> None:
    async def scene() -> str:
        loop = asyncio.get_running_loop()
        start_s = loop.time()
        away = lambda: not 3.0 <= loop.time() - start_s <= 6.0  # noqa: E731
        return await while_here(asyncio.sleep(30.0, "done"), away)

    assert run(scene()) == "done"

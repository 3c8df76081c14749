"""The page on tails without a browser: its figures, its views, its address, its losses in red."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.charts import share_within
from core.cli import EXIT_INPUT, main
from core.faults import Faults
from core.load import Capacity
from core.metrics import Reader, summary
from core.profiles import setting
from core.scenarios import scenario
from core.tail_charts import Curve, CurveWords, Layer, StackWords, load_curves, stacks
from core.techniques import choose
from core.text import LANGS, Lang, text
from pages._ui.controls import FIRST_SCREEN
from pages._ui.sections.figures import share
from pages._ui.tail import view as tail_view
from tests import app_pages
from tests.sampling import every

ROOT = Path(__file__).parent.parent
PAGE = "decide/tail.py"
opened = partial(app_pages.opened, PAGE)
VIEWS = ("within", "owners", "slices", "load")


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer requests than a reader gets: the page is the same."""
    monkeypatch.setattr(tail_view, "TAIL_N", 240)
    for kept in (tail_view._loaded, tail_view._parts, tail_view._harms, tail_view._points):
        kept.cache_clear()


def remarks(at: AppTest) -> str:
    return " ".join(h.proto.body for h in at.get("html") if "<div class='remarks'>" in h.proto.body)


@pytest.mark.parametrize(("shown", "lang"), every(VIEWS, LANGS))
def test_every_view_opens_in_both_languages(shown: str, lang: Lang) -> None:
    at = opened(lang, tail_view=shown, pipeline="travel")
    assert at.segmented_control(key="tail_view").value == shown
    charts = at.get("plotly_chart")
    assert len(charts) == (0 if shown == "slices" else 1)


def test_the_figures_are_those_of_the_simulation() -> None:
    at = opened()
    assert at.number_input(key="limit_s").value == 6.0
    found, _, after = tail_view._loaded(
        scenario("support"), choose(FIRST_SCREEN), setting(), 1.0, Capacity(8)
    )
    assert tail_view._loaded.cache_info().currsize == 1  # it is what the page had made
    shown = [m.value for m in at.metric]
    assert shown[0] == share(share_within(found.after.total_s, 6.0))
    assert shown[1] == f"{summary(found.after.total_s).p95:.2f} s"
    assert shown[4] == f"{after.bearable_per_s:.2f}/s"
    at.number_input(key="limit_s").set_value(120.0).run()
    assert at.metric[0].value == "100%"


def test_a_link_from_the_playground_carries_over() -> None:
    at = opened(pipeline="travel", streaming="false", caching="true", also="hedge", large="gpt-4.1")
    assert at.segmented_control(key="pipeline").value == "travel"
    assert not at.toggle(key="streaming").value
    assert at.toggle(key="caching").value
    assert at.multiselect(key="also").value == ["hedge"]
    assert at.selectbox(key="large").value == "gpt-4.1"


def test_a_set_chosen_in_the_playground_is_there_after_a_switch_of_pages() -> None:
    at = app_pages.opened(None, pipeline="travel", streaming="false", also="hedge")
    at.query_params.clear()  # as a browser does
    at.switch_page(PAGE).run()
    assert not at.exception
    assert at.segmented_control(key="pipeline").value == "travel"
    assert not at.toggle(key="streaming").value
    assert at.multiselect(key="also").value == ["hedge"]


def test_the_load_is_in_the_address() -> None:
    at = opened(
        rate="2.5",
        pool="20",
        limit_s="4",
        limit_on="first_visible_s",
        calls_per_s="9",
        slowdown="0.5",
    )
    assert at.number_input(key="rate").value == 2.5
    assert at.number_input(key="pool").value == 20
    assert at.selectbox(key="limit_on").value == "first_visible_s"
    assert at.number_input(key="calls_per_s").value == 9.0
    assert at.number_input(key="slowdown").value == 0.5


def test_nonsense_in_the_address_falls_back() -> None:
    at = opened(rate="-4", pool="many", limit_on="moon", tail_view="nothing", fails="900")
    assert at.number_input(key="rate").value == 1.0
    assert at.number_input(key="pool").value == 8
    assert at.selectbox(key="limit_on").value == "total_s"
    assert at.segmented_control(key="tail_view").value == "within"


def test_a_pipeline_without_a_search_outside_has_no_faults_and_says_so() -> None:
    at = opened()
    assert text("en", "tail.no_external") in [c.value for c in at.caption]
    assert not at.slider
    at = opened(pipeline="travel", fails="30", longer="3.0")
    assert at.slider(key="fails").value == 30
    assert at.slider(key="longer").value == 3.0


def test_failing_searches_fail_requests_unless_a_limit_takes_care_of_it() -> None:
    off = {"streaming": "false", "parallel": "false", "small_model": "false", "short_keys": "false"}
    label = text("en", "tail.card.failed")

    def failed(**more: str) -> str:
        at = opened(pipeline="travel", fails="50", rate="0.2", **off, **more)
        return next(m.value for m in at.metric if m.label == label)

    assert float(failed().rstrip("%")) > 15
    assert failed(also="timeout_fallback") == "0%"


@pytest.mark.parametrize("lang", LANGS)
def test_a_hedge_under_load_is_a_loss_in_red_with_its_reason(lang: Lang) -> None:
    off = {"streaming": "false", "parallel": "false", "small_model": "false", "short_keys": "false"}
    shown = remarks(opened(lang, also="hedge", rate="1.3", **off))
    assert "class='loss'" in shown
    assert text(lang, "technique.hedge.title") in shown
    assert "class='loss'" not in remarks(opened(lang, also="hedge", rate="0.1", **off))


def test_more_than_can_be_borne_is_said() -> None:
    shown = remarks(opened(rate="5"))
    assert "can be borne" in shown
    assert remarks(opened(rate="0.2")) == ""


# --- the charts -----------------------------------------------------------------------------------


def test_stacked_bars_share_one_scale_and_name_each_step_once() -> None:
    words = StackWords(("a", "b"), " s", "%{y}")
    one = [Layer("Ask", "llm", (1.0, 2.0)), Layer("Answer", "llm", (1.0, 3.0))]
    two = [Layer("Answer", "llm", (0.5, 0.5)), Layer("wait", "rest", (0.0, 1.0), waiting=True)]
    figure: Any = stacks([("Before", one), ("Yours", two)], words)
    assert [t["showlegend"] for t in figure["data"]] == [True, True, False, True]
    assert figure["layout"]["yaxis"]["range"] == [0, pytest.approx(5.0 * 1.08)]
    answers = [t for t in figure["data"] if t["name"] == "Answer"]
    assert answers[0]["opacity"] == answers[1]["opacity"] < figure["data"][0]["opacity"]
    assert "pattern" in figure["data"][-1]["marker"]
    assert figure["layout"]["height"]


def test_a_load_curve_marks_what_each_plan_bears() -> None:
    words = CurveWords("x", "y", " s", "%{x} %{y}", "now", "limit")
    curve = Curve("Before", "#000001", (0.1, 1.0, 2.0), (4.0, 5.0, 90.0), 1.5)
    figure: Any = load_curves([curve], words, now=0.5, slo_s=6.0)
    uprights = {s["x0"] for s in figure["layout"]["shapes"] if s["xref"] == "x"}
    assert uprights == {0.5, 1.5}
    assert figure["layout"]["yaxis"]["range"] == [0, 14.0]  # not up to the 90 s of a growing queue


# --- the command line -----------------------------------------------------------------------------


def test_a_load_curve_says_what_the_card_says_at_the_chosen_rate() -> None:
    view = tail_view.TailView(
        scenario("support"), choose(FIRST_SCREEN), setting(), Reader(), 1.2, Capacity(8),
        Faults(), "total_s", 6.0, "en",
    )  # fmt: skip
    for points, values in zip(view.curves, view.values, strict=True):
        rates = [p.rate_per_s for p in points]
        assert rates == sorted(rates)
        (here,) = [p for p in points if p.rate_per_s == 1.2]
        assert here.p95_s == summary(values).p95
        slow = [p.p95_s for p in points if p.p95_s is not None]
        assert slow == sorted(slow)  # the same requests, only closer to each other


def test_simulate_says_load_and_limit(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["simulate", "support", "--with", "parallel", "--n", "120", "--rate", "1", "--json"]
    assert main([*arguments, "--pool", "8", "--slo", "6"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["load"]["capacity"]["pool"] == 8
    for side in ("baseline", "variant"):
        load, slo = found["load"][side], found["slo"][side]
        assert load["gap_s"] <= 1e-9
        assert load["bearable_per_s"] > 1
        assert 0 <= slo["within"] <= 1
        assert slo["p95_s"] == found[side]["metrics"]["total_s"]["p95"]
        assert sum(o["share"] for o in slo["owners"]) == pytest.approx(1.0)
    assert (found["slo"]["metric"], found["slo"]["limit_s"]) == ("total_s", 6.0)
    assert main(arguments) == 0
    plain = json.loads(capsys.readouterr().out)
    assert (plain["load"], plain["slo"]) == (None, None)


def test_simulate_prints_load_and_limit_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--n", "60", "--rate", "9", "--pool", "2", "--slo", "4"]
    assert main(["simulate", "travel", *arguments]) == 0
    out = capsys.readouterr().out
    assert "shared: a pool of 2" in out
    assert "more arrives than can be borne" in out
    assert "total_s within 4 s" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--pool", "0"], "the pool is 0"),
        (["--slo", "0"], "--slo is 0.0; it must be above 0 seconds"),
        (["--rate", "nan"], "--rate is nan"),
        (["--requests-per-s", "-1"], "limit on requests per second is -1.0"),
        (["--slowdown", "99"], "the slowdown is 99.0"),
        (["--slo-metric", "moon"], "invalid choice: 'moon'"),
    ],
)
def test_bad_load_is_one_clear_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["simulate", "travel", "--n", "20", *arguments]) == EXIT_INPUT
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1

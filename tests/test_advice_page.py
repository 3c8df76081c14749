"""The advice page without a browser: what is asked, what is answered, and long searches as jobs."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from html import unescape

import pytest
from streamlit.testing.v1 import AppTest

from core.advice import answer as answers
from core.advice.answer import Answer, Question, headline_answer
from core.advice.search import Limits, Progress
from core.errors import InputError
from core.jobs import Jobs
from core.once import Once
from core.profiles import setting
from core.scenarios import scenario
from core.techniques import HEADLINE_ORDER, PRESETS, choose
from core.text import LANGS, Lang, text
from pages._ui import job
from tests import app_pages
from tests.app_pages import bodies
from tests.sampling import every

PAGE = "decide/advice.py"
opened = partial(app_pages.opened, PAGE)
VIEWS = ("roadmap", "shares", "next", "front", "report")
LIMIT_S = 60.0


def chips(at: AppTest) -> list[str]:
    """The names in the best set."""
    found = re.search(r"<ul class='chips'>(.*?)</ul>", bodies(at))
    return re.findall(r"<li>(.*?)</li>", found.group(1)) if found else []


def asked(name: str = "support", **more: object) -> Answer:
    return headline_answer(replace(Question(scenario(name), setting()), **more))  # type: ignore[arg-type]


def parameter(at: AppTest, name: str) -> str | None:
    value = at.query_params.get(name)
    return value[-1] if isinstance(value, list) else value


# --- the eight -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("shown", "lang"), every(VIEWS, LANGS))
def test_every_view_opens_in_both_languages(shown: str, lang: Lang) -> None:
    at = opened(lang, show=shown, pipeline="travel")
    assert at.segmented_control(key="show").value == shown
    assert chips(at)
    assert bool(at.get("plotly_chart")) == (shown == "front")


def test_the_best_set_is_shown_before_and_after() -> None:
    at = opened()
    found = asked().advice
    assert len(chips(at)) == found.best.changes
    for value in (found.naive.p50_s, found.best.p50_s):
        assert f"{value:.2f} s" in bodies(at)
    basis = text(
        "en", "advice.basis", n=200, seed=0, large=setting().large.name, small=setting().small.name
    )
    assert basis in [c.value for c in at.caption]


def test_limits_in_the_address_are_kept() -> None:
    assert len(chips(opened(changes="2"))) == 2
    assert "Caching" not in chips(opened(same_servers="true"))
    careful = asked(limits=Limits(no_quality_risk=True)).advice.best
    assert len(chips(opened(careful="true"))) == careful.changes


def test_limits_nobody_can_keep_are_said_to_be_missed() -> None:
    at = opened(slo="0.1")
    assert text("en", "advice.not_met") in [w.value for w in at.warning]


def test_where_nothing_is_allowed_nothing_helps() -> None:
    everything = ",".join(f"{t}.low.high" for t in HEADLINE_ORDER)
    at = opened(careful="true", levels=everything)
    assert text("en", "advice.nothing_helps") in [i.value for i in at.info]


def test_the_goal_decides_what_is_short() -> None:
    at = opened(goal="total_s")
    best = asked(goal="total_s").advice.best
    assert text("en", "metric.total_s") in bodies(at)
    assert f"{best.p50_s:.2f} s" in bodies(at)


def test_judged_otherwise_in_the_address_counts() -> None:
    at = opened(levels="streaming.high.none")
    row = re.search(r"<b>Streaming</b><small>([^<]*)</small>", bodies(at))
    assert row
    assert "effort high, risk none" in row.group(1)


def test_effort_and_risk_can_be_judged_otherwise_and_back() -> None:
    at = app_pages.app(PAGE)
    at.session_state["judge"] = True  # the panel is open
    at.run()
    at.selectbox(key="judged_effort_streaming").set_value("high").run()
    assert not at.exception
    assert parameter(at, "levels") == "streaming.high.low"
    assert chips(at)[0] != text("en", "technique.streaming.title")  # no longer the cheapest gain
    at.button(key="judge_reset").click().run()
    assert parameter(at, "levels") is None
    assert chips(at)[0] == text("en", "technique.streaming.title")


def test_nonsense_in_the_address_falls_back_to_the_defaults() -> None:
    at = opened(goal="moon", changes="99", levels="hedge.none.none,x.y.z", slo="-3", show="sun")
    assert at.segmented_control(key="goal").value == "reader_wait_s"
    assert len(chips(at)) == asked().advice.best.changes
    assert parameter(at, "levels") == "hedge.none.none"


def test_shares_are_told_with_the_pairs_that_hinder_each_other() -> None:
    at = opened(show="shares")
    pairs = asked().shares.pairs
    (one, other), worst = min(pairs.items(), key=lambda pair: pair[1])
    assert worst < -0.02
    names = [text("en", f"technique.{t}.title") for t in (one, other)]
    told = " ".join(m.value for m in at.markdown)
    assert re.search(rf"\*\*{names[0]}\*\* is worth [^*]* less once \*\*{names[1]}\*\*", told)


@pytest.mark.parametrize("preset", ["guide", "travel-post"])
def test_a_preset_is_told_one_step_after_the_other(preset: str) -> None:
    steps = re.findall(r"<li><span class='who'><b>(.*?)</b>", bodies(opened(way=preset)))
    order = [c.technique.id for c in choose(PRESETS[preset])]
    names = [text("en", f"technique.{t}.title") for t in order]
    assert [unescape(s) for s in steps] == [text("en", "advice.naive"), *names]


def test_the_next_step_starts_from_the_toggles_in_the_address() -> None:
    off = dict.fromkeys(("short_keys", "parallel", "small_model"), "false")
    at = opened(show="next", **off)
    told = " ".join(m.value for m in at.markdown)
    assert "Switched on in the Playground: **Streaming**" in told
    assert "The next best single step" in told
    assert "<span class='loss'>" in bodies(at)  # chunking costs here, in red


def test_the_best_set_opens_in_the_playground() -> None:
    at = opened(changes="3")
    best = asked(limits=Limits(max_changes=3)).advice.best.techniques
    at.button(key="open_best").click().run()
    assert not at.exception
    assert at.title[0].value == text("en", "frame.page.playground.heading")
    assert {t for t in HEADLINE_ORDER if at.toggle(key=t).value} == best


# --- the whole catalogue, as a job ---------------------------------------------------------------


class Search:
    """Stands in for the search: waits at a gate, then answers about the eight, or fails."""

    def __init__(self) -> None:
        self.begun, self.go = threading.Event(), threading.Event()
        self.error: Exception | None = None

    def __call__(self, question: Question, progress: Progress) -> Answer:
        progress(0.4)
        self.begun.set()
        assert self.go.wait(LIMIT_S)
        progress(0.5)
        if self.error is not None:
            raise self.error
        found = headline_answer(replace(question, whole=False))
        return replace(found, question=question)


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch) -> Iterator[Search]:
    stand_in, jobs = Search(), Jobs()
    monkeypatch.setattr(answers, "answer", stand_in)
    monkeypatch.setattr(answers, "_WHOLE", Once[Question, Answer](4))
    monkeypatch.setattr(job, "registry", lambda: jobs)
    yield stand_in
    stand_in.go.set()
    jobs.close()


def started(search: Search) -> tuple[AppTest, str]:
    headline_answer(Question(scenario("support"), setting()))
    at = opened(scope="all")
    assert text("en", "advice.whole_hint") in [i.value for i in at.info]
    at.button(key="whole_start").click().run()
    assert not at.exception
    job_id = parameter(at, "job")
    assert job_id is not None
    assert search.begun.wait(LIMIT_S)
    return at, job_id


def finished(search: Search, job_id: str) -> None:
    search.go.set()
    assert job.registry().wait(job_id, LIMIT_S)


def test_a_search_of_the_whole_catalogue_is_a_job_with_progress_and_a_notice(
    search: Search,
) -> None:
    at, job_id = started(search)
    at.run()
    assert not chips(at)
    assert at.button(key="job_cancel").label == text("en", "job.cancel")
    assert "40%" in at.get("progress")[0].proto.text
    finished(search, job_id)
    at.run()
    assert chips(at)
    assert [t.value for t in at.toast] == [text("en", "job.notice_done")]
    assert not at.run().toast


def test_a_job_survives_a_reload_of_the_page(search: Search) -> None:
    _, job_id = started(search)
    again = opened(scope="all", job=job_id)
    assert "40%" in again.get("progress")[0].proto.text
    finished(search, job_id)
    assert chips(again.run())


def test_an_answer_somebody_else_has_waited_for_is_there_at_once(search: Search) -> None:
    _, job_id = started(search)
    finished(search, job_id)
    assert chips(opened(scope="all"))


def test_a_cancelled_job_stops_and_can_be_started_again(search: Search) -> None:
    at, job_id = started(search)
    at.run()
    at.button(key="job_cancel").click().run()
    finished(search, job_id)
    at.run()
    assert text("en", "job.cancelled") in [c.value for c in at.caption]
    at.button(key="whole_start").click().run()
    second = parameter(at, "job")
    assert second not in (None, job_id)
    assert job.registry().wait(str(second), LIMIT_S)
    assert chips(at.run())


def test_a_failed_job_says_why_in_one_line(search: Search) -> None:
    search.error = InputError("the moon\nis in the way")
    at, job_id = started(search)
    finished(search, job_id)
    at.run()
    assert [e.value for e in at.error] == [text("en", "job.failed", error="the moon is in the way")]


def test_an_unknown_job_leaves_the_address(search: Search) -> None:
    at = opened(scope="all", job="x" * 22)
    assert parameter(at, "job") is None
    assert not search.begun.is_set()


def test_too_many_jobs_are_refused_politely(
    search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = Jobs(most_each=0)
    monkeypatch.setattr(job, "registry", lambda: jobs)
    at = opened(scope="all")
    at.button(key="whole_start").click().run()
    assert len(at.warning) == 1
    assert parameter(at, "job") is None
    assert not search.begun.is_set()


# --- the report, as a job ------------------------------------------------------------------------


def test_a_report_is_a_job_that_survives_a_reload_and_can_be_taken_away(search: Search) -> None:
    at = opened(show="report")
    at.button(key="report_start").click().run()
    job_id = parameter(at, "job")
    assert job_id is not None
    assert search.begun.wait(LIMIT_S)
    again = opened(show="report", job=job_id)
    assert text("en", "report.id", id=job_id[:6]) in [c.value for c in again.caption]
    assert text("en", "report.searching") in again.get("progress")[0].proto.text
    finished(search, job_id)
    again.run()
    assert [t.value for t in again.toast] == [text("en", "job.notice_done")]
    assert again.get("download_button")
    assert shown_report(again).count("\n#### ") == 7
    korean = opened("ko", show="report", job=job_id)
    assert text("ko", "report.order") in shown_report(korean)


def shown_report(at: AppTest) -> str:
    return next(str(m.value) for m in at.markdown if m.value.startswith("### "))


def test_a_report_does_not_draw_the_progress_of_a_search(search: Search) -> None:
    _, job_id = started(search)
    at = opened(show="report", job=job_id)
    assert not at.get("progress")
    assert not [b for b in at.button if b.key == "report_start"]  # one job at a time
    finished(search, job_id)

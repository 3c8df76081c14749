from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.charts import Figure
from core.metrics import Change, metric
from core.scenarios import SCENARIOS, scenario
from core.techniques import HEADLINE_ORDER, TECHNIQUES
from core.text import LANGS, Lang, catalogue, text
from pages._ui.sections import SECTIONS
from pages._ui.sections.bars import Scale, bars, sign
from pages._ui.sections.figures import amount, between, share, signed_share
from pages._ui.sections.look import ROLES, emphasised, palette
from pages._ui.sections.marked import marked
from pages._ui.sections.spread import BEFORE, METRICS
from tests.app_pages import scripted
from tests.sampling import every

HOSTILE = "<script>alert('x')</script> & <img src=x onerror=alert(1)> **b** $1$ [l](http://x)"


def section(
    name: str,
    scenario_id: str,
    lang: str,
    techniques: tuple[str, ...],
    message: str = "",
    repeated: bool = False,
) -> None:
    """Run as a script of its own: build a view and draw one section of it."""
    from core.metrics import Reader
    from core.nearest import asking
    from core.profiles import setting
    from core.scenarios import scenario
    from core.techniques import choose
    from pages._ui.sections import SECTIONS
    from pages._ui.view import View

    base = scenario(scenario_id)
    request = next(r for r in base.requests if r.lang == lang)
    if message:
        base = asking(base, message)
        request = base.requests[0]
    chosen = choose(techniques)
    SECTIONS[name](View(base, request, chosen, setting(), Reader(), repeated, lang))


def draw(
    name: str,
    scenario_id: str = "support",
    lang: str = "en",
    techniques: Sequence[str] = HEADLINE_ORDER,
    *,
    query: dict[str, str] | None = None,
    **more: Any,
) -> AppTest:
    args = (name, scenario_id, lang, tuple(techniques))
    return scripted(section, *args, address={"lang": lang, **(query or {})}, **more)


def html(app: AppTest) -> str:
    return "".join(e.proto.body for e in app.get("html"))


def component(app: AppTest, k: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(app.get("bidi_component")[k].proto.json)
    return found


class Words(HTMLParser):
    """The text of some HTML without style sheets, and the tags it holds."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.words = ""
        self._silent = False
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent = tag == "style"
        if not self._silent:
            self.tags.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_endtag(self, tag: str) -> None:
        self._silent = self._silent and tag != "style"

    def handle_data(self, data: str) -> None:
        self.words += "" if self._silent else data


# --- every section, everywhere --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "scenario_id", "lang", "techniques"),
    every(SECTIONS, SCENARIOS, LANGS, [(), HEADLINE_ORDER]),
    ids=lambda value: ("on" if value else "off") if isinstance(value, tuple) else None,
)
def test_every_section_draws(
    name: str, scenario_id: str, lang: Lang, techniques: tuple[str, ...]
) -> None:
    app = draw(name, scenario_id, lang, techniques)
    shown = Words(html(app)).words + " ".join(m.value for m in (*app.markdown, *app.caption))
    hangul = re.search("[가-힣]", shown) is not None
    if shown.strip() and name in ("toggles", "spread"):
        assert hangul == (lang == "ko")
    if not techniques and name in ("toggles", "graph"):
        assert app.info[0].value == text(lang, "section.nothing_on")


@pytest.mark.slow
@pytest.mark.parametrize("name", SECTIONS)
def test_everything_at_once_draws(name: str) -> None:
    draw(name, "travel", "ko", [t.id for t in TECHNIQUES])


@pytest.mark.parametrize("name", SECTIONS)
def test_an_answer_from_the_cache_draws(name: str) -> None:
    draw(name, "support", "en", ("caching",), repeated=True)


def test_sections_have_their_order_and_names() -> None:
    assert tuple(SECTIONS) == ("toggles", "spread", "prompts", "graph", "export")
    for lang in LANGS:
        assert {f"playground.section.{s}" for s in SECTIONS} <= set(catalogue()[lang])


# --- what somebody wrote stays text ---------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n == "toggles" else ()) for n in SECTIONS]
)
def test_a_message_with_markup_stays_text(name: str) -> None:
    message = f"How do I track my parcel? {HOSTILE}"
    app = draw(name, message=message)
    found = Words(html(app))
    assert not found.tags & {"script", "img", "a"}
    for drawn in app.get("bidi_component"):
        svg = json.loads(drawn.proto.json)["svg"]
        assert "<script" not in svg
        assert "<img" not in svg
    for label in app.expander:
        assert HOSTILE not in label.label


def test_a_message_with_markup_is_shown_as_it_was_written() -> None:
    message = f"How do I track my parcel? {HOSTILE}"
    app = draw("prompts", message=message, query={"prompt": "after"})
    assert HOSTILE in Words(html(app)).words
    svg = component(draw("export", message=message))["svg"]
    assert "&lt;script&gt;" in svg


# --- toggles --------------------------------------------------------------------------------------


def test_each_switched_on_technique_has_a_row() -> None:
    words = Words(html(draw("toggles"))).words
    for name in HEADLINE_ORDER:
        assert text("en", f"technique.{name}.title") in words
        assert text("en", f"technique.{name}.catch") in words


def test_a_loss_says_why_and_an_idle_one_too() -> None:
    words = Words(html(draw("toggles"))).words
    why = text("en", "section.toggles.why.caching")
    assert text("en", "section.toggles.loss", why=why) in words
    assert text("en", "reason.all_dependent") in words  # parallel, after merging
    assert text("en", "reason.needs_streaming") in words  # chunking, alone


def test_steps_are_called_by_their_names() -> None:
    words = Words(html(draw("toggles"))).words
    assert "Write the answer: streams its answer" in words
    assert "contextualize" not in words


def test_the_metric_is_chosen_by_the_address() -> None:
    app = draw("toggles", query={"worth": "cost_usd"})
    assert app.segmented_control(key="worth").value == "cost_usd"
    assert "$" in Words(html(app)).words
    assert "<b>Together they save $" in html(app)


def test_what_is_emphasised_is_escaped_first() -> None:
    assert emphasised("**a < b**, or *c*") == "<b>a &lt; b</b>, or *c*"


def test_every_named_reason_belongs_to_a_technique() -> None:
    ids = {t.id for t in TECHNIQUES} | {"other"}
    keys = [k for k in catalogue()["en"] if k.startswith("section.toggles.why.")]
    assert {k.rpartition(".")[2] for k in keys} <= ids


def test_small_or_doubtful_changes_are_neither_gain_nor_loss() -> None:
    m = metric("total_s")
    assert sign(Change(-0.5, -0.6, -0.4, -0.1), m) == "gain"
    assert sign(Change(0.5, 0.4, 0.6, 0.1), m) == "loss"
    assert sign(Change(0.5, -0.1, 0.6, 0.1), m) == "none"
    assert sign(Change(0.0005, 0.0004, 0.0006, 0.0), m) == "none"
    assert sign(None, m) == "none"
    assert sign(Change(0.1, 0.05, 0.2, 0.1), metric("qoe")) == "gain"


def test_one_scale_holds_all_bars_and_zero() -> None:
    scale = Scale(gain=3.0, loss=1.0)
    assert (scale.at(-1.0), scale.zero, scale.at(3.0)) == (0.0, 0.25, 1.0)
    assert Scale(0.0, 0.0).zero == 0.0


def test_bars_of_a_better_if_higher_metric_point_to_the_gain() -> None:
    from core.compare import Gain
    from core.worth import Worth

    up = Change(0.2, 0.1, 0.3, 0.5)
    found = list(bars(Worth(Gain("streaming", up, up), None, None, None), metric("qoe"), "en"))
    assert [(b.kind, b.sign, b.saved) for b in found] == [
        ("within", "gain", 0.2),
        ("alone", "gain", 0.2),
    ]


# --- spread ---------------------------------------------------------------------------------------


def test_the_chart_uses_the_first_two_colours_of_the_theme() -> None:
    app = draw("spread")
    spec: Figure = json.loads(app.get("plotly_chart")[0].proto.spec)
    assert spec["data"][0]["line"]["color"] == BEFORE
    assert app.get("plotly_chart")[0].proto.theme == "streamlit"


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_has_its_numbers_beside_the_chart(name: str) -> None:
    app = draw("spread", query={"spread": name})
    words = Words(html(app)).words
    assert all(name in words for name in ("Median", "p95", "p99", "Failed"))
    assert ("Within 1 s" in words) == (metric(name).unit == "s")


def test_failures_are_counted_and_said() -> None:
    shown = draw("spread", "travel").caption[0].value
    assert re.search(r"Failed requests count: [1-9]\d* of 500", shown)
    assert "500 requests on seed 0" in shown
    assert text("en", "section.spread.no_failures") in draw("spread", "support").caption[0].value


# --- prompts --------------------------------------------------------------------------------------


def test_merged_calls_stand_together() -> None:
    labels = [e.label for e in draw("prompts").expander]
    assert len(labels) == 2
    assert "self\\-contained \\+ Does it need a look\\-up?" in labels[0]


def test_changes_are_marked_without_colour_too() -> None:
    source = html(draw("prompts"))
    assert "<del>" in source
    assert "<ins>" in source
    assert text("en", "section.prompts.gone_start") in source


def test_with_nothing_on_prompts_are_the_same() -> None:
    source = html(draw("prompts", techniques=()))
    assert text("en", "section.prompts.unchanged") in source
    assert source.count("<del>") == 1  # the legend's own sample


def test_a_call_that_is_not_made_says_so() -> None:
    labels = [e.label for e in draw("prompts", "travel").expander]
    assert sum(text("en", "section.prompts.not_called").rstrip(".") in x for x in labels) == 1


def test_unchanged_stretches_are_folded_and_nothing_is_lost() -> None:
    from core.prompt_diff import Piece, diff

    old = "start " + " ".join(f"w{k}" for k in range(300)) + " end"
    new = old.replace("start", "begin").replace("end", "stop")
    source = "".join(marked(diff(old, new), "en"))
    assert source.count("<details>") == 1
    bare = re.sub(r"<summary>.*?</summary>|<ins>.*?</ins>|<span.*?</span>|<[^>]+>", "", source)
    assert bare == old
    assert "".join(marked((Piece("gone", " \n"),), "en")).endswith("·↵\n</del>")


# --- graph ----------------------------------------------------------------------------------------


def test_both_plans_are_drawn_in_their_colours() -> None:
    app = draw("graph")
    assert [component(app, k)["lane"] for k in (0, 1)] == ["before", "yours"]
    assert "<title>Plan Yours" in component(app, 1)["svg"]


def test_with_nothing_on_one_plan_is_enough() -> None:
    assert len(draw("graph", techniques=()).get("bidi_component")) == 1


# --- export ---------------------------------------------------------------------------------------


def files(app: AppTest) -> dict[str, Any]:
    return {d.proto.label: d.proto for d in app.get("download_button")}


def test_files_are_made_only_when_asked_for() -> None:
    made = files(draw("export"))
    assert set(made) == {"JSON", "CSV"}
    assert all(m.deferred_file_id and not m.url for m in made.values())


def test_the_picture_is_saved_under_the_requests_name() -> None:
    app = draw("export")
    first = next(r for r in scenario("support").requests if r.lang == "en")
    assert component(app)["save"]["name"] == f"latency-support-{first.id}"


def test_the_ground_of_the_picture_can_be_dark() -> None:
    light = component(draw("export"))["svg"]
    dark = component(draw("export", query={"ground": "dark"}))["svg"]
    assert palette("light")["page"] in light
    assert palette("dark")["page"] in dark


# --- numbers and colours --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "unit", "written"),
    [
        (1.234, "s", "1.23 s"),
        (0.1, "s", "0.10 s"),
        (0.0534, "s", "53 ms"),
        (0.00532, "s", "5.3 ms"),
        (0.0, "s", "0.00 s"),
        (0.0134, "usd", "$13.40"),
        (1234.4, "tokens", "1,234"),
        (0.456, "ratio", "0.46"),
        (None, "s", "–"),
        (float("nan"), "s", "–"),
    ],
)
def test_values_are_written_with_their_unit(value: float, unit: str, written: str) -> None:
    assert amount(value, unit, "en") == written


def test_intervals_say_their_unit_once() -> None:
    assert between(0.6, 0.5, "s", "en") == "0.50–0.60 s"
    assert between(0.005, 0.0056, "s", "ko") == "5.0–5.6 ms"
    assert between(0.00141, 0.00143, "usd", "en") == "$1.41–1.43"


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.0, "0%"), (0.006, "0.6%"), (0.5, "50%"), (0.996, "99.6%"), (1, "100%")],
)
def test_shares_never_round_some_to_none(value: float, written: str) -> None:
    assert share(value) == written


@pytest.mark.parametrize(
    ("value", "written"), [(-0.5, "−50%"), (0.04, "+4%"), (0.0, "0%"), (-0.0001, "0%"), (None, "–")]
)
def test_changes_have_a_sign(value: float | None, written: str) -> None:
    assert signed_share(value) == written


def test_every_role_has_its_colour_in_both_schemes() -> None:
    for scheme in ("light", "dark"):
        colors = palette(scheme)
        assert set(ROLES) <= set(colors)
        assert len({colors[r] for r in ROLES}) == len(ROLES)

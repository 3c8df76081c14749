from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.compare import typical
from core.lettering import safe, shortened, width, wrapped
from core.metrics import Reader
from core.picture import WIDTH_PX, Paint, Words, picture, ticks
from core.profiles import setting
from core.replay import Lane, lane
from core.request import Request
from core.scenarios import Scenario, scenario
from core.techniques import HEADLINE_ORDER, choose

SVG = "{http://www.w3.org/2000/svg}"
PAINT = Paint("#ffffff", "#111111", "#555555", "#dddddd", "#b42318", "#64748b", "#0a7f68")
TEXTS = {
    "seen": "What the user sees",
    "in_s": "{value} s",
    "mark_first_visible_s": "First words",
    "mark_done_s": "Complete",
    "mark_total_s": "Done",
    "step_skipped": "skipped",
    "step_cached": "from cache",
    "step_failed": "failed",
    "step_cancelled": "cancelled",
}


def words(title: str = "Title", texts: Mapping[str, str] = TEXTS) -> Words:
    return Words(title, "Sub", (("Before", "none"), ("Yours", "all")), ("Foot",), texts)


def lanes(base: Scenario, request: Request, *, repeated: bool = False) -> tuple[Lane, Lane]:
    found = typical(base, request, choose(HEADLINE_ORDER), setting(), repeated=repeated)
    before, after = (lane(t, base, "en", Reader()) for t in (found.before, found.after))
    return before, after


@pytest.fixture(scope="module")
def support() -> tuple[Lane, Lane]:
    base = scenario("support")
    return lanes(base, base.requests[0])


def parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314  what is parsed was drawn here


def drawn(before: Lane, after: Lane, said: Words | None = None) -> ET.Element:
    return parsed(picture(before, after, said or words(), PAINT))


def texts(root: ET.Element) -> list[str]:
    return [t.text or "" for t in root.iter(f"{SVG}text")]


def test_it_is_one_file_that_needs_nothing_else(support: tuple[Lane, Lane]) -> None:
    source = picture(*support, words(), PAINT)
    assert not re.search(r"href|url\(|@import|var\(|<image|<script", source)
    assert source.count("http") == source.count("http://www.w3.org/2000/svg") == 1


def test_every_step_of_both_sides_has_its_row(support: tuple[Lane, Lane]) -> None:
    root = drawn(*support)
    labels = [s["label"] for one in support for s in one["steps"]]
    shown = texts(root)
    for label in labels:
        assert any(t.rstrip("…") and label.startswith(t.rstrip("…")) for t in shown)
    assert float(root.get("width", "0")) == WIDTH_PX


def test_both_sides_share_one_axis(support: tuple[Lane, Lane]) -> None:
    """A bar's length in pixels is its seconds at the same scale above and below."""
    before, after = support
    root = drawn(before, after)
    end = max(s["end_s"] for s in before["steps"])
    span = next(s for s in after["steps"] if s["id"] == "search_docs")
    room = 1200 - 32 - 292 - 32 - 64
    wanted = (span["end_s"] - span["start_s"]) / end * room
    rects = [
        float(r.get("width", "0"))
        for r in root.iter(f"{SVG}rect")
        if r.get("fill") == PAINT.after and r.get("height") == "12"
    ]
    # The bar is its silent part and its cap of 3 px.
    assert any(abs(w + 3 - wanted) < 0.2 for w in rects)


def test_milestones_at_one_moment_share_a_flag(support: tuple[Lane, Lane]) -> None:
    before, after = support
    shown = texts(drawn(before, after))
    total = before["marks"]["total_s"]
    assert f"First words, Complete, Done {total:.2f} s" in shown
    first = after["marks"]["first_visible_s"]
    assert f"First words {first:.2f} s" in shown


def test_flags_do_not_cover_each_other(support: tuple[Lane, Lane]) -> None:
    before, after = support
    after = {
        **after,
        "marks": {**after["marks"], "first_visible_s": 3.0, "done_s": 3.02, "total_s": 3.05},
    }
    root = drawn(before, after)
    flags = [t for t in root.iter(f"{SVG}text") if re.search(r" 3\.0\d s$", t.text or "")]
    spans = sorted(
        (
            float(t.get("x", "0")) - width(t.text or "", 12) / 2,
            float(t.get("x", "0")) + width(t.text or "", 12) / 2,
        )
        for t in flags
    )
    assert len(spans) == 3
    assert all(b[0] >= a[1] for a, b in itertools.pairwise(spans))


def test_outcomes_are_said_and_drawn() -> None:
    base = scenario("support")
    repeated = lanes(base, base.requests[0], repeated=True)
    root = drawn(*repeated)
    kinds = [r.get("class") for r in root.iter(f"{SVG}rect") if r.get("class")]
    assert "cached" in kinds
    assert kinds.count("skipped") == texts(root).count("skipped") > 0


def test_an_answer_that_never_came_has_no_flags(support: tuple[Lane, Lane]) -> None:
    before, after = support
    none = {**after, "marks": dict.fromkeys(after["marks"], None)}
    shown = texts(drawn(before, none))
    assert sum(t.startswith("First words") for t in shown) == 1


def test_what_somebody_wrote_stays_text(support: tuple[Lane, Lane]) -> None:
    said = words("</title><script>alert(1)</script>\x07")
    root = drawn(*support, said)
    assert not list(root.iter(f"{SVG}script"))
    assert root.findtext(f"{SVG}title") == "</title><script>alert(1)</script>"


@pytest.mark.parametrize(
    ("end", "found"),
    [
        (7.9, (0, 1, 2, 3, 4, 5, 6, 7)),
        (8.1, (0, 2, 4, 6, 8)),
        (0.35, (0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35)),
        (40, (0, 5, 10, 15, 20, 25, 30, 35, 40)),
    ],
)
def test_the_axis_has_round_values(end: float, found: tuple[float, ...]) -> None:
    assert ticks(end) == found


@given(st.floats(1e-4, 1e5))
def test_the_axis_has_a_few_values_up_to_its_end(end: float) -> None:
    found = ticks(end)
    assert found[0] == 0
    assert 4 <= len(found) <= 9
    assert found[-1] <= end * (1 + 1e-6)


# --- lettering ------------------------------------------------------------------------------------


def test_hangul_is_twice_as_wide_as_latin() -> None:
    assert width("가나다", 10) == pytest.approx(28.8)
    assert width("abc", 10) == pytest.approx(15.0)
    assert width("", 10) == 0


@given(st.text(max_size=60), st.integers(20, 200))
def test_shortened_text_fits_and_is_a_beginning(text: str, room: int) -> None:
    short = shortened(text, 12, room)
    assert width(short, 12) <= room or short == "…"
    assert short == text or text.startswith(short[:-1])


def test_lines_break_between_words_and_the_last_takes_the_rest() -> None:
    assert wrapped("one two three four", 10, 40, 2) == ("one two", "three fo…")
    assert wrapped("one two", 10, 40, 3) == ("one two",)
    assert wrapped("", 10, 40, 3) == ()


@given(st.text())
def test_safe_text_survives_a_parser(text: str) -> None:
    found = parsed(f'<a b="{safe(text)}">{safe(text)}</a>')
    kept = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]", "", text)
    assert (found.text or "") == kept.replace("\r\n", "\n").replace("\r", "\n")

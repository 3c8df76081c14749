"""The comparison as one picture to take away: both plans as waterfalls on one axis, as an SVG file.

The file needs nothing beside itself: colours are written in, fonts are those of whoever opens it.
Bars are light while a step is silent and solid while its output flows, at least at their very end;
outcomes have patterns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from core.lettering import FONTS, safe, shortened, width, wrapped
from core.replay import Lane, StepSpan

WIDTH_PX = 1200.0
MARGIN_PX, LABELS_PX, TAIL_PX = 32.0, 292.0, 64.0
TITLE_PX, TEXT_PX, SMALL_PX = 22.0, 13.0, 12.0
HEAD_PX, ROW_PX, BAR_PX, SEEN_PX = 44.0, 24.0, 12.0, 34.0
LANE_GAP_PX, AXIS_PX, FOOT_LINE_PX = 22.0, 26.0, 18.0
TICKS = 8
SHORTEST_BAR_PX, CAP_PX = 2.0, 3.0
SILENT, ASIDE = 0.36, 0.6
"""Opacity of a step that is silent, and of one that is not on the critical path."""

MARKED = ("first_visible_s", "done_s", "total_s")
"""The milestones drawn as flags, in the order in which they come."""


@dataclass(frozen=True, slots=True)
class Paint:
    """The colours of a picture: page, text, quiet text, lines, warnings, and one for each lane."""

    page: str
    ink: str
    quiet: str
    line: str
    bad: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Words:
    """What is written: `lanes` are the two names with what is on, `foot` says where it is from.

    `texts` holds `seen`, `axis`, `in_s`, `critical`, and `mark_<id>`, `step_<state>` as they occur.
    """

    title: str
    subtitle: str
    lanes: tuple[tuple[str, str], tuple[str, str]]
    foot: tuple[str, ...]
    texts: Mapping[str, str]

    def seconds(self, value: float) -> str:
        """Return a time in the reader's language."""
        return self.texts["in_s"].format(value=f"{value:.2f}")


@dataclass(frozen=True, slots=True)
class _Axis:
    """Seconds to pixels."""

    end_s: float

    @property
    def left(self) -> float:
        return MARGIN_PX + LABELS_PX

    @property
    def right(self) -> float:
        return WIDTH_PX - MARGIN_PX - TAIL_PX

    def at(self, seconds: float) -> float:
        share = min(max(seconds / self.end_s, 0.0), 1.0)
        return self.left + share * (self.right - self.left)


def picture(before: Lane, after: Lane, words: Words, paint: Paint) -> str:
    """Both lanes as an SVG file."""
    lanes = (before, after)
    axis = _Axis(_end(lanes))
    body: list[str] = []
    y = MARGIN_PX
    head = _head(words, y)
    body += head
    y += 66.0
    top = y
    for lane, (name, on), color in zip(
        lanes, words.lanes, (paint.before, paint.after), strict=True
    ):
        body += _lane(lane, name, on, color, axis, words, y)
        y += HEAD_PX + SEEN_PX + ROW_PX * len(lane["steps"]) + LANE_GAP_PX
    grid = _grid(axis, words, top, y - LANE_GAP_PX + 4)
    y += AXIS_PX
    body += _foot(words, y)
    height = y + FOOT_LINE_PX * (len(words.foot) + 1) + MARGIN_PX - FOOT_LINE_PX
    return "".join((_open(height, words, paint), *grid, *body, "</svg>"))


def _end(lanes: Sequence[Lane]) -> float:
    """Return the end of the axis: of all work and of all that is seen."""
    ends = [s["end_s"] for lane in lanes for s in lane["steps"]]
    ends += [lane["marks"][m] or 0.0 for lane in lanes for m in MARKED]
    return max(ends, default=0.0) or 1.0


def _open(height: float, words: Words, paint: Paint) -> str:
    style = (
        f"svg{{font:400 {TEXT_PX:g}px {FONTS};font-variant-numeric:tabular-nums}}"
        f"text{{fill:{paint.ink}}}.quiet{{fill:{paint.quiet}}}.small{{font-size:{SMALL_PX:g}px}}"
        f".strong{{font-weight:650}}.line{{stroke:{paint.line};stroke-width:1}}"
        f".halo{{stroke:{paint.page};stroke-width:4;paint-order:stroke;stroke-linejoin:round}}"
        f".bad{{stroke:{paint.bad};fill:none;stroke-width:1.8}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH_PX:g}" height="{height:.0f}" '
        f'viewBox="0 0 {WIDTH_PX:g} {height:.0f}" role="img"><title>{safe(words.title)}</title>'
        f"<desc>{safe(words.subtitle)}</desc><style>{style}</style>"
        f'<rect width="100%" height="100%" fill="{paint.page}"/>'
    )


def _text(x: float, y: float, text: str, *, kind: str = "", anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{safe(text)}</text>'
    )


def _head(words: Words, y: float) -> list[str]:
    room = WIDTH_PX - 2 * MARGIN_PX
    title = shortened(words.title, TITLE_PX, room)
    return [
        f'<text x="{MARGIN_PX:g}" y="{y + 17:g}" font-size="{TITLE_PX:g}" '
        f'font-weight="700">{safe(title)}</text>',
        _text(MARGIN_PX, y + 42, shortened(words.subtitle, TEXT_PX, room), kind="quiet"),
    ]


def _grid(axis: _Axis, words: Words, top: float, bottom: float) -> list[str]:
    """Lines through both lanes with their seconds below."""
    found = []
    for tick in ticks(axis.end_s):
        x = axis.at(tick)
        label = words.texts["in_s"].format(value=f"{tick:g}")
        found.append(f'<path class="line" d="M{x:.1f} {top:.1f}V{bottom:.1f}"/>')
        found.append(_text(x, bottom + 17, label, kind="quiet small", anchor="middle"))
    return found


def ticks(end: float, most: int = TICKS) -> tuple[float, ...]:
    """Round values from 0 to at most `end`, a few of them: steps of 1, 2 or 5 times a power of ten."""
    rough = end / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(f * power for f in (1, 2, 5, 10) if f * power >= rough)
    return tuple(round(k * step, 10) for k in range(int(end / step + 1e-9) + 1))


def _lane(
    lane: Lane, name: str, on: str, color: str, axis: _Axis, words: Words, y: float
) -> Iterator[str]:
    end = MARGIN_PX + 18 + width(name, TEXT_PX + 2)
    yield f'<rect x="{MARGIN_PX:g}" y="{y + 12:g}" width="11" height="11" rx="2.5" fill="{color}"/>'
    yield (
        f'<text x="{MARGIN_PX + 18:g}" y="{y + 22:g}" font-size="{TEXT_PX + 2:g}" '
        f'class="strong halo">{safe(name)}</text>'
    )
    room = WIDTH_PX - 2 * MARGIN_PX - (end - MARGIN_PX) - 10
    yield _text(end + 10, y + 22, shortened(on, TEXT_PX, room), kind="quiet halo")
    y += HEAD_PX
    yield from _seen(lane, color, axis, words, y)
    y += SEEN_PX
    for row, span in enumerate(lane["steps"]):
        yield from _step(span, color, axis, words, y + row * ROW_PX)


def _seen(lane: Lane, color: str, axis: _Axis, words: Words, y: float) -> Iterator[str]:
    """Yield what the person sees: nothing, a reaction, the answer growing; flags at the milestones."""
    marks = lane["marks"]
    middle = y + 18
    label = words.texts["seen"]
    yield _text(MARGIN_PX + 18, middle + 4.5, label, kind="strong")
    total, first, done = marks["total_s"], marks["first_visible_s"], marks["done_s"]
    if total is None or first is None or done is None:
        return
    ack = min(marks["ack_s"] if marks["ack_s"] is not None else first, first)
    yield _bar(axis.left, axis.at(ack), middle, 1.5, color, 0.6)
    yield _bar(axis.at(ack), axis.at(first), middle, BAR_PX, color, 0.32)
    yield _bar(axis.at(first), axis.at(done), middle, BAR_PX, color, 1.0)
    yield _bar(axis.at(done), axis.at(total), middle, 1.5, color, 0.6)
    for key, x, text in _flags(marks, axis, words):
        yield f'<path d="M{axis.at(marks[key] or 0):.1f} {middle - 10:.1f}v20" stroke="{color}" stroke-width="2"/>'
        yield _text(x, middle - 14, text, kind="small strong halo", anchor="middle")


def _flags(
    marks: Mapping[str, float | None], axis: _Axis, words: Words
) -> Iterator[tuple[str, float, str]]:
    """Each milestone once with its name and time, moved right where it would cover the last one."""
    taken = 0.0
    named: dict[float, list[str]] = {}
    for key in MARKED:
        value = marks[key]
        if value is not None:
            named.setdefault(round(value, 2), []).append(key)
    for value, keys in named.items():
        what = ", ".join(words.texts[f"mark_{k}"] for k in keys)
        text = f"{what} {words.seconds(value)}"
        half = width(text, SMALL_PX) / 2
        x = min(max(axis.at(value), taken + half), WIDTH_PX - MARGIN_PX - half)
        taken = x + half + 12
        yield keys[-1], x, text


def _bar(x0: float, x1: float, middle: float, high: float, color: str, opacity: float) -> str:
    if x1 <= x0:
        return ""
    return (
        f'<rect x="{x0:.1f}" y="{middle - high / 2:.1f}" width="{x1 - x0:.1f}" '
        f'height="{high:g}" fill="{color}" opacity="{opacity:g}"/>'
    )


def _step(span: StepSpan, color: str, axis: _Axis, words: Words, y: float) -> Iterator[str]:
    middle = y + ROW_PX / 2
    weight = "strong" if span["critical"] else "quiet"
    label = shortened(span["label"], TEXT_PX, LABELS_PX - 34)
    yield _text(MARGIN_PX + 18, middle + 4.5, label, kind=weight)
    x0 = axis.at(span["start_s"])
    x1 = max(axis.at(span["end_s"]), x0 + SHORTEST_BAR_PX)
    state = span["state"]
    if state == "skipped":
        yield _outline(x0, x0 + 20, middle, f'fill="none" stroke="{color}" stroke-dasharray="3 2.5"')
        x1 = x0 + 20
    else:
        yield from _spell(span, color, axis, middle, x1)
    if state == "cached":
        yield _outline(x0, x1, middle, f'fill="none" stroke="{color}"')
    if state == "failed":
        yield _outline(x0, x1, middle, 'class="bad"')
    yield _text(x1 + 6, middle + 4, _outcome(span, words), kind="small quiet halo")


def _spell(
    span: StepSpan, color: str, axis: _Axis, middle: float, x1: float
) -> Iterator[str]:
    """Yield waiting for its turn, then silence, then output."""
    x0, first = axis.at(span["start_s"]), span["first_s"]
    yield _bar(axis.at(span["ready_s"]), x0, middle, 1.5, color, 0.6)
    faint = 1.0 if span["critical"] else ASIDE
    flowing = first is not None and span["kind"] == "llm" and first < span["end_s"]
    turn = axis.at(first) if first is not None and flowing else x1
    yield _bar(x0, turn, middle, BAR_PX, color, SILENT * faint)
    yield _bar(turn if flowing else max(x0, x1 - CAP_PX), x1, middle, BAR_PX, color, faint)


def _outline(x0: float, x1: float, middle: float, paint: str) -> str:
    return (
        f'<rect x="{x0:.1f}" y="{middle - BAR_PX / 2:.1f}" width="{x1 - x0:.1f}" '
        f'height="{BAR_PX:g}" {paint}/>'
    )


def _outcome(span: StepSpan, words: Words) -> str:
    took = words.seconds(span["end_s"] - span["start_s"])
    if span["state"] == "ran":
        return took
    name = words.texts[f"step_{span['state']}"]
    return name if span["state"] == "skipped" else f"{took}, {name}"


def _foot(words: Words, y: float) -> list[str]:
    room = WIDTH_PX - 2 * MARGIN_PX
    lines = [line for text in words.foot for line in wrapped(text, SMALL_PX, room, 2)]
    return [
        _text(MARGIN_PX, y + FOOT_LINE_PX * (k + 1), line, kind="quiet small")
        for k, line in enumerate(lines)
    ]

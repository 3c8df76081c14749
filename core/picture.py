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
MARGIN_PX, LABELS_PX, TAIL_PX, INDENT_PX = 32.0, 292.0, 64.0, 18.0
TITLE_PX, NAME_PX, TEXT_PX, SMALL_PX = 22.0, 15.0, 13.0, 12.0
TOP_PX, HEAD_PX, SEEN_PX, ROW_PX, GAP_PX = 66.0, 44.0, 34.0, 24.0, 22.0
AXIS_PX, FOOT_LINE_PX = 26.0, 18.0
BAR_PX, THREAD_PX, CAP_PX, SKIPPED_PX = 12.0, 1.5, 3.0, 20.0
SHORTEST_PX = 2.0
TICKS = 8
SILENT, ASIDE, THREAD = 0.36, 0.6, 0.6
"""Opacity of a silent step, of one beside the critical path, of a line where nothing happens."""

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

    `texts` holds `seen`, `in_s`, `mark_<milestone>` and `step_<state>`.
    """

    title: str
    subtitle: str
    lanes: tuple[tuple[str, str], tuple[str, str]]
    foot: tuple[str, ...]
    texts: Mapping[str, str]

    def seconds(self, value: str | float) -> str:
        """Return a time in the reader's language."""
        written = value if isinstance(value, str) else f"{value:.2f}"
        return self.texts["in_s"].format(value=written)


@dataclass(frozen=True, slots=True)
class _Axis:
    """Seconds to pixels."""

    end_s: float

    def at(self, seconds: float) -> float:
        left, right = MARGIN_PX + LABELS_PX, WIDTH_PX - MARGIN_PX - TAIL_PX
        return left + min(max(seconds / self.end_s, 0.0), 1.0) * (right - left)


def picture(before: Lane, after: Lane, words: Words, paint: Paint) -> str:
    """Return both lanes as an SVG file."""
    lanes = (before, after)
    axis = _Axis(_end(lanes))
    top = y = MARGIN_PX + TOP_PX
    body: list[str] = []
    for lane, name, color in zip(lanes, words.lanes, (paint.before, paint.after), strict=True):
        body += _Drawn(lane, color, axis, words).all(name, y)
        y += HEAD_PX + SEEN_PX + ROW_PX * len(lane["steps"]) + GAP_PX
    grid = _grid(axis, words, top, y - GAP_PX + 4)
    y += AXIS_PX
    foot = [line for t in words.foot for line in wrapped(t, SMALL_PX, WIDTH_PX - 2 * MARGIN_PX, 2)]
    height = y + FOOT_LINE_PX * len(foot) + MARGIN_PX
    return "".join(
        (
            _open(height, words, paint),
            *_head(words),
            *grid,
            *body,
            *(
                _text(MARGIN_PX, y + FOOT_LINE_PX * k, line, "quiet small")
                for k, line in enumerate(foot, start=1)
            ),
            "</svg>",
        )
    )


def _end(lanes: Sequence[Lane]) -> float:
    """Return the end of the axis: of all work and of all that is seen."""
    ends = [s["end_s"] for lane in lanes for s in lane["steps"]]
    ends += [lane["marks"][m] or 0.0 for lane in lanes for m in MARKED]
    return max(ends, default=0.0) or 1.0


def ticks(end: float, most: int = TICKS) -> tuple[float, ...]:
    """Return a few round values from 0 to `end`: in steps of 1, 2 or 5 times a power of ten."""
    rough = end / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(f * power for f in (1, 2, 5, 10) if f * power >= rough)
    return tuple(round(k * step, 10) for k in range(int(end / step + 1e-9) + 1))


def _open(height: float, words: Words, paint: Paint) -> str:
    style = (
        f"svg{{font:400 {TEXT_PX:g}px {FONTS};font-variant-numeric:tabular-nums}}"
        f"text{{fill:{paint.ink}}}.quiet{{fill:{paint.quiet}}}.small{{font-size:{SMALL_PX:g}px}}"
        f".strong{{font-weight:650}}.name{{font-size:{NAME_PX:g}px}}"
        f".title{{font-size:{TITLE_PX:g}px;font-weight:700}}"
        f".line{{stroke:{paint.line};stroke-width:1}}"
        f".halo{{stroke:{paint.page};stroke-width:4;paint-order:stroke;stroke-linejoin:round}}"
        f".failed{{stroke:{paint.bad};stroke-width:1.8}}.skipped{{stroke-dasharray:3 2.5}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH_PX:g}" height="{height:.0f}" '
        f'viewBox="0 0 {WIDTH_PX:g} {height:.0f}" role="img"><title>{safe(words.title)}</title>'
        f"<desc>{safe(words.subtitle)}</desc><style>{style}</style>"
        f'<rect width="100%" height="100%" fill="{paint.page}"/>'
    )


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{safe(text)}</text>'
    )


def _head(words: Words) -> Iterator[str]:
    room = WIDTH_PX - 2 * MARGIN_PX
    yield _text(MARGIN_PX, MARGIN_PX + 17, shortened(words.title, TITLE_PX, room), "title")
    yield _text(MARGIN_PX, MARGIN_PX + 42, shortened(words.subtitle, TEXT_PX, room), "quiet")


def _grid(axis: _Axis, words: Words, top: float, bottom: float) -> Iterator[str]:
    """Yield lines through both lanes with their seconds below."""
    for tick in ticks(axis.end_s):
        x = axis.at(tick)
        yield f'<path class="line" d="M{x:.1f} {top:.1f}V{bottom:.1f}"/>'
        yield _text(x, bottom + 17, words.seconds(f"{tick:g}"), "quiet small", "middle")


@dataclass(frozen=True, slots=True)
class _Drawn:
    """One lane on the axis, in its colour."""

    lane: Lane
    color: str
    axis: _Axis
    words: Words

    def all(self, name: tuple[str, str], y: float) -> Iterator[str]:
        """Yield the lane from its name to its last step."""
        title, on = name
        left = MARGIN_PX + INDENT_PX
        end = left + width(title, NAME_PX) + 10
        yield (
            f'<rect x="{MARGIN_PX:g}" y="{y + 12:g}" width="11" height="11" rx="2.5" '
            f'fill="{self.color}"/>'
        )
        yield _text(left, y + 22, title, "strong name halo")
        yield _text(end, y + 22, shortened(on, TEXT_PX, WIDTH_PX - MARGIN_PX - end), "quiet halo")
        yield from self.seen(y + HEAD_PX + 18)
        for row, span in enumerate(self.lane["steps"]):
            yield from self.step(span, y + HEAD_PX + SEEN_PX + ROW_PX * (row + 0.5))

    def seen(self, middle: float) -> Iterator[str]:
        """Yield what the person sees: nothing, a reaction, the answer growing; and flags."""
        marks, at = self.lane["marks"], self.axis.at
        yield _text(MARGIN_PX + INDENT_PX, middle + 4.5, self.words.texts["seen"], "strong")
        total, first, done = (marks[m] for m in ("total_s", "first_visible_s", "done_s"))
        if total is None or first is None or done is None:
            return
        ack = min(marks["ack_s"] if marks["ack_s"] is not None else first, first)
        yield self.bar(at(0.0), at(ack), middle, THREAD, THREAD_PX)
        yield self.bar(at(ack), at(first), middle, SILENT)
        yield self.bar(at(first), at(done), middle, 1.0)
        yield self.bar(at(done), at(total), middle, THREAD, THREAD_PX)
        for value, x, text in self.flags():
            line = f"M{at(value):.1f} {middle - 10:.1f}v20"
            yield f'<path d="{line}" stroke="{self.color}" stroke-width="2"/>'
            yield _text(x, middle - 14, text, "small strong halo", "middle")

    def flags(self) -> Iterator[tuple[float, float, str]]:
        """Yield each milestone once, its words moved right where they would cover the last ones."""
        named: dict[float, list[str]] = {}
        for key in MARKED:
            value = self.lane["marks"][key]
            if value is not None:
                named.setdefault(round(value, 2), []).append(self.words.texts[f"mark_{key}"])
        taken = 0.0
        for value, names in named.items():
            text = f"{', '.join(names)} {self.words.seconds(value)}"
            half = width(text, SMALL_PX) / 2
            x = min(max(self.axis.at(value), taken + half), WIDTH_PX - MARGIN_PX - half)
            taken = x + half + 12
            yield value, x, text

    def step(self, span: StepSpan, middle: float) -> Iterator[str]:
        """Yield one step: its name, its bar, how long it took or what became of it."""
        label = shortened(span["label"], TEXT_PX, LABELS_PX - INDENT_PX - 16)
        weight = "strong" if span["critical"] else "quiet"
        yield _text(MARGIN_PX + INDENT_PX, middle + 4.5, label, weight)
        x0 = self.axis.at(span["start_s"])
        skipped = span["state"] == "skipped"
        end = x0 + SKIPPED_PX if skipped else self.axis.at(span["end_s"])
        x1 = max(end, x0 + SHORTEST_PX)
        if not skipped:
            yield from self.spell(span, middle, x1)
        if span["state"] != "ran":
            yield (
                f'<rect x="{x0:.1f}" y="{middle - BAR_PX / 2:.1f}" width="{x1 - x0:.1f}" '
                f'height="{BAR_PX:g}" fill="none" stroke="{self.color}" class="{span["state"]}"/>'
            )
        yield _text(x1 + 6, middle + 4, self.outcome(span), "small quiet halo")

    def spell(self, span: StepSpan, middle: float, x1: float) -> Iterator[str]:
        """Yield its wait for its turn, its silence, and its output."""
        x0, first = self.axis.at(span["start_s"]), span["first_s"]
        yield self.bar(self.axis.at(span["ready_s"]), x0, middle, THREAD, THREAD_PX)
        flows = span["kind"] == "llm" and first is not None and first < span["end_s"]
        turn = self.axis.at(first) if flows and first is not None else max(x0, x1 - CAP_PX)
        strength = 1.0 if span["critical"] else ASIDE
        yield self.bar(x0, turn, middle, SILENT * strength)
        yield self.bar(turn, x1, middle, strength)

    def bar(self, x0: float, x1: float, middle: float, opacity: float, high: float = BAR_PX) -> str:
        """Return a bar in the lane's colour; nothing where it has no length."""
        if x1 <= x0:
            return ""
        return (
            f'<rect x="{x0:.1f}" y="{middle - high / 2:.1f}" width="{x1 - x0:.1f}" '
            f'height="{high:g}" fill="{self.color}" opacity="{opacity:g}"/>'
        )

    def outcome(self, span: StepSpan) -> str:
        """Return how long a step took, or what became of it."""
        took = self.words.seconds(span["end_s"] - span["start_s"])
        if span["state"] == "ran":
            return took
        name = self.words.texts[f"step_{span['state']}"]
        return name if span["state"] == "skipped" else f"{took}, {name}"

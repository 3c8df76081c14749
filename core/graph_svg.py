"""A plan as a picture: steps in rows, what each one waits for, and which chain decides the end.

The SVG needs nothing beside itself. Its colours are CSS variables with fallbacks for a white page
(`--fg`, `--bg`, `--lane`, `--kind-<kind>`), so the page that shows it lends it the theme's. Nothing
is told by colour alone: a kind has an icon and a name, an edge a pattern.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from core.graph import Link, Run, Words, described, kind_name, links, marks
from core.layered import Box, Layout, Point, layered
from core.lettering import FONTS, safe, shortened, width, wrapped
from core.plan import Plan, Step
from core.timeline import State

ICONS: Mapping[str, str] = {
    "llm": "M2.4 3.2h11.2v7.4H8.2l-3.3 2.6v-2.6H2.4z",
    "embed": "M5 2.8H2.8v10.4H5M11 2.8h2.2v10.4H11M6.2 8h.01M9.8 8h.01",
    "search": "M7 2.6a4.4 4.4 0 1 1 0 8.8 4.4 4.4 0 0 1 0-8.8M10.3 10.3l3.3 3.3",
    "rerank": "M2.6 4h10.8M2.6 8h7.2M2.6 12h3.6",
    "fetch": "M8 2.4v7.4M4.7 6.6 8 9.9l3.3-3.3M2.8 13.2h10.4",
    "compute": "M4.6 4.6h6.8v6.8H4.6zM6.4 2.2v2.4M9.6 2.2v2.4M6.4 11.4v2.4M9.6 11.4v2.4"
    "M2.2 6.4h2.4M2.2 9.6h2.4M11.4 6.4h2.4M11.4 9.6h2.4",
    "show": "M1.6 8S4 3.9 8 3.9 14.4 8 14.4 8 12 12.1 8 12.1 1.6 8 1.6 8z"
    "M8 6.3a1.7 1.7 0 1 1 0 3.4 1.7 1.7 0 0 1 0-3.4",
}
"""One for each kind of step, as everywhere in the app: strokes on a 16 x 16 grid."""

_COLORS: Mapping[str, str] = {
    "llm": "#7c5cf0",
    "embed": "#9a6200",
    "search": "#2f6fc4",
    "rerank": "#b07c58",
    "fetch": "#b01530",
    "compute": "#74902a",
    "show": "#7a2d6e",
}

BOX_PX, PAD_PX, ICON_PX = 228.0, 11.0, 16.0
LABEL_PX, SMALL_PX, CHIP_PX = 13.0, 11.5, 11.0
LABEL_LINE_PX, SMALL_LINE_PX, CHIP_LINE_PX = 17.0, 17.0, 20.0
LABEL_LINES = 3
GAP_X_PX, GAP_Y_PX, MARGIN_PX = 22.0, 34.0, 8.0
ARROW_PX = 8.0

_STYLE = f"""
svg{{font:400 {SMALL_PX}px {FONTS};font-variant-numeric:tabular-nums}}
text{{fill:var(--fg,#1b2430)}}
.box{{fill:var(--surface,#fff);stroke:var(--line,#c3ccd8);stroke-width:1.2}}
.band,.icon{{stroke:var(--kind);fill:none}}.band{{stroke-width:4;stroke-linecap:round}}
.icon{{stroke-width:1.5;stroke-linecap:round;stroke-linejoin:round}}
.label{{font-size:{LABEL_PX}px;font-weight:600}}.quiet{{fill:var(--mute,#5b6676)}}
.chip rect{{fill:none;stroke:var(--line,#c3ccd8)}}.chip text{{font-size:{CHIP_PX}px}}
.chip .sign{{fill:var(--mute,#5b6676);stroke:none}}
.edge{{fill:none;stroke:var(--mute,#5b6676);stroke-width:1.5}}
.head,.sign{{fill:var(--mute,#5b6676)}}
.order .edge{{stroke-dasharray:5 4}}
.stream .edge{{stroke-width:5.5}}.stream .bore{{fill:none;stroke:var(--bg,#fff);stroke-width:2.5}}
.critical .edge{{stroke:var(--lane,#0a7f68);stroke-width:2.8}}
.critical.stream .edge{{stroke-width:6.5}}
.critical .head,.critical>.sign{{fill:var(--lane,#0a7f68)}}
.critical .box{{stroke:var(--lane,#0a7f68);stroke-width:2.4}}
.skipped .box{{stroke-dasharray:4 3}}.skipped{{opacity:.62}}
""" + "".join(f".k-{kind}{{--kind:var(--kind-{kind},{color})}}" for kind, color in _COLORS.items())


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture as SVG, and its width in pixels."""

    svg: str
    width: float


def graph(plan: Plan, words: Words, run: Run | None = None) -> Drawing:
    """Return the plan drawn; with a run also its seconds, its outcomes and its critical path."""
    nodes = {s.id: _Node(plan, s, words, run) for s in plan.steps}
    edges = links(plan)
    layout = layered(
        [Box(n.step.id, BOX_PX, n.height) for n in nodes.values()],
        [(e.source, e.target) for e in edges],
        gap_x=GAP_X_PX,
        gap_y=GAP_Y_PX,
    )
    wide, high = layout.width + 2 * MARGIN_PX, layout.height + 2 * MARGIN_PX
    svg = "".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high:.0f}" ',
            f'width="{wide:.0f}" height="{high:.0f}" role="img">',
            f"<title>{safe(words.title)}</title><desc>{safe(described(plan, words, run))}</desc>",
            f"<style>{_STYLE}</style>",
            f'<g transform="translate({MARGIN_PX:g} {MARGIN_PX:g})">',
            *(_arrow(e, layout, run) for e in sorted(edges, key=lambda e: _critical(e, run))),
            *(nodes[i].drawn(at) for i, at in layout.places.items()),
            "</g></svg>",
        )
    )
    return Drawing(svg, wide)


def _critical(link: Link, run: Run | None) -> bool:
    """Whether the chain that decides the end runs along this link."""
    if run is None:
        return False
    return (link.source, link.target) in zip(run.critical, run.critical[1:], strict=False)


def _arrow(link: Link, layout: Layout, run: Run | None) -> str:
    points = layout.routes[link.source, link.target]
    names = {
        "order": not link.data,
        "stream": link.streams,
        "critical": _critical(link, run),
    }
    kinds = " ".join(["link", *(n for n, yes in names.items() if yes)])
    (x, y), line = points[-1], _line(points)
    bore = f'<path class="bore" d="{line}"/>' if link.streams else ""
    (sx, sy) = points[0]
    sign = f'<path class="sign" d="{_diamond(sx, sy + 5, 5)}"/>' if link.decides else ""
    head = f"M{x - 5:.1f} {y - ARROW_PX:.1f}h10l-5 {ARROW_PX:g}z"
    return (
        f'<g class="{kinds}"><path class="edge" d="{line}"/>{bore}{sign}'
        f'<path class="head" d="{head}"/></g>'
    )


def _line(points: Sequence[Point]) -> str:
    """Down through the points: straight through a row, in a bend from row to row."""
    (x, y), *rest = points
    rest[-1] = (rest[-1][0], rest[-1][1] - ARROW_PX + 1)
    path = [f"M{x:.1f} {y:.1f}"]
    for nx, ny in rest:
        if nx == x:
            path.append(f"V{ny:.1f}")
        else:
            middle = (y + ny) / 2
            path.append(f"C{x:.1f} {middle:.1f} {nx:.1f} {middle:.1f} {nx:.1f} {ny:.1f}")
        x, y = nx, ny
    return "".join(path)


def _diamond(x: float, y: float, r: float) -> str:
    return f"M{x:.1f} {y - r:.1f}l{r:g} {r:g}l-{r:g} {r:g}l-{r:g} -{r:g}z"


class _Node:
    """One step's box: icon, label, kind and time, marks."""

    def __init__(self, plan: Plan, step: Step, words: Words, run: Run | None) -> None:
        self.step = step
        room = BOX_PX - 3 * PAD_PX - ICON_PX
        self.label = wrapped(words.steps[step.id], LABEL_PX, room, LABEL_LINES)
        self.kind = kind_name(step, words)
        self.state = run.state[step.id] if run is not None else State.RAN
        self.critical = run is not None and step.id in run.critical
        self.time = "" if run is None else _outcome(self.state, run.seconds[step.id], words)
        self.chips = tuple(_rows_of_chips(marks(plan, step, words)))
        self.height = (
            2 * PAD_PX
            - 3
            + len(self.label) * LABEL_LINE_PX
            + SMALL_LINE_PX
            + len(self.chips) * CHIP_LINE_PX
            + (3 if self.chips else 0)
        )

    def drawn(self, at: Point) -> str:
        """Return the box with its top middle at this point."""
        x, y = at[0] - BOX_PX / 2, at[1]
        skipped = self.state in (State.SKIPPED, State.CANCELLED)
        kinds = f"node k-{self.step.kind}{' skipped' if skipped else ''}"
        kinds += " critical" if self.critical else ""
        return (
            f'<g class="{kinds}" transform="translate({x:.1f} {y:.1f})">'
            f'<rect class="box" width="{BOX_PX:g}" height="{self.height:g}" rx="8"/>'
            f'<path class="band" d="M4.5 9V{self.height - 9:g}"/>'
            f'<path class="icon" transform="translate({PAD_PX + 2:g} {PAD_PX - 1:g})" '
            f'd="{ICONS[self.step.kind]}"/>{"".join(self._texts())}</g>'
        )

    def _texts(self) -> Iterator[str]:
        x, y = 2 * PAD_PX + ICON_PX, PAD_PX + LABEL_PX - 1
        for line in self.label:
            yield f'<text class="label" x="{x:g}" y="{y:g}">{safe(line)}</text>'
            y += LABEL_LINE_PX
        room = BOX_PX - x - PAD_PX - width(self.time, SMALL_PX) - 4
        kind = shortened(self.kind, SMALL_PX, room)
        yield f'<text class="quiet" x="{x:g}" y="{y:g}">{safe(kind)}</text>'
        yield (
            f'<text x="{BOX_PX - PAD_PX:g}" y="{y:g}" text-anchor="end">{safe(self.time)}</text>'
        )
        y += 9
        for row in self.chips:
            left = x
            for chip, wide in row:
                yield (
                    f'<g class="chip" transform="translate({left:.1f} {y:.1f})">'
                    f'<rect width="{wide:.1f}" height="17" rx="8.5"/>'
                    f'<text x="{wide / 2:.1f}" y="12.5" text-anchor="middle">{safe(chip)}</text>'
                    "</g>"
                )
                left += wide + 4
            y += CHIP_LINE_PX


def _rows_of_chips(texts: Sequence[str]) -> Iterator[list[tuple[str, float]]]:
    """Yield marks with their widths, as many in a row as fit into a box."""
    room = BOX_PX - 3 * PAD_PX - ICON_PX
    row: list[tuple[str, float]] = []
    used = 0.0
    for text in texts:
        chip = shortened(text, CHIP_PX, room - 14)
        wide = width(chip, CHIP_PX) + 14
        if row and used + wide > room:
            yield row
            row, used = [], 0.0
        row.append((chip, wide))
        used += wide + 4
    if row:
        yield row


def _outcome(state: State, seconds: float, words: Words) -> str:
    if state is State.RAN:
        return words.say("in_s", value=f"{seconds:.2f}")
    return words.say(f"state_{state.name.lower()}")

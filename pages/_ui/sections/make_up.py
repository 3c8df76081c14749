"""What prompts are made of: a bar of tokens for each side, split into its parts, as HTML."""

from __future__ import annotations

from collections.abc import Sequence

from core.counterparts import LEAD, REST, Asked
from core.text import text
from core.timeline import Timeline
from pages._ui.lang import tr
from pages._ui.sections.look import escaped
from pages._ui.view import View

NAMED_FROM = 0.13
"""Share of a bar from which a part is named inside it."""


def make_up(view: View, sides: tuple[Sequence[Asked], Sequence[Asked]], widest: int) -> str:
    """Return a bar for each side, on the scale of the widest prompt, and what its parts mean."""
    rows = []
    timelines = (view.race.before, view.race.after)
    for name, side, timeline in zip(("before", "yours"), sides, timelines, strict=True):
        if side:
            rows.append(_stack(view, name, side, timeline, widest))
    hints = "".join(
        f"<p class='hint'>{escaped(tr(f'section.prompts.{key}_hint'))}</p>"
        for key in (LEAD, REST)
        if any(p.name == key for side in sides for a in side for p in a.parts)
    )
    title = escaped(tr("section.prompts.made_of"))
    return f"<h5>{title}</h5><div class='make-up'>{''.join(rows)}</div>{hints}"


def _stack(view: View, name: str, side: Sequence[Asked], timeline: Timeline, widest: int) -> str:
    """One bar of all the side's calls, each part as long as its tokens, and the parts in words."""
    parts: list[tuple[str, int]] = []
    for one in side:
        parts += [(p.name, p.tokens) for p in one.parts]
    total = sum(a.tokens for a in side)
    blocks = "".join(_block(part, n, widest) for part, n in parts if n > 0)
    listed = ", ".join(f"{_part_name(part)} {n:,}" for part, n in parts)
    cached = sum(
        int(timeline.usage.tokens_cached[-1, timeline.column(a.step.id)]) for a in side if a.ran
    )
    summary = text(view.lang, "section.prompts.total", n=f"{total:,}")
    if cached:
        summary += f", {text(view.lang, 'section.prompts.from_cache', n=f'{cached:,}')}"
    return (
        f"<div class='stack {name}'><b>{escaped(text(view.lang, f'section.{name}'))}</b>"
        f"<span class='blocks' aria-hidden='true'>{blocks}</span>"
        f"<span class='total'>{escaped(summary)}</span>"
        f"<span class='parts'>{escaped(listed)}</span></div>"
    )


def _block(part: str, count: int, widest: int) -> str:
    kind = part if part in (LEAD, REST) else "data"
    name = _part_name(part) if count / widest >= NAMED_FROM else ""
    return f"<i class='{kind}' style='width:{count / widest:.2%}'>{escaped(name)}</i>"


def _part_name(part: str) -> str:
    return tr(f"section.prompts.{part}") if part in (LEAD, REST) else part

"""What all views of an answer share: names, sets, links, and how an outcome is told."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from core.advice.value import WEIGHT, Outcome
from core.techniques import HEADLINE_ORDER, TECHNIQUES
from pages._ui.lang import tr
from pages._ui.sections.look import draw_html, escaped

PLAYGROUND = "play/playground.py"


def draw(body: str) -> None:
    """Show HTML in the style of this page. Whatever text it holds must be escaped."""
    draw_html(f"<div class='advice'>{body}</div>", "advice")


def name(technique_id: str) -> str:
    """What a technique is called."""
    return tr(f"technique.{technique_id}.title")


def names(techniques: Iterable[str]) -> str:
    """Techniques in the order people meet them, by name; a word where there is none."""
    order = [*HEADLINE_ORDER, *(t.id for t in TECHNIQUES if not t.headline)]
    chosen = set(techniques)
    return ", ".join(name(t) for t in order if t in chosen) or tr("advice.nothing")


def level(weight: int) -> str:
    """What a class of risk is called, by its weight."""
    return tr(f"advice.level.{next(n for n, w in WEIGHT.items() if w == weight)}")


def toggles(techniques: Collection[str]) -> dict[str, str]:
    """Return the address parameters of the Playground with just these switched on."""
    on = {t: str(t in techniques).lower() for t in HEADLINE_ORDER}
    others = [t.id for t in TECHNIQUES if not t.headline and t.id in techniques]
    return on | {"also": ",".join(others)}


def added(before: Outcome, after: Outcome) -> str:
    """The one technique that came to a set."""
    (new,) = after.techniques - before.techniques
    return new


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """A table; cells are HTML, the first one of a row names it."""
    head = "".join(f"<th scope='col'>{escaped(h)}</th>" for h in heads)
    body = "".join(
        f"<tr><th scope='row'>{first}</th>{''.join(f'<td>{cell}</td>' for cell in rest)}</tr>"
        for first, *rest in rows
    )
    return f"<div class='scroll'><table class='{kind}'><tr>{head}</tr>{body}</table></div>"

"""What is said about latency beside what comes out here, and why."""

from __future__ import annotations

from functools import lru_cache

from core.claims import Claim, Finding, findings
from core.profiles import Setting
from core.text import text
from pages._ui.lang import language, tr
from pages._ui.sections.figures import share
from pages._ui.sections.look import draw_html, escaped


@lru_cache(maxsize=8)
def _found(setting: Setting) -> tuple[Finding, ...]:
    return findings(setting)


def draw(setting: Setting) -> None:
    """Draw the table."""
    heads = [tr(f"catalogue.{part}") for part in ("claim", "claimed", "here", "why", "source")]
    head = "".join(f"<th scope='col'>{escaped(h)}</th>" for h in heads)
    rows = "".join(_row(found) for found in _found(setting))
    body = f"<table class='stacked'><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    draw_html(f"<div class='catalogue claims scroll'>{body}</div>", "catalogue")


def _row(found: Finding) -> str:
    claim = found.claim
    cells = {
        "claimed": _claimed(claim),
        "here": _value(claim, found.here),
        "why": tr(found.why),
        "source": claim.source,
    }
    body = "".join(
        f"<td class='{part}' data-name='{escaped(tr(f'catalogue.{part}'))}'>{escaped(cell)}</td>"
        for part, cell in cells.items()
    )
    title = escaped(tr(f"claim.{claim.id}.title"))
    return f"<tr><th scope='row'>{title}</th>{body}</tr>"


def _claimed(claim: Claim) -> str:
    """What is claimed: a figure, a range or a limit."""
    high = _value(claim, claim.high)
    if claim.low == claim.high:
        return high
    if claim.low == 0.0:
        return tr("catalogue.up_to", high=high)
    return tr("catalogue.to", low=_value(claim, claim.low), high=high)


def _value(claim: Claim, value: float) -> str:
    """A figure in the claim's unit."""
    if claim.unit == "share":
        return share(value)
    if claim.unit == "times":
        return tr("catalogue.times", value=f"{value:.1f}")
    if 0 < abs(value) < 0.1:
        return text(language(), "race.in_ms", value=f"{value * 1000:.1f}")
    return text(language(), "race.in_s", value=f"{value:.2f}")

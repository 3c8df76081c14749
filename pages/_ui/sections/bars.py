"""Bars of gains and losses: one scale and one zero for all rows, gains to the right.

HTML with every text escaped; the bars themselves are hidden from screen readers, which get the
words beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from core.metrics import Change, Metric
from core.text import Lang, text
from core.worth import Reach, Worth
from pages._ui.sections.figures import amount, between, share
from pages._ui.sections.look import escaped

Kind = Literal["within", "alone", "helped"]
Sign = Literal["gain", "loss", "none"]

RARE = 0.02
"""Helping fewer requests than this is not drawn as a bar of its own."""

HIDDEN = 0.05
"""A median change smaller than this share of what the helped ones gain hides them."""

HEAD_ROOM = 1.08
"""How much longer than the longest bar its half of the axis is."""

UNNOTICED = {"s": 0.001, "usd": 1e-6}
"""Medians that change by less are called no change: a millisecond, a tenth of a cent for 1,000."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: what it is about, and the saving (below 0: a loss) with its interval; its words."""

    name: str
    kind: Kind
    sign: Sign
    saved: float
    low: float
    high: float
    words: str


def bars(worth: Worth, m: Metric, lang: Lang) -> Iterator[Bar]:
    """Yield what a technique is worth in the set, alone, and for those it helps."""
    within = None if worth.idle_within is not None else worth.gain.within
    if within is not None:
        yield _bar("within", within, m, lang)
    if worth.gain.alone is not None:
        yield _bar("alone", worth.gain.alone, m, lang)
    if (reach := worth.reach) is not None and hides(worth, m):
        value = amount(reach.better_by, m.unit, lang)
        words = text(lang, "section.toggles.saves", value=value)
        name = text(lang, "section.toggles.helped", share=share(reach.better))
        gain = reach.better_by
        yield Bar(name, "helped", "gain", gain, gain, gain, f"<b>{escaped(words)}</b>")


def _bar(kind: Kind, change: Change, m: Metric, lang: Lang) -> Bar:
    factor = -1.0 if m.better == "lower" else 1.0
    low, high = sorted((factor * change.low, factor * change.high))
    name = text(lang, f"section.toggles.{kind}")
    saved = factor * change.difference
    return Bar(name, kind, sign(change, m), saved, low, high, _words(change, m, lang))


def sign(change: Change | None, m: Metric) -> Sign:
    """Return whether a change is a gain or a loss beyond doubt, and large enough to notice."""
    if change is None or change.low <= 0 <= change.high:
        return "none"
    if abs(change.difference) < UNNOTICED.get(m.unit, 0.0):
        return "none"
    return "gain" if (change.difference < 0) == (m.better == "lower") else "loss"


def hides(worth: Worth, m: Metric) -> bool:
    """Return whether the median says next to nothing about those who gain."""
    within, reach = worth.gain.within, worth.reach
    if within is None or reach is None or reach.better < RARE:
        return False
    noticed = reach.better_by >= UNNOTICED.get(m.unit, 0.0)
    return noticed and abs(within.difference) < HIDDEN * reach.better_by


def whom(reach: Reach, m: Metric, lang: Lang) -> str:
    """Return for how many requests it gets better and worse, and by how much."""
    facts = {
        "better": share(reach.better),
        "better_by": amount(reach.better_by, m.unit, lang),
        "worse": share(reach.worse),
        "worse_by": amount(reach.worse_by, m.unit, lang),
    }
    key = "split" if reach.worse else "split_same"
    return text(lang, f"section.toggles.{key}", **facts)


def _words(change: Change, m: Metric, lang: Lang) -> str:
    """Return the change in words with its interval, as HTML."""
    found = sign(change, m)
    if found == "none":
        settled = max(abs(change.low), abs(change.high)) < UNNOTICED.get(m.unit, 0.0)
        key = "same" if settled or change.low == change.high else "unclear"
        return escaped(text(lang, f"section.toggles.{key}"))
    value = amount(abs(change.difference), m.unit, lang)
    key = "saves" if found == "gain" else "costs"
    words = escaped(text(lang, f"section.toggles.{key}", value=value))
    interval = escaped(between(abs(change.low), abs(change.high), m.unit, lang))
    return f"<b>{words}</b> <small>{interval}</small>"


@dataclass(frozen=True, slots=True)
class Scale:
    """The one scale: how far gains reach to the right of zero, and losses to the left."""

    gain: float
    loss: float

    @classmethod
    def of(cls, shown: Sequence[Bar]) -> Scale:
        """Return the scale that holds these bars.

        What helps only some may go beyond: it would dwarf the others, so it is drawn torn off.
        """
        medians = [end for b in shown if b.kind != "helped" for end in (b.low, b.saved, b.high)]
        ends = medians if any(medians) else [b.saved for b in shown]
        return cls(max([*ends, 0.0]) * HEAD_ROOM, -min([*ends, 0.0]) * HEAD_ROOM)

    @property
    def zero(self) -> float:
        """Where zero is, as a share of the width."""
        return self.at(0.0)

    def at(self, saved: float) -> float:
        """Return where a saving is, as a share of the width."""
        whole = self.gain + self.loss
        return (saved + self.loss) / whole if whole else 0.0


def drawn(bar: Bar, scale: Scale) -> str:
    """Return the bar as HTML: its name, the bar with its interval, its words."""
    zero, end = scale.zero, scale.at(bar.saved)
    kinds = f"bar {bar.kind} {bar.sign}{' torn' if end > 1 else ''}"
    parts = [f"<span class='name'>{escaped(bar.name)}</span>"]
    track = _line("fill", zero, min(end, 1.0)) if bar.saved else ""
    if bar.high > bar.low:
        track += _line("whisker", scale.at(bar.low), scale.at(bar.high))
    parts.append(f"<span class='track' aria-hidden='true'>{track}</span>")
    parts.append(f"<span class='value'>{bar.words}</span>")
    return f"<div class='{kinds}'>{''.join(parts)}</div>"


def _line(kind: str, one: float, other: float) -> str:
    left, right = sorted((one, other))
    return f"<i class='{kind}' style='left:{left:.2%};width:{right - left:.2%}'></i>"

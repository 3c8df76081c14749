"""Numbers as people read them, in their language: times, money, shares, counts."""

from __future__ import annotations

import math

from core.metrics import Metric
from core.text import Lang, text

NONE = "–"
MS_BELOW_S = 0.1
PER_REQUESTS = 1000
"""Money is given for so many requests: that of one is a fraction of a cent."""


def amount(value: float | None, unit: str, lang: Lang) -> str:
    """Return a value of a metric with its unit; – where there is none."""
    if value is None or not math.isfinite(value):
        return NONE
    if unit == "s":
        return seconds(value, lang)
    if unit == "usd":
        return f"${value * PER_REQUESTS:,.2f}"
    if unit == "ratio":
        return f"{value:.2f}"
    return f"{value:,.0f}"


def seconds(value: float, lang: Lang) -> str:
    """Return a time: seconds to the hundredth, below a tenth of a second in milliseconds."""
    if abs(value) >= MS_BELOW_S or value == 0:
        return text(lang, "race.in_s", value=f"{value:.2f}")
    ms = value * 1000
    return text(lang, "race.in_ms", value=f"{ms:.0f}" if abs(ms) >= 10 else f"{ms:.2g}")


def between(one: float, other: float, unit: str, lang: Lang) -> str:
    """Return an interval from the smaller to the larger value, its unit said once."""
    low, high = sorted((one, other))
    if unit == "s":
        whole = high >= MS_BELOW_S
        key, factor = ("race.in_s", 1.0) if whole else ("race.in_ms", 1000.0)
        digits = 2 if whole or high * factor < 1 else 1
        ends = f"{low * factor:.{digits}f}–{high * factor:.{digits}f}"
        return text(lang, key, value=ends)
    ends = "–".join(amount(v, unit, lang).lstrip("$") for v in (low, high))
    return f"${ends}" if unit == "usd" else ends


def share(value: float) -> str:
    """Return a share in per cent, with a decimal where it is next to nothing or next to all."""
    return f"{value:.1%}" if 0 < value < 0.01 or 0.99 < value < 1 else f"{value:.0%}"


def signed_share(value: float | None) -> str:
    """Return a change in per cent with its sign; – where there is no base."""
    if value is None:
        return NONE
    rounded = f"{value:+.0%}"
    return "0%" if rounded in ("+0%", "-0%") else rounded.replace("-", "−")


def metric_name(m: Metric, lang: Lang) -> str:
    """Return what a metric is called where its values are written by `amount`."""
    return text(lang, "section.cost_of_1000" if m.unit == "usd" else f"metric.{m.id}")

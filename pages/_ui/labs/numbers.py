"""Numbers of the labs as people read them."""

from __future__ import annotations

from core.retrieval.quality import Share
from core.text import Lang, text
from pages._ui.sections.figures import NONE, seconds, share

MICRO_BELOW_S = 0.001


def brief(value_s: float, lang: Lang) -> str:
    """Return a time; below a millisecond in microseconds, which searches and guards take."""
    if 0 < value_s < MICRO_BELOW_S:
        return text(lang, "lab.in_us", value=f"{value_s * 1e6:.0f}")
    return seconds(value_s, lang)


def tight(found: Share) -> str:
    """Return a share with its counts and interval for a column; – where nothing was counted."""
    if not found.n:
        return NONE
    low, high = found.interval
    return f"{share(found.value)} ({found.k}/{found.n}; {low:.0%}–{high:.0%})"


def counted(found: Share, lang: Lang) -> str:
    """Return a share with its counts and 95 % interval; – where nothing was counted."""
    if not found.n:
        return NONE
    low, high = found.interval
    return text(
        lang,
        "lab.counted",
        share=share(found.value),
        k=found.k,
        n=found.n,
        low=f"{low:.0%}",
        high=f"{high:.0%}",
    )

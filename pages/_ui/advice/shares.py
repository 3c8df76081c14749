"""Who earned it: each technique's share of the gain, and which ones hinder each other."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from core.advice.answer import ORDERS, Answer
from core.advice.shapley import Attribution, Share
from core.text import Lang
from pages._ui.advice import parts
from pages._ui.advice.parts import name
from pages._ui.lang import language, tr
from pages._ui.sections.figures import seconds, share, signed_share
from pages._ui.sections.look import escaped

SMALLEST_PAIR_S = 0.02
SMALLEST_ERROR_S = 0.0005
MOST_PAIRS = 6
"""Pairs that change each other's worth by less, and more pairs than that, are not told."""


def draw(answer: Answer) -> None:
    """Draw the shares as bars and the strongest pairs as sentences."""
    shares = answer.shares
    if not shares.shares:
        st.info(tr("advice.nothing_helps"))
        return
    lang = language()
    total = seconds(shares.total, lang)
    st.markdown(tr("advice.shares_total", total=total))
    parts.draw(f"<ul class='shares'>{''.join(_bars(shares, lang))}</ul>")
    st.caption(
        tr("advice.shares_exact")
        if shares.exact
        else tr("advice.shares_sampled", orders=2 * ORDERS)
    )
    _pairs(shares, lang)


def _bars(shares: Attribution, lang: Lang) -> Iterator[str]:
    ordered = sorted(shares.shares, key=lambda s: -s.value)
    low = min(0.0, *(s.value - s.error for s in ordered))
    high = max(0.0, *(s.value + s.error for s in ordered))
    width = (high - low) or 1.0
    for one in ordered:
        yield _bar(one, shares.total, -low / width, width, lang)


def _bar(one: Share, total: float, zero: float, width: float, lang: Lang) -> str:
    end = zero + one.value / width
    left, right = sorted((zero, end))
    kind = "loss" if one.value < 0 else "gain"
    track = f"<i class='{kind}' style='left:{left:.2%};width:{right - left:.2%}'></i>"
    if one.error:
        reach = one.error / width
        track += f"<i class='error' style='left:{end - reach:.2%};width:{2 * reach:.2%}'></i>"
    part = one.value / total if total > 0 else None
    value = seconds(one.value, lang).replace("-", "−")
    error = f" ± {seconds(one.error, lang)}" if one.error >= SMALLEST_ERROR_S else ""
    part_text = share(part) if part is not None and part >= 0 else signed_share(part)
    return (
        f"<li><span class='who'><b>{escaped(name(one.technique))}</b></span>"
        f"<span class='track' aria-hidden='true'>"
        f"<i class='zero' style='left:{zero:.2%}'></i>{track}</span>"
        f"<span class='value {kind}'><b>{escaped(value)}</b>{escaped(error)}"
        f" <small>{escaped(part_text)}</small></span></li>"
    )


def _pairs(shares: Attribution, lang: Lang) -> None:
    """Say which techniques are worth less, or more, once another one is on."""
    if not shares.exact:
        st.caption(tr("advice.pairs_not_known"))
        return
    strongest = sorted(shares.pairs.items(), key=lambda pair: -abs(pair[1]))[:MOST_PAIRS]
    told = [
        tr(
            "advice.pair_less" if index < 0 else "advice.pair_more",
            one=name(one),
            other=name(other),
            value=seconds(abs(index), lang),
        )
        for (one, other), index in strongest
        if abs(index) >= SMALLEST_PAIR_S
    ]
    st.markdown(f"**{tr('advice.pairs')}**")
    st.markdown("\n".join(f"- {line}" for line in told) if told else tr("advice.pairs_none"))

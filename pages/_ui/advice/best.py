"""The best set: what it is, before and after, and a way to see it run."""

from __future__ import annotations

import math

import streamlit as st

from core.advice.answer import Answer
from core.advice.value import Outcome
from core.techniques import TECHNIQUES
from pages._ui.advice import parts
from pages._ui.advice.parts import level, name, table
from pages._ui.lang import language, tr
from pages._ui.sections.figures import NONE, amount, seconds, share, signed_share
from pages._ui.sections.look import escaped


def draw(answer: Answer) -> None:
    """Draw the set, its figures, and the button that opens it in the Playground."""
    naive, best = answer.advice.naive, answer.advice.best
    if not answer.advice.met:
        st.warning(tr("advice.not_met"), icon=":material/warning:")
    if not best.changes:
        st.info(tr("advice.nothing_helps"))
        return
    parts.draw(_headline(answer) + _chips(answer) + _figures(naive, best))
    parts.open_button(tr("advice.open"), best.techniques, key="open_best")
    st.caption(_how_found(answer))


def _headline(answer: Answer) -> str:
    naive, best = answer.advice.naive, answer.advice.best
    lang = language()
    facts = {
        "goal": tr(f"metric.{answer.question.goal}"),
        "before": seconds(naive.p50_s, lang),
        "after": seconds(best.p50_s, lang),
        "share": signed_share(best.p50_s / naive.p50_s - 1.0),
        "changes": best.changes,
        "n": len(answer.question.candidates or TECHNIQUES),
    }
    return (
        f"<h4 class='verdict'>{escaped(tr('advice.verdict', **facts))}</h4>"
        f"<p class='under'>{escaped(tr('advice.verdict_changes', **facts))}</p>"
    )


def _chips(answer: Answer) -> str:
    """The set in the order in which it pays to put it in."""
    order: list[str] = []
    for step in answer.advice.roadmap:
        order += [t.id for t in TECHNIQUES if t.id in step.techniques and t.id not in order]
    return f"<ul class='chips'>{''.join(f'<li>{escaped(name(t))}</li>' for t in order)}</ul>"


def _figures(naive: Outcome, best: Outcome) -> str:
    """Before, with the set, change."""
    rows = [
        _row(tr("advice.median"), naive.p50_s, best.p50_s, "s"),
        _row(tr("advice.p95"), naive.p95_s, best.p95_s, "s"),
        _row(tr("section.cost_of_1000"), naive.cost_usd, best.cost_usd, "usd"),
    ]
    if naive.failed or best.failed:
        rows.append((escaped(tr("advice.failed")), share(naive.failed), share(best.failed), ""))
    rows += [
        (escaped(tr("advice.effort_sum")), "0", str(best.effort), ""),
        (escaped(tr("advice.risk_most")), level(0), level(best.risk), ""),
        (
            escaped(tr("advice.infrastructure")),
            "–",
            tr("advice.yes") if best.infrastructure else tr("advice.no"),
            "",
        ),
    ]
    heads = ("", tr("advice.before"), tr("advice.with_it"), tr("advice.change"))
    return table(heads, rows, "figures")


def _row(title: str, before: float, after: float, unit: str) -> tuple[str, str, str, str]:
    lang = language()
    change = after / before - 1.0 if before else 0.0
    worse = " class='loss'" if change > 0 else ""
    told = signed_share(change) if math.isfinite(change) else NONE
    return (
        escaped(title),
        amount(before, unit, lang),
        amount(after, unit, lang),
        f"<span{worse}>{told}</span>",
    )


def _how_found(answer: Answer) -> str:
    facts = {"considered": answer.advice.considered, "simulated": answer.advice.simulated}
    return tr("advice.exhaustive" if answer.advice.exhaustive else "advice.searched", **facts)

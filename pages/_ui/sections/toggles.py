"""What each one did: the worth of every switched-on technique, what it changed, and the catch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import streamlit as st

from core.metrics import Change, Metric, metric
from core.rewrite import LogEntry, differences
from core.text import Note, catalogue, say, text
from core.worth import Worth, worths
from pages._ui.choosing import one_of
from pages._ui.lang import tr
from pages._ui.sections.bars import Bar, Scale, bars, drawn, hides, sign, whom
from pages._ui.sections.figures import amount, metric_name, signed_share
from pages._ui.sections.look import draw_html, emphasised, escaped
from pages._ui.view import STREAM_N, View, workload

METRICS = ("reader_wait_s", "total_s", "first_visible_s", "cost_usd")
SEED = 0

NAMED_STEPS = 2
"""So many steps are named in a line that holds for more than one over that."""

OVERLAP, BOOST = 1.1, 0.9
"""From these ratios on, the sum of what each saves alone is said to differ from the whole."""


def draw(view: View) -> None:
    """Draw the section."""
    if not view.choices:
        st.info(tr("section.nothing_on"))
        return
    label = tr("section.toggles.metric")
    m = metric(one_of("worth", METRICS, label, lambda m: metric_name(metric(m), view.lang)))
    found = _worths(view, m.id)
    order = escaped(tr("section.toggles.order", n=STREAM_N, seed=SEED))
    # One element: each one sent costs a redraw of the page, and this follows every toggle.
    draw_html(
        f"<p>{emphasised(_together(view, m, found))}</p>"
        f"{_table(view, m, found)}<p class='order'>{order}</p>",
        "toggles",
    )


@lru_cache(maxsize=64)
def _worths(view: View, metric_id: str) -> tuple[Worth, ...]:
    """Return all worths, the most useful in the set first, those that do nothing last."""
    found = worths(
        view.base,
        view.choices,
        view.setting,
        workload(view.base),
        metric_id=metric_id,
        reader=view.reader,
        seed=SEED,
    )
    lower = metric(metric_id).better == "lower"

    def rank(w: Worth) -> tuple[int, float]:
        within = w.gain.within
        idle = 0 if w.idle_within is None else 1 if w.gain.alone is not None else 2
        value = within.difference if within is not None else 0.0
        return idle, value if lower else -value

    return tuple(sorted(found, key=rank))


@lru_cache(maxsize=64)
def _whole(view: View, metric_id: str) -> Change | None:
    return view.stream.change(metric_id, view.reader, seed=SEED)


def _together(view: View, m: Metric, found: Sequence[Worth]) -> str:
    """Return what the whole set is worth, and how that compares with the sum of its parts."""
    whole = _whole(view, m.id)
    direction = sign(whole, m)
    if whole is None or direction == "none":
        return tr("section.toggles.together_same")
    base = whole.difference / whole.share if whole.share else None
    facts = {"base": amount(base, m.unit, view.lang), "share": signed_share(whole.share)}
    size = amount(abs(whole.difference), m.unit, view.lang)
    if direction == "loss":
        return tr("section.toggles.together_loss", lost=size, **facts)
    lines = [tr("section.toggles.together", saved=size, **facts)]
    parts = sum(w.gain.alone.difference for w in found if w.gain.alone is not None)
    ratio = parts / whole.difference
    if len(found) > 1 and ratio > 0 and not BOOST <= ratio <= OVERLAP:
        key = "overlap" if ratio > OVERLAP else "boost"
        lines.append(tr(f"section.toggles.{key}", sum=amount(abs(parts), m.unit, view.lang)))
    return " ".join(lines)


def _table(view: View, m: Metric, found: Sequence[Worth]) -> str:
    shown = {w.technique: tuple(bars(w, m, view.lang)) for w in found}
    scale = Scale.of([b for row in shown.values() for b in row])
    log = {entry.technique: entry for entry in view.stream.log}
    rows = (
        _row(view, m, w, log[w.technique], _bars_and_remarks(view, m, w, shown[w.technique], scale))
        if shown[w.technique]
        else _idle_row(view, w)
        for w in found
    )
    left, right = (escaped(tr(f"section.toggles.{side}")) for side in ("left", "right"))
    left = f"<span class='cost'>← {left}</span>" if scale.loss else ""
    head = f"<div class='axis' aria-hidden='true'>{left}<span>{right} →</span></div>"
    style = f"--zero:{scale.zero:.4f}"
    return f"<div class='worth' style='{style}'>{head}<ul>{''.join(rows)}</ul></div>"


def _row(view: View, m: Metric, worth: Worth, entry: LogEntry, middle: str) -> str:
    """Return one technique: what it changed, what it is worth, the catch."""
    title = escaped(tr(f"technique.{worth.technique}.title"))
    catch = escaped(tr(f"technique.{worth.technique}.catch"))
    label = escaped(tr("section.toggles.catch"))
    changes = "".join(f"<li>{c}</li>" for c in _changes(view, entry))
    who = f"<div class='who'><h4>{title}</h4><ul class='changes'>{changes}</ul></div>"
    why = _why(worth, m)
    bad = f"<p class='loss'>{escaped(why)}</p>" if why else ""
    return (
        f"<li class='item'>{who}<div class='bars'>{middle}{bad}</div>"
        f"<p class='catch'><b>{label}</b> {catch}</p></li>"
    )


def _idle_row(view: View, worth: Worth) -> str:
    """Return a technique that has nothing to do, alone or in the set, in one line."""
    title = escaped(tr(f"technique.{worth.technique}.title"))
    note = worth.idle_within or worth.idle_alone
    reason = _remark(tr("section.toggles.idle"), note, view) if note is not None else ""
    return f"<li class='item nothing'><div class='who'><h4>{title}</h4></div>{reason}</li>"


def _bars_and_remarks(
    view: View, m: Metric, worth: Worth, shown: Sequence[Bar], scale: Scale
) -> str:
    """Return the bars, why it is idle, and whom it helps where the median does not say."""
    parts = [drawn(bar, scale) for bar in shown]
    if worth.idle_within is not None:
        parts.append(_remark(tr("section.toggles.idle_within"), worth.idle_within, view))
    elif worth.idle_alone is not None:
        parts.append(_remark(tr("section.toggles.idle_alone"), worth.idle_alone, view))
    if worth.reach is not None and hides(worth, m):
        parts.append(f"<p>{escaped(whom(worth.reach, m, view.lang))}</p>")
    return "".join(parts)


def _remark(lead: str, note: Note, view: View) -> str:
    return f"<p class='idle'><b>{escaped(lead)}.</b> {escaped(say(note, view.lang))}</p>"


def _why(worth: Worth, m: Metric) -> str:
    """Return why it costs, in the set or alone; nothing where it does not."""
    within = None if worth.idle_within is not None else worth.gain.within
    losing = [
        key
        for key, change in (("loss", within), ("loss_alone", worth.gain.alone))
        if sign(change, m) == "loss"
    ]
    if not losing:
        return ""
    own = f"section.toggles.why.{worth.technique}"
    why = tr(own if own in catalogue()["en"] else "section.toggles.why.other")
    return tr(f"section.toggles.{losing[0]}", why=why)


_STEPS = "\N{OBJECT REPLACEMENT CHARACTER}"


def _changes(view: View, entry: LogEntry) -> Iterator[str]:
    """Yield what the rewrite changed, one line a kind of change, steps by name, as HTML."""
    groups: dict[str, list[str]] = {}
    for note in differences(entry.before, entry.after):
        ids = ", ".join(str(v) for k, v in note.args if k in ("step", "steps"))
        groups.setdefault(note.key, []).extend(i for i in ids.split(", ") if i)
    for key, steps in groups.items():
        sentence = escaped(text(view.lang, key, step=_STEPS, steps=_STEPS))
        yield sentence.replace(_STEPS, _named(view, steps))


def _named(view: View, steps: Sequence[str]) -> str:
    names = [view.scenario.label(s, view.lang) for s in dict.fromkeys(steps)]
    more = len(names) - NAMED_STEPS if len(names) > NAMED_STEPS + 1 else 0
    kept = names[: len(names) - more]
    chips = ", ".join(f"<span class='step'>{escaped(name)}</span>" for name in kept)
    return f"{chips} {escaped(tr('section.toggles.more', n=more))}" if more else chips

"""One technique: what, when, the catch, its settings, what it does alone, and its picture."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import streamlit as st

from core.alone import AIMS, Aim, Effect, effects, first_effect
from core.metrics import Reader, metric
from core.profiles import Setting
from core.rewrite import Technique
from core.scenarios import SCENARIOS, Scenario, scenario
from core.techniques import choose, technique
from core.text import Note, say
from pages._ui import controls
from pages._ui.catalogue import listing, words
from pages._ui.choosing import one_of
from pages._ui.lang import language, tr
from pages._ui.sections import graph
from pages._ui.sections.bars import sign
from pages._ui.sections.figures import metric_name, share
from pages._ui.sections.look import draw_html, escaped
from pages._ui.view import View

STREAMING = ("plain", "checked", "streaming")
"""Situations to tell side by side."""

TURNING = ("side_by_side", "no_repeats")
"""Situations to tell where what gains elsewhere is a loss."""


def draw(technique_id: str, setting: Setting, reader: Reader) -> None:
    """Draw everything there is to know about a technique."""
    t = technique(technique_id)
    draw_html(_about(t), "catalogue")
    st.subheader(tr("catalogue.gain"), anchor="gain")
    with st.spinner(tr("catalogue.working")):
        body = _gains(t, setting, reader)
    draw_html(body, "catalogue")
    st.subheader(tr("catalogue.plan"), anchor="plan")
    _picture(t, setting, reader)


def _about(t: Technique) -> str:
    rows = [
        (tr("catalogue.when"), tr(f"technique.{t.id}.when")),
        (tr("section.toggles.catch"), tr(f"technique.{t.id}.catch")),
        (tr("catalogue.classes"), listing.classes(t)),
        *((tr("catalogue.settings"), line) for line in _settings(t)),
        (tr("catalogue.source"), t.source),
    ]
    facts = "".join(f"<dt>{escaped(k)}</dt><dd>{escaped(v)}</dd>" for k, v in rows)
    principle = escaped(tr(f"principle.{t.principle}"))
    return (
        f"<div class='catalogue about'><p class='principle'>{principle}</p>"
        f"<h4>{escaped(tr(f'technique.{t.id}.title'))}</h4>"
        f"<p class='what'>{escaped(tr(f'technique.{t.id}.help'))}</p><dl>{facts}</dl></div>"
    )


def _settings(t: Technique) -> Iterator[str]:
    """Each parameter with its default, and what it may be."""
    for field in dataclasses.fields(t.params):
        name = tr(f"technique.{t.id}.param.{field.name}")
        limits = field.metadata.get("range")
        default = field.default
        if isinstance(default, bool):
            yield f"{name}: {tr('catalogue.on' if default else 'catalogue.off')}"
        elif limits is None:
            yield f"{name}: {default}"
        else:
            low, high = f"{limits.low:g}", f"{limits.high:g}"
            yield tr("catalogue.range", name=name, default=f"{default:g}", low=low, high=high)


def way_back() -> None:
    """A button that returns to the list."""
    st.button(tr("catalogue.back"), key="back", on_click=listing.back, icon=":material/arrow_back:")


# --- what it does --------------------------------------------------------------------------------


def _gains(t: Technique, setting: Setting, reader: Reader) -> str:
    """A row a pipeline and situation, a column a metric; beneath, losses and reasons."""
    lang = language()
    rows: list[str] = []
    notes: list[str] = []
    for name in SCENARIOS:
        title = scenario(name).title[lang]
        told = _told(t, scenario(name), setting, reader)
        if isinstance(told, Note):
            notes.append(f"<p class='idle'>{escaped(f'{title}: {say(told, lang)}')}</p>")
            continue
        by_cells = {
            _cells(one): one for one in reversed(told)
        }  # the first of those that look alike
        rows += [_gain_row(title, one, cells) for cells, one in reversed(by_cells.items())]
        notes += dict.fromkeys(note for one in told for note in _notes(title, one))
        notes += _costs(t, title, told)
    heads = "".join(f"<th scope='col'>{escaped(h)}</th>" for h in ("", *(_aim(*a) for a in AIMS)))
    table = (
        f"<div class='scroll'><table class='stacked'><thead><tr>{heads}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
    return f"<div class='catalogue gains'>{table if rows else ''}{''.join(notes)}</div>"


def _told(
    t: Technique, where: Scenario, setting: Setting, reader: Reader
) -> tuple[Effect, ...] | Note:
    """What it does on the pipeline as it is and once that streams; else where it first applies.

    Also where it turns into a loss.
    """
    everywhere = effects(t.id, where, setting, reader)
    found = tuple(e for e in everywhere if e.situation in STREAMING)
    if found:
        turned = (e for e in everywhere if e.situation in TURNING and _turns(found[0], e))
        return (*found, *turned)
    first = first_effect(t.id, where, setting, reader)
    return first if isinstance(first, Note) else (first,)


def _turns(usual: Effect, found: Effect) -> bool:
    """Whether most wait longer here, who do not otherwise, or nobody gains here who else would."""
    helped, still = (e.reach.better if e.reach is not None else 0.0 for e in (usual, found))
    only_here = not _waits_more(usual) or helped > still == 0.0
    return _waits_more(found) and only_here


def _waits_more(found: Effect) -> bool:
    return sign(found.changes[0], metric(AIMS[0][0])) == "loss"


def _aim(name: str, aim: Aim) -> str:
    """What is compared, by name: the median goes without saying, the mean of money, too."""
    told = metric_name(metric(name), language())
    return f"{told} (p95)" if aim == "p95" else told


def _gain_row(title: str, found: Effect, cells: str) -> str:
    situation = escaped(tr(f"catalogue.situation.{found.situation}"))
    return f"<tr><th scope='row'>{escaped(title)} <small>{situation}</small></th>{cells}</tr>"


def _cells(found: Effect) -> str:
    return "".join(
        f"<td data-name='{escaped(_aim(name, aim))}'>"
        f"{words.change(one, metric(name), interval=True)}</td>"
        for one, (name, aim) in zip(found.changes, AIMS, strict=True)
    )


def _notes(title: str, found: Effect) -> Iterator[str]:
    """Whom it reaches where the median hides it, what the answer loses, and what it would need."""
    if found.reach is not None and words.hidden(found.changes[0], found.reach):
        where = title
        if found.situation != "plain":
            where = f"{title}, {tr(f'catalogue.situation.{found.situation}')}"
        yield f"<p>{escaped(where)}: {words.wait(found)}</p>"
    if (answered := words.answered(found)) is not None:
        yield f"<p>{escaped(title)}: {answered}</p>"
    for loss in found.losses:
        change = tr("catalogue.loss", before=share(loss.before), after=share(loss.after))
        kind = "loss" if loss.after < loss.before else "gain"
        line = escaped(f"{title}: {tr(f'loss.{loss.key}.title')} {change}")
        yield f"<p class='{kind}'>{line}</p>"
    if found.what_if:
        what_if = tr("playground.prediction_what_if", model=", ".join(found.what_if))
        yield f"<p class='idle'>{escaped(f'{title}: {what_if}')}</p>"


def _costs(t: Technique, title: str, told: Sequence[Effect]) -> Iterator[str]:
    """What it costs in some situation, and why."""
    costing = [
        _aim(name, aim)
        for k, (name, aim) in enumerate(AIMS)
        if any(sign(one.changes[k], metric(name)) == "loss" for one in told)
    ]
    if costing:
        why = tr("catalogue.costs", what=", ".join(costing), why=words.why(t.id))
        yield f"<p class='loss'>{escaped(f'{title}: {why}')}</p>"


# --- its picture ---------------------------------------------------------------------------------


def _picture(t: Technique, setting: Setting, reader: Reader) -> None:
    """The plan before and after, of a pipeline where it does something."""
    found = {s: first_effect(t.id, scenario(s), setting, reader) for s in SCENARIOS}
    usable = {s: one for s, one in found.items() if isinstance(one, Effect)}
    if not usable:
        st.info(tr("catalogue.no_picture"))
        return
    label, options = tr("playground.scenario"), tuple(usable)
    shown = usable[one_of("plan_of", options, label, lambda s: scenario(s).title[language()])]
    if shown.situation != "plain":
        st.caption(tr(f"catalogue.situation.{shown.situation}"))
    request = controls.popular(shown.scenario)
    chosen = choose([t.id])
    graph.draw(View(shown.scenario, request, chosen, shown.setting, reader, False, language()))

"""Take it away: a link that restores the view, the picture, the numbers, the events."""

from __future__ import annotations

import json
from functools import lru_cache
from urllib.parse import urlencode, urlsplit

import streamlit as st

from core import export, picture
from core.metrics import metric
from core.replay import Lane, lane
from core.text import Lang, catalogue, text
from pages._ui.choosing import one_of
from pages._ui.lang import tr
from pages._ui.sections.drawing import Save, drawing
from pages._ui.sections.figures import amount
from pages._ui.sections.look import Scheme, palette
from pages._ui.view import STREAM_N, View

SEED = 0
GROUNDS: tuple[Scheme, ...] = ("light", "dark")
BAD = {"light": "#b42318", "dark": "#ff9a8f"}
STATES = ("skipped", "cached", "cancelled", "failed")


def draw(view: View) -> None:
    """Draw the section."""
    st.subheader(tr("section.export.link"), anchor=False)
    _link()
    st.subheader(tr("section.export.data"), anchor=False)
    name = f"latency-{view.scenario.id}-{view.request.id}"
    # Files are made when asked for: opening the section costs next to nothing.
    with st.container(horizontal=True, vertical_alignment="center"):
        st.download_button(
            tr("section.export.json"),
            lambda: _json(view),
            f"{name}.json",
            "application/json",
            key="export_json",
            help=tr("section.export.json_help", n=STREAM_N),
            icon=":material/data_object:",
            on_click="ignore",
        )
        st.download_button(
            tr("section.export.csv"),
            lambda: _csv(view),
            f"{name}.csv",
            "text/csv",
            key="export_csv",
            help=tr("section.export.csv_help"),
            icon=":material/table_rows:",
            on_click="ignore",
        )
    _picture(view, name)


def _link() -> None:
    """Show the address as it stands: it holds every choice that is not a default."""
    url = st.context.url
    if not url:
        st.caption(tr("section.export.no_link"))
        return
    named = {key: st.query_params.get_all(key) for key in st.query_params}
    parts = urlsplit(url)
    full = parts._replace(path=parts.path or "/", query=urlencode(named, doseq=True))
    st.code(full.geturl(), language=None, wrap_lines=True)
    st.caption(tr("section.export.link_help"))


def _picture(view: View, name: str) -> None:
    st.subheader(tr("section.export.picture"), anchor=False)
    label = tr("section.export.ground")
    ground = one_of("ground", GROUNDS, label, lambda g: tr(f"section.export.{g}"))
    drawing(
        _svg(view, "dark" if ground == "dark" else "light"),
        key="export_picture",
        label=tr("section.export.alt"),
        fit=True,
        save=Save(
            name,
            tr("section.export.svg"),
            tr("section.export.png"),
            tr("section.export.failed"),
        ),
    )
    st.caption(tr("section.export.picture_help"))


def _json(view: View) -> str:
    """Return what `simulate --json` of the command line prints."""
    found = export.summary_json(
        view.scenario, view.setting, view.stream, view.race, view.reader, SEED
    )
    return json.dumps(found, ensure_ascii=False, indent=2)


def _csv(view: View) -> bytes:
    """Return the events, with the mark that tells spreadsheets it is UTF-8 (Korean)."""
    return export.events_csv(view.scenario, view.race, view.reader, view.lang).encode("utf-8-sig")


@lru_cache(maxsize=64)
def _svg(view: View, scheme: Scheme) -> str:
    before, after = (
        lane(t, view.scenario, view.lang, view.reader) for t in (view.race.before, view.race.after)
    )
    color = palette(scheme)
    quiet = {"light": "#586374", "dark": "#a3aebd"}[scheme]
    paint = picture.Paint(
        color["page"],
        color["ink"],
        quiet,
        color["line"],
        BAD[scheme],
        color["before"],
        color["yours"],
    )
    return picture.picture(before, after, _words(view, before, after), paint)


def _words(view: View, before: Lane, after: Lane) -> picture.Words:
    lang = view.lang
    texts = catalogue()[lang]
    said = {f"mark_{m}": texts[f"metric.{m}"] for m in picture.MARKED}
    said |= {f"step_{s}": texts[f"race.step_{s}"] for s in STATES}
    said |= {"in_s": texts["race.in_s"], "seen": texts["race.seen"]}
    facts = {
        f"{name}_{side}": _mark(one, m, lang)
        for name, m in (
            ("wait", "reader_wait_s"),
            ("total", "total_s"),
            ("first", "first_visible_s"),
        )
        for side, one in (("before", before), ("after", after))
    }
    key = "title" if view.choices else "title_same"
    title = text(lang, f"section.export.{key}", scenario=view.scenario.title[lang], **facts)
    names = {
        "large": view.setting.large.name,
        "small": view.setting.small.name,
        "route": view.setting.route.name,
    }
    on = ", ".join(text(lang, f"technique.{c.technique.id}.title") for c in view.choices)
    none = text(lang, "playground.no_techniques")
    return picture.Words(
        title,
        text(lang, "section.export.subtitle", message=" ".join(view.request.message.split())),
        ((text(lang, "playground.before"), none), (text(lang, "playground.yours"), on or none)),
        (
            text(lang, "section.export.foot", **names, **facts),
            text(lang, "section.export.foot_from"),
        ),
        said,
    )


def _mark(one: Lane, metric_id: str, lang: Lang) -> str:
    return amount(one["marks"][metric_id], metric(metric_id).unit, lang)

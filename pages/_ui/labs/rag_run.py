"""One question through the stages, timed here: what each took, what was found, what is used."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from core.labs.desk import desk
from core.labs.rag import MAX_CHARS, REPEATS, RagSettings, Retrieved, Stage, Used, retrieve
from core.labs.recall_table import Measured, measured
from core.retrieval.quality import search_question
from core.retrieval.script import script_of
from core.scenarios import Scenario, scenario
from core.text import Lang, text
from pages._ui.address import keep_choice
from pages._ui.labs.cache_controls import pick_pipeline
from pages._ui.labs.numbers import brief, counted
from pages._ui.labs.rag_controls import pick_search
from pages._ui.labs.waiting import awaited
from pages._ui.lang import language, tr
from pages._ui.sections.look import draw_html, escaped

OWN = "own"
ROLES = {
    "embed": "embed",
    "vector_search": "search",
    "keyword_search": "search",
    "fuse": "compute",
    "rerank": "rerank",
    "prune": "fetch",
    "assemble": "compute",
}
"""The chart colour of each stage."""


def draw() -> None:
    """Draw the part."""
    found = scenario(pick_pipeline())
    question = _question(found)
    side, stage = st.columns([1, 2], gap="medium")
    with side:
        settings = pick_search()
    with stage:
        _recall(found, question, settings, measured())
        if not question:
            st.info(tr("raglab.run.empty"))
            return
        key = ("retrieve", found.id, question, settings)
        job = desk().ask_thread(key, lambda: retrieve(found.id, question, settings))
        result = awaited(job, key, tr("raglab.run.working"))
        if result is not None:
            _draw(result, settings)
            st.button(
                tr("raglab.run.again"),
                on_click=desk().forget,
                args=(key,),
                icon=":material/replay:",
            )


def _question(found: Scenario) -> str:
    """Return an example's question or the person's own, trimmed."""
    lang = language()
    asked = [r for r in found.requests if r.doc_ids or not r.answerable]
    mine = sorted(asked, key=lambda r: r.lang != lang)
    ids = ("first", OWN, *(r.id for r in mine))
    key = f"{found.id}_look_up"
    keep_choice(key, ids, default="first")
    captions = {r.id: search_question(r) for r in mine}
    captions |= {"first": captions[mine[0].id], OWN: tr("raglab.run.own")}
    chosen = st.selectbox(tr("raglab.run.question"), ids, key=key, format_func=captions.__getitem__)
    if chosen != OWN:
        return captions[str(chosen)]
    return st.text_input(
        tr("raglab.run.own"),
        key="look_up",
        max_chars=MAX_CHARS,
        placeholder=tr("raglab.run.placeholder"),
        bind="query-params",
    ).strip()[:MAX_CHARS]


def _recall(found: Scenario, question: str, settings: RagSettings, table: Measured | None) -> None:
    """How often these settings find the answering document, from the table measured ahead."""
    lang = script_of(question) if question else language()
    rerank = "always" if settings.rerank == "when_close" else settings.rerank
    row = None if table is None else table.recall(found.id, lang, settings.method, rerank)
    if table is None or row is None:
        st.caption(tr("raglab.run.no_recall"))
        return
    share = counted(row.share(settings.top_k), language())
    key = "recall_close" if settings.rerank == "when_close" else "recall"
    st.caption(tr(f"raglab.run.{key}", k=settings.top_k, share=share, date=table.date))


def _draw(result: Retrieved, settings: RagSettings) -> None:
    lang = language()
    if result.gives_up:
        facts = {"evidence": f"{result.evidence or 0:.2f}", "floor": f"{result.floor:g}"}
        st.warning(tr("raglab.run.weak", **facts), icon=":material/block:")
    body = [_stages(result, lang), _spent(result, settings, lang)]
    body += [f"<ul class='passages'>{''.join(_passages(result, lang))}</ul>"]
    draw_html("".join(body), "lab")
    floor = f"{result.floor:g}"
    st.caption(tr("raglab.run.basis", encoder=result.encoder, n=REPEATS, floor=floor))


def _stages(result: Retrieved, lang: Lang) -> str:
    """The stages one after the other on one scale, each with its time."""
    rows, begun = [], 0.0
    whole = result.total_s or 1.0
    for stage in result.stages:
        rows.append(_stage(stage, begun / whole, stage.median_s / whole, lang))
        begun += stage.median_s
    total = (
        f"<span class='name sum'>{escaped(text(lang, 'raglab.run.total'))}</span>"
        f"<span class='track sum'></span>"
        f"<span class='value sum'>{escaped(brief(result.total_s, lang))}</span>"
    )
    title = escaped(text(lang, "lab.measured_here"))
    return f"<h5>{title}</h5><div class='stages'>{''.join(rows)}{total}</div>"


def _stage(stage: Stage, left: float, width: float, lang: Lang) -> str:
    name = text(lang, f"raglab.stage.{stage.name}")
    low, high = (brief(v, lang) for v in (stage.low_s, stage.high_s))
    spread = f" <small>{escaped(low)}–{escaped(high)}</small>" if low != high else ""
    place = f"left:{left:.2%};width:{width:.2%}"
    return (
        f"<span class='name'>{escaped(name)}</span><span class='track' aria-hidden='true'>"
        f"<i style='--role:var(--{ROLES[stage.name]});{place}'></i></span>"
        f"<span class='value'>{escaped(brief(stage.median_s, lang))}{spread}</span>"
    )


def _spent(result: Retrieved, settings: RagSettings, lang: Lang) -> str:
    """What goes into the prompt, and whether the rerank ran."""
    facts = {"tokens": f"{result.tokens:,}", "whole": f"{result.whole_tok:,}"}
    key = "spent" if result.tokens == result.whole_tok else "spent_less"
    parts = [text(lang, f"raglab.run.{key}", **facts)]
    if settings.rerank == "when_close":
        gate = "rerank_ran" if result.reranked else "rerank_left_out"
        parts.append(text(lang, f"raglab.run.{gate}"))
    if result.evidence is not None:
        parts.append(text(lang, "raglab.run.evidence", value=f"{result.evidence:.2f}"))
    title = escaped(text(lang, "raglab.run.context"))
    return f"<h5>{title}</h5><p>{escaped(' '.join(parts))}</p>"


def _passages(result: Retrieved, lang: Lang) -> Iterator[str]:
    for used in result.passages:
        key = "in_prompt" if used.tokens else "left_out"
        note = text(lang, f"raglab.run.{key}", tokens=used.tokens)
        yield (
            f"<li><h6>{used.rank}. {escaped(used.document.title)} "
            f"<small>{escaped(note)}</small></h6><p>{' '.join(_sentences(used, lang))}</p></li>"
        )


def _sentences(used: Used, lang: Lang) -> Iterator[str]:
    """Yield the sentences of a passage, those that do not go in struck out."""
    told = escaped(text(lang, "raglab.run.dropped"))
    for sentence, kept in zip(used.sentences, used.kept, strict=True):
        body = escaped(sentence)
        yield body if kept else f"<s><span class='visually-hidden'>{told} </span>{body}</s>"

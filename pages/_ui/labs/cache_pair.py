"""Two questions: how alike an encoder finds them, and what a semantic cache makes of it."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from core.labs.cached_pair import (
    MAX_CHARS,
    Likened,
    Verdict,
    encoder_by_script,
    judge,
    languages,
    liken,
)
from core.labs.desk import desk
from core.labs.example_pairs import ExamplePair, example_pairs
from core.retrieval.encoders import ENCODERS, encoder_spec
from core.retrieval.guards import ALL_GUARDS, GuardId, Objection, objections
from core.text import Lang, text
from pages._ui.address import keep_choice
from pages._ui.labs.cache_controls import pick_guards, pick_threshold
from pages._ui.labs.numbers import brief
from pages._ui.labs.table import table
from pages._ui.labs.waiting import awaited
from pages._ui.lang import language, tr
from pages._ui.sections.look import draw_html, escaped

ASKED, CACHED, ENCODER = "asked", "cached", "encoder"
GREETED = "pair_greeted"  # a session begins with an example, and only once
AUTO = "auto"
ICONS = {"served": "✓", "exact": "✓", "refused": "✕", "too_far": "✕", "other_language": "✕"}


def draw() -> None:
    """Draw the part."""
    _examples()
    asked, cached = _questions()
    side, stage = st.columns([1, 2], gap="medium")
    with side:
        encoder_id = _encoder(asked)
        threshold = pick_threshold()
        guards = pick_guards()
    with stage:
        if not asked or not cached:
            st.info(tr("cachelab.pair.empty"))
            return
        key = ("liken", asked, cached, encoder_id)
        job = desk().ask(key, lambda: liken(desk().pool, asked, cached, encoder_id))
        found = awaited(job, key, tr("cachelab.pair.working"))
        if found is not None:
            verdict = judge(asked, cached, found.cosine, threshold, guards)
            _draw(asked, cached, found, verdict, threshold, guards)


def _examples() -> None:
    """Buttons that fill in an instructive pair each."""
    pairs = example_pairs(language())
    if pairs and GREETED not in st.session_state and not st.query_params.get(ASKED):
        _fill(pairs[0])
    st.session_state[GREETED] = True
    with st.container(horizontal=True, gap="small", key="presets"):
        for pair in pairs:
            st.button(
                tr(f"cachelab.pair.example.{pair.kind}"),
                key=f"example_{pair.kind}",
                on_click=_fill,
                args=(pair,),
            )


def _fill(pair: ExamplePair) -> None:
    st.session_state[ASKED] = pair.asked
    st.session_state[CACHED] = pair.cached
    # Unrelated Korean questions look alike to the English encoder only.
    st.session_state[ENCODER] = "minilm-en" if pair.kind == "unrelated" else AUTO


def _questions() -> tuple[str, str]:
    """Return what is asked and what was asked before, trimmed."""
    fields = []
    for key, column in zip((ASKED, CACHED), st.columns(2, gap="medium"), strict=True):
        with column:
            fields.append(
                st.text_area(
                    tr(f"cachelab.pair.{key}"),
                    key=key,
                    max_chars=MAX_CHARS,
                    height=68,
                    bind="query-params",
                )
            )
    asked, cached = (field.strip()[:MAX_CHARS] for field in fields)
    return asked, cached


def _encoder(asked: str) -> str:
    """Return the encoder's id; by script where nobody chose."""
    ids = (AUTO, *(spec.id for spec in ENCODERS))
    keep_choice(ENCODER, ids, default=AUTO)
    labels = dict(zip(ids, ids, strict=True))
    labels[AUTO] = tr("cachelab.pair.auto", encoder=encoder_by_script(asked))
    chosen = st.selectbox(
        tr("cachelab.pair.encoder"),
        ids,
        key=ENCODER,
        format_func=labels.__getitem__,
        help=tr("cachelab.pair.encoder_help"),
    )
    return encoder_by_script(asked) if chosen == AUTO else str(chosen)


def _draw(
    asked: str,
    cached: str,
    found: Likened,
    verdict: Verdict,
    threshold: float,
    guards: frozenset[GuardId],
) -> None:
    lang = language()
    body = [_verdict(verdict, found, threshold, lang), _gauge(found.cosine, threshold, lang)]
    body += _objections(asked, cached, guards, lang)
    body.append(_times(found, languages(asked, cached), lang))
    draw_html("".join(body), "lab")
    spec = encoder_spec(found.encoder)
    source = tr(f"cachelab.source.{spec.id.replace('-', '_')}")
    shipped = f"{spec.threshold:g}"
    st.caption(
        tr("cachelab.pair.threshold_from", encoder=spec.id, threshold=shipped, source=source)
    )


def _verdict(verdict: Verdict, found: Likened, threshold: float, lang: Lang) -> str:
    facts = {"cosine": f"{found.cosine:.3f}", "threshold": f"{threshold:.2f}"}
    names = ", ".join(text(lang, f"cachelab.guard.{o.guard}") for o in verdict.objections)
    title = text(lang, f"cachelab.pair.decision.{verdict.decision}")
    why = text(lang, f"cachelab.pair.because.{verdict.decision}", guards=names, **facts)
    kind = "yes" if verdict.serves else "no"
    return (
        f"<div class='verdict {kind}' role='status'><b><span aria-hidden='true'>"
        f"{ICONS[verdict.decision]}</span> {escaped(title)}</b><p>{escaped(why)}</p></div>"
    )


def _gauge(cosine: float, threshold: float, lang: Lang) -> str:
    """A scale from 0 to 1 with the cosine filled in and the threshold marked."""
    at = min(max(cosine, 0.0), 1.0)
    label = text(lang, "cachelab.pair.gauge", cosine=f"{cosine:.3f}", threshold=f"{threshold:.2f}")
    return (
        f"<div class='gauge' role='img' aria-label='{escaped(label)}'>"
        f"<i class='fill{' over' if cosine >= threshold else ''}' style='width:{at:.1%}'></i>"
        f"<i class='mark' style='left:{threshold:.1%}'></i></div>"
        f"<p class='hint'>{escaped(label)}</p>"
    )


def _objections(asked: str, cached: str, guards: frozenset[GuardId], lang: Lang) -> Iterator[str]:
    """Yield what each guard holds against it; of those switched off, what they would."""
    found = {o.guard: o for o in objections(asked, cached, ALL_GUARDS)}
    items = [
        f"<li{'' if guard in guards else ' class=off'}><b>{escaped(_guard(guard, lang))}</b> "
        f"{escaped(_said(objection, guards, lang))}</li>"
        for guard, objection in found.items()
    ]
    if not items:
        items = [f"<li>{escaped(text(lang, 'cachelab.pair.no_objection'))}</li>"]
    title = escaped(text(lang, "cachelab.pair.guards_say"))
    yield f"<h5>{title}</h5><ul class='objections'>{''.join(items)}</ul>"


def _guard(guard: GuardId, lang: Lang) -> str:
    return text(lang, f"cachelab.guard.{guard}")


def _said(objection: Objection, guards: frozenset[GuardId], lang: Lang) -> str:
    none = text(lang, "cachelab.pair.nothing")
    key = "objects" if objection.guard in guards else "would_object"
    return text(
        lang,
        f"cachelab.pair.{key}",
        asked=", ".join(objection.only_asked) or none,
        cached=", ".join(objection.only_cached) or none,
    )


def _times(found: Likened, spoken: tuple[Lang, Lang], lang: Lang) -> str:
    """What it took here, and in which languages it was asked."""
    names = " / ".join(text(lang, f"lab.lang_{one}") for one in spoken)
    rows = [
        (text(lang, "cachelab.pair.languages"), names),
        (text(lang, "cachelab.pair.by"), found.encoder),
        (text(lang, "cachelab.pair.encode"), brief(found.encode_s, lang)),
        (text(lang, "cachelab.pair.queued"), brief(found.queued_s, lang)),
        (text(lang, "cachelab.pair.guards_took"), brief(found.guards_s, lang)),
        (text(lang, "cachelab.pair.first_call"), brief(found.load_s, lang)),
    ]
    head = (text(lang, "lab.measured_here"), "")
    return table(head, rows, kind="facts")

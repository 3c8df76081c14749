"""Two prompts: where they part, and what a provider's prompt cache can reuse of the second."""

from __future__ import annotations

import streamlit as st

from core.labs.json_text import MAX_CHARS
from core.labs.shared_prefix import Reuse, Sharing, example_prompts, reuse, sharing
from core.profiles import DEFAULT_LARGE, Profile, models
from core.scenarios import scenario
from core.text import Lang, text
from pages._ui.address import keep_choice
from pages._ui.labs.numbers import brief
from pages._ui.labs.table import table
from pages._ui.lang import language, tr
from pages._ui.sections.figures import share
from pages._ui.sections.look import draw_html, escaped

SOURCES = ("naive", "static_first", "own")
SCENARIO, STEP = "support", "assistant"


def draw() -> None:
    """Draw the part."""
    keep_choice("prompts", SOURCES, default=SOURCES[0])
    source = st.segmented_control(
        tr("tokenlab.prefix.source"),
        SOURCES,
        key="prompts",
        format_func=lambda s: tr(f"tokenlab.prefix.{s}"),
        required=True,
    )
    model = _model()
    one, other = _own() if source == "own" else _example(is_static=source == "static_first")
    if not one or not other:
        st.info(tr("tokenlab.prefix.empty"))
        return
    lang = language()
    found = sharing(one, other)
    reused = reuse(found, model)
    draw_html(
        _told(found, reused, lang) + _parting(found, lang) + _facts(found, reused, lang), "lab"
    )
    st.caption(tr("tokenlab.prefix.basis", model=model.name, date=model.source_date))


def _model() -> Profile:
    known = {name: m for name, m in models().items() if m.input_price is not None}
    names = list(known)
    chosen = st.selectbox(
        tr("tokenlab.prefix.model"),
        names,
        index=names.index(DEFAULT_LARGE),
        key="cache_of",
        bind="query-params",
    )
    return known[str(chosen)]


def _example(*, is_static: bool) -> tuple[str, str]:
    """Return the prompts of one call for the two most asked requests; shown folded."""
    lang = language()
    prompts = example_prompts(scenario(SCENARIO), STEP, lang, static_first=is_static)
    with st.expander(tr("tokenlab.prefix.show")):
        for prompt in prompts:
            draw_html(f"<pre tabindex='0'>{escaped(prompt)}</pre>", "prompts")
    return prompts


def _own() -> tuple[str, str]:
    fields = []
    for key, column in zip(("first", "second"), st.columns(2, gap="medium"), strict=True):
        with column:
            fields.append(
                st.text_area(
                    tr(f"tokenlab.prefix.{key}"),
                    key=f"prompt_{key}",
                    max_chars=MAX_CHARS,
                    height=190,
                    persist_state="session",
                )[:MAX_CHARS]
            )
    one, other = fields
    return one, other


def _told(found: Sharing, reused: Reuse, lang: Lang) -> str:
    """The outcome in a sentence: reused, or why not."""
    facts = {
        "shared": f"{found.shared_tok:,}",
        "whole": f"{found.other_tok:,}",
        "minimum": f"{reused.rule.minimum_tok:,}",
        "reused": f"{reused.reusable_tok:,}",
        "share": share(reused.reusable_tok / found.other_tok if found.other_tok else 0.0),
    }
    kind = "reused" if reused.reusable_tok else "too_short"
    title = text(lang, f"tokenlab.prefix.title_{kind}", **facts)
    why = text(lang, f"tokenlab.prefix.why_{kind}", **facts)
    state = "yes" if reused.reusable_tok else "no"
    return (
        f"<div class='verdict {state}' role='status'><b>{escaped(title)}</b>"
        f"<p>{escaped(why)}</p></div>"
    )


def _parting(found: Sharing, lang: Lang) -> str:
    """The end of what is common, and how each prompt goes on."""
    title = escaped(text(lang, "tokenlab.prefix.parting"))
    names = [escaped(text(lang, f"tokenlab.prefix.{k}")) for k in ("first", "second")]
    after = [escaped(part) or "∅" for part in (found.one_after, found.other_after)]
    then = "".join(
        f"<span class='then'><b>{name}:</b> {part}…</span>"
        for name, part in zip(names, after, strict=True)
    )
    return (
        f"<h5>{title}</h5><div class='parting'><span class='same'>…{escaped(found.before)}</span>"
        f"{then}</div>"
    )


def _facts(found: Sharing, reused: Reuse, lang: Lang) -> str:
    usd = reused.saved_usd
    rows = [
        ("first_tok", f"{found.one_tok:,}"),
        ("second_tok", f"{found.other_tok:,}"),
        ("shared_tok", f"{found.shared_tok:,}"),
        ("rule", text(lang, "tokenlab.prefix.rule_is", **_rule(reused))),
        ("reusable", f"{reused.reusable_tok:,}"),
        ("saved_s", brief(reused.saved_s, lang) if reused.saved_s else "0"),
        ("saved_usd", "–" if usd is None else f"${usd * 1000:,.2f}"),
    ]
    named = [(text(lang, f"tokenlab.prefix.{key}"), value) for key, value in rows]
    return table(("", ""), named, kind="facts")


def _rule(reused: Reuse) -> dict[str, str]:
    return {"minimum": f"{reused.rule.minimum_tok:,}", "step": f"{reused.rule.step_tok:,}"}

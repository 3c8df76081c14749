"""Prompts: every model call before and after, what it is made of, what changed, what it answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import streamlit as st

from core import tokens
from core.counterparts import Asked, Counterpart, asked, counterparts
from core.output import decoding, write
from core.prompt_diff import diff
from core.text import Lang, text
from pages._ui.choosing import one_of
from pages._ui.lang import tr
from pages._ui.sections.look import draw_html, escaped
from pages._ui.sections.make_up import make_up
from pages._ui.sections.marked import marked
from pages._ui.view import View

SHOWN = ("changes", "before", "after")
ROLES = ("system", "user")


def draw(view: View) -> None:
    """Draw the section."""
    found = _calls(view)
    if not found:
        st.info(tr("section.prompts.none"))
        return
    label = tr("section.prompts.view")
    shown = one_of("prompt", SHOWN, label, lambda s: tr(f"section.prompts.{s}"))
    draw_html(_legend(view), "prompts")
    widest = max(sum(a.tokens for a in side) for pair in found for side in pair.sides)
    opened = max(found, key=lambda pair: pair.weight)
    for pair in found:
        with st.expander(_label(view, pair), expanded=pair is opened):
            draw_html(_body(view, pair, str(shown), widest), "prompts")


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Calls that do the same work, as both plans make them for one request; their answers."""

    calls: Counterpart
    before: tuple[Asked, ...]
    after: tuple[Asked, ...]
    written: tuple[str, str]

    @classmethod
    def of(cls, view: View, calls: Counterpart) -> Pair:
        """Return the calls as they are made for the view's request."""
        before = tuple(asked(view.race.before, s, view.request) for s in calls.before)
        after = tuple(asked(view.race.after, s, view.request) for s in calls.after)
        return cls(calls, before, after, (_written(view, before), _written(view, after)))

    @property
    def sides(self) -> tuple[tuple[Asked, ...], tuple[Asked, ...]]:
        """The calls before and after."""
        return self.before, self.after

    @property
    def weight(self) -> int:
        """Tokens that differ at most; the heaviest call is the one to look at first."""
        ran = any(a.ran for side in self.sides for a in side)
        return max(sum(a.tokens for a in side) for side in self.sides) if ran else 0


@lru_cache(maxsize=32)
def _calls(view: View) -> tuple[Pair, ...]:
    matched = counterparts(view.race.before.plan, view.race.after.plan)
    return tuple(Pair.of(view, calls) for calls in matched)


def _written(view: View, side: Sequence[Asked]) -> str:
    """Return the reference answers of the calls that are made, one after the other."""
    texts = []
    for one in side:
        answer = write(one.step.signature, view.request.values).text if one.ran else ""
        limit = one.step.max_output_tok
        if limit is not None:
            ends = tokens.offsets(answer)
            answer = answer[: ends[limit - 1]] if len(ends) > limit else answer
        texts.append(answer)
    return "\n".join(t for t in texts if t)


def _label(view: View, pair: Pair) -> str:
    """Return the steps' names with the tokens that go in and out."""
    steps = pair.calls.before or pair.calls.after
    names = " + ".join(view.scenario.label(s.id, view.lang) for s in steps)
    if not any(a.ran for side in pair.sides for a in side):
        return _plain(
            tr("section.prompts.label", steps=names, tokens=tr("section.prompts.not_called"))
        )
    ins = [sum(a.tokens for a in side if a.ran) for side in pair.sides]
    outs = [tokens.count(t) for t in pair.written]
    if pair.calls.fate in ("gone", "new"):
        counts = tr("section.prompts.tokens_one", tokens=f"{max(ins):,}", out=f"{max(outs):,}")
    else:
        counts = tr(
            "section.prompts.tokens_both",
            before=f"{ins[0]:,}",
            after=f"{ins[1]:,}",
            out_before=f"{outs[0]:,}",
            out_after=f"{outs[1]:,}",
        )
    return _plain(tr("section.prompts.label", steps=names, tokens=counts))


def _plain(label: str) -> str:
    """Return a label in which nothing is Markdown."""
    return "".join(f"\\{c}" if c in r"\`*_{}[]()<>#+-!|~$:" else c for c in label)


def _legend(view: View) -> str:
    gone = f"<del>{escaped(tr('section.prompts.gone_sample'))}</del>"
    new = f"<ins>{escaped(tr('section.prompts.new_sample'))}</ins>"
    sentence = escaped(tr("section.prompts.legend", gone="\x01", new="\x02", id=view.request.id))
    return f"<p class='hint'>{sentence.replace(chr(1), gone).replace(chr(2), new)}</p>"


def _body(view: View, pair: Pair, shown: str, widest: int) -> str:
    parts = [f"<p class='hint'>{escaped(_fate(pair, view.lang))}</p>", *_absent(pair, view.lang)]
    parts.append(make_up(view, pair.sides, widest))
    messages = {r: [_messages(view, side, r) for side in pair.sides] for r in ROLES}
    if all(old == new for old, new in messages.values()):
        parts.append(f"<p class='hint'>{escaped(tr('section.prompts.unchanged'))}</p>")
    for role, (old, new) in messages.items():
        parts.append(_passage(text(view.lang, f"section.prompts.{role}"), old, new, shown, view))
    parts.append(_answer(view, pair, shown))
    return "".join(parts)


def _fate(pair: Pair, lang: Lang) -> str:
    before, after = len(pair.before), len(pair.after)
    fate = pair.calls.fate
    facts = {"n": max(before, after), "before": before, "after": after}
    return text(lang, f"section.prompts.fate_{fate}", **facts)


def _absent(pair: Pair, lang: Lang) -> Iterator[str]:
    """Which side leaves the call out for this request."""
    missing = [bool(side) and not any(a.ran for a in side) for side in pair.sides]
    if all(m or not side for m, side in zip(missing, pair.sides, strict=True)):
        keys = ["not_called"]
    else:
        names = ("not_called_before", "not_called_after")
        keys = [name for name, m in zip(names, missing, strict=True) if m]
    for key in keys:
        yield f"<p class='hint'><b>{escaped(text(lang, f'section.prompts.{key}'))}</b></p>"


@dataclass(frozen=True, slots=True)
class _Text:
    """A text as it is shown, and its tokens (without headings that were added)."""

    shown: str
    tokens: int


def _messages(view: View, side: Sequence[Asked], role: str) -> _Text:
    """Return the messages of one role, under the steps' names where there is more than one call."""
    texts, count = [], 0
    for one in side:
        name = f"── {view.scenario.label(one.step.id, view.lang)} ──\n" if len(side) > 1 else ""
        for message in one.prompt.messages:
            if message.role == role:
                texts.append(name + message.text)
                count += tokens.count(message.text)
    return _Text("\n\n".join(texts), count)


def _answer(view: View, pair: Pair, shown: str) -> str:
    old, new = (_Text(written, tokens.count(written)) for written in pair.written)
    if not old.shown and not new.shown:
        return ""
    title = text(view.lang, "section.prompts.output")
    return _passage(title, old, new, shown, view) + "".join(_predictions(view, pair))


def _predictions(view: View, pair: Pair) -> Iterator[str]:
    """Yield what became of the text that was sent along as a prediction."""
    for one in pair.after:
        known = write(one.step.signature, view.request.known).text if view.request.known else ""
        if one.ran and one.step.predict and known:
            found = decoding(write(one.step.signature, view.request.values).text, known)
            facts = {"accepted": found.accepted, "rejected": found.rejected}
            sentence = text(view.lang, "section.prompts.predicted", **facts)
            yield f"<p class='hint'>{escaped(sentence)}</p>"


def _passage(title: str, old: _Text, new: _Text, shown: str, view: View) -> str:
    """Return one message or answer: its tokens, and its text or what changed in it."""
    counts = [f"{t.tokens:,}" for t in (old, new) if t.shown]
    total = text(view.lang, "section.prompts.total", n=" → ".join(dict.fromkeys(counts)))
    head = f"<h5>{escaped(title)} <small>{escaped(total)}</small></h5>"
    if shown == "changes" and old.shown and new.shown:
        return f"{head}<pre tabindex='0'>{_changes(old.shown, new.shown, view.lang)}</pre>"
    only = {"before": old.shown, "after": new.shown}.get(shown, old.shown or new.shown)
    return f"{head}<pre tabindex='0'>{escaped(only)}</pre>" if only else ""


@lru_cache(maxsize=256)
def _changes(old: str, new: str, lang: Lang) -> str:
    return "".join(marked(diff(old, new), lang))

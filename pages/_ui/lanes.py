"""A comparison as a race: both timelines with their labels, ready for the browser."""

from __future__ import annotations

from functools import lru_cache
from typing import cast

from core.profiles import Setting
from core.replay import Lane as PlainLane
from core.replay import StepSpan, lane
from core.text import Lang, catalogue, text
from core.timeline import Timeline
from pages._ui.race import (
    LABEL_KEYS,
    Lane,
    Marks,
    RacePayload,
    StepBar,
    VisibleEvent,
    run_id_of,
)
from pages._ui.race.payload import EventKind, StepKind, StepState
from pages._ui.view import View

HEAD_ROOM = 1.02
"""How much longer than the longest plan the axis is. The reader may go on beyond it."""


@lru_cache(maxsize=128)
def payload(view: View) -> RacePayload:
    """What the race shows for a view; equal views give the same object."""
    lang = view.lang
    before = _lane(view, view.race.before, "before", text(lang, "playground.no_techniques"))
    after = _lane(view, view.race.after, "yours", _on(view))
    lanes = (before, after)
    ends = [s.end_s for one in lanes for s in one.steps]
    texts = catalogue()[lang]  # with their gaps: the browser fills them
    labels = {key: texts[f"race.{key}"] for key in LABEL_KEYS}
    return RacePayload(run_id_of(lanes), lang, labels, max(ends) * HEAD_ROOM or 1.0, lanes)


def _on(view: View) -> str:
    names = [text(view.lang, f"technique.{c.technique.id}.title") for c in view.choices]
    if not names:
        return text(view.lang, "playground.no_techniques")
    return text(view.lang, "playground.techniques_on", names=", ".join(names))


def _lane(view: View, timeline: Timeline, side: str, subtitle: str) -> Lane:
    plain = lane(timeline, view.scenario, view.lang, view.reader)
    title = text(view.lang, f"playground.{side}")
    marks = {k: v for k, v in plain["marks"].items() if k in Marks.__dataclass_fields__}
    return Lane(
        side,
        title,
        subtitle,
        view.request.message,
        Marks(**marks),
        _events(plain),
        tuple(_bar(span, view.setting, view.lang) for span in plain["steps"]),
    )


def _events(plain: PlainLane) -> tuple[VisibleEvent, ...]:
    return tuple(
        VisibleEvent(e["t"], cast("EventKind", e["kind"]), e["text"], e["unit"], e["field"])
        for e in plain["events"]
    )


def _bar(span: StepSpan, setting: Setting, lang: Lang) -> StepBar:
    first, end = span["first_s"], span["end_s"]
    streams = span["kind"] == "llm" and first is not None and first < end
    return StepBar(
        span["id"],
        span["label"],
        cast("StepKind", span["kind"]),
        min(span["ready_s"], span["start_s"]),
        span["start_s"],
        end,
        first if streams else None,
        cast("StepState", span["state"]),
        span["critical"],
        _facts(span, setting, lang),
        text(lang, f"step.{span['kind']}"),
    )


def _facts(span: StepSpan, setting: Setting, lang: Lang) -> tuple[tuple[str, str], ...]:
    """What a step used, for its explanation; only what was counted."""
    if span["kind"] != "llm" or span["state"] == "skipped":
        return ()
    facts = [(text(lang, "step.model"), setting.model(span["role"]).name)]
    for key in ("tokens_in", "tokens_cached", "tokens_out"):
        value = span[key]
        if value:
            facts.append((text(lang, f"metric.{key}"), f"{value:,.0f}"))
    if span["cost_usd"] is not None:
        facts.append((text(lang, "metric.cost_usd"), f"${span['cost_usd']:.5f}"))
    return tuple(facts)

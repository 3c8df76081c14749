"""An effect in words: what a technique saves or costs, for whom, and why nothing where it does."""

from __future__ import annotations

from core.alone import Effect, first_effect
from core.metrics import Change, Metric, Reader, metric
from core.profiles import Setting
from core.scenarios import Scenario
from core.text import Note, catalogue, say
from core.worth import Reach
from pages._ui.lang import language, tr
from pages._ui.sections.bars import HIDDEN, RARE, UNNOTICED, Sign, sign
from pages._ui.sections.figures import amount, between, share
from pages._ui.sections.look import escaped

WAIT = "reader_wait_s"

RARE_FAILURE = 0.01
"""Shares of failed requests that differ by less are the same: two of 200 requests."""


def cell(technique_id: str, scenario: Scenario, setting: Setting, reader: Reader) -> str:
    """What it does for the reader's wait on a pipeline, in a few words, as HTML."""
    found = first_effect(technique_id, scenario, setting, reader)
    if isinstance(found, Note):
        return f"<span class='idle'>{escaped(say(found, language()))}</span>"
    remarks = []
    if found.situation != "plain":
        remarks.append(tr(f"catalogue.situation.{found.situation}"))
    if found.what_if:
        remarks.append(tr("catalogue.what_if"))
    small = f" <small>{escaped('; '.join(remarks))}</small>" if remarks else ""
    told = [words for words in (answered(found),) if words is not None]
    if not told or sign(found.changes[0], metric(WAIT)) != "none":
        told.insert(0, wait(found))
    return f"{'<br>'.join(told)}{small}"


def answered(found: Effect) -> str | None:
    """How many more requests, or fewer, get an answer, as HTML; None where as many do."""
    before, after = found.failed
    if abs(after - before) < RARE_FAILURE:
        return None
    kind = "gain" if after < before else "loss"
    told = tr("catalogue.failed", before=share(before), after=share(after))
    return f"<b class='{kind}'>{escaped(told)}</b>"


def wait(found: Effect) -> str:
    """The reader's wait: median, and whom it reaches where the median does not say."""
    m, median, reach = metric(WAIT), found.changes[0], found.reach
    if reach is not None and hidden(median, reach):
        value = escaped(tr("section.toggles.saves", value=amount(reach.better_by, "s", language())))
        whom = escaped(tr("section.toggles.helped", share=share(reach.better)))
        return f"<b class='gain'>{value}</b> {whom}"
    return change(median, m)


def hidden(median: Change | None, reach: Reach) -> bool:
    """Whether the median says next to nothing about those who gain."""
    size = 0.0 if median is None else abs(median.difference)
    noticed = reach.better >= RARE and reach.better_by >= UNNOTICED["s"]
    return noticed and size < HIDDEN * reach.better_by


def change(found: Change | None, m: Metric, *, interval: bool = False) -> str:
    """A change in words, as HTML: gains and losses in their colours."""
    kind: Sign = sign(found, m)
    if found is None or kind == "none":
        return f"<span class='idle'>{escaped(tr('section.toggles.same'))}</span>"
    lang = language()
    value = amount(abs(found.difference), m.unit, lang)
    told = escaped(
        tr("section.toggles.saves" if kind == "gain" else "section.toggles.costs", value=value)
    )
    if not interval or found.low == found.high:
        return f"<b class='{kind}'>{told}</b>"
    ends = escaped(between(abs(found.low), abs(found.high), m.unit, lang))
    return f"<b class='{kind}'>{told}</b> <small>{ends}</small>"


def why(technique_id: str) -> str:
    """Why it can cost something."""
    own = f"section.toggles.why.{technique_id}"
    return tr(own if own in catalogue()["en"] else "section.toggles.why.other")

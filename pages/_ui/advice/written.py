"""The long report as Markdown, in one language: to read on the page and to take away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from core.advice.value import ADVICE_N
from core.metrics import metric
from core.report import CROWDED, POOL, REQUESTS, SEED, Report
from core.tails import Owner
from core.techniques import TECHNIQUES, technique
from core.text import Lang, text
from pages._ui.advice.parts import added
from pages._ui.advice.shares import SMALLEST_ERROR_S
from pages._ui.sections.figures import NONE, amount, metric_name, seconds, share, signed_share

MOST_STEPS = 3
"""So many owners of the slow end are named."""


def markdown(found: Report, lang: Lang, level: int = 1) -> str:
    """The whole report, its title a heading of this level."""
    scenario, setting = found.question.scenario, found.question.setting
    date = max(setting.large.source_date, setting.small.source_date)
    basis = text(
        lang,
        "report.basis",
        large=setting.large.name,
        small=setting.small.name,
        date=date,
        route=setting.route.name,
        n=ADVICE_N,
        loaded=REQUESTS,
        seed=SEED,
    )
    lead = "#" * level
    lines = [f"{lead} {text(lang, 'report.title', scenario=scenario.title[lang])}", basis]
    for title, part in (
        ("short", _short),
        ("order", _order),
        ("earned", _earned),
        ("load", _load),
        ("slow", _slow),
        ("price", _price),
        ("sources", _sources),
    ):
        lines += [f"{lead}# {text(lang, f'report.{title}')}", *part(found, lang)]
    # A dollar sign begins a formula where Markdown knows them.
    return "\n\n".join(lines).replace("$", r"\$") + "\n"


def _short(found: Report, lang: Lang) -> Iterator[str]:
    advice = found.answer.advice
    naive, best = advice.naive, advice.best
    if not best.changes:
        yield text(lang, "report.nothing")
    yield text(
        lang,
        "report.summary",
        goal=metric_name(metric(found.question.goal), lang),
        before=seconds(naive.p50_s, lang),
        after=seconds(best.p50_s, lang),
        share=signed_share(best.p50_s / naive.p50_s - 1.0),
        p95_before=amount(naive.p95_s, "s", lang),
        p95_after=amount(best.p95_s, "s", lang),
        cost_before=amount(naive.cost_usd, "usd", lang),
        cost_after=amount(best.cost_usd, "usd", lang),
        n=best.changes,
        all=len(TECHNIQUES),
        considered=advice.considered,
    )
    if not advice.met:
        yield text(lang, "report.not_met")


def _order(found: Report, lang: Lang) -> Iterator[str]:
    """The roadmap as a table."""
    rows = []
    for before, after in pairwise((found.answer.advice.naive, *found.answer.advice.roadmap)):
        new = added(before, after)
        effort, risk = (text(lang, f"advice.level.{c}") for c in found.question.classes(new))
        saved = seconds(before.p50_s - after.p50_s, lang)
        rows.append((_name(new, lang), effort, risk, saved, seconds(after.p50_s, lang)))
    heads = ("change", "effort", "risk", "saves", "then")
    yield _table([text(lang, f"report.{h}") for h in heads], rows)


def _earned(found: Report, lang: Lang) -> Iterator[str]:
    shares = found.answer.shares
    yield text(lang, "report.earned_how", total=seconds(shares.total, lang))
    rows = [
        (
            _name(s.technique, lang),
            seconds(s.value, lang),
            NONE if s.error < SMALLEST_ERROR_S else seconds(s.error, lang),
        )
        for s in sorted(shares.shares, key=lambda s: -s.value)
    ]
    yield _table([text(lang, f"report.{h}") for h in ("change", "part", "error")], rows)


def _load(found: Report, lang: Lang) -> Iterator[str]:
    before, after = (f"{rate:.2f}" for rate in found.bearable_per_s)
    yield text(lang, "report.load_how", pool=POOL, before=before, after=after)
    limit = seconds(found.limit_s, lang)
    rows = [
        (
            f"{rate.rate_per_s:.2f}",
            _both(lang, *(amount(v, "s", lang) for v in rate.p95_s)),
            _both(lang, *(share(v) for v in rate.within)),
            _both(lang, *(f"{q:,}" for q in rate.queue)),
        )
        for rate in found.rates
    ]
    heads = [text(lang, f"report.{h}", limit=limit) for h in ("rate", "p95", "within", "queue")]
    yield _table(heads, rows)


def _slow(found: Report, lang: Lang) -> Iterator[str]:
    yield text(lang, "report.slow_how", share=share(CROWDED))
    for side, owning in zip(("before", "after"), found.owners, strict=True):
        yield text(lang, f"report.slow_{side}", steps=_named(found, owning, lang))


def _named(found: Report, owning: Sequence[Owner], lang: Lang) -> str:
    label = found.question.scenario.label
    named = [
        text(lang, "report.slow_step", step=label(o.step, lang), share=share(o.share))
        for o in owning[:MOST_STEPS]
        if o.share > 0
    ]
    return ", ".join(named) or text(lang, "report.slow_none")


def _price(found: Report, lang: Lang) -> Iterator[str]:
    """What answers lose, and the catch of every change."""
    lines = [
        text(
            lang,
            "report.lost",
            title=text(lang, f"loss.{loss.key}.title"),
            before=share(loss.before),
            after=share(loss.after),
        )
        for loss in found.losses
    ]
    lines += [
        text(lang, "report.catch", name=_name(t, lang), catch=text(lang, f"technique.{t}.catch"))
        for t in _best(found)
    ]
    yield _list(lines)


def _sources(found: Report, lang: Lang) -> Iterator[str]:
    setting = found.question.setting
    lines = [
        text(lang, "report.source_model", name=m.name, source=m.source, date=m.source_date)
        for m in (setting.large, setting.small)
    ]
    by_source: dict[str, list[str]] = {}
    for t in _best(found):
        by_source.setdefault(technique(t).source, []).append(_name(t, lang))
    lines += [
        text(lang, "report.source_technique", names=", ".join(names), source=source)
        for source, names in by_source.items()
    ]
    yield _list(lines)


def _best(found: Report) -> list[str]:
    """The best set in the order of the roadmap."""
    steps = (found.answer.advice.naive, *found.answer.advice.roadmap)
    return [added(before, after) for before, after in pairwise(steps)]


def _name(technique_id: str, lang: Lang) -> str:
    return text(lang, f"technique.{technique_id}.title")


def _both(lang: Lang, before: str, after: str) -> str:
    return text(lang, "report.both", before=before, after=after)


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, the others are figures."""
    marks = ["---", *("---:" for _ in heads[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, marks, *rows))

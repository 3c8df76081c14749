"""A comparison as data to take away: JSON by the command line's contract, CSV of what was seen."""

from __future__ import annotations

import csv
import dataclasses
import io

from core.compare import Comparison
from core.metrics import Reader, summaries
from core.profiles import Setting
from core.replay import lane
from core.scenarios import Scenario
from core.timeline import Timeline

SCHEMA = 1


def summary_json(
    scenario: Scenario,
    setting: Setting,
    found: Comparison,
    shown: Comparison,
    reader: Reader,
    seed: int,
) -> dict[str, object]:
    """`simulate --json`: percentiles of `found`, the log, and the timelines of `shown`."""
    applied = [entry.technique for entry in found.log if entry.applied]
    return {
        "schema": SCHEMA,
        "scenario": scenario.id,
        "engine": found.after.engine,
        "n": found.before.n,
        "seed": seed,
        "models": {
            role: {"name": m.name, "source": m.source, "source_date": m.source_date}
            for role, m in (("large", setting.large), ("small", setting.small))
        },
        "route": setting.route.name,
        "baseline": {"techniques": [], "metrics": metrics_json(found.before, reader)},
        "variant": {"techniques": applied, "metrics": metrics_json(found.after, reader)},
        "log": [
            {
                "technique": entry.technique,
                "applied": entry.applied,
                "reason": entry.reason.key if entry.reason else None,
                "steps_before": [s.id for s in entry.before.steps],
                "steps_after": [s.id for s in entry.after.steps],
            }
            for entry in found.log
        ],
        "timeline": {
            "request": shown.before.requests[-1].id,
            "baseline": lane(shown.before, scenario, "en", reader),
            "variant": lane(shown.after, scenario, "en", reader),
        },
    }


def metrics_json(timeline: Timeline, reader: Reader) -> dict[str, dict[str, object]]:
    """All metrics' summaries as plain data; null where there is no value."""
    return {k: dataclasses.asdict(v) for k, v in summaries(timeline, reader).items()}


def events_csv(scenario: Scenario, shown: Comparison, reader: Reader, lang: str = "en") -> str:
    """What was seen and what ran, one line an event, both sides; seconds from the question."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("side", "t_s", "event", "step_or_unit", "text"))
    for side, timeline in (("before", shown.before), ("after", shown.after)):
        one = lane(timeline, scenario, lang, reader)
        rows: list[tuple[float, str, str, str]] = []
        for span in one["steps"]:
            rows.append((span["start_s"], "step_start", span["id"], span["state"]))
            if span["first_s"] is not None:
                rows.append((span["first_s"], "step_first_output", span["id"], ""))
            rows.append((span["end_s"], "step_end", span["id"], span["state"]))
        for e in one["events"]:
            name = f"{e['unit']}.{e['field']}" if e["field"] else e["unit"]
            rows.append((e["t"], e["kind"], name, e["text"]))
        writer.writerows((side, f"{t:.6f}", k, i, safe(x)) for t, k, i, x in sorted(rows))
    return out.getvalue()


def safe(cell: str) -> str:
    """A cell no spreadsheet takes for a formula."""
    return f"'{cell}" if cell.lstrip()[:1] in ("=", "+", "-", "@") else cell

"""Steps of `simulate`: what each technique adds, switched on one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from core.commands.choice import Picked
from core.commands.output import Cell, table
from core.export import metrics_json
from core.metrics import Reader, summaries
from core.timeline import Timeline
from core.workload import Workload
from core.worth import one_by_one

SHOWN = ("total_s", "first_useful_s", "reader_wait_s", "calls", "cost_usd")


def _steps(choice: Picked, workload: Workload, seed: int) -> Iterator[tuple[str | None, Timeline]]:
    """Each technique by id with what comes out once it is on, too; first without any, None."""
    names = (None, *(c.technique.id for c in choice.choices))
    found = one_by_one(choice.scenario, choice.choices, choice.setting, workload, seed=seed)
    return zip(names, found, strict=True)


def steps_json(
    choice: Picked, workload: Workload, reader: Reader, seed: int
) -> list[dict[str, object]]:
    """`steps`: every metric after each step; the first one has no technique."""
    return [
        {"technique": name, "metrics": metrics_json(timeline, reader)}
        for name, timeline in _steps(choice, workload, seed)
    ]


def print_steps(choice: Picked, workload: Workload, reader: Reader, seed: int) -> None:
    """Medians after each step, and by how much the reader waits less than before it."""
    rows: list[tuple[Cell, ...]] = []
    before: float | None = None
    for name, timeline in _steps(choice, workload, seed):
        found = summaries(timeline, reader, SHOWN)
        wait = found["reader_wait_s"].p50
        saved = None if before is None or wait is None else before - wait
        rows.append((name, *(found[m].p50 for m in SHOWN), saved))
        before = wait
    print("one after the other, medians without load:")
    table(("switch on", *SHOWN, "wait saved"), rows)

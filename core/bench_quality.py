"""`bench quality`: what rewritten calls do to answers on a live engine; kept in the docs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from core.bench_accuracy import DOCS
from core.engines import Target, named, using
from core.errors import InputError, UnknownName
from core.kept import keep
from core.local.machine import describe_machine
from core.local.models import locate
from core.profiles import setting
from core.quality import REWRITES, quality
from core.quality_table import KEPT, CaseRow, FieldRow, Quality, Table
from core.retrieval.quality import Share
from core.scenarios import SCENARIOS, scenario
from core.techniques import TECHNIQUES

DEFAULT_REQUESTS = 12
MOST_REQUESTS = 500
SCHEMA = 1

COLUMNS = (
    "pipeline", "case", "form held by", "valid", "complete", "as plain", "as reference",
    "tokens out", "calls s", "range s",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """What to ask: pipelines, rewrites, requests of each pipeline, and of which models."""

    scenarios: tuple[str, ...] = tuple(SCENARIOS)
    rewrites: tuple[str, ...] = REWRITES
    requests: int = DEFAULT_REQUESTS
    engine: str = "local"
    large: str = ""
    small: str = ""

    def __post_init__(self) -> None:
        known = [t.id for t in TECHNIQUES]
        for name in self.rewrites:
            if name not in known:
                raise UnknownName("technique", name, known)
        for name in self.scenarios:
            scenario(name)
        if not 1 <= self.requests <= MOST_REQUESTS:
            raise InputError(f"{self.requests} requests; from 1 to {MOST_REQUESTS} are valid")

    @property
    def target(self) -> Target:
        """The engine and its models. Raises InputError."""
        return named(self.engine, self.large, self.small)


def run(asked: Asked, tell: Callable[[str], None], folder: Path = DOCS) -> dict[str, object]:
    """Ask, write `quality.json` and `quality.md` to the folder; return the data.

    Takes minutes to hours on local models; the files are written anew after each request. Raises:
    EngineError, InputError where the folder cannot be written.
    """
    target = asked.target
    found = asyncio.run(_measured(asked, target, tell, lambda part: _keep(part, target, folder)))
    return _plain(_table(found, target))


async def _measured(
    asked: Asked, target: Target, tell: Callable[[str], None], keep: Callable[[Quality], None]
) -> Quality:
    found = Quality((), (), (), 0, ())
    async with using(target, setting()) as engine:
        async for found in quality(
            [scenario(name) for name in asked.scenarios],
            asked.rewrites,
            engine,
            setting(),
            n=asked.requests,
            rng=np.random.default_rng(0),
            tell=lambda of, case, done, total: tell(f"{done}/{total} runs, {of}, {case}"),
        ):
            keep(found)
    return found


def _table(found: Quality, target: Target) -> Table:
    date = datetime.now(tz=UTC).isoformat(timespec="minutes")
    large, small = (_weights(target, name) for name in (target.large, target.small))
    return Table(found, target.engine, large, small, date, describe_machine())


def _keep(found: Quality, target: Target, folder: Path) -> None:
    """Write what is known. Raises InputError where that cannot be done."""
    table = _table(found, target)
    keep(folder, KEPT.stem, _plain(table), page(table))


def _plain(table: Table) -> dict[str, object]:
    return {"schema": SCHEMA, **asdict(table)}


def _weights(target: Target, name: str) -> str:
    """Return the model behind a name: of the local engine, whose names are roles, the weights."""
    return locate(name).name if target.engine == "local" else name


def page(table: Table) -> str:
    """The result as a page of the docs."""
    found = table.found
    noise = "not known" if table.noise is None else f"{table.noise:.0%}"
    lines = [
        "# Rewritten calls and their answers",
        "",
        f"{table.engine} engine (large: {table.large}; small: {table.small}), {table.date},",
        f"{table.machine}; written by `python -m core bench quality`. Models used their own words,",
        "at temperature 0 where they take one. Other programs used this share of the machine in",
        f"the median run: {noise}. Runs without an answer: {found.failed}.",
        "",
        "`valid`: the whole text of a call is valid JSON. `complete`: every field asked for can be",
        "found in it. `as plain`, `as reference`: fields that say the same as those of the plain",
        "call and of the reference answer, all fields together. Intervals are 95 % Wilson.",
        "",
        *(f"- {line}" for line in found.requests),
        "",
        f"| {' | '.join(COLUMNS)} |",
        f"|{' --- |' * len(COLUMNS)}",
        *(_case_line(table, row) for row in found.cases),
        "",
        "| pipeline | case | form held by | field | as plain | as reference |",
        "| --- | --- | --- | --- | --- | --- |",
        *(_field_line(row) for row in found.fields),
    ]
    return "\n".join(lines) + "\n"


def _case_line(table: Table, row: CaseRow) -> str:
    shares = (row.valid, row.complete, *table.found.agreement(row))
    return (
        f"| {row.scenario} | {row.case} | {_held(row)} | {' | '.join(map(_counted, shares))} | "
        f"{row.tokens_out:.0f} | {row.calls_s:.2f} | {row.low_s:.2f} to {row.high_s:.2f} |"
    )


def _field_line(row: FieldRow) -> str:
    shares = f"{_counted(row.as_plain)} | {_counted(row.as_reference)}"
    return f"| {row.scenario} | {row.case} | {_held(row)} | `{row.field}` | {shares} |"


def _held(row: CaseRow | FieldRow) -> str:
    return "schema" if row.by_schema else "prompt"


def _counted(found: Share) -> str:
    if not found.n:
        return "-"
    low, high = found.interval
    return f"{found.value:.0%} ({found.k}/{found.n}; {low:.0%} to {high:.0%})"

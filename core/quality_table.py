"""What was found out about rewritten calls and their answers, and the last result kept of it."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path

from core.kept import load
from core.plan_io import read
from core.retrieval.quality import Share, pooled

KEPT = Path(__file__).parent.parent / "docs" / "quality.json"

PLAIN = "plain"
"""The case of the naive plan."""


@dataclass(frozen=True, slots=True)
class CaseRow:
    """One case of a pipeline under one constraint.

    `valid`: calls whose whole text is valid JSON; `complete`: calls in which every field asked for
    could be found. `calls_s` is the median time of all calls of a request, one after the other,
    `low_s` and `high_s` its range; `tokens_out` the median of what they wrote.
    """

    scenario: str
    case: str
    by_schema: bool
    valid: Share
    complete: Share
    calls_s: float
    low_s: float
    high_s: float
    tokens_out: float


@dataclass(frozen=True, slots=True)
class FieldRow:
    """How often one field says what the plain call said, and what the reference says.

    A field the case did not give agrees with nothing; requests whose plain call did not give it are
    not in `as_plain`. For the plain case `as_plain` has no n.
    """

    scenario: str
    case: str
    by_schema: bool
    field: str
    as_plain: Share
    as_reference: Share


@dataclass(frozen=True, slots=True)
class Quality:
    """All rows; `requests` names those asked, by pipeline, `failed` counts runs without an answer.

    `foreign` are shares of the machine that others used during the runs, 0..1.
    """

    cases: tuple[CaseRow, ...]
    fields: tuple[FieldRow, ...]
    requests: tuple[str, ...]
    failed: int
    foreign: tuple[float, ...]

    def fields_of(self, row: CaseRow) -> tuple[FieldRow, ...]:
        """Return the rows of a case's fields."""
        key = (row.scenario, row.case, row.by_schema)
        return tuple(f for f in self.fields if (f.scenario, f.case, f.by_schema) == key)

    def agreement(self, row: CaseRow) -> tuple[Share, Share]:
        """Return all fields of a case as one: as the plain call, and as the reference.

        The intervals take fields for independent; those of one answer are not quite.
        """
        fields = self.fields_of(row)
        return pooled(f.as_plain for f in fields), pooled(f.as_reference for f in fields)


@dataclass(frozen=True, slots=True)
class Table:
    """A finished measurement, and what it was made with."""

    found: Quality
    engine: str
    large: str
    small: str
    date: str
    machine: str

    @property
    def noise(self) -> float | None:
        """Share of the machine that others used in the median run; None where it is not known."""
        return statistics.median(self.found.foreign) if self.found.foreign else None


def kept(file: Path = KEPT) -> Table | None:
    """Return the last result, None where there is none. Raises InvalidData if it is broken."""
    data = load(file)
    if isinstance(data, dict):
        data.pop("schema", None)
    return None if data is None else read(Table, data, file.name)

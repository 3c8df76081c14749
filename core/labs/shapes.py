"""The same data written in other shapes, and what each costs in tokens."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from core import tokens
from core.labs.json_text import (
    MINIFIED,
    Json,
    Number,
    Parsed,
    children,
    scalar,
    write,
)
from core.text import Note

ShapeId = Literal["given", "minified", "short", "short_minified", "arrays", "table"]

COLUMNS, ROWS = "columns", "rows"
"""Names under which a list of like objects is written as arrays."""

ENCODINGS = tuple(table.encoding for table in tokens.TABLES)


@dataclass(frozen=True, slots=True)
class Shape:
    """A way to write the data: its text and its tokens by encoding, or why it does not suit it."""

    id: ShapeId
    text: str
    tokens: tuple[int, ...]
    reason: Note | None = None


def shapes(given: str, parsed: Parsed, aliases: Mapping[str, str]) -> tuple[Shape, ...]:
    """Return every shape of a JSON text and its tree, as given first.

    `aliases` renames keys in the short shapes.
    """
    value, names = parsed.value, dict(aliases)
    columnar = arrays(value)
    table = as_table(value)
    return (
        _counted("given", given.strip()),
        _counted("minified", write(value, MINIFIED)),
        _counted("short", write(value, aliases=names)),
        _counted("short_minified", write(value, MINIFIED, names)),
        _unfit("arrays") if columnar == value else _counted("arrays", write(columnar, MINIFIED)),
        _unfit("table") if table is None else _counted("table", table),
    )


def _counted(shape_id: ShapeId, text: str) -> Shape:
    return Shape(shape_id, text, tuple(tokens.count(text, name) for name in ENCODINGS))


def _unfit(shape_id: ShapeId) -> Shape:
    return Shape(shape_id, "", (), Note.of(f"tokenlab.unfit.{shape_id}"))


def arrays(value: Json) -> Json:
    """Return the tree with each list of like objects as its columns and rows; others unchanged.

    Objects are alike when they have the same keys; the first one's order counts. `from_arrays` is
    the way back, so nothing is lost.
    """
    if isinstance(value, dict):
        return {key: arrays(child) for key, child in value.items()}
    if not isinstance(value, list):
        return value
    entries = _alike(value)
    if entries is None:
        return [arrays(child) for child in value]
    names = list(entries[0])
    rows: list[Json] = [[arrays(entry[name]) for name in names] for entry in entries]
    return {COLUMNS: list(names), ROWS: rows}


def from_arrays(value: Json) -> Json:
    """Return the tree with columns and rows as lists of objects again."""
    if isinstance(value, list):
        return [from_arrays(child) for child in value]
    if not isinstance(value, dict):
        return value
    names, rows = value.get(COLUMNS), value.get(ROWS)
    if set(value) == {COLUMNS, ROWS} and isinstance(names, list) and isinstance(rows, list):
        return [
            {str(name): from_arrays(cell) for name, cell in zip(names, row, strict=True)}
            for row in rows
            if isinstance(row, list)
        ]
    return {key: from_arrays(child) for key, child in value.items()}


def _alike(entries: Sequence[Json]) -> list[dict[str, Json]] | None:
    """Return the entries as objects where there are several with the same keys, else None."""
    objects = [entry for entry in entries if isinstance(entry, dict)]
    if len(objects) < 2 or len(objects) < len(entries) or not objects[0]:
        return None
    keys = objects[0].keys()
    return objects if all(entry.keys() == keys for entry in objects) else None


def as_table(value: Json) -> str | None:
    """Return lists of like, flat objects as CSV; None where anything else is in the way.

    An object around them becomes a line for each plain value and a table for each list. Types are
    gone: whoever reads it has to know that "30" is a number.
    """
    if isinstance(value, list):
        return _csv(value)
    if not isinstance(value, dict):
        return None
    parts: list[str] = []
    for key, child in value.items():
        if isinstance(child, list):
            table = _csv(child)
            if table is None:
                return None
            parts.append(f"{key}\n{table}")
        elif isinstance(child, dict):
            return None
        else:
            parts.append(_lines([[key, _cell(child)]]))
    has_table = any(isinstance(child, list) for child in value.values())
    return "\n".join(parts) if has_table else None


def _csv(entries: Sequence[Json]) -> str | None:
    alike = _alike(entries)
    if alike is None or any(children(entry[key]) for entry in alike for key in entry):
        return None
    names = list(alike[0])
    rows = ([_cell(entry[name]) for name in names] for entry in alike)
    return _lines([names, *rows])


def _cell(value: Json) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        return write(value, MINIFIED)  # an empty one: nothing else comes here
    return value.literal if isinstance(value, Number) else scalar(value)


def _lines(rows: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().rstrip("\n")

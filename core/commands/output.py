"""How commands print: a table for people or one JSON object."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence

Cell = str | float | int | bool | None


def as_json(data: object) -> None:
    """Print one JSON object; no NaN ever reaches it."""
    print(json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False))


def table(head: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
    """Print aligned columns."""
    cells = [list(head), *([shown(c) for c in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    for row in cells:
        print("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip())


def shown(cell: Cell) -> str:
    """A cell as text; nothing is a dash."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "-"
    if isinstance(cell, float):
        return f"{cell:.4g}"
    return str(cell)


@contextlib.contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Give a function that shows one line on stderr, written anew whenever it changes.

    The line is ended with the block, so that what follows, an error too, stands on its own.
    """
    last = ""

    def show(line: str) -> None:
        nonlocal last
        if line != last:
            print("\r" + line.ljust(len(last)), end="", file=sys.stderr, flush=True)
            last = line

    try:
        yield show
    finally:
        if last:
            print(file=sys.stderr)

"""Small tables as HTML: escaped, scrolling sideways in their own frame on a phone."""

from __future__ import annotations

from collections.abc import Sequence

from pages._ui.sections.look import escaped


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, marked: int | None = None, kind: str = ""
) -> str:
    """Return a table whose first column names its rows; the row `marked` stands out."""
    names = "".join(f"<th scope='col'>{escaped(name)}</th>" for name in head)
    body = "".join(_row(row, is_marked=i == marked) for i, row in enumerate(rows))
    return (
        f"<div class='scroll' tabindex='0'><table class='lab {kind}'>"
        f"<thead><tr>{names}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row(cells: Sequence[str], *, is_marked: bool) -> str:
    first, *rest = cells
    body = "".join(f"<td>{escaped(cell)}</td>" for cell in rest)
    mark = " class='marked'" if is_marked else ""
    return f"<tr{mark}><th scope='row'>{escaped(first)}</th>{body}</tr>"

"""The measuring pages' own style sheet, on top of what all sections share."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from pages._ui.sections import look

_STYLES = Path(__file__).parent / "styles"


def draw_html(body: str, *sheets: str) -> None:
    """Show HTML made here; whatever text it holds must be escaped. `live` is the sheet here."""
    shared = tuple(name for name in sheets if name != "live")
    look.draw_html(f"<style>{_sheet()}</style>{body}", *shared)


@lru_cache(maxsize=1)
def _sheet() -> str:
    return (_STYLES / "live.css").read_text(encoding="utf-8")

"""The project's own files, and what they import."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = tuple(sorted(ROOT.glob("pages/**/*.py")))
ALL = (
    *sorted(ROOT.glob("core/**/*.py")),
    *sorted(ROOT.glob("hosting/*.py")),
    ROOT / "app.py",
    *PAGES,
)


def top_level_imports(file: Path) -> set[str]:
    """The modules a file imports when it is imported itself."""
    found: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found

"""The README's tables, made from the catalogues: `python -m core.readme` writes them anew."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from core.metrics import METRICS
from core.techniques import HEADLINE_ORDER, PRESETS, TECHNIQUES, technique
from core.text import text

ROOT = Path(__file__).parent.parent
README, PAGES = ROOT / "README.md", ROOT / "pages"
BEGIN, END = "<!-- generated: tables -->", "<!-- end of generated tables -->"


def tables() -> str:
    """Techniques, presets, metrics and pages as Markdown."""
    return "\n".join([*_techniques(), "", *_presets(), "", *_metrics(), "", *_pages()])


def written(readme: str) -> str:
    """The README with its tables as they should be now."""
    head, _, rest = readme.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{tables()}\n\n{END}{tail}"


def _techniques() -> Iterator[str]:
    yield "## Techniques\n\nThe eight headline toggles first, then by principle.\n"
    yield "| id | principle | what it does | effort | risk to answers |"
    yield "| --- | --- | --- | --- | --- |"
    others = sorted(
        (t for t in TECHNIQUES if not t.headline), key=lambda t: (t.principle or 8, t.id)
    )
    for t in (*map(technique, HEADLINE_ORDER), *others):
        name = f"**{t.id}**" if t.headline else t.id
        principle = text("en", f"principle.{t.principle}")
        what = text("en", f"technique.{t.id}.help")
        yield f"| {name} | {principle} | {what} | {t.effort} | {t.risk} |"


def _presets() -> Iterator[str]:
    yield "| preset | what for |"
    yield "| --- | --- |"
    for name in PRESETS:
        key = f"preset.{name.replace('-', '_')}.help"
        yield f"| `{name}` | {text('en', key)} |"


def _metrics() -> Iterator[str]:
    yield "## Metrics\n"
    yield "| id | kind | definition |"
    yield "| --- | --- | --- |"
    for m in METRICS:
        meaning = text("en", f"metric.help.{m.id}")
        yield f"| `{m.id}` | {m.kind} | {meaning} |"


def _pages() -> Iterator[str]:
    """Pages in the order of the navigation; what each is for is said by its script.

    The first one opens where the address names none, and has no other address.
    """
    yield "## Pages\n"
    yield "| page | address | what it is for |"
    yield "| --- | --- | --- |"
    for number, (section, name) in enumerate(_entries()):
        script = PAGES / section / f"{name}.py"
        about = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
        purpose = re.split(r"[:?] ", about.split("\n\n")[0].replace("\n", " "), maxsplit=1)[-1]
        title = text("en", f"frame.page.{name}.title")
        address = name if number else ""
        yield f"| {title} | `/{address}` | {purpose[:1].upper()}{purpose[1:]} |"


def _entries() -> list[tuple[str, str]]:
    """Section and name of every page; read as text, since their catalogue draws on Streamlit."""
    frame = (PAGES / "_ui" / "frame.py").read_text(encoding="utf-8")
    return re.findall(r'^    PageEntry\("(\w+)", "(\w+)"\),$', frame, re.MULTILINE)


if __name__ == "__main__":
    README.write_text(written(README.read_text(encoding="utf-8")), encoding="utf-8")

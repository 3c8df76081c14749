"""The README says what the catalogues say, and its commands are real."""

from __future__ import annotations

import re

from core import readme
from core.commands import COMMANDS


def test_tables_are_up_to_date() -> None:
    now = readme.README.read_text(encoding="utf-8")
    assert now == readme.written(now), "run python -m core.readme"


def test_commands_named_in_the_readme_exist() -> None:
    now = readme.README.read_text(encoding="utf-8")
    named = {
        word
        for line in re.findall(r"^python -m core (.+)$", now, re.MULTILINE)
        for word in re.split(r"\s*\|\s*", line.split("#")[0])
    }
    known = {c.name for c in COMMANDS}
    assert {n.split()[0] for n in named} <= known


def test_pictures_exist() -> None:
    now = readme.README.read_text(encoding="utf-8")
    for path in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", now):
        assert (readme.README.parent / path).is_file()


def test_every_page_has_a_row_that_says_what_it_is_for() -> None:
    rows = re.findall(r"^\| [^|]+ \| `/(\w*)` \| ([^|]+) \|$", readme.tables(), re.MULTILINE)
    scripts = {p.stem for p in readme.PAGES.glob("*/*.py") if not p.parent.name.startswith("_")}
    assert {name or "playground" for name, _ in rows} == scripts
    assert all(len(purpose) > 20 for _, purpose in rows)


def test_only_the_part_between_the_marks_is_written() -> None:
    found = readme.written(f"before\n{readme.BEGIN}\nold\n{readme.END}\nafter\n")
    assert found.startswith(f"before\n{readme.BEGIN}\n\n## Techniques")
    assert found.endswith(f"\n\n{readme.END}\nafter\n")
    assert readme.written(found) == found

"""Inline snippets: the index returns the passages themselves, so nobody has to fetch them by id."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import Plan, WorkKind, WorkStep
from core.rewrite import Context, NotApplicable, fuse
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """Nothing to choose."""


def rewrite(plan: Plan, _: Params, __: Context) -> Plan | NotApplicable:
    """Let each search give what a second look-up fetched for it."""
    short = plan
    while (pair := _searched_and_fetched(short)) is not None:
        search, fetch = pair
        both = replace(search, gives=fetch.gives)
        short = fuse(short, (search.id, fetch.id), both)
    return NotApplicable(Note.of("reason.no_second_lookup")) if short == plan else short


def _searched_and_fetched(plan: Plan) -> tuple[WorkStep, WorkStep] | None:
    """Find a search, and the step that fetches what it found, if nobody else wants the ids."""
    for search in (s for s in plan.work_steps if s.work is WorkKind.SEARCH):
        readers = [s for s in plan.steps if set(s.reads) & set(search.gives)]
        for fetch in plan.work_steps:
            if fetch.work is WorkKind.FETCH and readers == [fetch]:
                return search, fetch
    return None

"""Metadata filter: the search looks only at documents of the right category."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import Plan, WorkKind, WorkStep
from core.rewrite import Context, NotApplicable, update_found
from core.scenarios import Scenario
from core.text import Note

STEP, FILTER = "pick_filter", "search_filter"


@dataclass(frozen=True, slots=True)
class Params:
    """Nothing to choose."""


def rewrite(plan: Plan, _: Params, context: Context) -> Plan | NotApplicable:
    """Pick a category by rules, search in it, and take passages of it only."""
    searches = [s for s in plan.work_steps if s.work is WorkKind.SEARCH and FILTER not in s.reads]
    if not searches or STEP in {s.id for s in plan.steps}:
        return NotApplicable(Note.of("reason.no_search_to_filter"))
    share = category_share(context.scenario)
    if share >= 1.0:
        return NotApplicable(Note.of("reason.one_category"))
    picked = WorkStep(
        STEP,
        WorkKind.COMPUTE,
        "rule_check",
        reads=("message",),
        gives=(FILTER,),
        when=searches[0].when,
    )
    filtered = (replace(s, reads=(*s.reads, FILTER), scope=share) for s in searches)
    narrowed = update_found(plan, lambda i: replace(i, same_category=True))
    return narrowed.with_steps(picked, *filtered)


def category_share(scenario: Scenario) -> float:
    """Share of the documents that is of the right one's category, on average over the requests."""
    by_id = {d.id: d.category for d in scenario.documents}
    sizes = list(by_id.values())
    shares = [sizes.count(by_id[r.doc_ids[0]]) / len(sizes) for r in scenario.requests if r.doc_ids]
    return sum(shares) / len(shares) if shares else 1.0

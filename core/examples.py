"""Variations of a pipeline that some techniques need: programs people have, but ours do not."""

from __future__ import annotations

from dataclasses import replace

from core.plan import Plan, Step, WorkKind, WorkStep


def two_stage_retrieval(plan: Plan) -> Plan:
    """Return the plan with an older kind of retrieval behind its search.

    The index returns ids only, the documents are fetched from a document store, and a hosted
    reranker puts them in order. A plan without a search stays as it is.
    """
    search = next((s for s in plan.work_steps if s.work is WorkKind.SEARCH), None)
    if search is None:
        return plan
    fetch = WorkStep(
        "fetch_documents",
        WorkKind.FETCH,
        "document_store",
        reads=("found_ids",),
        gives=("documents",),
        after=(search.id,),
        when=search.when,
    )
    rerank = WorkStep(
        "rerank",
        WorkKind.RERANK,
        "reranker",
        reads=("documents",),
        gives=search.gives,
        after=(fetch.id,),
        when=search.when,
    )
    steps: list[Step] = []
    for step in plan.steps:
        if step.id == search.id:
            steps += [replace(search, gives=("found_ids",)), fetch, rerank]
        else:
            after = tuple(rerank.id if a == search.id else a for a in step.after)
            steps.append(replace(step, after=after))
    return replace(plan, steps=tuple(steps))

"""The catalogue of techniques, in the order in which they are applied: one line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from core.errors import UnknownName
from core.plan import Plan
from core.rewrite import Choice, Context, Level, NotApplicable, Technique, parameters
from core.techniques import (
    answer_first,
    background_job,
    caching,
    cascade,
    chunking,
    concise,
    context_budget,
    deadline_budget,
    distill_prompt,
    divide_conquer,
    fail_fast,
    hard_code,
    hedge,
    history_window,
    inline_snippets,
    items_jsonl,
    keep_alive,
    local_router,
    merge_requests,
    metadata_filter,
    near_region,
    no_buffering,
    output_limit,
    parallel,
    precompute,
    predicted_output,
    prune_context,
    rerank_gate,
    retry,
    rule_router,
    service_tier,
    short_keys,
    show_steps,
    small_model,
    speculate_guard,
    split_reasoning,
    static_prefix,
    streaming,
    timeout_fallback,
    trim_schema,
    ui_instead,
)

GUIDE = "OpenAI, Latency optimization guide"
POST = "An engineer's account of a travel recommender and its latency, 2026"


class _Module(Protocol):
    """A module of this package."""

    @property
    def __name__(self) -> str: ...

    @property
    def Params(self) -> type[Any]:  # noqa: N802  the name of a class
        """What can be set."""
        ...

    def rewrite(self, plan: Plan, params: Any, context: Context, /) -> Plan | NotApplicable:
        """Change the plan."""
        ...


def _row(
    module: _Module,
    principle: int,
    effort: Level,
    risk: Level,
    source: str,
    *,
    infrastructure: bool = False,
    headline: bool = False,
) -> Technique:
    """The technique of a module, by its name."""
    return Technique(
        module.__name__.rpartition(".")[2],
        principle,
        module.Params,
        module.rewrite,
        effort,
        risk,
        source,
        infrastructure,
        headline,
    )


TECHNIQUES: tuple[Technique, ...] = (
    _row(local_router, 7, "medium", "medium", POST),
    _row(inline_snippets, 7, "medium", "none", POST, infrastructure=True),
    _row(metadata_filter, 7, "medium", "medium", POST),
    _row(rerank_gate, 7, "low", "low", POST),
    _row(fail_fast, 7, "low", "medium", POST),
    _row(merge_requests, 4, "medium", "low", GUIDE, headline=True),
    _row(small_model, 1, "low", "medium", GUIDE, headline=True),
    _row(split_reasoning, 1, "medium", "medium", GUIDE),
    _row(distill_prompt, 3, "high", "medium", GUIDE, infrastructure=True),
    _row(trim_schema, 2, "low", "none", GUIDE),
    _row(ui_instead, 7, "medium", "low", GUIDE),
    _row(divide_conquer, 5, "medium", "medium", POST),
    _row(parallel, 5, "medium", "none", GUIDE, headline=True),
    _row(speculate_guard, 5, "high", "none", GUIDE),
    _row(rule_router, 1, "low", "medium", POST),
    _row(cascade, 1, "medium", "medium", "Chen et al., FrugalGPT, 2023"),
    _row(context_budget, 3, "low", "medium", POST),
    _row(prune_context, 3, "medium", "medium", GUIDE),
    _row(history_window, 3, "low", "medium", POST),
    _row(answer_first, 6, "low", "medium", POST),
    _row(concise, 2, "low", "medium", GUIDE),
    _row(output_limit, 2, "low", "high", GUIDE),
    _row(items_jsonl, 6, "medium", "low", POST),
    _row(short_keys, 2, "low", "low", GUIDE, headline=True),
    _row(static_prefix, 3, "low", "none", "OpenAI, Prompt caching guide"),
    _row(predicted_output, 1, "low", "none", "OpenAI, Predicted Outputs guide", headline=True),
    _row(keep_alive, 0, "low", "none", "RFC 8446, TLS 1.3: round trips of a new connection"),
    _row(
        near_region,
        0,
        "medium",
        "none",
        "CloudPing, round trips between regions",
        infrastructure=True,
    ),
    _row(service_tier, 1, "low", "none", "Providers' price lists of faster tiers"),
    _row(streaming, 6, "low", "low", GUIDE, headline=True),
    _row(chunking, 6, "medium", "low", GUIDE, headline=True),
    _row(show_steps, 6, "low", "none", GUIDE),
    _row(background_job, 6, "high", "none", POST, infrastructure=True),
    _row(no_buffering, 6, "low", "none", "nginx documentation, proxy_buffering"),
    _row(hard_code, 7, "low", "low", GUIDE),
    _row(precompute, 7, "medium", "medium", GUIDE, infrastructure=True),
    _row(caching, 7, "high", "medium", GUIDE, infrastructure=True, headline=True),
    _row(retry, 0, "low", "none", "Brooker, Timeouts, retries and backoff with jitter, 2019"),
    _row(hedge, 5, "medium", "none", "Dean and Barroso, The Tail at Scale, 2013"),
    _row(timeout_fallback, 0, "low", "medium", POST),
    _row(
        deadline_budget,
        0,
        "high",
        "medium",
        "Beyer et al., Site Reliability Engineering, 2016: deadlines",
    ),
)
"""Structure first (what is not done by a model, merged, split, side by side), then the model of
each call, the form of its prompt and answer, transport, the screen, caches, and policies last.
"""

HEADLINE_ORDER: tuple[str, ...] = (
    "streaming",
    "chunking",
    "short_keys",
    "merge_requests",
    "parallel",
    "small_model",
    "predicted_output",
    "caching",
)
"""The order in which people meet the eight; application order is that of TECHNIQUES."""

PRESETS: Mapping[str, tuple[str, ...]] = {
    "naive": (),
    "perceived": ("streaming", "chunking"),
    "fewer_tokens": ("short_keys", "merge_requests", "small_model"),
    "guide": ("merge_requests", "small_model", "split_reasoning", "parallel", "short_keys"),
    "travel-post": (
        "local_router",
        "small_model",
        "ui_instead",
        "divide_conquer",
        "parallel",
        "context_budget",
        "items_jsonl",
        "short_keys",
        "keep_alive",
        "precompute",
        "caching",
        "timeout_fallback",
    ),
    "everything": HEADLINE_ORDER,
}


def technique(technique_id: str) -> Technique:
    """Return the technique of that id. Raises UnknownName."""
    for t in TECHNIQUES:
        if t.id == technique_id:
            return t
    raise UnknownName("technique", technique_id, (t.id for t in TECHNIQUES))


def choose(
    ids: Sequence[str], params: Mapping[str, Mapping[str, object]] | None = None
) -> tuple[Choice, ...]:
    """Choices for these techniques in order of application, with parameters by technique id.

    Raises: UnknownName, InputError.
    """
    given = params or {}
    for name in (*ids, *given):
        technique(name)
    wanted = set(ids)
    return tuple(
        Choice(t, parameters(t, given.get(t.id, {}))) for t in TECHNIQUES if t.id in wanted
    )

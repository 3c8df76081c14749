"""The catalogue of techniques, in the order in which they are applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.errors import UnknownName
from core.rewrite import Choice, Technique, parameters
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

TECHNIQUES: tuple[Technique, ...] = (
    Technique(
        "local_router", 7, local_router.Params, local_router.rewrite,
        "medium", "medium", POST,
    ),
    Technique(
        "inline_snippets", 7, inline_snippets.Params, inline_snippets.rewrite,
        "medium", "none", POST, infrastructure=True,
    ),
    Technique(
        "metadata_filter", 7, metadata_filter.Params, metadata_filter.rewrite,
        "medium", "medium", POST,
    ),
    Technique(
        "rerank_gate", 7, rerank_gate.Params, rerank_gate.rewrite,
        "low", "low", POST,
    ),
    Technique(
        "fail_fast", 7, fail_fast.Params, fail_fast.rewrite,
        "low", "medium", POST,
    ),
    Technique(
        "merge_requests", 4, merge_requests.Params, merge_requests.rewrite,
        "medium", "low", GUIDE, headline=True,
    ),
    Technique(
        "small_model", 1, small_model.Params, small_model.rewrite,
        "low", "medium", GUIDE, headline=True,
    ),
    Technique(
        "split_reasoning", 1, split_reasoning.Params, split_reasoning.rewrite,
        "medium", "medium", GUIDE,
    ),
    Technique(
        "distill_prompt", 3, distill_prompt.Params, distill_prompt.rewrite,
        "high", "medium", GUIDE, infrastructure=True,
    ),
    Technique(
        "trim_schema", 2, trim_schema.Params, trim_schema.rewrite,
        "low", "none", GUIDE,
    ),
    Technique(
        "ui_instead", 7, ui_instead.Params, ui_instead.rewrite,
        "medium", "low", GUIDE,
    ),
    Technique(
        "divide_conquer", 5, divide_conquer.Params, divide_conquer.rewrite,
        "medium", "medium", POST,
    ),
    Technique(
        "parallel", 5, parallel.Params, parallel.rewrite,
        "medium", "none", GUIDE, headline=True,
    ),
    Technique(
        "speculate_guard", 5, speculate_guard.Params, speculate_guard.rewrite,
        "high", "none", GUIDE,
    ),
    Technique(
        "rule_router", 1, rule_router.Params, rule_router.rewrite,
        "low", "medium", POST,
    ),
    Technique(
        "cascade", 1, cascade.Params, cascade.rewrite,
        "medium", "medium", "Chen et al., FrugalGPT, 2023",
    ),
    Technique(
        "context_budget", 3, context_budget.Params, context_budget.rewrite,
        "low", "medium", POST,
    ),
    Technique(
        "prune_context", 3, prune_context.Params, prune_context.rewrite,
        "medium", "medium", GUIDE,
    ),
    Technique(
        "history_window", 3, history_window.Params, history_window.rewrite,
        "low", "medium", POST,
    ),
    Technique(
        "answer_first", 6, answer_first.Params, answer_first.rewrite,
        "low", "medium", POST,
    ),
    Technique(
        "concise", 2, concise.Params, concise.rewrite,
        "low", "medium", GUIDE,
    ),
    Technique(
        "output_limit", 2, output_limit.Params, output_limit.rewrite,
        "low", "high", GUIDE,
    ),
    Technique(
        "items_jsonl", 6, items_jsonl.Params, items_jsonl.rewrite,
        "medium", "low", POST,
    ),
    Technique(
        "short_keys", 2, short_keys.Params, short_keys.rewrite,
        "low", "low", GUIDE, headline=True,
    ),
    Technique(
        "static_prefix", 3, static_prefix.Params, static_prefix.rewrite,
        "low", "none", "OpenAI, Prompt caching guide",
    ),
    Technique(
        "predicted_output", 1, predicted_output.Params, predicted_output.rewrite,
        "low", "none", "OpenAI, Predicted Outputs guide", headline=True,
    ),
    Technique(
        "keep_alive", 0, keep_alive.Params, keep_alive.rewrite,
        "low", "none", "RFC 8446, TLS 1.3: round trips of a new connection",
    ),
    Technique(
        "near_region", 0, near_region.Params, near_region.rewrite,
        "medium", "none", "CloudPing, round trips between regions", infrastructure=True,
    ),
    Technique(
        "service_tier", 1, service_tier.Params, service_tier.rewrite,
        "low", "none", "Providers' price lists of faster tiers",
    ),
    Technique(
        "streaming", 6, streaming.Params, streaming.rewrite,
        "low", "low", GUIDE, headline=True,
    ),
    Technique(
        "chunking", 6, chunking.Params, chunking.rewrite,
        "medium", "low", GUIDE, headline=True,
    ),
    Technique(
        "show_steps", 6, show_steps.Params, show_steps.rewrite,
        "low", "none", GUIDE,
    ),
    Technique(
        "background_job", 6, background_job.Params, background_job.rewrite,
        "high", "none", POST, infrastructure=True,
    ),
    Technique(
        "no_buffering", 6, no_buffering.Params, no_buffering.rewrite,
        "low", "none", "nginx documentation, proxy_buffering",
    ),
    Technique(
        "hard_code", 7, hard_code.Params, hard_code.rewrite,
        "low", "low", GUIDE,
    ),
    Technique(
        "precompute", 7, precompute.Params, precompute.rewrite,
        "medium", "medium", GUIDE, infrastructure=True,
    ),
    Technique(
        "caching", 7, caching.Params, caching.rewrite,
        "high", "medium", GUIDE, infrastructure=True, headline=True,
    ),
    Technique(
        "hedge", 5, hedge.Params, hedge.rewrite,
        "medium", "none", "Dean and Barroso, The Tail at Scale, 2013",
    ),
    Technique(
        "timeout_fallback", 0, timeout_fallback.Params, timeout_fallback.rewrite,
        "low", "medium", POST,
    ),
    Technique(
        "deadline_budget", 0, deadline_budget.Params, deadline_budget.rewrite,
        "high", "medium", "Beyer et al., Site Reliability Engineering, 2016: deadlines",
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

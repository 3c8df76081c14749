"""Caching, layer by layer: finished answers (exact, semantic), embeddings, searches, prompts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core import hits
from core.plan import AnswerCache, Cache, Plan, Step, WorkKind, WorkStep
from core.rewrite import Context, NotApplicable, update_llm, within
from core.techniques._lookup import look_up_first
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """Each layer is a switch of its own.

    Finished answers by `exact` or by similar (`semantic`) words, the latter from `threshold` on and
    with `guards` against near misses; `embedding` and `retrieval` results; the provider's `prompt`
    cache. Entries live for `ttl_h` hours.
    """

    exact: bool = True
    semantic: bool = True
    embedding: bool = True
    retrieval: bool = True
    prompt: bool = True
    threshold: float = within(0.86, 0.5, 1.0, 0.01)
    guards: bool = True
    ttl_h: float = within(24.0, 0.1, 720.0, 0.1)


def rewrite(plan: Plan, params: Params, context: Context) -> Plan | NotApplicable:
    """Put the chosen layers in."""
    cached = plan
    if params.prompt:
        cached = update_llm(cached, lambda s: replace(s, prompt_cache=True))
    ttl_s = params.ttl_h * 3600
    for kind, wanted in ((WorkKind.EMBED, params.embedding), (WorkKind.SEARCH, params.retrieval)):
        if wanted:
            cached = _remember(cached, kind, ttl_s)
    cached = look_up_first(cached, _layers(params, context, ttl_s))
    return NotApplicable(Note.of("reason.no_layer")) if cached == plan else cached


def _layers(params: Params, context: Context, ttl_s: float) -> tuple[AnswerCache, ...]:
    layers = []
    if params.exact:
        layers.append(AnswerCache("exact", ttl_s))
    if params.semantic and hits.measured(context.scenario):
        layers.append(AnswerCache("semantic", ttl_s, params.threshold, params.guards))
    return tuple(layers)


def _remember(plan: Plan, kind: WorkKind, ttl_s: float) -> Plan:
    """Wrap each step of a kind into a cache keyed by the text it starts from."""
    changed: list[Step] = []
    for step in plan.work_steps:
        if step.work is kind and not any(isinstance(p, Cache) for p in step.policies):
            policy = Cache(_texts(plan, step), "exact_lookup", ttl_s)
            changed.append(replace(step, policies=(*step.policies, policy)))
    return plan.with_steps(*changed)


def _texts(plan: Plan, step: WorkStep) -> tuple[str, ...]:
    """Find the texts a step's result depends on: through embeddings back to what was embedded."""
    found: list[str] = []
    for value in step.reads:
        maker = plan.producer.get(value)
        source = plan.step(maker) if maker is not None else None
        if isinstance(source, WorkStep):
            found.extend(_texts(plan, source))
        else:
            found.append(value)
    return tuple(dict.fromkeys(found))

"""How long one step takes, for n requests at once, with the policies wrapped round it.

Times here are relative to the step's start. Policies apply from the inside out, in the order in
which they are listed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_never

import numpy as np

from core.attempts import Sharing
from core.dists import Array, Latency, uniforms
from core.fitted import Number
from core.plan import (
    Cache,
    Cascade,
    Deadline,
    Gate,
    Hedge,
    LlmStep,
    ModelRole,
    Plan,
    Policy,
    Retry,
    Speculate,
    Timeout,
    WorkKind,
    WorkStep,
)
from core.profiles import (
    DNS_S,
    FAST_TIER_PRICE,
    FAST_TIER_SPEED,
    NEAR_ROUTE,
    PER_1K_TOK_S,
    Profile,
    Setting,
    routes,
)
from core.spells import (
    Spell,
    cascaded,
    chosen,
    hedged,
    looked_up,
    plain_spell,
    retried,
    shared,
    timed_out,
)
from core.timeline import Mask
from core.workload import Words


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """What one LLM step reads and writes, arrays (n,), see `core.counts.Call`.

    `lead` and `decode` are when its first and last tokens are there, in token times; `lang` is the
    language of the request.
    """

    tokens_in: Array
    reusable: Array
    written: Array
    tokens_out: Array
    lead: Array
    decode: Array
    rejected: Array
    lang: Words

    def at_most(self, limit_tok: Array, where: Mask) -> Counted:
        """The same with the output cut off after `limit_tok` (n,) tokens in some places."""
        cut = where & (self.tokens_out > limit_tok)
        return replace(
            self,
            tokens_out=np.where(cut, limit_tok, self.tokens_out),
            decode=np.where(cut, np.minimum(self.decode, limit_tok - 1.0), self.decode),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Luck:
    """Where chance comes from: the same numbers for the same step and purpose of a seed."""

    seed: int
    n: int
    certain: bool

    def draw(self, latency: Latency, step: str, purpose: str) -> Array:
        """Seconds, (n,); the median where nothing is left to chance."""
        chosen = latency.certain() if self.certain else latency
        return chosen.draw(self.seed, step, purpose, self.n)

    def below(self, rate: float, step: str, purpose: str) -> Mask:
        """Which requests meet an event of this probability, (n,)."""
        if self.certain or rate <= 0.0:
            return np.full(self.n, rate > 0.5)
        return uniforms(self.seed, step, purpose, self.n) < rate


def rtt_s(plan: Plan, setting: Setting) -> float:
    """Round-trip time to the model endpoint under this plan's transport."""
    near = plan.transport.near and setting.route.rtt_s > 0
    return routes()[NEAR_ROUTE].rtt_s if near else setting.route.rtt_s


def connect_s(plan: Plan, setting: Setting, step_id: str) -> float:
    """Cost of a new connection before the call, 0 where a warm one is at hand.

    A step finds an idle connection if an LLM call before it has surely ended, or if connections
    are pooled and kept alive between requests. Source: TLS 1.3 takes two round trips after DNS;
    idle connections of the SDKs end after 5 s.
    """
    before = plan.ancestors(step_id)
    if plan.transport.keep_alive or any(s.id in before for s in plan.llm_steps):
        return 0.0
    return new_connection_s(plan, setting)


def new_connection_s(plan: Plan, setting: Setting) -> float:
    """What a new connection costs before the call; nothing on the machine itself."""
    travel = rtt_s(plan, setting)
    return 2 * travel + DNS_S if travel > 0 else 0.0


def llm_spell(
    plan: Plan,
    setting: Setting,
    step: LlmStep,
    counted: Counted,
    luck: Luck,
    to_small: Mask | None = None,
    sharing: Sharing | None = None,
    part: str = "",
) -> Spell:
    """An LLM call with its policies; `to_small` (n,) goes to the small model whatever its role.

    `part` tells what the step does a second time from the first, for what it shares with others.
    """
    pooled = sharing is not None and sharing.pooled
    connect = 0.0 if pooled else connect_s(plan, setting, step.id)
    before = connect + rtt_s(plan, setting)

    def asked(role: ModelRole, suffix: str) -> Spell:
        alone = _call(setting.model(role), plan, step.id, counted, luck, before, suffix)
        if role == step.role:
            alone = replace(alone, cost_usd=alone.cost_usd * step.price_x)
        if sharing is None:
            return alone
        key = part + suffix
        return shared(alone, key, sharing.slot(step.id, key))

    def attempt(suffix: str) -> Spell:
        own = asked(step.role, suffix)
        return own if to_small is None else chosen(to_small, small(suffix), own)

    def small(suffix: str) -> Spell:
        return asked("small", suffix)

    return _wrapped(step.policies, attempt, _Around(setting, step.id, luck, small))


def _call(
    model: Profile,
    plan: Plan,
    step_id: str,
    counted: Counted,
    luck: Luck,
    before: float,
    suffix: str,
) -> Spell:
    """One attempt: connect and travel, TTFT with its growth, then tokens one after the other."""
    tier = plan.transport.fast_tier
    first, tpot = _paces(model, step_id, counted, luck, before, suffix)
    tpot = tpot / (FAST_TIER_SPEED if tier else 1.0)
    out = counted.tokens_out + counted.rejected
    cost = cost_usd(model, counted.tokens_in, counted.reusable, counted.written, out)
    none = np.zeros(luck.n, dtype=bool)
    return Spell(
        first,
        first + tpot * counted.lead,
        first + tpot * counted.decode,
        tpot,
        np.full(luck.n, np.inf),
        ~none,
        none,
        none,
        np.ones(luck.n),
        counted.tokens_in,
        counted.reusable,
        out,
        counted.rejected,
        cost * (FAST_TIER_PRICE if tier else 1.0),
    )


def _paces(
    model: Profile, step_id: str, counted: Counted, luck: Luck, before: float, suffix: str
) -> tuple[Array, Array]:
    """When the first token is there, and seconds per token from there on, (n,) each.

    A calibrated model follows its law: both times depend on the call's size, and one factor of
    chance, that of the fit, is on both.
    """
    uncached = counted.tokens_in - counted.reusable
    if model.law is None:
        wait = luck.draw(model.ttft(), step_id, "ttft" + suffix)
        tpot = luck.draw(model.tpot(), step_id, "tpot" + suffix)
        return before + wait + PER_1K_TOK_S * uncached / 1000, tpot
    factor = luck.draw(Latency(1.0, model.spread), step_id, "pace" + suffix)
    langs, where = np.unique(counted.lang, return_inverse=True)
    ratios = [model.ratio(str(lang)) for lang in langs]
    into = np.array([r.input for r in ratios])[where]
    fresh, cached = uncached * into, counted.reusable * into
    out = np.maximum(counted.tokens_out, 2.0)
    own_out = out * np.array([r.output for r in ratios])[where]
    first = before + factor * model.law.ttft_s(fresh, cached)
    return first, factor * model.law.decode_s(fresh, cached, own_out) / (out - 1.0)


def cost_usd(
    model: Profile, tokens_in: Number, cached: Number, written: Number, out: Number
) -> Number:
    """USD; NaN where the model has no published price. Rejected tokens are billed as output."""
    price_in = np.nan if model.input_price is None else model.input_price
    price_out = np.nan if model.output_price is None else model.output_price
    price_hit = price_in if model.cached_price is None else model.cached_price
    dear = written * price_in * (model.caching.write_factor - 1.0)
    return ((tokens_in - cached) * price_in + dear + cached * price_hit + out * price_out) / 1e6


def work_spell(
    setting: Setting, step: WorkStep, chars: Array, luck: Luck, hit: Callable[[Cache], Mask]
) -> Spell:
    """Service work with its policies; `hit` tells where a cache policy finds its key."""
    service = setting.service(step.service)

    def attempt(suffix: str) -> Spell:
        took = luck.draw(service_latency(setting, step), step.id, "work" + suffix)
        took = took + service.per_1k_chars_s * chars / 1000
        failed = luck.below(service.fail_rate, step.id, "fail" + suffix)
        return plain_spell(took, ok=~failed)

    return _wrapped(step.policies, attempt, _Around(setting, step.id, luck, attempt, hit))


def service_latency(setting: Setting, step: WorkStep) -> Latency:
    """How long a step's service works; a search in process only looks at its share of the index."""
    service = setting.service(step.service)
    scope = step.scope if step.work is WorkKind.SEARCH and not service.remote else 1.0
    return service.latency().scaled(scope)


def _no_hit(_: Cache) -> Mask:
    raise AssertionError("a cache policy belongs to a work step")


@dataclass(frozen=True, slots=True, eq=False)
class _Around:
    """What policies ask of a step's surroundings."""

    setting: Setting
    step_id: str
    luck: Luck
    small: Callable[[str], Spell]
    hit: Callable[[Cache], Mask] = _no_hit

    def asked(self, service: str, purpose: str) -> Array:
        """Seconds a service takes to say something."""
        return self.luck.draw(self.setting.service(service).latency(), self.step_id, purpose)

    def below(self, rate: float, purpose: str) -> Mask:
        """Which requests meet an event of this probability."""
        return self.luck.below(rate, self.step_id, purpose)


def _wrapped(
    policies: tuple[Policy, ...], attempt: Callable[[str], Spell], around: _Around
) -> Spell:
    """The first attempt with each policy laid round it, innermost first.

    An attempt's suffix tells it from the others of its step and names its luck.
    """
    for policy in policies:
        match policy:
            case Timeout() | Retry() | Hedge():
                attempt = _patient(policy, attempt)
            case Cache() | Gate() | Cascade():
                attempt = _asking(policy, attempt, around)
            case Speculate() | Deadline():
                pass  # they depend on when the step is ready: see core.placing
            case _:
                assert_never(policy)
    return attempt("")


def _patient(
    policy: Timeout | Retry | Hedge, inner: Callable[[str], Spell]
) -> Callable[[str], Spell]:
    """An attempt that is given up, made again or made twice."""

    def attempt(suffix: str) -> Spell:
        match policy:
            case Timeout(after_s):
                return timed_out(inner(suffix), after_s)
            case Retry(attempts):
                spell = inner(suffix)
                for number in range(2, attempts + 1):
                    again = inner(f"{suffix}.try{number}")
                    spell = retried(spell, again, policy.pause_s(number))
                return spell
            case Hedge(delay_s):
                return hedged(inner(suffix), inner(f"{suffix}.hedge"), delay_s)
            case _:
                assert_never(policy)

    return attempt


def _asking(
    policy: Cache | Gate | Cascade, inner: Callable[[str], Spell], around: _Around
) -> Callable[[str], Spell]:
    """An attempt that asks a service whether it is needed, or whether a small one will do."""

    def attempt(suffix: str) -> Spell:
        match policy:
            case Cache(_, lookup, _):
                took, found = around.asked(lookup, "lookup" + suffix), around.hit(policy)
                spell = looked_up(inner(suffix), took, found)
                return replace(spell, cached=spell.cached | found)
            case Gate(check, share):
                took = around.asked(check, "check" + suffix)
                needed = around.below(share, "needed" + suffix)
                return looked_up(inner(suffix), took, ~needed)
            case Cascade(gate, rate):
                took = around.asked(gate, "gate" + suffix)
                bad = around.below(rate, "escalate" + suffix)
                return cascaded(around.small(f"{suffix}.small"), took, inner(suffix), bad)
            case _:
                assert_never(policy)

    return attempt

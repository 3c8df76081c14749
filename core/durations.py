"""How long one step takes, for n requests at once, with the policies wrapped round it.

Times here are relative to the step's start. Policies apply from the inside out, in the order in
which they are listed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_never

import numpy as np

from core.dists import Array, Latency, uniforms
from core.plan import (
    Cache,
    Cascade,
    Deadline,
    Hedge,
    LlmStep,
    Plan,
    Policy,
    Retry,
    Speculate,
    Timeout,
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
from core.timeline import Mask


@dataclass(frozen=True, slots=True, eq=False)
class Spell:
    """One stretch of work, arrays (n,): to its first output, to its end, and what it used.

    `ok` is False where it failed; `absent` where the plan goes on without its values; `cached`
    where a cache answered. `tpot` is seconds per token (0 for work without tokens).
    """

    first: Array
    end: Array
    tpot: Array
    ok: Mask
    absent: Mask
    cached: Mask
    calls: Array
    tokens_in: Array
    tokens_cached: Array
    tokens_out: Array
    tokens_rejected: Array
    cost_usd: Array


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """What one LLM step reads and writes, arrays (n,), see `core.workload.Call`."""

    tokens_in: Array
    reusable: Array
    written: Array
    tokens_out: Array
    decode: Array
    rejected: Array


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
    return routes()[NEAR_ROUTE].rtt_s if plan.transport.near else setting.route.rtt_s


def connect_s(plan: Plan, setting: Setting, step_id: str) -> float:
    """Cost of a new connection before the call, 0 where a warm one is at hand.

    A step finds an idle connection if an LLM call before it has surely ended, or if connections
    are pooled and kept alive between requests. Source: TLS 1.3 takes two round trips after DNS;
    idle connections of the SDKs end after 5 s.
    """
    before = plan.ancestors(step_id)
    if plan.transport.keep_alive or any(s.id in before for s in plan.llm_steps):
        return 0.0
    return 2 * rtt_s(plan, setting) + DNS_S


def llm_spell(
    plan: Plan, setting: Setting, step: LlmStep, counted: Counted, luck: Luck
) -> Spell:
    """An LLM call with its policies."""
    before = connect_s(plan, setting, step.id) + rtt_s(plan, setting)

    def attempt(suffix: str) -> Spell:
        return _call(setting.model(step.role), plan, step.id, counted, luck, before, suffix)

    def small(suffix: str) -> Spell:
        return _call(setting.small, plan, step.id, counted, luck, before, suffix)

    return _wrapped(step.policies, attempt, small, setting, step.id, luck)


def _call(
    model: Profile, plan: Plan, step_id: str, counted: Counted, luck: Luck, before: float, suffix: str
) -> Spell:
    """One attempt: connect and travel, TTFT with its growth, then tokens one after the other."""
    tier = plan.transport.fast_tier
    wait = luck.draw(model.ttft(), step_id, "ttft" + suffix)
    tpot = luck.draw(model.tpot(), step_id, "tpot" + suffix) / (FAST_TIER_SPEED if tier else 1.0)
    uncached = counted.tokens_in - counted.reusable
    first = before + wait + PER_1K_TOK_S * uncached / 1000
    cost = _cost(model, counted) * (FAST_TIER_PRICE if tier else 1.0)
    none = np.zeros(luck.n, dtype=bool)
    return Spell(
        first,
        first + tpot * counted.decode,
        tpot,
        ~none,
        none,
        none,
        np.ones(luck.n),
        counted.tokens_in,
        counted.reusable,
        counted.tokens_out + counted.rejected,
        counted.rejected,
        cost,
    )


def _cost(model: Profile, counted: Counted) -> Array:
    """USD; NaN where the model has no published price. Rejected tokens are billed as output."""
    price_in = np.nan if model.input_price is None else model.input_price
    price_out = np.nan if model.output_price is None else model.output_price
    price_hit = price_in if model.cached_price is None else model.cached_price
    dear = counted.written * price_in * (model.caching.write_factor - 1.0)
    fresh = (counted.tokens_in - counted.reusable) * price_in
    out = (counted.tokens_out + counted.rejected) * price_out
    total: Array = (fresh + dear + counted.reusable * price_hit + out) / 1e6
    return total


def work_spell(
    setting: Setting, step: WorkStep, chars: Array, luck: Luck, hit: Callable[[Cache], Mask]
) -> Spell:
    """Service work with its policies; `hit` tells where a cache policy finds its key."""
    service = setting.service(step.service)

    def attempt(suffix: str) -> Spell:
        took = luck.draw(service.latency(), step.id, "work" + suffix)
        took = took + service.per_1k_chars_s * chars / 1000
        failed = luck.below(service.fail_rate, step.id, "fail" + suffix)
        return _plain_spell(took, ok=~failed)

    return _wrapped(step.policies, attempt, attempt, setting, step.id, luck, hit)


def _plain_spell(took: Array, *, ok: Mask) -> Spell:
    n = len(took)
    zero, none = np.zeros(n), np.zeros(n, dtype=bool)
    return Spell(took, took, zero, ok, none, none, zero, zero, zero, zero, zero, zero)


def _no_hit(_: Cache) -> Mask:
    raise AssertionError("a cache policy belongs to a work step")


def _wrapped(
    policies: tuple[Policy, ...],
    attempt: Callable[[str], Spell],
    small: Callable[[str], Spell],
    setting: Setting,
    step_id: str,
    luck: Luck,
    hit: Callable[[Cache], Mask] = _no_hit,
) -> Spell:
    """The first attempt with each policy laid round it, innermost first."""
    spell = attempt("")
    for policy in policies:
        match policy:
            case Timeout(after_s):
                spell = timed_out(spell, after_s)
            case Retry(attempts, backoff_s):
                for number in range(2, attempts + 1):
                    spell = retried(spell, attempt(f".try{number}"), backoff_s)
            case Hedge(delay_s):
                spell = hedged(spell, attempt(".hedge"), delay_s)
            case Cache():
                lookup = luck.draw(setting.service(policy.lookup).latency(), step_id, "lookup")
                spell = looked_up(spell, lookup, hit(policy))
            case Cascade(gate, rate):
                check = luck.draw(setting.service(gate).latency(), step_id, "gate")
                escalated = luck.below(rate, step_id, "escalate")
                spell = cascaded(small(".small"), check, spell, escalated)
            case Speculate() | Deadline():
                pass  # they move the step's start or leave it out: see core.simulate
            case _:
                assert_never(policy)
    return spell


def timed_out(spell: Spell, after_s: float) -> Spell:
    """Give up after `after_s`, or when it fails, and go on without the values."""
    late = (spell.end > after_s) | ~spell.ok
    end = np.minimum(spell.end, after_s)
    first = np.minimum(spell.first, end)
    return replace(spell, first=first, end=end, ok=spell.ok | late, absent=spell.absent | late)


def retried(spell: Spell, again: Spell, backoff_s: float) -> Spell:
    """Where it failed, wait and try again: attempts end to end."""
    bad = ~spell.ok
    offset = np.where(bad, spell.end + backoff_s, 0.0)
    return replace(
        _chosen(bad, _shifted(again, offset), spell),
        calls=spell.calls + np.where(bad, again.calls, 0.0),
        cost_usd=spell.cost_usd + np.where(bad, again.cost_usd, 0.0),
    )


def hedged(spell: Spell, second: Spell, delay_s: float) -> Spell:
    """A second attempt after `delay_s` where the first is still silent; the first answer wins."""
    sent = spell.first > delay_s
    late = _shifted(second, np.full(len(spell.end), delay_s))
    wins = sent & ((late.first < spell.first) | ~spell.ok)
    both = _chosen(wins, late, spell)
    return replace(
        both,
        calls=spell.calls + np.where(sent, second.calls, 0.0),
        cost_usd=spell.cost_usd + np.where(sent, second.cost_usd, 0.0),
    )


def looked_up(spell: Spell, lookup: Array, hit: Mask) -> Spell:
    """The look-up always, the work only where it missed."""
    return replace(
        spell,
        first=lookup + np.where(hit, 0.0, spell.first),
        end=lookup + np.where(hit, 0.0, spell.end),
        ok=spell.ok | hit,
        cached=spell.cached | hit,
    )


def cascaded(small: Spell, check: Array, large: Spell, escalated: Mask) -> Spell:
    """The small model, the gate, and the large one where the gate fails; nothing shows before."""
    passed = replace(small, first=small.end + check, end=small.end + check)
    again = _shifted(large, small.end + check)
    out = _chosen(escalated, again, passed)
    return replace(
        out,
        calls=small.calls + np.where(escalated, large.calls, 0.0),
        tokens_in=small.tokens_in + np.where(escalated, large.tokens_in, 0.0),
        tokens_out=small.tokens_out + np.where(escalated, large.tokens_out, 0.0),
        cost_usd=small.cost_usd + np.where(escalated, large.cost_usd, 0.0),
    )


def _shifted(spell: Spell, by: Array) -> Spell:
    return replace(spell, first=spell.first + by, end=spell.end + by)


def _chosen(where: Mask, a: Spell, b: Spell) -> Spell:
    """Row by row the one or the other."""
    names = Spell.__dataclass_fields__
    return Spell(**{f: np.where(where, getattr(a, f), getattr(b, f)) for f in names})

"""Stretches of work and how policies combine them: row by row over n requests, relative times.

What a stretch asks of shared capacity (`core.attempts`) goes the same way as its times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from core.attempts import Attempt, Attempts, Slot, either, only, shifted, until
from core.dists import Array
from core.timeline import Mask


@dataclass(frozen=True, slots=True, eq=False)
class Spell:
    """One stretch of work, arrays (n,): to its first output, to its end, and what it used.

    `begun` is when the first token was made, which may be before `first`, when something comes out:
    a gate or a guard can hold it back. `cap` is the token time after which the output was cut off.
    `ok` is False where it failed; `absent` where the plan goes on without its values; `cached`
    where a cache answered. `tpot` is seconds per token (0 for work without tokens). `attempts` are
    the calls it makes, where they share something with others.
    """

    begun: Array
    first: Array
    end: Array
    tpot: Array
    cap: Array
    ok: Mask
    absent: Mask
    cached: Mask
    calls: Array
    tokens_in: Array
    tokens_cached: Array
    tokens_out: Array
    tokens_rejected: Array
    cost_usd: Array
    attempts: Attempts = ()


def plain_spell(took: Array, *, ok: Mask) -> Spell:
    """Work that takes so long and puts everything out at its end."""
    n = len(took)
    zero, none = np.zeros(n), np.zeros(n, dtype=bool)
    never = np.full(n, np.inf)
    return Spell(took, took, took, zero, never, ok, none, none, zero, zero, zero, zero, zero, zero)


def shared(spell: Spell, key: str, slot: Slot) -> Spell:
    """A call alone, put in its place: it waits, connects, goes on at the pace of the crowd."""
    sent = np.isfinite(slot.wait_s)

    def later(at: Array) -> Array:
        out: Array = slot.wait_s + (slot.connect_s + at) * slot.first_x
        return out

    first = later(spell.first)
    tokens = spell.tokens_in + spell.tokens_out
    attempt = Attempt(
        key, "set", np.zeros_like(first), np.ones_like(sent), spell.first, spell.end, tokens, slot
    )
    used = ("calls", "tokens_in", "tokens_cached", "tokens_out", "tokens_rejected", "cost_usd")
    return replace(
        spell,
        begun=later(spell.begun),
        first=first,
        end=first + (spell.end - spell.first) * slot.decode_x,
        tpot=spell.tpot * slot.decode_x,
        attempts=(attempt,),
        **{name: np.where(sent, getattr(spell, name), 0.0) for name in used},
    )


def timed_out(spell: Spell, after_s: float | Array) -> Spell:
    """Give up after `after_s`, or when it fails, and go on without the values."""
    late = (spell.end > after_s) | ~spell.ok
    end = np.minimum(spell.end, after_s)
    written = np.divide(end - spell.begun, spell.tpot, out=np.zeros_like(end), where=spell.tpot > 0)
    return replace(
        spell,
        first=np.minimum(spell.first, end),
        end=end,
        cap=np.where(late, np.minimum(spell.cap, written), spell.cap),
        ok=spell.ok | late,
        absent=spell.absent | late,
        attempts=until(spell.attempts, np.broadcast_to(after_s, end.shape)),
    )


def retried(spell: Spell, again: Spell, pause_s: float) -> Spell:
    """Where it failed, wait and try again: attempts end to end."""
    bad = ~spell.ok
    offset = np.where(bad, spell.end + pause_s, 0.0)
    out = chosen(bad, _shifted(again, offset), spell)
    attempts = spell.attempts + only(shifted(again.attempts, offset, "then"), bad)
    return _used_by_both(replace(out, attempts=attempts), spell, again, bad)


def hedged(spell: Spell, second: Spell, delay_s: float) -> Spell:
    """A second attempt after `delay_s` where the first is still silent; the first answer wins."""
    sent = spell.first > delay_s
    late = _shifted(second, np.full(len(spell.end), delay_s))
    wins = sent & second.ok & ((late.first < spell.first) | ~spell.ok)
    fails_later = sent & ~second.ok & ~spell.ok & (late.end > spell.end)
    out = chosen(wins | fails_later, late, spell)
    return _used_by_both(replace(out, attempts=_rivals(spell, late, sent)), spell, second, sent)


def _rivals(spell: Spell, late: Spell, sent: Mask) -> Attempts:
    """Both attempts at a call; of those that are more than one call each, the late ones `sent`."""
    if len(spell.attempts) == len(late.attempts) == 1:
        made = spell.attempts[0].made & late.attempts[0].made
        return (*spell.attempts, replace(late.attempts[0], kind="hedge", made=made))
    return spell.attempts + only(late.attempts, sent)


def looked_up(spell: Spell, lookup: Array, hit: Mask) -> Spell:
    """The look-up always, the work only where it missed."""
    return replace(
        spell,
        begun=lookup + np.where(hit, 0.0, spell.begun),
        first=lookup + np.where(hit, 0.0, spell.first),
        end=lookup + np.where(hit, 0.0, spell.end),
        ok=spell.ok | hit,
        absent=spell.absent & ~hit,
        attempts=only(shifted(spell.attempts, lookup), ~hit),
    )


def cascaded(small: Spell, check: Array, large: Spell, escalated: Mask) -> Spell:
    """The small model, the gate, and the large one where the gate fails; nothing shows before."""
    passed = replace(small, first=small.end + check, end=small.end + check)
    again = _shifted(large, small.end + check)
    out = chosen(escalated, again, passed)
    more = only(shifted(large.attempts, small.end + check, "then"), escalated)
    return _used_by_both(replace(out, attempts=small.attempts + more), small, large, escalated)


def started_again(spell: Spell, again: Spell, where: Mask) -> Spell:
    """What a first attempt and, in some places, a second one used; times are the last one's."""
    if not where.any():
        return spell
    return _used_by_both(chosen(where, again, spell), spell, again, where)


def _used_by_both(out: Spell, spell: Spell, more: Spell, where: Mask) -> Spell:
    """The spell `out` with what one attempt used and, in some places, a second one."""
    return replace(
        out,
        calls=spell.calls + np.where(where, more.calls, 0.0),
        tokens_in=spell.tokens_in + np.where(where, more.tokens_in, 0.0),
        tokens_cached=spell.tokens_cached + np.where(where, more.tokens_cached, 0.0),
        tokens_out=spell.tokens_out + np.where(where, more.tokens_out, 0.0),
        tokens_rejected=spell.tokens_rejected + np.where(where, more.tokens_rejected, 0.0),
        cost_usd=spell.cost_usd + np.where(where, more.cost_usd, 0.0),
    )


def _shifted(spell: Spell, by: Array) -> Spell:
    return replace(
        spell,
        begun=spell.begun + by,
        first=spell.first + by,
        end=spell.end + by,
        attempts=shifted(spell.attempts, by),
    )


def chosen(where: Mask, a: Spell, b: Spell) -> Spell:
    """Row by row the one or the other."""
    names = [name for name in Spell.__dataclass_fields__ if name != "attempts"]
    arrays = {f: np.where(where, getattr(a, f), getattr(b, f)) for f in names}
    return Spell(**arrays, attempts=either(where, a.attempts, b.attempts))

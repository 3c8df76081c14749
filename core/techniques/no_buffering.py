"""Buffering, the failure case: a proxy collects the stream and delivers it at the end."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import Plan
from core.rewrite import Context, NotApplicable, shown_steps
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """`proxy_buffers`: show the failure; off takes a buffering proxy out of a plan that has one."""

    proxy_buffers: bool = True


def rewrite(plan: Plan, params: Params, _: Context) -> Plan | NotApplicable:
    """Put a buffering proxy in the way, or take it out."""
    if plan.transport.buffered == params.proxy_buffers:
        key = "reason.already_buffered" if params.proxy_buffers else "reason.not_buffered"
        return NotApplicable(Note.of(key))
    if not any(s.stream for s in shown_steps(plan)):
        return NotApplicable(Note.of("reason.nothing_streams"))
    return replace(plan, transport=replace(plan.transport, buffered=params.proxy_buffers))

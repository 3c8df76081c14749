"""The controls of load, limit and faults. All in the address; 0 stands for no limit."""

from __future__ import annotations

from typing import TypeVar

import streamlit as st

from core.faults import MAX_TAIL, Faults, external
from core.load import Capacity
from core.metrics import metric
from core.plan import Plan
from core.profiles import Setting
from pages._ui.address import keep_choice
from pages._ui.lang import language, tr
from pages._ui.sections.figures import metric_name
from pages._ui.tail.view import LIMITED

RATE, POOL, SLO_S = 1.0, 8, 6.0

N = TypeVar("N", int, float)


def pick_load() -> tuple[float, Capacity]:
    """Arrivals, the pool, and what else calls share."""
    rate = _number("rate", 0.05, 50.0, RATE, 0.1)
    pool = _number("pool", 1, 500, POOL, 1)
    with st.popover(tr("tail.limits"), help=tr("tail.limits_help")):
        calls = _number("calls_per_s", 0.0, 1000.0, 0.0, 1.0)
        tokens = _number("tokens_per_min", 0, 100_000_000, 0, 10_000)
        slowdown = _number("slowdown", 0.0, 1.0, 0.0, 0.1)
    return rate, Capacity(pool, calls or None, float(tokens) or None, slowdown)


def pick_limit() -> tuple[str, float]:
    """What the limit is on, and the limit in seconds."""
    keep_choice("limit_on", LIMITED, default=LIMITED[0])
    chosen = st.selectbox(
        tr("tail.slo_on"),
        LIMITED,
        key="limit_on",
        format_func=lambda m: metric_name(metric(m), language()),
    )
    return str(chosen), _number("limit_s", 0.1, 120.0, SLO_S, 0.5)


def _number(key: str, low: N, high: N, value: N, step: N) -> N:
    """A number in the address; its label is `tail.<key>`, its help `tail.<key>_help`."""
    whole = isinstance(value, int)
    return st.number_input(
        tr(f"tail.{key}"),
        low,
        high,
        value,
        step,
        format="%d" if whole else "%.2f",
        key=key,
        bind="query-params",
        help=tr(f"tail.{key}_help"),
    )


def pick_faults(plan: Plan, setting: Setting) -> Faults:
    """How often external searches fail and how long their tail is; nothing where there are none."""
    names = external(plan)
    if not names:
        st.caption(tr("tail.no_external"))
        return Faults()
    published = max(setting.service(name).fail_rate for name in names)
    fails = st.slider(
        tr("tail.fails"),
        0,
        50,
        round(published * 100),
        1,
        format="%d%%",
        key="fails",
        bind="query-params",
        help=tr("tail.fails_help"),
    )
    longer = st.slider(
        tr("tail.longer"),
        1.0,
        MAX_TAIL,
        1.0,
        0.5,
        format="%.1f×",
        key="longer",
        bind="query-params",
        help=tr("tail.longer_help"),
    )
    return Faults(fails / 100, float(longer))

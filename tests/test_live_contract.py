"""The emulator, through the official SDKs, takes the time that the simulator says.

An emulator without chance in a process of its own for each role; models and services are two to
four times as fast as real ones, so that the whole takes seconds. The bar is on the program, and
what else the machine does only ever adds time: the fastest of a few runs counts, and on a machine
that others keep busy only an answer that comes too early is a failure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import pytest

from core.compare import rewritten
from core.emulator import Address, serve_apart
from core.engines import emulated, warm_up
from core.execute import Engine, Model, Run, execute
from core.local.machine import BUSY_SHARE, foreign_share, read_cpu
from core.metrics import Reader, metric
from core.plan import Plan
from core.profiles import MEASURED_ROUTE, Profile, PromptCaching, Setting, setting
from core.providers import catalogue
from core.request import Request
from core.scenarios import SCENARIOS, Scenario, scenario
from core.simulate import simulate
from core.techniques import HEADLINE_ORDER, choose
from core.workload import only

BAR_S, BAR_SHARE = 0.015, 0.02
"""Largest difference to the simulation: so many seconds, and so much of what it says."""

ATTEMPTS = 4
SPEED = 4.0
"""How many times as fast as published the services are."""

NEEDS = {"chunking": ("streaming", "chunking"), "predicted_output": ("predicted_output",)}
CASES = tuple(NEEDS.get(name, (name,)) for name in HEADLINE_ORDER)
pytestmark = [pytest.mark.alone, pytest.mark.slow]

DIALECTS = ("openai", "openai-responses", "anthropic")


def fast(profile: Profile, ttft_s: float, tokens_per_s: float) -> Profile:
    """A profile without spread, whose prompt cache is the emulator's."""
    return replace(
        profile,
        ttft_p50_s=ttft_s,
        ttft_p95_s=ttft_s,
        tokens_per_s=tokens_per_s,
        caching=PromptCaching(1024, 128),
    )


@lru_cache(maxsize=1)
def where() -> Setting:
    usual = setting("gpt-4.1", "gpt-4.1-mini")
    services = {
        name: replace(s, p50_s=s.p50_s / SPEED, p95_s=s.p95_s / SPEED)
        for name, s in usual.services.items()
    }
    return replace(
        usual,
        large=fast(usual.large, 0.30, 125.0),
        small=fast(usual.small, 0.20, 200.0),
        route=MEASURED_ROUTE,
        services=services,
        certain=True,
    )


@dataclass(frozen=True)
class Servers:
    large: Address
    small: Address

    def engine(self, dialect: str) -> Engine:
        def model(server: Address, profile: Profile) -> Model:
            url = server.anthropic_url if dialect == "anthropic" else server.openai_url
            chosen = catalogue.Choices(base_url=url, own_machine=True, scripted=True)
            # Anthropic's API wants a model of its own family; the pace is the server's.
            name = "claude-haiku-4-5" if dialect == "anthropic" else profile.name
            return Model(catalogue.make(dialect, chosen), name, profile)

        return Engine(
            "emulator", model(self.large, where().large), model(self.small, where().small)
        )


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    large, small = (emulated(p, certain=True) for p in (where().large, where().small))
    with serve_apart(large) as one, serve_apart(small) as other:
        yield Servers(one, other)


def asked(of: Scenario) -> Request:
    """An English request that is answered by the pipeline's longest way."""
    return next(r for r in of.requests if r.lang == "en" and r.answerable)


def gaps(plan: Plan, of: Scenario, request: Request, found: Run) -> dict[str, tuple[float, float]]:
    """What both say of each metric that is further apart than the bar allows."""
    expected = simulate(plan, where(), only(of, request))
    far = {}
    for key in ("total_s", "first_visible_s"):
        said, took = (
            float(metric(key).compute(t, Reader())[-1]) for t in (expected, found.timeline)
        )
        if not abs(took - said) <= BAR_S + BAR_SHARE * said:
            far[key] = (said, took)
    return far


async def agree(servers: Servers, name: str, ids: tuple[str, ...], dialect: str) -> None:
    of = scenario(name)
    plan, _ = rewritten(of, choose(ids), where())
    request, engine = asked(of), servers.engine(dialect)
    found: list[dict[str, tuple[float, float]]] = []
    before = read_cpu()
    try:
        await warm_up(engine)
        if any(step.prompt_cache for step in plan.llm_steps):
            await execute(plan, engine, where(), only(of, request))
        for _ in range(ATTEMPTS):
            run = await execute(plan, engine, where(), only(of, request))
            assert run.error is None
            found.append(gaps(plan, of, request, run))
            if not found[-1]:
                return
    finally:
        await engine.aclose()
    far = [pair for gap in found for pair in gap.values()]
    busy = foreign_share(before, read_cpu())
    if busy is not None and busy > BUSY_SHARE and all(took > said for said, took in far):
        pytest.skip(f"others used {busy:.0%} of the machine: too late says nothing")
    pytest.fail(f"{ids} on {name} by {dialect}: (simulated, measured) of each run: {found}")


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("ids", [(), *CASES], ids=lambda ids: ids[-1] if ids else "naive")
async def test_every_headline_technique(servers: Servers, name: str, ids: tuple[str, ...]) -> None:
    await agree(servers, name, ids, "openai")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", SCENARIOS)
async def test_every_dialect(servers: Servers, name: str, dialect: str) -> None:
    await agree(servers, name, ("streaming", "parallel", "small_model"), dialect)

"""Real engines by name: which provider, which models, how they are opened, warmed and closed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from core import emulator
from core.emulator import EmulatedModel
from core.errors import InputError
from core.execute import Engine, Model
from core.local.models import ROLES, locate
from core.local.provider import LocalProvider
from core.profiles import DEFAULT_LARGE, DEFAULT_SMALL, PER_1K_TOK_S, Profile, Setting, models
from core.providers import catalogue
from core.providers.base import CallRequest, Chunk, Message, Provider
from core.providers.capabilities import split_effort

ENGINES = ("local", "openai", "openai-responses", "anthropic", "compatible", "emulator")
"""Every engine of a real run, in the order in which people see them."""

DEFAULT_MODELS: Mapping[str, tuple[str, str]] = {
    "local": ("large", "small"),
    "openai": (DEFAULT_LARGE, DEFAULT_SMALL),
    "openai-responses": (DEFAULT_LARGE, DEFAULT_SMALL),
    "anthropic": ("claude-sonnet-5 (no thinking)", "claude-haiku-4-5 (no thinking)"),
    "emulator": (DEFAULT_LARGE, DEFAULT_SMALL),
}
"""Large and small model where none are named; a compatible server's names are its own.

They are named as profiles are, with the effort: providers split that off, an emulator needs it.
"""

SHORT_CALL_S = 120.0
"""Longest time a warming call may take, engine start included."""


@dataclass(frozen=True, slots=True)
class Target:
    """An engine as a person chose it: one of `ENGINES` and its two models by their names there.

    `base_url`: another address of an API, or that of an emulator already running. `own_machine`:
    the app runs on the person's own machine, see `core.providers.catalogue.Choices`. `scripted`:
    models are asked to write the reference answers (only the local engine and emulators can).
    """

    engine: str
    large: str
    small: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    own_machine: bool = True
    scripted: bool = True

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise InputError(f"unknown engine {self.engine!r:.60}: valid are {', '.join(ENGINES)}")
        for role, name in (("large", self.large), ("small", self.small)):
            if not name.strip() and self.engine != "emulator":
                raise InputError(f"{self.engine} needs the name of a model in the {role} role")


def named(engine: str, large: str = "", small: str = "") -> Target:
    """Return the target of an engine by name, or of a compatible server by its URL.

    Keys come from the environment. Raises InputError.
    """
    url = engine if "://" in engine else None
    usual = DEFAULT_MODELS.get("compatible" if url else engine, ("", ""))
    return Target("compatible" if url else engine, large or usual[0], small or usual[1], url)


async def opened(target: Target, setting: Setting) -> Engine:
    """Return the engine, ready to be asked; the setting gives an emulator its pace.

    Call it on the loop that will run it; `Engine.aclose` closes it. Local models are shared by all
    who open them on one loop and stay, warm, until `close_shared`.

    Raises:
        InputError: a base URL or model name that cannot be used.
        Unavailable: no key, no weights, not installed; one line says which.
    """
    if target.engine == "local":
        return _local(target)
    if target.engine == "emulator":
        return await _emulated(target, setting)
    chosen = catalogue.Choices(
        api_key=target.api_key, base_url=target.base_url, own_machine=target.own_machine
    )
    provider = await asyncio.to_thread(catalogue.make, target.engine, chosen)
    large, small = (
        Model(provider, name, priced(target.engine, name)) for name in (target.large, target.small)
    )
    return Engine(target.engine, large, small, scripted=False)


@contextlib.asynccontextmanager
async def using(target: Target, setting: Setting) -> AsyncIterator[Engine]:
    """Open an engine and close all of it at the end, shared parts included: for commands."""
    engine = await opened(target, setting)
    try:
        yield engine
    finally:
        await engine.aclose()
        await close_shared()


async def warm_up(engine: Engine) -> None:
    """Ask each model for two tokens: connections are open then, engines started, pages read.

    Raises EngineError: what keeps it from answering will keep the measured calls from it too.
    """
    asked = {(id(m.provider), m.name): m for m in (engine.large, engine.small)}
    for model in asked.values():
        request = CallRequest(
            model.name,
            (Message("user", "Say yes."),),
            max_tokens=16,
            scripted_text="Yes." if engine.scripted else None,
            deadline_s=SHORT_CALL_S,
        )
        async for _ in model.provider.stream(request):
            pass


def priced(provider: str, name: str) -> Profile | None:
    """Return the profile that holds a model's prices, None where none are published.

    A model has a row for each effort; their prices are the same.
    """
    vendor, model = provider.removesuffix("-responses"), split_effort(name)[0]
    for profile in models().values():
        if profile.provider == vendor and split_effort(profile.name)[0] == model:
            return profile
    return None


# --- the local engine -----------------------------------------------------------------------------

_shared: WeakKeyDictionary[asyncio.AbstractEventLoop, LocalProvider] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class _Borrowed:
    """The loop's local provider in the hands of one of its users: closing gives it back."""

    owner: LocalProvider

    @property
    def name(self) -> str:
        return self.owner.name

    def stream(self, request: CallRequest) -> AsyncGenerator[Chunk]:
        return self.owner.stream(request)

    async def aclose(self) -> None:
        """Leave the engines to the others."""


def _local(target: Target) -> Engine:
    for name in (target.large, target.small):
        if name in ROLES:
            locate(name)
        else:
            raise InputError(f"no local model {name!r:.60}: valid are {', '.join(ROLES)}")
    loop = asyncio.get_running_loop()
    provider = _Borrowed(_shared.setdefault(loop, LocalProvider()))
    large, small = (Model(provider, name) for name in (target.large, target.small))
    return Engine("local", large, small, scripted=target.scripted)


async def close_shared() -> None:
    """End the local engines of this loop, if there are any."""
    provider = _shared.pop(asyncio.get_running_loop(), None)
    if provider is not None:
        await provider.aclose()


# --- the emulator ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Hosting:
    """A provider together with the server it talks to: both end together."""

    provider: Provider
    server: contextlib.ExitStack

    @property
    def name(self) -> str:
        return "emulator"

    def stream(self, request: CallRequest) -> AsyncIterator[Chunk]:
        return self.provider.stream(request)

    async def aclose(self) -> None:
        await self.provider.aclose()
        await asyncio.to_thread(self.server.close)


async def _emulated(target: Target, setting: Setting) -> Engine:
    """Both roles on a running emulator, or each on one of its own at its profile's pace."""
    first = await _emulator(target, setting.large)
    try:
        providers = (first, await _emulator(target, setting.small))
    except BaseException:
        await first.aclose()
        raise
    large, small = (
        Model(provider, profile.name, profile)
        for provider, profile in zip(providers, (setting.large, setting.small), strict=True)
    )
    return Engine("emulator", large, small, scripted=target.scripted)


async def _emulator(target: Target, profile: Profile) -> Provider:
    server = contextlib.ExitStack()
    if target.base_url is None:
        apart = emulator.serve_apart(emulated(profile))
        url = (await asyncio.to_thread(server.enter_context, apart)).openai_url
    else:
        url = target.base_url
    chosen = catalogue.Choices(base_url=url, own_machine=target.own_machine, scripted=True)
    return _Hosting(catalogue.make("openai", chosen), server)


def emulated(profile: Profile, *, certain: bool = False) -> EmulatedModel:
    """Return the emulator's model of a profile; `certain` leaves nothing to chance."""
    ttft, tpot = profile.ttft(), profile.tpot()
    spread = 1.0 if certain or profile.ttft_p50_s is None else _spread(profile)
    return EmulatedModel(
        ttft_s=ttft.median_s,
        tpot_s=tpot.median_s,
        per_1k_s=PER_1K_TOK_S,
        ttft_spread=spread,
        cache_minimum_tok=profile.caching.minimum_tok,
        cache_step_tok=profile.caching.step_tok,
        name=profile.name,
    )


def _spread(profile: Profile) -> float:
    if profile.ttft_p95_s is None or not profile.ttft_p50_s:
        return 1.0
    return max(profile.ttft_p95_s / profile.ttft_p50_s, 1.0)

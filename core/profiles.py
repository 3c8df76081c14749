"""Latency and price of models, networks and services, each with source and date.

Figures are data (`sample_data/profiles/*.csv`); this module gives them shape and derives what the
simulator needs. What is assumed rather than published is named in a constant here or marked in the
row itself.
"""

from __future__ import annotations

import contextlib
import csv
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from core import fitted_io
from core.dists import Latency
from core.errors import InputError, InvalidData, UnknownName
from core.fitted import FittedProfile, Law, TokenRatio

T = TypeVar("T")

DATA = Path(__file__).parent.parent / "sample_data" / "profiles"

PER_1K_TOK_S = 0.010
"""TTFT growth per 1,000 uncached input tokens. Source: fits on hosted models, range 5 to 20 ms."""

PUBLISHED_PROMPT_TOK = 1000
"""Prompt length at which the published TTFT was measured. Source: the rows' own note."""

TAIL_RATIO = 2.3
"""p95 over p50 of TTFT where no p95 is published. Source: median over 72 raw calls."""

SPEED_SIGMA = 0.12
"""Spread of tokens/s between calls, lognormal. Assumption: medians move 20 to 25 % in a week."""

DNS_S = 0.02
"""A name look-up before a new connection. Assumption: a resolver near by, cache cold."""

FAST_TIER_SPEED = 2.0
FAST_TIER_PRICE = 2.0
"""A provider's fast tier. Source: up to 2.5x the tokens/s at 2 to 2.5x the price; lower ends."""

DEFAULT_LARGE, DEFAULT_SMALL = "gpt-5.5 (none)", "gpt-5.4-mini (none)"
FITTED = "fitted:"
"""What the names of calibrated models begin with."""

DEFAULT_ROUTE = "same region > same region"
NEAR_ROUTE = DEFAULT_ROUTE

ANTHROPIC_MINIMUM_TOK: Mapping[str, int] = {
    "haiku-4-5": 4096,
    "opus-4-7": 2048,
    "opus-5": 512,
    "sonnet-5-5": 512,
    "haiku-5-5": 512,
}
"""Shortest prefix that is cached, by model family; 1,024 elsewhere. Source: vendor's guide and
third-party pages of 2026-10."""


@dataclass(frozen=True, slots=True)
class PromptCaching:
    """What a provider's prompt cache reuses: from `minimum_tok`, in steps; what writes cost."""

    minimum_tok: int
    step_tok: int
    write_factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Profile:
    """Latency and price of one (model, effort) pair. Seconds, tokens/s, USD per million tokens.

    None means that no figure was found; such a model may be listed but not simulated. `law`: how
    its times grow with the call, where it was calibrated: then they follow from it and not from the
    figures above, which only describe it. `spread`: that of the law, the standard deviation of a
    call's log time. `ratios`: how many of the law's tokens are one of ours, by language.
    """

    name: str
    provider: str
    ttft_p50_s: float | None
    ttft_p95_s: float | None
    tokens_per_s: float | None
    input_price: float | None
    cached_price: float | None
    output_price: float | None
    source: str
    source_date: str
    predictions: bool
    caching: PromptCaching
    law: Law | None = None
    spread: float = 0.0
    ratios: tuple[TokenRatio, ...] = ()

    @property
    def fitted(self) -> bool:
        """Whether it was calibrated on an engine rather than published."""
        return self.law is not None

    def ratio(self, lang: str) -> TokenRatio:
        """How many of its own tokens one of ours is in that language, 1 where it is not known."""
        return next((r for r in self.ratios if r.lang == lang), TokenRatio(lang, 1.0, 1.0))

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the figures without which it cannot be simulated."""
        needed = {"ttft_p50_s": self.ttft_p50_s, "tokens_per_s": self.tokens_per_s}
        return tuple(k for k, v in needed.items() if v is None)

    @property
    def retired(self) -> bool:
        """History: usable in simulation, not offered for live calls."""
        return "SHUT DOWN" in self.source or "END OF LIFE" in self.source

    def ttft(self) -> Latency:
        """Time to first token at an empty prompt. Raises InputError where none is published."""
        p50 = self.ttft_p50_s
        if p50 is None:
            raise InputError(f"model {self.name!r} has no published ttft_p50; choose another")
        base = max(p50 - PER_1K_TOK_S * PUBLISHED_PROMPT_TOK / 1000, 0.0)
        p95 = self.ttft_p95_s if self.ttft_p95_s is not None else p50 * TAIL_RATIO
        return Latency.fitted(base, base * p95 / p50) if base else Latency.constant(0.0)

    def tpot(self) -> Latency:
        """Time per output token; raises InputError where no speed is published."""
        if self.tokens_per_s is None:
            raise InputError(f"model {self.name!r} has no published tokens_per_s; choose another")
        return Latency(1.0 / self.tokens_per_s, SPEED_SIGMA)


@dataclass(frozen=True, slots=True)
class Route:
    """A network path with its round-trip time in seconds."""

    name: str
    rtt_s: float
    source: str
    source_date: str


MEASURED_ROUTE = Route("as measured", 0.0, "the path is in the calibrated times", "")
"""The path to calibrated models: their times count from the request's last byte on this side."""


@dataclass(frozen=True, slots=True)
class Service:
    """Work that is not an LLM call. `per_1k_chars_s` grows with the text it reads."""

    name: str
    kind: str
    remote: bool
    p50_s: float
    p95_s: float
    per_1k_chars_s: float
    fail_rate: float
    basis: str
    source: str
    source_date: str

    def latency(self) -> Latency:
        """Its distribution, without the part that grows with the text."""
        return Latency.fitted(self.p50_s, self.p95_s)


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """Everything a simulation is told beside the plan: models, network, services.

    `certain` leaves nothing to chance: every latency is at its median. Compared by identity; the
    same names give the same object.
    """

    large: Profile
    small: Profile
    route: Route
    services: Mapping[str, Service]
    certain: bool = False

    def at_median(self) -> Setting:
        """The same setting with every latency at its median."""
        return _at_median(self)

    def model(self, role: str) -> Profile:
        """The profile that plays this role."""
        return self.large if role == "large" else self.small

    def service(self, name: str) -> Service:
        """The service of that name. Raises UnknownName."""
        if name not in self.services:
            raise UnknownName("service", name, self.services)
        return self.services[name]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Keys of what a person should know about this pair of models, e.g. `small_is_slower`."""
        found = []
        large, small = self.large, self.small
        if (small.ttft_p50_s or 0) > (large.ttft_p50_s or 0):
            found.append("small_answers_later")
        if (small.tokens_per_s or 0) < (large.tokens_per_s or 0):
            found.append("small_writes_slower")
        return tuple(found)


@lru_cache(maxsize=256)
def _at_median(setting: Setting) -> Setting:
    return replace(setting, certain=True)


def setting(
    large: str = DEFAULT_LARGE, small: str = DEFAULT_SMALL, route: str = DEFAULT_ROUTE
) -> Setting:
    """The setting of two models and a network path by name; `fitted:NAME` is a calibrated model.

    Between two calibrated models there is no path to add: it was in what was measured.

    Raises:
        UnknownName: no such model or path.
        InputError: a model without the figures a simulation needs.
    """
    path, chosen = pick("route", route, routes()), (model(large), model(small))
    measured = all(profile.fitted for profile in chosen)
    return _setting(*chosen, MEASURED_ROUTE if measured else path)


@lru_cache(maxsize=256)
def _setting(large: Profile, small: Profile, route: Route) -> Setting:
    return Setting(large, small, route, services())


def model(name: str) -> Profile:
    """A published model by name, or a calibrated one by `fitted:NAME`.

    Raises:
        UnknownName: no such model.
        InputError: it lacks the figures a simulation needs.
    """
    if name.startswith(FITTED):
        return fitted(name.removeprefix(FITTED))
    profile = pick("model", name, models())
    if profile.missing:
        lacks = " and ".join(profile.missing)
        raise InputError(f"model {name!r} cannot be simulated: no published {lacks}")
    return profile


def fitted(name: str) -> Profile:
    """The calibrated model saved under this name. Raises: as `core.fitted_io.load`."""
    return profile_of(fitted_io.load(name))


def fitted_models() -> Mapping[str, Profile]:
    """All calibrated models by name; a saved file that cannot be read is left out."""
    found = {}
    for name in fitted_io.saved():
        with contextlib.suppress(InputError):
            found[FITTED + name] = fitted(name)
    return found


def profile_of(found: FittedProfile) -> Profile:
    """A calibrated model as a profile: its law gives the times; prices are the published ones.

    The local engine drafts from predictions and reuses any prefix to the token.
    """
    local = found.provider == "local"
    law, context = found.law, float(PUBLISHED_PROMPT_TOK)
    priced = next(
        (p for p in models().values() if found.model in (p.name, p.name.split(" ")[0])), None
    )
    return Profile(
        FITTED + found.name,
        found.provider,
        law.ttft_s(context, 0.0),
        None,
        1.0 / max(law.per_output_s + law.per_output_pair_s * context, 1e-9),
        priced.input_price if priced else None,
        priced.cached_price if priced else None,
        priced.output_price if priced else None,
        f"fitted on {found.machine}",
        found.date[:10],
        predictions=local or (priced is not None and priced.predictions),
        caching=PromptCaching(1, 1) if local or priced is None else priced.caching,
        law=law,
        spread=found.spread,
        ratios=found.ratios,
    )


def pick(kind: str, name: str, table: Mapping[str, T]) -> T:
    """The entry of that name; raises UnknownName naming the kind."""
    if name not in table:
        raise UnknownName(kind, name, table)
    return table[name]


@lru_cache(maxsize=1)
def models() -> Mapping[str, Profile]:
    """All model profiles by name; a model of several hosts carries its host."""
    rows = _rows(DATA / "models.csv")
    names = [r.text("model") for r in rows]
    found: dict[str, Profile] = {}
    for row in rows:
        name, host = row.text("model"), row.text("provider")
        full = f"{name} @ {host}" if names.count(name) > 1 else name
        found[full] = Profile(
            full,
            host,
            row.number("ttft_p50_ms", 1e-3),
            row.number("ttft_p95_ms", 1e-3),
            row.number("tokens_per_s_p50"),
            row.number("input_price"),
            row.number("cached_input_price"),
            row.number("output_price"),
            row.text("source"),
            row.text("source_date"),
            predictions=name.startswith(("gpt-4o", "gpt-4.1")),
            caching=_caching(name, host),
        )
    return found


def _caching(model: str, provider: str) -> PromptCaching:
    """Prompt caching rules by provider. Source: vendors' guides as of 2026-10."""
    if provider == "anthropic":
        least = next((tok for name, tok in ANTHROPIC_MINIMUM_TOK.items() if name in model), 1024)
        return PromptCaching(least, 1, 1.25)
    newer = re.match(r"gpt-(5\.[6-9]|[6-9])", model)
    return PromptCaching(1024, 128, 1.25 if newer else 1.0)


@lru_cache(maxsize=1)
def routes() -> Mapping[str, Route]:
    """All network paths by name, `FROM > TO`."""
    return {
        (name := f"{r.text('from')} > {r.text('to')}"): Route(
            name, r.needed("rtt_ms") * 1e-3, r.text("source"), r.text("source_date")
        )
        for r in _rows(DATA / "network.csv")
    }


@lru_cache(maxsize=1)
def services() -> Mapping[str, Service]:
    """All services by name."""
    return {
        r.text("service"): Service(
            r.text("service"),
            r.text("kind"),
            r.text("place") == "remote",
            r.needed("p50_s"),
            r.needed("p95_s"),
            r.needed("per_1k_chars_s"),
            r.needed("fail_rate"),
            r.text("basis"),
            r.text("source"),
            r.text("source_date"),
        )
        for r in _rows(DATA / "services.csv")
    }


@dataclass(frozen=True, slots=True)
class _Row:
    file: str
    line: int
    cells: Mapping[str, str]

    def text(self, key: str) -> str:
        if not self.cells.get(key):
            raise InvalidData(self.file, "is empty", line=self.line, key=key)
        return self.cells[key]

    def number(self, key: str, scale: float = 1.0) -> float | None:
        cell = self.cells.get(key, "")
        return self._parsed(key, cell, float) * scale if cell else None

    def needed(self, key: str) -> float:
        return self._parsed(key, self.text(key), float)

    def _parsed(self, key: str, cell: str, kind: Callable[[str], float]) -> float:
        try:
            return kind(cell)
        except ValueError:
            problem = f"{cell!r} is not a number"
            raise InvalidData(self.file, problem, line=self.line, key=key) from None


def _rows(path: Path) -> list[_Row]:
    with path.open(encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines)
        return [
            _Row(path.name, number, {k: (v or "").strip() for k, v in row.items() if k})
            for number, row in enumerate(reader, start=2)
        ]

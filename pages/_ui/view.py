"""What a person is looking at: the choices of the Playground, and the comparison they make."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from core.compare import Comparison, compare, typical
from core.metrics import Reader
from core.profiles import Setting
from core.request import Request
from core.rewrite import Choice
from core.scenarios import Scenario, scenario
from core.text import Lang
from core.workload import Workload, stream

STREAM_N = 500
"""Requests behind the distributions of the Playground."""


@dataclass(frozen=True, slots=True)
class View:
    """The scenario (with the person's own words, where they wrote some), models and techniques.

    `repeated`: the request has been asked before, so caches may know it. Hashable: what is made
    from equal views is made once, for all sessions.
    """

    scenario: Scenario
    request: Request
    choices: tuple[Choice, ...]
    setting: Setting
    reader: Reader
    repeated: bool
    lang: Lang

    @property
    def race(self) -> Comparison:
        """The request with every latency at its median, before and after."""
        return _race(self.scenario, self.request, self.choices, self.setting, self.repeated)

    @property
    def stream(self) -> Comparison:
        """Many requests of the pipeline, before and after, on paired samples."""
        return _stream(self.base, self.choices, self.setting)

    @property
    def base(self) -> Scenario:
        """The scenario with all its example requests."""
        return scenario(self.scenario.id)


@lru_cache(maxsize=256)
def _race(
    scenario: Scenario,
    request: Request,
    choices: tuple[Choice, ...],
    setting: Setting,
    repeated: bool,
) -> Comparison:
    return typical(scenario, request, choices, setting, repeated=repeated)


@lru_cache(maxsize=16)
def workload(scenario: Scenario) -> Workload:
    """The stream of requests behind all distributions of a pipeline."""
    return stream(scenario, STREAM_N)


@lru_cache(maxsize=32)
def _stream(scenario: Scenario, choices: tuple[Choice, ...], setting: Setting) -> Comparison:
    return compare(scenario, choices, setting, workload(scenario))

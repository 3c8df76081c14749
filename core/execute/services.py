"""Work that is not a model call: a registry of real services, and a simulated one for the rest.

A service is any async callable from `Job` to `Done`; what it takes is measured. A service that is
not registered takes the time its published figures say (drawn as in the simulator, so the same seed
gives the same times) and passes on the reference values; its results are marked as simulated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from core.durations import Luck, service_latency
from core.errors import ProviderError
from core.plan import Step, WorkStep
from core.profiles import Setting
from core.providers.scripted import wait_until
from core.request import Document, Request, Value

WORK, PIECE, LOOKUP, CHECK, GATE = "work", "piece", "lookup", "check", "gate"
"""What a service may be asked for: a step's work, one passage of it, and what policies ask."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a service is asked: for which step, for what purpose, on which request and text.

    `purpose` begins with one of the words above; what follows tells attempts apart. `text` is what
    is checked, `chars` how many non-space characters it has.
    """

    step: Step
    service: str
    purpose: str
    request: Request
    text: str = ""
    chars: int = 0


@dataclass(frozen=True, slots=True)
class Done:
    """What a service gives back.

    `values`: of the step, reference values where it gives none. `passages`: documents it found,
    best first, None where that is not its work. `passed`: whether a check or gate is content with
    what there is, None where it leaves that to chance.
    """

    values: Mapping[str, Value] = field(default_factory=dict)
    passages: tuple[Document, ...] | None = None
    passed: bool | None = None
    simulated: bool = False


Service = Callable[[Job], Awaitable[Done]]
"""Does a job. Raises `core.errors.EngineError` if it cannot; cancelling it stops the work."""


@dataclass(frozen=True, slots=True, eq=False)
class Services:
    """Real services by name; all others are simulated from the setting's figures."""

    setting: Setting
    luck: Luck
    real: Mapping[str, Service] = field(default_factory=dict)

    async def do(self, job: Job) -> Done:
        """Do a job.

        Raises:
            EngineError: the service failed, or chance has it that it did.
        """
        service = self.real.get(job.service)
        return await (self._simulated(job) if service is None else service(job))

    async def _simulated(self, job: Job) -> Done:
        due_s = asyncio.get_running_loop().time() + self._takes_s(job)
        await wait_until(due_s)
        attempt = job.purpose.removeprefix(WORK)
        rate = self.setting.service(job.service).fail_rate
        if job.purpose.startswith(WORK) and self._met(rate, job, "fail" + attempt):
            raise ProviderError(f"{job.service} failed (a simulated failure)")
        return Done(simulated=True)

    def _takes_s(self, job: Job) -> float:
        service = self.setting.service(job.service)
        latency = service.latency()
        if job.purpose.startswith(WORK) and isinstance(job.step, WorkStep):
            latency = service_latency(self.setting, job.step)
        drawn = float(self.luck.draw(latency, job.step.id, job.purpose)[0])
        return drawn + service.per_1k_chars_s * job.chars / 1000

    def _met(self, rate: float, job: Job, purpose: str) -> bool:
        return bool(self.luck.below(rate, job.step.id, purpose)[0])

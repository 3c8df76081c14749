"""What rewrites of calls do to answers: models in their own words, plain calls beside rewritten.

Every case (the naive plan, and each rewrite) answers the same requests, with the form of the answer
held by a JSON schema and asked for by the prompt alone. Of each call it is counted whether its text
was valid JSON, of each field whether it says what the plain call said, and what the reference says.
A weak model writes valid JSON with wrong content; both are told.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from core.calls import CallRecord
from core.compare import rewritten
from core.counts import asked
from core.engines import warm_up
from core.errors import EngineError
from core.execute import Engine, execute
from core.likeness import reading, says_the_same
from core.local.machine import watched
from core.plan import LlmStep, Plan
from core.profiles import Setting
from core.quality_table import PLAIN, CaseRow, FieldRow, Quality
from core.request import Lang, Request, Value
from core.retrieval.quality import share_of
from core.scenarios import Scenario
from core.techniques import choose
from core.text import LANGS
from core.workload import only

REWRITES = ("short_keys", "merge_requests", "split_reasoning")
"""Techniques that change the form in which calls answer."""

LIMIT_S = 900.0
"""Longest time of one run: a small model that does not come to an end takes minutes."""

OnRun = Callable[[str, str, int, int], None]
"""Told the pipeline, the case, and how many of how many runs are done."""


@dataclass(slots=True)
class Answers:
    """What one case wrote under one constraint: values by request id, findings by call or run."""

    plan: Plan
    values: dict[str, Mapping[str, Value]] = field(default_factory=dict)
    valid: list[bool] = field(default_factory=list)
    complete: list[bool] = field(default_factory=list)
    calls_s: list[float] = field(default_factory=list)
    tokens_out: list[int] = field(default_factory=list)

    def take(self, request_id: str, calls: Sequence[CallRecord]) -> None:
        """Read the calls of one request."""
        values: dict[str, Value] = {}
        for record in calls:
            step = self.plan.step(record.step)
            if isinstance(step, LlmStep):
                found = reading(step.signature, record.text)
                self.valid.append(found.valid)
                self.complete.append(found.complete)
                values |= found.values
        self.values[request_id] = values
        self.calls_s.append(sum(record.e2e_s or 0.0 for record in calls))
        self.tokens_out.append(sum(record.usage.tokens_out or 0 for record in calls))


Arm = tuple[str, bool]
"""A case, and whether a schema holds its form."""


@dataclass(slots=True)
class _Asking:
    """One pipeline under way: its arms, who has been asked, and what went wrong meanwhile."""

    of: Scenario
    arms: dict[Arm, Answers]
    requests: tuple[Request, ...]
    asked: list[str] = field(default_factory=list)
    failed: int = 0
    foreign: list[float] = field(default_factory=list)

    async def ask(self, arm: Arm, request: Request, engine: Engine, where: Setting) -> None:
        """Run one request in one arm."""
        found = self.arms[arm]
        free = replace(engine, scripted=False, by_schema=arm[1])
        with watched(self.foreign):
            run = await execute(found.plan, free, where, only(self.of, request), limit_s=LIMIT_S)
        self.failed += run.failed
        if not run.failed:
            found.take(request.id, run.calls)

    def check(self) -> None:
        """Raise EngineError where an arm got no answer at all."""
        for (case, _), found in self.arms.items():
            if not found.calls_s:
                raise EngineError(f"{self.of.id}, {case}: no run got an answer")


async def quality(
    scenarios: Sequence[Scenario],
    rewrites: Sequence[str],
    engine: Engine,
    setting: Setting,
    *,
    n: int,
    rng: np.random.Generator,
    tell: OnRun,
) -> AsyncIterator[Quality]:
    """Ask `n` requests of each pipeline in every case, cases in random order for each request.

    Yields what is known after each request, since all of them can take hours.

    Raises:
        EngineError: the warm-up failed, or a case of a pipeline got no answer at all.
    """
    where = setting.at_median()
    await warm_up(replace(engine, scripted=False))
    sets = [_Asking(of, _arms(of, rewrites, where), spread(of, n)) for of in scenarios]
    total = sum(len(one.arms) * len(one.requests) for one in sets)
    done = 0
    for one in sets:
        for request in one.requests:
            for position in rng.permutation(len(one.arms)):
                arm = tuple(one.arms)[position]
                tell(one.of.id, arm[0], done, total)
                await one.ask(arm, request, engine, where)
                done += 1
            one.asked.append(request.id)
            yield _so_far(sets)
        one.check()


def _so_far(sets: Sequence[_Asking]) -> Quality:
    return Quality(
        tuple(_case(one.of, arm, a) for one in sets for arm, a in one.arms.items() if a.calls_s),
        tuple(row for one in sets if one.asked for row in field_rows(one.of, one.arms)),
        tuple(f"{one.of.id}: {', '.join(one.asked)}" for one in sets if one.asked),
        sum(one.failed for one in sets),
        tuple(share for one in sets for share in one.foreign),
    )


def _arms(of: Scenario, rewrites: Sequence[str], where: Setting) -> dict[Arm, Answers]:
    """Every case under both constraints, without rewrites that do not apply here."""
    plans = {PLAIN: of.plan}
    for name in rewrites:
        plan, log = rewritten(of, choose((name,)), where)
        if log[0].applied:
            plans[name] = plan
    return {(name, held): Answers(plan) for name, plan in plans.items() for held in (True, False)}


def spread(of: Scenario, n: int) -> tuple[Request, ...]:
    """Return up to `n` requests, evenly over each language's part of the data, in its order."""
    taken: set[str] = set()
    by_lang: dict[Lang, list[Request]] = defaultdict(list)
    for request in of.requests:
        by_lang[request.lang].append(request)
    for number, lang in enumerate(LANGS):
        wanted = min((n + len(LANGS) - 1 - number) // len(LANGS), len(by_lang[lang]))
        places = np.linspace(0, len(by_lang[lang]) - 1, wanted).round().astype(int)
        taken |= {by_lang[lang][place].id for place in places}
    return tuple(r for r in of.requests if r.id in taken)


def _case(of: Scenario, arm: Arm, found: Answers) -> CaseRow:
    case, by_schema = arm
    return CaseRow(
        of.id,
        case,
        by_schema,
        share_of(found.valid),
        share_of(found.complete),
        statistics.median(found.calls_s),
        min(found.calls_s),
        max(found.calls_s),
        statistics.median(found.tokens_out),
    )


def field_rows(of: Scenario, arms: Mapping[Arm, Answers]) -> Iterator[FieldRow]:
    """Yield a row for each arm and each field that a call of the naive plan gives."""
    fields = [(step, f.name) for step in of.plan.llm_steps for f in step.signature.fields]
    for (case, by_schema), arm in arms.items():
        plain = {} if case == PLAIN else arms[PLAIN, by_schema].values
        for step, name in fields:
            as_plain, as_reference = [], []
            for request_id, values in arm.values.items():
                request = of.request(request_id)
                if (said := plain.get(request_id, {}).get(name)) is not None:
                    as_plain.append(_same(values.get(name), said))
                if name in request.values and asked(step.when, request):
                    as_reference.append(_same(values.get(name), request.values[name]))
            yield FieldRow(of.id, case, by_schema, name, share_of(as_plain), share_of(as_reference))


def _same(value: Value | None, other: Value) -> bool:
    return value is not None and says_the_same(value, other)

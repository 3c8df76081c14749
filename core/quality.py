"""What rewrites of calls do to answers: models in their own words, plain calls beside rewritten.

Every case (the naive plan, and each rewrite) answers the same requests, with the form of the answer
held by a JSON schema and asked for by the prompt alone. Of each call it is counted whether its text
was valid JSON, of each field whether it says what the plain call said, and what the reference says.
A weak model writes valid JSON with wrong content; both are told.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from core.calls import CallRecord
from core.compare import rewritten
from core.counts import asked
from core.engines import warm_up
from core.errors import EngineError
from core.execute import Engine, execute
from core.likeness import reading, says_the_same
from core.local.machine import foreign_share, read_cpu
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


async def quality(
    scenarios: Sequence[Scenario],
    rewrites: Sequence[str],
    engine: Engine,
    setting: Setting,
    *,
    n: int,
    rng: np.random.Generator,
    tell: OnRun,
) -> Quality:
    """Ask `n` requests of each pipeline in every case, cases in random order for each request.

    Raises:
        EngineError: the warm-up failed, or a case of a pipeline got no answer at all.
    """
    where = setting.at_median()
    await warm_up(replace(engine, scripted=False))
    sets = [(of, _arms(of, rewrites, where), spread(of, n)) for of in scenarios]
    total = sum(len(arms) * len(requests) for _, arms, requests in sets)
    foreign: list[float | None] = []
    done = failed = 0
    for of, arms, requests in sets:
        for request in requests:
            for position in rng.permutation(len(arms)):
                case, by_schema = tuple(arms)[position]
                tell(of.id, case, done, total)
                free = replace(engine, scripted=False, by_schema=by_schema)
                arm, before = arms[case, by_schema], read_cpu()
                run = await execute(arm.plan, free, where, only(of, request), limit_s=LIMIT_S)
                foreign.append(foreign_share(before, read_cpu()))
                done, failed = done + 1, failed + run.failed
                if not run.failed:
                    arm.take(request.id, run.calls)
    return Quality(
        tuple(_case(of, arm, found) for of, arms, _ in sets for arm, found in arms.items()),
        tuple(row for of, arms, _ in sets for row in field_rows(of, arms)),
        tuple(f"{of.id}: {', '.join(r.id for r in requests)}" for of, _, requests in sets),
        failed,
        tuple(share for share in foreign if share is not None),
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
    """Return a case's row. Raises EngineError where nothing was answered."""
    case, by_schema = arm
    if not found.calls_s:
        raise EngineError(f"{of.id}, {case}: no run got an answer")
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

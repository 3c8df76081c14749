"""`run`: both plans on a real engine, measured several times in turns, beside nothing simulated."""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path

import numpy as np

from core import live
from core.commands.choice import Picked, picked
from core.commands.choice import arguments as choice_arguments
from core.commands.output import Cell, as_json, progress, table
from core.compare import Comparison
from core.engines import ENGINES, Target, named
from core.errors import InputError
from core.execute import Run
from core.execute.export import jsonl
from core.export import summary_json
from core.live import LiveRace, Progress
from core.local.machine import describe_machine
from core.metrics import HEADLINE, METRICS, Reader, summaries
from core.profiles import DEFAULT_LARGE, DEFAULT_SMALL
from core.text import say

DEFAULT_REPEATS = 5


def arguments(parser: ArgumentParser) -> None:
    """What to run, on what and how often."""
    choice_arguments(parser)
    parser.set_defaults(large="", small="")
    engine_argument(parser)
    parser.add_argument("--repeat", type=int, default=DEFAULT_REPEATS, help="runs of each plan")
    parser.add_argument("--request", default="", help="the request by id, the first by default")
    parser.add_argument(
        "--free", action="store_true", help="the model's own words, not the reference answers"
    )
    parser.add_argument("--seed", type=int, default=0, help="order of the runs, and other chance")
    parser.add_argument("--jsonl", type=Path, help="also write every run to this file, by chunks")


def engine_argument(parser: ArgumentParser) -> None:
    """Which engine."""
    parser.add_argument(
        "--engine", required=True, help=f"{', '.join(ENGINES)}, or the URL of a compatible server"
    )


def run(given: Namespace) -> None:
    """Measure and print."""
    target = replace(named(given.engine, given.large, given.small), scripted=not given.free)
    live.check_repeats(given.repeat)
    if given.seed < 0:
        raise InputError(f"--seed is {given.seed}; it must be 0 or more")
    if given.jsonl is not None and not given.jsonl.absolute().parent.is_dir():
        raise InputError(f"--jsonl {given.jsonl}: there is no such folder")
    choice = _choice(given, target)
    requests = choice.scenario.requests
    request = choice.scenario.request(given.request) if given.request else requests[0]

    async def work(show: Callable[[str], None]) -> LiveRace:
        async with live.using(target, choice.setting) as engine:
            return await live.race(
                choice.scenario,
                request,
                choice.choices,
                engine,
                choice.setting,
                repeats=given.repeat,
                rng=np.random.default_rng(given.seed),
                tell=lambda told: _tell(told, show),
            )

    with progress() as show:
        found = asyncio.run(work(show))
    _report(given, choice, target, found)


def _report(given: Namespace, choice: Picked, target: Target, found: LiveRace) -> None:
    """Write the file, print the result. Raises EngineError where no run got an answer."""
    if given.jsonl is not None:
        _write(given.jsonl, choice, found)
    runs = (*found.runs_before, *found.runs_after)
    failures = [r.error for r in runs if r.error is not None]
    if len(failures) == len(runs):
        raise failures[0]
    if given.json:
        as_json(plain(choice, target, found, given.seed))
    else:
        _print(choice, target, found)


def _choice(given: Namespace, target: Target) -> Picked:
    """What is compared; an emulator takes the pace of profiles, other engines have their own."""
    emulated = target.engine == "emulator"
    large, small = (target.large, target.small) if emulated else (DEFAULT_LARGE, DEFAULT_SMALL)
    return picked(Namespace(**{**vars(given), "large": large, "small": small}))


def _tell(told: Progress, show: Callable[[str], None]) -> None:
    """Say which run is under way; the news inside it are for pages."""
    if told.news is None:
        what = f"repeat {told.repeat}" if told.repeat else "warm-up"
        show(f"{told.done}/{told.total} runs, {what}, {told.side}")


def plain(choice: Picked, target: Target, found: LiveRace, seed: int) -> dict[str, object]:
    """`run --json`: the form of `simulate --json`, with the engine and every repeat."""
    reader, measured = Reader(), Comparison(found.before, found.after, found.log)
    shown = Comparison(
        _middle(found.runs_before).timeline, _middle(found.runs_after).timeline, found.log
    )
    data = summary_json(choice.scenario, choice.setting, measured, shown, reader, seed)
    measured_at = datetime.now(tz=UTC).date().isoformat()
    data["models"] = {
        role: {"name": name, "source": f"measured on {target.engine}", "source_date": measured_at}
        for role, name in (("large", target.large), ("small", target.small))
    }
    data["route"] = None
    data["scripted"] = target.scripted
    data["machine"] = describe_machine()
    data["foreign_cpu_share"] = found.foreign
    data["badges"] = [{"key": note.key, "text": say(note, "en")} for note in found.badges]
    data["repeats"] = {
        "baseline": [_repeat(r, reader) for r in found.runs_before],
        "variant": [_repeat(r, reader) for r in found.runs_after],
    }
    return data


def _repeat(run: Run, reader: Reader) -> dict[str, object]:
    values = {m.id: float(m.compute(run.timeline, reader)[0]) for m in METRICS}
    return {
        "error": None if run.error is None else str(run.error),
        "metrics": {key: value if np.isfinite(value) else None for key, value in values.items()},
    }


def _middle(runs: tuple[Run, ...]) -> Run:
    """The run with the median total; a failed one only where there is no other."""
    ordered = sorted(runs, key=lambda r: (r.failed, float(np.nan_to_num(r.timeline.total_s[0]))))
    good = sum(not r.failed for r in runs)
    return ordered[max(good - 1, 0) // 2]


def _write(path: Path, choice: Picked, found: LiveRace) -> None:
    about: Mapping[str, object] = {
        "date": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(),
        "techniques": [c.technique.id for c in choice.choices],
    }
    try:
        with path.open("w", encoding="utf-8") as file:
            for side, runs in (("before", found.runs_before), ("after", found.runs_after)):
                for number, one in enumerate(runs, start=1):
                    file.writelines(jsonl(one, {**about, "side": side, "repeat": number}))
    except OSError as error:
        raise InputError(f"--jsonl {path}: {error.strerror}") from None


def _print(choice: Picked, target: Target, found: LiveRace) -> None:
    reader = Reader()
    print(
        f"{choice.scenario.id}, request {found.before.requests[0].id}, measured on "
        f"{target.engine} (large {target.large}, small {target.small}), "
        f"{found.before.n} runs of each plan"
    )
    before, after = (summaries(t, reader, HEADLINE) for t in (found.before, found.after))
    rows: list[tuple[Cell, ...]] = []
    for key in HEADLINE:
        a, b = before[key].p50, after[key].p50
        share = "-" if not a or b is None else f"{(b - a) / a:+.0%}"
        rows.append((key, a, b, share))
    table(("metric", "before p50", "after p50", "change"), rows)
    print()
    totals = zip_longest(found.before.total_s.tolist(), found.after.total_s.tolist())
    table(
        ("repeat", "before total_s", "after total_s"),
        [(number, a, b) for number, (a, b) in enumerate(totals, start=1)],
    )
    for note in found.badges:
        print(f"note: {say(note, 'en')}")
    for entry in found.log:
        state = "on" if entry.applied else "does nothing"
        why = f": {say(entry.reason, 'en')}" if entry.reason else ""
        print(f"{entry.technique}: {state}{why}")

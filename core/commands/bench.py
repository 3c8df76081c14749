"""`bench`: the engine measured on this machine, each figure with what it is compared with."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from core import bench, bench_accuracy, bench_quality
from core.commands.output import Cell, as_json, progress, table
from core.engines import ENGINES
from core.errors import InputError, UnknownName
from core.quality import REWRITES
from core.scenarios import SCENARIOS

ACCURACY, QUALITY = LIVE = ("accuracy", "quality")
"""Those on a live engine: predictions against measurements (local), rewritten calls and their
answers (any). An hour each on local models, or less of less."""

SHARE = frozenset(("k", "n", "share", "low", "high"))
"""What a counted share holds: shown in one cell."""


TAKERS: Mapping[str, tuple[str, ...]] = {
    "data": bench.READS_DATA,
    "repeat": (ACCURACY,),
    "scenario": (ACCURACY, QUALITY),
    "with": (ACCURACY, QUALITY),
    "requests": (QUALITY,),
    "engine": (QUALITY,),
    "large": (QUALITY,),
    "small": (QUALITY,),
}
"""Which benches an option is for."""


def arguments(parser: ArgumentParser) -> None:
    """Which benches, all of the quick ones where none are named; what they are to measure."""
    quick, slow = ", ".join(bench.BENCHES), ", ".join((*bench.DATA_BENCHES, *LIVE))
    parser.add_argument("names", nargs="*", help=f"of {quick} (all where none are named), {slow}")

    def option(name: str, what: str, **how: Any) -> None:
        parser.add_argument(f"--{name}", help=f"{', '.join(TAKERS[name])}: {what}", **how)

    option("data", "a folder of public questions to count on too", type=Path, metavar="DIR")
    option("repeat", "runs of each case", type=int)
    option("scenario", "on one pipeline only")
    option("with", "of these techniques (and presets) only", metavar="A,B")
    option("requests", "how many of each pipeline", type=int, metavar="N")
    option("engine", f"{', '.join(ENGINES)}, or the URL of a compatible server; local by default")
    option("large", "model in the large role")
    option("small", "model in the small role")


def run(given: Namespace) -> None:
    """Run the named benches and print their figures."""
    valid = (*bench.BENCHES, *bench.DATA_BENCHES, *LIVE)
    for name in given.names:
        if name not in valid:
            raise UnknownName("bench", name, valid)
    chosen = given.names or list(bench.BENCHES)
    _check_options(given, chosen)
    _check_data(chosen, given.data)
    with progress() as show:
        asked = [_asked(name, given, show) for name in chosen]
        found = {name: measure() for name, measure in zip(chosen, asked, strict=True)}
    if given.json:
        as_json(found)
        return
    for name, figures in found.items():
        print(name)
        table(("figure", "value"), list(_rows(figures)))
        print()


def _check_options(given: Namespace, chosen: Sequence[str]) -> None:
    """Refuse options that none of the benches takes. Raises InputError."""
    for option, takers in TAKERS.items():
        value = getattr(given, option)
        if value is not None and not set(takers) & set(chosen):
            shown, verb = f"--{option} {value}", "does" if len(takers) == 1 else "do"
            raise InputError(
                f"{shown}: none of these benches takes it; {' and '.join(takers)} {verb}"
            )


def _asked(
    name: str, given: Namespace, show: Callable[[str], None]
) -> Callable[[], Mapping[str, object]]:
    """Return the measurement of a bench, its options checked. Raises InputError."""
    techniques = tuple(t.strip() for t in (getattr(given, "with") or "").split(",") if t.strip())
    scenarios = (given.scenario,) if given.scenario else tuple(SCENARIOS)
    if name == ACCURACY:
        repeats = bench_accuracy.DEFAULT_REPEATS if given.repeat is None else given.repeat
        wanted = bench_accuracy.Asked(scenarios, techniques, repeats)
        return lambda: bench_accuracy.run(wanted, show)
    if name == QUALITY:
        asked = bench_quality.Asked(
            scenarios,
            techniques or REWRITES,
            bench_quality.DEFAULT_REQUESTS if given.requests is None else given.requests,
            given.engine or "local",
            given.large or "",
            given.small or "",
        )
        return lambda: bench_quality.run(asked, show)
    quick = bench.BENCHES.get(name)
    return quick if quick is not None else lambda: bench.DATA_BENCHES[name](given.data)


def _check_data(chosen: Sequence[str], data: Path | None) -> None:
    """Say on what data is counted. Raises: InputError for a folder that is not there."""
    if data is not None and not data.is_dir():
        raise InputError(f"--data {data}: there is no such folder")
    if data is None:
        for name in (n for n in chosen if n in bench.READS_DATA):
            sys.stderr.write(f"{name}: no --data folder, so on the shipped requests alone\n")


def _rows(figures: object, path: str = "") -> Iterator[tuple[str, Cell]]:
    """Yield nested figures as one row each; of lists how long they are."""
    if isinstance(figures, Mapping):
        if frozenset(figures) == SHARE:
            yield path, _share(figures)
            return
        for name, value in figures.items():
            yield from _rows(value, f"{path}.{name}" if path else str(name))
    elif isinstance(figures, list | tuple):
        yield path, f"{len(figures)} rows, see --json"
    else:
        yield path, figures if isinstance(figures, str | int | float | None) else str(figures)


def _share(found: Mapping[str, float | None]) -> str:
    if found["share"] is None:
        return "-"
    ends = f"{found['low']:.3f} to {found['high']:.3f}"
    return f"{found['share']:.3f} ({found['k']} of {found['n']}, 95 % {ends})"

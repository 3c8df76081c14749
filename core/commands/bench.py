"""`bench`: the engine measured on this machine, each figure with what it is compared with."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from core import bench, bench_accuracy
from core.commands.output import Cell, as_json, table
from core.errors import InputError, UnknownName

ACCURACY = "accuracy"
"""Predictions against a calibrated local engine: takes an hour, or less of less."""

SHARE = frozenset(("k", "n", "share", "low", "high"))
"""What a counted share holds: shown in one cell."""


def arguments(parser: ArgumentParser) -> None:
    """Which benches, all of the quick ones where none are named; the data they may count on."""
    quick, slow = ", ".join(bench.BENCHES), ", ".join(bench.DATA_BENCHES)
    parser.add_argument(
        "names", nargs="*", help=f"of {quick} (all where none are named), {slow}, {ACCURACY}"
    )
    takers = ", ".join(bench.READS_DATA)
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help=f"public questions to count on too ({takers})"
    )
    parser.add_argument("--repeat", type=int, help=f"{ACCURACY}: runs of each case")
    parser.add_argument("--scenario", default="", help=f"{ACCURACY}: on one pipeline only")
    parser.add_argument(
        "--with", dest="chosen", default="", metavar="A,B",
        help=f"{ACCURACY}: of these techniques and presets only",
    )  # fmt: skip


def run(given: Namespace) -> None:
    """Run the named benches and print their figures."""
    valid = (*bench.BENCHES, *bench.DATA_BENCHES, ACCURACY)
    for name in given.names:
        if name not in valid:
            raise UnknownName("bench", name, valid)
    chosen = given.names or list(bench.BENCHES)
    _check_data(chosen, given.data)
    asked = _asked(given, chosen)
    found = {name: _figures(name, given.data, asked) for name in chosen}
    if given.json:
        as_json(found)
        return
    for name, figures in found.items():
        print(name)
        table(("figure", "value"), list(_rows(figures)))
        print()


def _asked(given: Namespace, chosen: Sequence[str]) -> bench_accuracy.Asked:
    """What of the accuracy table is wanted. Raises InputError."""
    options = (given.repeat is not None, given.scenario, given.chosen)
    if any(options) and ACCURACY not in chosen:
        raise InputError(f"--repeat, --scenario and --with belong to the bench {ACCURACY}")
    usual = bench_accuracy.Asked()
    return bench_accuracy.Asked(
        (given.scenario,) if given.scenario else usual.scenarios,
        tuple(t.strip() for t in given.chosen.split(",") if t.strip()),
        usual.repeats if given.repeat is None else given.repeat,
    )


def _figures(name: str, data: Path | None, asked: bench_accuracy.Asked) -> Mapping[str, object]:
    if name == ACCURACY:
        return bench_accuracy.run(asked)
    quick = bench.BENCHES.get(name)
    return bench.DATA_BENCHES[name](data) if quick is None else quick()


def _check_data(chosen: Sequence[str], data: Path | None) -> None:
    """Say on what data is counted. Raises: InputError for a folder nobody reads or finds."""
    takers = [name for name in chosen if name in bench.READS_DATA]
    if data is None:
        for name in takers:
            sys.stderr.write(f"{name}: no --data folder, so on the shipped requests alone\n")
    elif not takers:
        valid = " and ".join(bench.READS_DATA)
        raise InputError(f"--data {data}: none of these benches reads it; {valid} do")
    elif not data.is_dir():
        raise InputError(f"--data {data}: there is no such folder")


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

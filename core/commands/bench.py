"""`bench`: the engine measured on this machine, each figure with what it is compared with."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from core import bench
from core.commands.output import as_json, table
from core.errors import UnknownName


def arguments(parser: ArgumentParser) -> None:
    """Which benches, all of the quick ones where none are named."""
    names = ", ".join(bench.BENCHES)
    parser.add_argument("names", nargs="*", help=f"of {names}; all where none are named")


def run(given: Namespace) -> None:
    """Run the named benches and print their figures."""
    for name in given.names:
        if name not in bench.BENCHES:
            raise UnknownName("bench", name, bench.BENCHES)
    chosen = given.names or list(bench.BENCHES)
    found = {name: bench.BENCHES[name]() for name in chosen}
    if given.json:
        as_json(found)
        return
    for name, figures in found.items():
        print(name)
        table(("figure", "value"), [(k, v) for k, v in figures.items()])
        print()

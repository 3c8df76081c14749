"""The commands of `python -m core`, in the order of its help: one module each."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass

from core.commands import (
    advise,
    bench,
    calibrate,
    catalogues,
    emulate,
    models,
    run,
    simulate,
)


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its name, one line of help, its arguments, what it does."""

    name: str
    help: str
    arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], None]


COMMANDS: tuple[Command, ...] = (
    Command("scenarios", "list the pipelines", catalogues.none, catalogues.scenarios),
    Command("techniques", "list the optimizations", catalogues.none, catalogues.techniques),
    Command("profiles", "list models, routes and services", catalogues.none, catalogues.profiles),
    Command(
        "simulate",
        "compare a pipeline with and without optimizations",
        simulate.arguments,
        simulate.run,
    ),
    Command("advise", "say what to do first", advise.arguments, advise.run),
    Command("run", "measure both plans on a real engine", run.arguments, run.run),
    Command("emulate", "serve a model's pace on this machine", emulate.arguments, emulate.run),
    Command("calibrate", "fit a latency profile to an engine", calibrate.arguments, calibrate.run),
    Command("models", "list or get the local engine's weights", models.arguments, models.run),
    Command("bench", "measure the engine on this machine", bench.arguments, bench.run),
)

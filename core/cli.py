"""The command line: the same engine as the app, for scripts and for people in a terminal.

Results go to stdout (JSON with --json), progress to stderr. Exit codes: 0 done, 2 bad arguments or
input with one line that says what is wrong, 3 an engine failed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from core.commands import COMMANDS
from core.errors import EngineError, InputError

EXIT_INPUT, EXIT_ENGINE = 2, 3


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line instead of printing its usage."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{self.prog}: {message} (see {self.prog} --help)")


def parser() -> argparse.ArgumentParser:
    """All commands with their arguments."""
    top = _Parser(prog="python -m core", description=__doc__.split("\n", maxsplit=1)[0])
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        sub = commands.add_parser(command.name, help=command.help, description=command.help)
        command.arguments(sub)
        sub.add_argument("--json", action="store_true", help="print one JSON object")
        sub.set_defaults(run=command.run)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    try:
        given = parser().parse_args(arguments)
        given.run(given)
    except InputError as error:
        print(f"error: {_one_line(error)}", file=sys.stderr)
        return EXIT_INPUT
    except EngineError as error:
        print(f"error: {_one_line(error)}", file=sys.stderr)
        return EXIT_ENGINE
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output went away: nothing to tell
        return 0
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    return 0


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())

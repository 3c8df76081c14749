"""`emulate`: a server on this machine that answers at the pace of a published profile."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from core import emulator
from core.commands.output import as_json
from core.emulator import Emulator
from core.engines import emulated
from core.errors import InputError
from core.profiles import DEFAULT_LARGE, setting


def arguments(parser: ArgumentParser) -> None:
    """Whose pace, and where."""
    parser.add_argument("--profile", default=DEFAULT_LARGE, help="a model of `profiles`")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--certain", action="store_true", help="leave nothing to chance")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same times")


def run(given: Namespace) -> None:
    """Serve until interrupted."""
    if not 0 <= given.port <= 65535:
        raise InputError(f"--port is {given.port}; from 0 to 65535 is valid")
    if given.seed < 0:
        raise InputError(f"--seed is {given.seed}; it must be 0 or more")
    model = emulated(setting(large=given.profile).large, certain=given.certain)

    def announce(server: Emulator) -> None:
        addresses = {"openai": server.openai_url, "anthropic": server.anthropic_url}
        if given.json:
            as_json({"schema": 1, "profile": model.name, **addresses})
        else:
            print(f"{model.name}, until you press Ctrl-C")
            for api, url in addresses.items():
                print(f"{api:10} {url}")
        print(end="", flush=True)

    emulator.main(model, given.port, seed=given.seed, announce=announce)

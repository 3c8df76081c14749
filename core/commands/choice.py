"""Arguments that several commands share: which scenario, which techniques, which models."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.errors import InputError
from core.profiles import DEFAULT_LARGE, DEFAULT_ROUTE, DEFAULT_SMALL, Setting, pick, setting
from core.rewrite import Choice
from core.scenarios import SCENARIOS, Scenario, load, scenario
from core.techniques import PRESETS, choose, technique


@dataclass(frozen=True, slots=True, eq=False)
class Picked:
    """What the arguments chose, checked."""

    scenario: Scenario
    choices: tuple[Choice, ...]
    setting: Setting


def arguments(parser: ArgumentParser) -> None:
    """Scenario, techniques and models."""
    parser.add_argument("scenario", help="a scenario's id, or a folder that holds one")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--with", dest="chosen", default="", metavar="A,B", help="techniques by id")
    which.add_argument("--preset", default="", help=f"one of {', '.join(PRESETS)}")
    which.add_argument("--all", action="store_true", help="all headline techniques")
    parser.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="TECHNIQUE.NAME=VALUE",
        help="a technique's parameter",
    )
    parser.add_argument("--large", default=DEFAULT_LARGE, help="model in the large role")
    parser.add_argument("--small", default=DEFAULT_SMALL, help="model in the small role")
    parser.add_argument("--route", default=DEFAULT_ROUTE, help="network path, 'FROM > TO'")


def picked(given: Namespace) -> Picked:
    """The arguments as checked values. Raises InputError."""
    ids = tuple(t.strip() for t in given.chosen.split(",") if t.strip())
    if given.all:
        ids = PRESETS["everything"]
    elif given.preset:
        ids = pick("preset", given.preset, PRESETS)
    params = parameters(given.param)
    missing = [t for t in params if t not in ids]
    choices = choose(ids, params)
    if missing:
        raise InputError(
            f"--param {missing[0]}: this technique is not switched on; add it to --with"
        )
    where = setting(given.large, given.small, given.route)
    return Picked(found_scenario(given.scenario), choices, where)


def found_scenario(name: str) -> Scenario:
    """A shipped scenario by id, or one from a folder. Raises InputError."""
    folder = Path(name)
    if (folder / "scenario.toml").is_file():
        return load(folder)
    if name not in SCENARIOS and (folder.is_dir() or len(folder.parts) > 1):
        raise InputError(f"no scenario in {name!r}: a folder with a scenario.toml is expected")
    return scenario(name)


def parameters(given: list[str]) -> Mapping[str, Mapping[str, object]]:
    """`TECHNIQUE.NAME=VALUE` texts as values by technique. Raises InputError."""
    found: dict[str, dict[str, object]] = {}
    for text in given:
        path, equals, value = text.partition("=")
        technique_id, dot, name = path.partition(".")
        if not (equals and dot and name):
            raise InputError(f"--param {text!r}: TECHNIQUE.NAME=VALUE is expected")
        technique(technique_id)
        found.setdefault(technique_id, {})[name] = _value(value)
    return found


def _value(text: str) -> object:
    words: dict[str, object] = {"true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text

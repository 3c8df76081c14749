from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from tests.sources import ALL, ROOT, top_level_imports

CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))


# --- configuration --------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_started_server_has_read_the_configuration() -> None:
    """Also the hidden option, which Streamlit could drop without a word."""
    code = """
import asyncio, json
import app
from streamlit import config

async def options():
    started, stop = asyncio.Event(), asyncio.Event()
    async def receive():
        if started.is_set():
            await stop.wait()
            return {"type": "lifespan.shutdown"}
        return {"type": "lifespan.startup"}
    async def send(message):
        assert message["type"] == "lifespan.startup.complete" or stop.is_set(), message
        started.set()
    serving = asyncio.create_task(app.app({"type": "lifespan", "state": {}}, receive, send))
    await started.wait()
    print(json.dumps({key: config.get_option(key) for key in KEYS}))
    stop.set()
    await serving

KEYS = %r
asyncio.run(options())
"""
    wanted = {
        f"{section}.{name}": value
        for section, entries in CONFIG.items()
        if section != "theme"
        for name, value in entries.items()
    }
    assert wanted["runner.postScriptGC"] is False
    printed = run_python(code % sorted(wanted)).splitlines()[-1]
    assert ast.literal_eval(printed.replace("true", "True").replace("false", "False")) == wanted


@pytest.mark.slow
def test_a_server_that_collects_garbage_after_every_run_says_so(
    start_app: Callable[..., Any], tmp_path: Path
) -> None:
    warning = "runner.postScriptGC is on"
    elsewhere = start_app(tmp_path)  # the file beside app.py counts, wherever one stands
    without = start_app(STREAMLIT_RUNNER_POST_SCRIPT_GC="true")
    for app in (elsewhere, without):
        app.stop()
    assert warning not in "".join(elsewhere.printed)
    assert warning in "".join(without.printed)


# --- look -----------------------------------------------------------------------------------------


def luminance(colour: str) -> float:
    """Relative luminance. Source: WCAG 2.2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def backgrounds(theme: str) -> Iterator[str]:
    for table in (CONFIG["theme"][theme], CONFIG["theme"][theme]["sidebar"]):
        yield table["backgroundColor"]
        yield table["secondaryBackgroundColor"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_and_marks_stand_out(theme: str) -> None:
    """Text 7:1 and links 4.5:1 (WCAG AAA, AA); lanes, steps and controls 3:1 (WCAG 1.4.11)."""
    table = CONFIG["theme"][theme]
    for background in backgrounds(theme):
        assert contrast(table["textColor"], background) >= 7
        assert contrast(table["linkColor"], background) >= 4.5
        for colour in (table["primaryColor"], *table["chartCategoricalColors"]):
            assert contrast(colour, background) >= 3, (colour, background)
    assert contrast("#ffffff", table["primaryColor"]) >= 4  # labels of filled buttons are white


def test_both_themes_colour_the_same_lanes_and_steps() -> None:
    light, dark = (CONFIG["theme"][t]["chartCategoricalColors"] for t in ("light", "dark"))
    assert len(light) == len(dark) == len(set(light)) == len(set(dark)) == 9


# --- requirements ---------------------------------------------------------------------------------


def requirements(name: str) -> dict[str, Requirement]:
    """Return the packages of a requirements file, those of the files it includes as well."""
    found: dict[str, Requirement] = {}
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        entry = line.partition(" #")[0].strip()
        if entry.startswith("-r "):
            found |= requirements(entry.removeprefix("-r ").strip())
        elif entry and not entry.startswith(("#", "-")):
            requirement = Requirement(entry)
            found[canonical(requirement.name)] = requirement
    return found


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_requirement_has_a_lower_and_an_upper_bound() -> None:
    for name in ("requirements.txt", "requirements-dev.txt"):
        for requirement in requirements(name).values():
            signs = {spec.operator for spec in requirement.specifier}
            assert signs >= {">=", "<"} or signs & {"==", "~="}, requirement


def test_what_is_installed_here_is_what_is_required() -> None:
    for name, requirement in requirements("requirements-dev.txt").items():
        if requirement.marker is None or requirement.marker.evaluate():
            assert requirement.specifier.contains(importlib.metadata.version(name)), requirement


def test_the_light_set_is_the_full_one_without_torch() -> None:
    lite, full = requirements("requirements-lite.txt"), requirements("requirements.txt")
    assert set(full) - set(lite) == {"torch", "sentence-transformers"}
    assert all(full[name].specifier == lite[name].specifier for name in lite)


@pytest.mark.slow
def test_the_light_set_brings_all_that_is_imported_at_the_top() -> None:
    brings = requirements("requirements-lite.txt")
    distributions = importlib.metadata.packages_distributions()
    missing = {}
    for file in ALL:
        for module in top_level_imports(file):
            top = module.partition(".")[0]
            if top in sys.stdlib_module_names or top in {"core", "hosting", "pages"}:
                continue
            if not {canonical(name) for name in distributions.get(top, ())} & set(brings):
                missing[top] = file.relative_to(ROOT).as_posix()
    assert missing == {}


# --- commands -------------------------------------------------------------------------------------


def test_the_readmes_test_command_is_found_by_ci() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (extract,) = re.findall(r"^test_command\(\) \{\n(.*?)^\}", script, re.DOTALL | re.MULTILINE)
    command = subprocess.run(
        ["bash", "-c", extract], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert re.search(r"pip install .*-r requirements-dev\.txt", command)
    assert "python -m pytest" in command


def run_python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout

"""What every test relies on: nobody's keys, no network, no deadline, and a server on demand."""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from core.emulator import Emulator

ROOT = Path(__file__).resolve().parent.parent
APP = ROOT / "app.py"

# A test that finds a real key would spend somebody's money; one that needs a key sets its own.
for name in [n for n in os.environ if n.endswith(("_API_KEY", "_API_TOKEN"))]:
    del os.environ[name]


def pytest_collection(session: pytest.Session) -> None:
    """Say how many examples Hypothesis tries; imported here, where tests are, as it takes a second.

    Examples are not timed: the cores are shared with whatever else runs.
    """
    gc.disable()  # until all is imported
    from hypothesis import settings

    settings.register_profile("fast", deadline=None, max_examples=25)
    settings.register_profile("full", deadline=None)
    fast = "not slow" in session.config.getoption("markexpr")
    settings.load_profile("fast" if fast else "full")


def pytest_collection_finish() -> None:
    """Let the garbage collector leave alone what has been imported, and look less often."""
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Look once for what was left open; pytest and Python would look through it six times."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run browser tests last: Playwright keeps an event loop running, and no other can start."""
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what opens Chromium: it is a browser test, and it runs alone."""
    if "chromium" in getattr(item, "fixturenames", ()):
        item.add_marker("browser")
        item.add_marker("alone")


def _lacking(message: str) -> NoReturn:
    """Skip what cannot run here; where everything has to be there, it fails."""
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Chromium of the system; `PLAYGROUND_CHROMIUM` names another one."""
    named = os.environ.get("PLAYGROUND_CHROMIUM")
    path = named or next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        _lacking("no Chromium here: install one, or name it in PLAYGROUND_CHROMIUM")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def local_model() -> None:
    """The local engine and its small model, as `python -m core models pull` brings them."""
    from core.errors import Unavailable
    from core.local.models import locate

    try:
        pytest.importorskip("xllamacpp")
        locate("small")
    except (Unavailable, pytest.skip.Exception) as problem:
        _lacking(str(problem))


@pytest.fixture(scope="session")
def emulator_server() -> Iterator[Emulator]:
    """One emulator for all tests of a process; who uses it says how fast it is to be."""
    from core.emulator import serve
    from tests.hosted_calls import FAST

    with serve(FAST) as running:
        yield running


@pytest.fixture
def emulator(emulator_server: Emulator) -> Emulator:
    """The emulator as good as new: fast, and with an empty prompt cache."""
    from tests.hosted_calls import FAST

    emulator_server.retune(FAST)
    return emulator_server


@pytest.fixture
def quick_services(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let searches and other services take a hundredth of their time, in runs that do take time."""
    from core import profiles

    quick = {
        name: replace(service, p50_s=service.p50_s / 100, p95_s=service.p95_s / 100)
        for name, service in profiles.services().items()
    }
    monkeypatch.setattr(profiles, "services", lambda: quick)
    monkeypatch.setattr(profiles, "_setting", profiles._setting.__wrapped__)


@dataclass
class RunningApp:
    """A started app: its address, and all it has printed so far."""

    url: str
    process: subprocess.Popen[str]
    printed: list[str]
    reader: threading.Thread

    def stop(self) -> None:
        """Stop it and wait until it is gone and its last word read."""
        self.process.terminate()
        self.process.wait(timeout=30)
        self.reader.join(timeout=30)
        if self.process.stdout is not None:
            self.process.stdout.close()


StartApp = Callable[..., RunningApp]


@pytest.fixture(scope="session")
def start_app() -> Iterator[StartApp]:
    """Start the app as its readers do, on a free port; all are stopped when the tests are over.

    `folder` is the working directory, `script` the app; keywords are added to the environment.
    """
    started: list[RunningApp] = []

    def start(folder: Path = ROOT, script: Path = APP, **environment: str) -> RunningApp:
        app = _start(folder, script, environment)
        started.append(app)
        return app

    yield start
    for app in started:
        app.stop()


def _start(folder: Path, script: Path, environment: dict[str, str]) -> RunningApp:
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "streamlit", "run", str(script)),
            *("--server.address=127.0.0.1", "--server.port=0", "--server.headless=true"),
        ],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    printed: list[str] = []
    for line in process.stdout:
        printed.append(line)
        # It is printed once the port is bound: from then on a request waits for its answer.
        if found := re.search(r"URL: http://\S+:(\d+)", line):
            # Somebody has to read on: a full pipe would stop the server.
            reader = threading.Thread(target=printed.extend, args=(process.stdout,), daemon=True)
            reader.start()
            url = f"http://127.0.0.1:{found.group(1)}"
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=60) as answer:  # noqa: S310
                assert answer.status == 200
            return RunningApp(url, process, printed, reader)
    pytest.fail(f"the app did not start:\n{''.join(printed)}")

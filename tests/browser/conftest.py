"""A real server and a real browser.

`visit` opens a page and, at the end of the test, fails it for anything the page complained about:
an uncaught error, an error in the console, a request to any other host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect

DESKTOP, PHONE = (1280, 800), (390, 844)

# On a deep link Streamlit's client asks below the page's address first, to find the server's root.
PROBES = ("/_stcore/health", "/_stcore/host-config")


class RunningApp(Protocol):
    """What these tests need of a started app (see `RunningApp` one folder up)."""

    url: str


StartApp = Callable[..., RunningApp]


@pytest.fixture(scope="session")
def server(start_app: StartApp) -> RunningApp:
    """One server for all tests that do not ask for a fresh one."""
    return start_app()


@pytest.fixture
def fresh_server(start_app: StartApp) -> RunningApp:
    """A server nobody has visited yet."""
    return start_app()


@dataclass
class Visit:
    """One open page and what went wrong on it."""

    page: Page
    base: str
    complaints: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def expect_complaint(self, part: str) -> None:
        """Let a complaint that contains `part` pass: the test is about it."""
        self.expected.append(part)

    def unexpected(self) -> list[str]:
        """Return the complaints no test asked for."""
        return [c for c in self.complaints if not any(part in c for part in self.expected)]

    def goto(self, path: str) -> None:
        """Open a path of the app and wait until it stands still."""
        self.page.goto(self.base + path)
        self.settle()

    def settle(self) -> None:
        """Wait until the script has finished and every part it sent is drawn."""
        app = self.page.get_by_test_id("stApp")
        expect(app).to_have_attribute("data-test-connection-state", "CONNECTED", timeout=30_000)
        expect(app).to_have_attribute("data-test-script-state", "notRunning", timeout=30_000)
        expect(self.page.get_by_test_id("stSkeleton")).to_have_count(0, timeout=30_000)

    def watch(self) -> None:
        """Write down every complaint from now on."""
        self.page.on("pageerror", lambda error: self.complaints.append(f"uncaught: {error}"))
        self.page.on("console", self._console)
        self.page.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        probe = message.location.get("url", "").endswith(PROBES)
        if message.type == "error" and not probe:
            self.complaints.append(f"console: {message.text}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.base, "data:", "blob:")):
            self.complaints.append(f"asked another host: {request.url}")


OpenPage = Callable[..., Visit]


@pytest.fixture
def visit(chromium: Browser, request: pytest.FixtureRequest) -> Iterator[OpenPage]:
    """Open `path`, as seen by somebody with that locale, colour scheme and screen."""
    visits: list[Visit] = []

    def open_page(
        path: str = "/",
        *,
        locale: str = "en-US",
        scheme: str = "light",
        screen: tuple[int, int] = DESKTOP,
        at: RunningApp | None = None,
    ) -> Visit:
        base = (at or request.getfixturevalue("server")).url
        width, height = screen
        context = chromium.new_context(
            locale=locale,
            color_scheme="dark" if scheme == "dark" else "light",
            viewport={"width": width, "height": height},
        )
        opened = Visit(context.new_page(), base)
        visits.append(opened)
        opened.watch()
        opened.goto(path)
        return opened

    yield open_page
    complaints = [complaint for opened in visits for complaint in opened.unexpected()]
    for opened in visits:
        opened.page.context.close()
    assert complaints == []

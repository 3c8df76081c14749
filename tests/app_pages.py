"""Pages of the app as a test sees them: run without a browser, from an address."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from core.text import Lang
from pages._ui.frame import PAGES_DIR

MAIN = PAGES_DIR / "main.py"
LOCALES: dict[Lang, str] = {"en": "en-US", "ko": "ko-KR"}
PATIENT_S = 120.0

# Each new AppTest asks every installed package whether it brings components, which takes longer
# than most pages do. What is installed stays the same while tests run.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


def app(page: str | None, lang: Lang = "en", /, **address: str) -> AppTest:
    """The app before its first run, at an address, for a reader of that language.

    `page` is a script beside `main.py`, such as `decide/tail.py`; None is the first page.
    """
    at = AppTest.from_file(MAIN, default_timeout=PATIENT_S)
    at.context["locale"] = LOCALES[lang]
    for name, value in address.items():
        at.query_params[name] = value
    return at if page is None else at.switch_page(page)


def opened(page: str | None, lang: Lang = "en", /, **address: str) -> AppTest:
    """The same after its first run, which has worked."""
    at = app(page, lang, **address).run()
    assert not at.exception, at.exception
    return at


def scripted(
    script: Callable[..., None],
    *args: object,
    address: Mapping[str, str] | None = None,
    **options: object,
) -> AppTest:
    """A page of the test's own after its first run: the source of a function, and its arguments."""
    at = AppTest.from_function(script, default_timeout=PATIENT_S, args=args, kwargs=options)
    for name, value in (address or {}).items():
        at.query_params[name] = value
    at.run()
    assert not at.exception, at.exception
    return at


def bodies(at: AppTest) -> str:
    """All HTML of the page."""
    return " ".join(html.proto.body for html in at.get("html"))

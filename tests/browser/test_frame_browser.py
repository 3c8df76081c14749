from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from core.text import Lang, text

if TYPE_CHECKING:
    from pathlib import Path

OpenPage = Callable[..., Any]
DESKTOP, PHONE = (1280, 800), (390, 844)
BACKGROUND = {"light": (255, 255, 255), "dark": (15, 20, 27)}  # [theme.*] in config.toml

# A page of text in its frame: 1.24 MB measured, 3.0 MB if nothing were compressed.
FIRST_VISIT_BYTES = 1_600_000


def expect_page(page: Page, name: str, lang: Lang) -> None:
    """Check heading, tab, document language and navigation of the page `name`."""
    title = text(lang, f"frame.page.{name}.title")
    expect(page.locator("h1")).to_have_text(text(lang, f"frame.page.{name}.heading"))
    expect(page).to_have_title(f"{title} · {text(lang, 'frame.title')}")
    expect(page.locator("html")).to_have_attribute("lang", lang)
    home = text(lang, "frame.page.playground.title")
    expect(page.get_by_test_id("stTopNavLink").first).to_have_text(home)
    chosen = page.get_by_role("radio", checked=True).first
    expect(chosen).to_have_text({"en": "EN", "ko": "한국어"}[lang])


def choose(page: Page, label: str) -> None:
    page.get_by_role("radio", name=label, exact=True).click()


@pytest.mark.parametrize(
    ("path", "locale", "lang"), [("/method?lang=ko", "en-US", "ko"), ("/method", "en-US", "en")]
)
def test_the_first_visitor_of_a_server_may_come_by_a_deep_link(
    visit: OpenPage, fresh_server: Any, path: str, locale: str, lang: Lang
) -> None:
    opened = visit(path, locale=locale, at=fresh_server)
    expect_page(opened.page, "method", lang)
    expect(opened.page).to_have_url(fresh_server.url + path)


def test_switching_the_language_keeps_the_page(visit: OpenPage) -> None:
    opened = visit("/method", locale="ko-KR")
    page = opened.page
    expect_page(page, "method", "ko")
    choose(page, "EN")
    expect_page(page, "method", "en")
    expect(page).to_have_url(f"{opened.base}/method?lang=en")
    page.reload()
    expect_page(page, "method", "en")
    choose(page, "한국어")
    expect_page(page, "method", "ko")
    expect(page).to_have_url(f"{opened.base}/method?lang=ko")


def test_a_chosen_language_goes_along_to_other_pages_and_back(visit: OpenPage) -> None:
    opened = visit("/method")
    page = opened.page
    choose(page, "한국어")
    expect_page(page, "method", "ko")
    page.get_by_test_id("stTopNavLink").first.click()
    expect_page(page, "playground", "ko")
    expect(page).to_have_url(re.compile(r"/\?(.*&)?lang=ko"))
    page.go_back()
    expect_page(page, "method", "ko")


def test_an_address_that_is_no_page_opens_the_default_page_in_its_frame(visit: OpenPage) -> None:
    opened = visit("/nowhere")
    opened.expect_complaint("does not seem to exist")
    page = opened.page
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect_page(page, "playground", "en")


def test_the_first_page_is_found_by_its_name_too(visit: OpenPage) -> None:
    opened = visit("/playground?pipeline=travel")
    expect(opened.page).to_have_url(opened.base + "/?pipeline=travel")
    expect_page(opened.page, "playground", "en")


@pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes_draw_text_on_their_own_background(
    visit: OpenPage,
    tmp_path: Path,
    scheme: Literal["light", "dark"],
    screen: tuple[int, int],
) -> None:
    opened = visit("/method", locale="ko-KR", scheme=scheme, screen=screen)
    expect(opened.page.locator("h1")).to_be_visible()
    taken = opened.page.screenshot(path=tmp_path / f"{scheme}.png")
    picture = Image.open(io.BytesIO(taken)).convert("RGB")
    colours = sorted(picture.getcolors(maxcolors=1 << 20), reverse=True)
    most, background = colours[0]
    assert background == BACKGROUND[scheme]
    assert len(colours) > 50  # letters have soft edges; an empty page has none
    assert 0.01 < 1 - most / (picture.width * picture.height) < 0.5


def test_nothing_is_wider_than_a_phone(visit: OpenPage) -> None:
    page = visit("/method", locale="ko-KR", screen=PHONE).page
    assert page.evaluate("document.scrollingElement.scrollWidth") <= PHONE[0]
    inside = page.get_by_test_id("stMain").evaluate("e => e.scrollWidth")
    assert inside <= PHONE[0]


def test_a_first_visit_is_compressed(visit: OpenPage) -> None:
    opened = visit("/method")
    received = opened.page.evaluate(
        "performance.getEntriesByType('resource').reduce((sum, r) => sum + r.transferSize, 0)"
    )
    assert 100_000 < received < FIRST_VISIT_BYTES

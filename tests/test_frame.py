from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core.text import LANGS, Lang, text
from pages._ui.frame import PAGES, PAGES_DIR, PageEntry
from pages._ui.lang import NAMES
from tests import app_pages
from tests.sampling import every

SWITCH = "language_switch"
LIGHT_PARTS = {"retrieval": {"raglab_part": "tables"}, "cache": {"cachelab_part": "key"}}
"""Where a page's first part loads an encoder: the address of another one."""


def open_app(locale: str | None = "en-US", **query: str) -> AppTest:
    app = app_pages.app(None, **query)
    app.context["locale"] = locale
    return app.run()


def heading(app: AppTest) -> str:
    return app.title[0].value


def address(app: AppTest) -> dict[str, str]:
    found = {name: app.query_params[name] for name in app.query_params}
    return {name: v if isinstance(v, str) else v[-1] for name, v in found.items()}


# --- the catalogue of pages -----------------------------------------------------------------------


def test_every_page_file_is_in_the_catalogue_once() -> None:
    scripts = {file for file in PAGES_DIR.glob("*/*.py") if not file.parent.name.startswith("_")}
    assert {entry.file for entry in PAGES} == scripts
    assert len({entry.name for entry in PAGES}) == len(PAGES)


@pytest.mark.parametrize(
    ("entry", "lang"), every(PAGES, LANGS), ids=lambda v: getattr(v, "name", v)
)
def test_every_page_runs_in_every_language(entry: PageEntry, lang: Lang) -> None:
    app = open_app(lang=lang, **LIGHT_PARTS.get(entry.name, {}))
    app.switch_page(str(entry.file.relative_to(PAGES_DIR))).run()
    assert not app.exception, app.exception
    assert heading(app) == text(lang, f"frame.page.{entry.name}.heading")
    assert app.segmented_control(key=SWITCH).value == lang


# --- language -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("locale", "query", "shown"),
    [
        ("ko-KR", {}, "ko"),
        ("ko", {}, "ko"),
        ("en-GB", {}, "en"),
        ("fr-FR", {}, "en"),
        (None, {}, "en"),
        ("en-US", {"lang": "ko"}, "ko"),
        ("ko-KR", {"lang": "en"}, "en"),
        ("en-US", {"lang": "KO"}, "ko"),
        ("ko-KR", {"lang": "xx"}, "ko"),
        ("en-US", {"lang": ""}, "en"),
    ],
)
def test_the_address_decides_then_the_browser_then_english(
    locale: str | None, query: dict[str, str], shown: Lang
) -> None:
    app = open_app(locale, **query)
    assert heading(app) == text(shown, "frame.page.playground.heading")
    assert app.segmented_control(key=SWITCH).options == list(NAMES.values())


def test_a_language_nobody_chose_stays_out_of_the_address() -> None:
    assert address(open_app("ko-KR")) == {}
    assert address(open_app("ko-KR", lang="xx")) == {}
    assert address(open_app("ko-KR", lang="KO")) == {"lang": "ko"}


def test_a_chosen_language_is_in_the_address_even_if_it_is_the_browsers_own() -> None:
    app = open_app("ko-KR")
    app.segmented_control(key=SWITCH).set_value("en").run()
    assert heading(app) == text("en", "frame.page.playground.heading")
    assert address(app) == {"lang": "en"}
    app.segmented_control(key=SWITCH).set_value("ko").run()
    assert heading(app) == text("ko", "frame.page.playground.heading")
    assert address(app) == {"lang": "ko"}


def test_a_chosen_language_returns_to_an_emptied_address() -> None:
    app = open_app("ko-KR")
    app.segmented_control(key=SWITCH).set_value("en").run()
    app.query_params.clear()
    assert heading(app.run()) == text("en", "frame.page.playground.heading")
    assert address(app) == {"lang": "en"}


def test_the_document_says_its_language() -> None:
    assert "document.documentElement.lang = 'ko'" in open_app("ko-KR").get("html")[0].proto.body


# --- choices in the address -----------------------------------------------------------------------


def one_choice() -> None:
    import streamlit as st

    from pages._ui.address import keep_choice

    labels = {"en": {"a": "Apple", "b": "Bee"}, "ko": {"a": "사과", "b": "벌"}}
    lang = st.radio("lang", ("en", "ko"))
    keep_choice("f", ("a", "b"), default="a")
    st.segmented_control("f", ("a", "b"), key="f", format_func=labels[lang].__getitem__)


def many_choices() -> None:
    import streamlit as st

    from pages._ui.address import keep_choices

    keep_choices("m", ("a", "b", "c"), default=("c",))
    st.pills("m", ("a", "b", "c"), key="m", selection_mode="multi")


@pytest.mark.parametrize(
    ("query", "value", "left"),
    [({}, "a", {}), ({"f": "b"}, "b", {"f": "b"}), ({"f": "zz"}, "a", {}), ({"f": "a"}, "a", {})],
)
def test_a_choice_is_read_from_the_address_by_its_code(
    query: dict[str, str], value: str, left: dict[str, str]
) -> None:
    app = app_pages.scripted(one_choice, address=query)
    assert app.segmented_control(key="f").value == value
    assert address(app) == left


def test_a_choice_outlives_a_change_of_labels() -> None:
    app = app_pages.scripted(one_choice, address={"f": "b"})
    app.radio[0].set_value("ko").run()
    assert app.segmented_control(key="f").value == "b"
    assert address(app) == {"f": "b"}


def test_a_choice_moves_the_address_and_the_address_moves_the_choice() -> None:
    app = app_pages.scripted(one_choice)
    app.segmented_control(key="f").set_value("b").run()
    assert address(app) == {"f": "b"}
    app.query_params.clear()  # back in the browser's history
    app.run()
    assert app.segmented_control(key="f").value == "a"
    app.query_params["f"] = "b"  # and forward again
    app.run()
    assert app.segmented_control(key="f").value == "b"


def test_a_choice_taken_away_is_the_default() -> None:
    app = app_pages.scripted(one_choice, address={"f": "b"})
    app.segmented_control(key="f").set_value(None).run()
    assert address(app) == {}


@pytest.mark.parametrize(
    ("query", "value", "left"),
    [
        ({}, ["c"], {}),
        ({"m": "b,a,zz"}, ["a", "b"], {"m": "a,b"}),
        ({"m": ""}, [], {"m": ""}),
        ({"m": "c"}, ["c"], {}),
    ],
)
def test_several_choices_share_a_parameter(
    query: dict[str, str], value: list[str], left: dict[str, str]
) -> None:
    app = app_pages.scripted(many_choices, address=query)
    assert app.pills(key="m").value == value
    assert address(app) == left


def test_clicking_several_choices_writes_them_in_their_own_order() -> None:
    app = app_pages.scripted(many_choices)
    app.pills(key="m").set_value(["c", "a"]).run()
    assert address(app) == {"m": "a,c"}
    app.pills(key="m").set_value([]).run()
    assert address(app) == {"m": ""}

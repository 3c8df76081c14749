"""The catalogue page without a browser: the list, its filters, one technique, the claims."""

from __future__ import annotations

import re
from functools import partial

import pytest
from streamlit.testing.v1 import AppTest

from core.claims import CLAIMS
from core.techniques import TECHNIQUES
from core.text import LANGS, Lang, text
from tests import app_pages
from tests.app_pages import bodies
from tests.sampling import every

opened = partial(app_pages.opened, "decide/catalogue.py")


def listed(at: AppTest) -> list[str]:
    """Ids of the techniques in the list, in its order."""
    return re.findall(r"<a href='\?technique=(\w+)", bodies(at))


@pytest.mark.parametrize("lang", LANGS)
def test_the_list_holds_every_technique_with_what_it_does_and_is_worth(lang: Lang) -> None:
    at = opened(lang)
    assert sorted(listed(at)) == sorted(t.id for t in TECHNIQUES)
    shown = bodies(at)
    for t in TECHNIQUES:
        assert text(lang, f"technique.{t.id}.help").replace("'", "&#x27;") in shown
    assert "…</p>" not in shown  # every figure is there
    assert "<b class='gain'>" in shown
    assert "<b class='loss'>" in shown


@pytest.mark.parametrize(
    ("find", "found"),
    [("hedge", "hedge"), ("스트리밍", "streaming"), ("short KEYS", "short_keys")],
)
def test_the_search_box_finds_names_and_words_in_either_language(find: str, found: str) -> None:
    ids = listed(opened(find=find))
    assert found in ids
    assert len(ids) < len(TECHNIQUES)


def test_a_principle_leaves_only_its_own() -> None:
    at = opened(principle="2,4")
    own = {t.id for t in TECHNIQUES if t.principle in (2, 4)}
    assert set(listed(at)) == own
    assert at.query_params["principle"] in ("2,4", ["2,4"])


def test_a_search_without_a_match_says_so() -> None:
    at = opened(find="qwxyz <b>")
    assert listed(at) == []
    assert text("en", "catalogue.nothing") in [i.value for i in at.info]


@pytest.mark.parametrize(
    ("technique_id", "lang"),
    every(["streaming", "chunking", "hedge", "inline_snippets", "near_region"], LANGS),
)
def test_a_technique_opens_by_its_address(technique_id: str, lang: Lang) -> None:
    at = opened(lang, technique=technique_id)
    shown = bodies(at)
    for part in ("title", "help", "when", "catch"):
        assert text(lang, f"technique.{technique_id}.{part}").replace("'", "&#x27;") in shown
    assert "class='catalogue gains'" in shown
    plans = [c.proto.json for c in at.get("bidi_component")]
    assert len(plans) == 2  # before and after
    assert all("<svg" in plan for plan in plans)
    assert not listed(at)


def test_a_loss_is_red_and_has_a_reason() -> None:
    shown = bodies(opened(technique="no_buffering"))
    assert "<b class='loss'>" in shown
    assert re.search(r"<p class='loss'>[^<]*It costs here", shown)


def test_what_an_answer_loses_stands_beside_the_gain() -> None:
    shown = bodies(opened(technique="context_budget"))
    assert text("en", "loss.found.title") in shown


def test_a_prediction_nobody_offers_is_called_a_what_if() -> None:
    shown = bodies(opened(technique="predicted_output"))
    assert "does not offer predicted outputs" in shown


@pytest.mark.slow
def test_a_prediction_the_model_offers_is_none() -> None:
    offered = bodies(opened(technique="predicted_output", large="gpt-4.1", small="gpt-4.1-mini"))
    assert "does not offer predicted outputs" not in offered


def test_the_way_back_leads_to_the_list() -> None:
    at = opened(technique="hedge")
    at.button(key="back").click().run()
    assert not at.exception
    assert len(listed(at)) == len(TECHNIQUES)
    assert "technique" not in at.query_params


def test_nonsense_in_the_address_is_the_list() -> None:
    at = opened(technique="moon", principle="99", find="")
    assert len(listed(at)) == len(TECHNIQUES)


@pytest.mark.parametrize("lang", LANGS)
def test_claims_stand_beside_what_comes_out_here_and_why(lang: Lang) -> None:
    shown = bodies(opened(lang, find="hedge"))
    for claim in CLAIMS:
        for part in ("title", "why"):
            assert text(lang, f"claim.{claim.id}.{part}").replace("'", "&#x27;") in shown
    rows = re.findall(r"<td class='here'[^>]*>([^<]+)</td>", shown)
    assert len(rows) == len(CLAIMS)
    assert all(re.search(r"\d", row) for row in rows)

"""The three lab pages without a browser: every part in both languages, bad input, markup."""

from __future__ import annotations

import re
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.background import Background
from core.labs import cached_pair, encoder_race
from core.labs.desk import desk
from core.labs.json_text import MAX_CHARS
from core.quality_table import PLAIN, CaseRow, FieldRow, Quality, Table
from core.retrieval.diets import DIETS
from core.retrieval.quality import Share
from core.text import LANGS, Lang, text, unavailable
from pages._ui.labs import cache_pair, rag_tables, waiting
from tests import app_pages
from tests.sampling import every

PARTS = [
    *(("cache", "cachelab_part", part) for part in ("pair", "sweep", "key", "stream")),
    *(("retrieval", "raglab_part", part) for part in ("run", "tables", "encoders")),
    *(("tokens", "tokenlab_part", part) for part in ("shapes", "prefix", "languages", "guide")),
]
ATTACK = "<img src=x onerror=alert(1)><script>alert(2)</script> **x** $y$"


def opened(page: str, lang: Lang = "en", **address: str) -> AppTest:
    return app_pages.opened(f"labs/{page}.py", lang, **address)


def shown(at: AppTest) -> str:
    """The HTML a lab draws, without its style sheets."""
    bodies = [e.proto.body for e in at.get("html") if "document-language" not in e.proto.body]
    return "\n".join(re.sub(r"<style>.*?</style>", "", body, flags=re.DOTALL) for body in bodies)


def warned(at: AppTest) -> list[str]:
    return [element.value for element in (*at.warning, *at.error)]


@pytest.fixture(autouse=True)
def _no_encoder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fast tests get a likeness at once; slow ones load the encoders."""
    if request.node.get_closest_marker("slow") is None:

        async def quick(
            _pool: object, _one: str, _two: str, encoder_id: str
        ) -> cached_pair.Likened:
            return cached_pair.Likened(encoder_id, 0.9, 1.0, 0.0001, 0.004, 0.0002)

        monkeypatch.setattr(cache_pair, "liken", quick)


QUICK = [p for p in PARTS if p[2] != "run"]


@pytest.mark.parametrize(
    ("shown", "lang"), every(QUICK, LANGS), ids=lambda v: v[2] if isinstance(v, tuple) else v
)
def test_every_part_opens_in_both_languages(shown: tuple[str, str, str], lang: Lang) -> None:
    page, key, part = shown
    at = opened(page, lang, **{key: part})
    assert at.segmented_control(key=key).value == part
    assert warned(at) == []
    lab = key.removesuffix("_part")
    assert text(lang, f"{lab}.part_help.{part}") in [c.value for c in at.caption]


@pytest.mark.slow
@pytest.mark.parametrize("lang", LANGS)
def test_a_question_runs_through_the_stages(lang: Lang) -> None:
    at = opened("retrieval", lang, keep="4")
    body = shown(at)
    for stage in (
        "embed",
        "vector_search",
        "keyword_search",
        "fuse",
        "rerank",
        "prune",
        "assemble",
    ):
        assert text(lang, f"raglab.stage.{stage}") in body
    assert "<s>" in body  # sentences that are not used are struck out
    assert at.button  # measure again


def test_nonsense_in_the_address_falls_back() -> None:
    at = opened("cache", cachelab_part="moon", threshold="9", guard_numbers="perhaps", pipeline="x")
    assert at.segmented_control(key="cachelab_part").value == "pair"
    assert at.slider(key="threshold").value == 0.86
    assert (
        opened("retrieval", raglab_part="tables", pipeline="travel")
        .segmented_control(key="pipeline")
        .value
        == "travel"
    )


# --- Cache lab ------------------------------------------------------------------------------------


def asked(**address: str) -> AppTest:
    return opened("cache", **address)


def test_the_threshold_decides_and_a_guard_overrules_it() -> None:
    alike = {
        "asked": "Can I return it after 30 days?",
        "cached": "May I send it back after 30 days?",
    }
    assert text("en", "cachelab.pair.decision.served") in shown(asked(**alike))
    above = shown(asked(**alike, threshold="0.95"))
    assert text("en", "cachelab.pair.decision.too_far") in above
    other = alike | {"cached": "Can I return it within 30 days?"}
    refused = shown(asked(**other))
    assert text("en", "cachelab.pair.decision.refused") in refused
    assert "within" in refused
    off = shown(asked(**other, guard_critical_terms="false"))
    assert text("en", "cachelab.pair.decision.served") in off
    assert "would object" in off


def test_examples_fill_both_questions() -> None:
    at = asked()
    for kind in ("numbers", "polarity", "critical_terms"):
        at.button(key=f"example_{kind}").click().run()
        assert text("en", "cachelab.pair.decision.refused") in shown(at)
        assert text("en", f"cachelab.guard.{kind}") in shown(at)
    at.button(key="example_unrelated").click().run()
    assert at.selectbox(key="encoder").value == "minilm-en"
    assert any("가" <= c <= "힣" for c in at.text_area(key="asked").value)


def test_an_empty_question_is_asked_for_and_a_long_one_is_cut() -> None:
    at = asked()
    at.text_area(key="asked").set_value("  ").run()
    assert text("en", "cachelab.pair.empty") in [i.value for i in at.info]
    at.text_area(key="asked").set_value("word " * 5000).run()
    assert not at.exception
    assert len(shown(at)) < 20_000


def test_markup_in_a_question_stays_text() -> None:
    for page in (
        asked(asked=ATTACK, cached=ATTACK + " not"),
        asked(cachelab_part="key", key_question=ATTACK),
    ):
        assert "<img" not in shown(page)
        assert "<script" not in shown(page)
    assert "&lt;img" in shown(asked(cachelab_part="key", key_question=ATTACK))


def test_a_part_left_out_of_the_key_shows_whose_answer_is_read() -> None:
    whole = asked(cachelab_part="key")
    assert text("en", "cachelab.key.safe") in [s.value for s in whole.success]
    assert text("en", "cachelab.key.leak") not in shown(whole)
    at = asked(cachelab_part="key", key_parts="prompt_version,model,parameters,answer_lang")
    assert len(at.error) == 1
    body = shown(at)
    assert body.count(text("en", "cachelab.key.leak").replace("'", "&#x27;")) == 2
    first = text("en", "cachelab.key.answer.tenant.first")
    assert body.count(first) == 2  # both tenants read it
    at.pills(key="key_parts").set_value([]).run()
    assert shown(at).count("class='leak'") == 6


def test_a_stream_counts_wrong_answers_and_what_misses_pay() -> None:
    at = asked(cachelab_part="stream", pipeline="travel", threshold="0.8", all_guards="false")
    assert text("en", "cachelab.outcome.wrong") in shown(at)
    notes = [c.value for c in at.caption]
    assert any("belong to another question" in n for n in notes)
    assert any("paid" in n for n in notes)
    at.toggle(key="all_guards").set_value(True).run()
    assert text("en", "cachelab.outcome.wrong") not in shown(at)


# --- RAG lab --------------------------------------------------------------------------------------


def test_the_tables_name_every_diet_differently() -> None:
    for lang in LANGS:
        assert len({rag_tables._diet_name(diet, lang) for diet in DIETS}) == len(DIETS)


@pytest.mark.parametrize("lang", LANGS)
def test_an_encoder_that_is_not_there_is_told_with_a_way_to_get_it(
    monkeypatch: pytest.MonkeyPatch, lang: Lang
) -> None:
    def missing(_: object) -> Any:
        raise unavailable("missing", package="sentence-transformers")

    monkeypatch.setattr("pages._ui.labs.rag_encoders.run", missing)
    desk().forget(("encoder", encoder_race.TORCH))
    at = opened("retrieval", lang, raglab_part="encoders")
    assert text(lang, "raglab.encoders.start") in [i.value for i in at.info]
    at.button(key=f"measure_{encoder_race.TORCH}").click().run()
    assert not at.exception
    (said,) = warned(at)
    why = text(lang, "unavailable.missing", package="sentence-transformers")
    assert said == text(lang, "lab.unavailable", reason=why)
    desk().forget(("encoder", encoder_race.TORCH))


# --- Token lab ------------------------------------------------------------------------------------


def typed(content: str, lang: Lang = "en") -> AppTest:
    at = opened("tokens", lang)
    at.text_area(key="token_text").set_value(content).run()
    assert not at.exception, at.exception
    return at


@pytest.mark.parametrize("lang", LANGS)
def test_broken_json_is_one_line_and_nothing_is_lost(lang: Lang) -> None:
    at = typed('[{"long_name": 1}, {"long_name": 2}]', lang)
    aliases = next(area for area in at.text_area if area.key != "token_text")
    aliases.set_value("long_name = ln").run()
    broken = '[{"long_name": 1},, {"long_name": 2}]'
    at.text_area(key="token_text").set_value(broken).run()
    (said,) = warned(at)
    assert "\n" not in said
    assert at.text_area(key="token_text").value == broken
    assert text(lang, "tokenlab.shape.given") in shown(at)  # still counted
    at.text_area(key="token_text").set_value(broken.replace(",,", ",")).run()
    assert warned(at) == []
    again = next(area for area in at.text_area if area.key != "token_text")
    assert again.value == "long_name = ln"


def test_a_prompt_is_counted_as_it_is() -> None:
    at = typed("How long does a refund take?")
    assert text("en", "tokenlab.not_json") in [c.value for c in at.caption]
    assert text("en", "tokenlab.shape.minified") not in shown(at)
    assert shown(at).count("class='tok ") == 7


def test_an_empty_text_is_asked_for_and_a_long_one_is_refused_or_cut() -> None:
    at = typed("   ")
    assert text("en", "tokenlab.empty") in [i.value for i in at.info]
    at = typed("x " * MAX_CHARS)
    assert len(shown(at)) < 500_000
    at = typed("[" * 15_000)
    assert len(warned(at)) == 1


def test_markup_in_texts_and_keys_stays_text() -> None:
    for content in (
        ATTACK,
        f'[{{"<b>k</b>": "{ATTACK}"}}, {{"<b>k</b>": 1}}]',
        '{"\\ud800": "\\ud800"}',
    ):
        body = shown(typed(content))
        assert "<img" not in body
        assert "<script" not in body
        assert "<b>k" not in body
    at = typed('{"a": 1, "a": 2}')
    assert len(warned(at)) == 1


def test_names_that_would_collide_are_told() -> None:
    at = typed('{"first_key": 1, "second_key": 2}')
    aliases = next(area for area in at.text_area if area.key != "token_text")
    aliases.set_value("first_key = k\nsecond_key = k\nthird = t").run()
    assert len(warned(at)) == 2


@pytest.mark.parametrize("lang", LANGS)
def test_two_prompts_of_ones_own_are_compared(lang: Lang) -> None:
    at = opened("tokens", lang, tokenlab_part="prefix", prompts="own")
    assert text(lang, "tokenlab.prefix.empty") in [i.value for i in at.info]
    at.text_area(key="prompt_first").set_value("same start <b>one</b>").run()
    at.text_area(key="prompt_second").set_value("same start <b>two</b>").run()
    body = shown(at)
    assert "&lt;b&gt;" in body
    assert "<b>one" not in body
    assert text(lang, "tokenlab.prefix.title_too_short") in body
    turned = opened("tokens", lang, tokenlab_part="prefix", prompts="static_first")
    assert "1,024" in shown(turned)


def answers() -> Table:
    """Calls that a weak model answered: half the fields of the plain ones are right."""
    rows, fields = [], []
    for case, valid in ((PLAIN, 6), ("short_keys", 4)):
        for held in (True, False):
            counted = Share(valid if held else 0, 6)
            rows.append(CaseRow("support", case, held, counted, counted, 12.0, 9.0, 15.0, 140.0))
            same = Share(0, 0) if case == PLAIN else Share(1, 2)
            fields.append(FieldRow("support", case, held, "query_type", same, Share(0, 2)))
    found = Quality(tuple(rows), tuple(fields), ("support: s001, s002",), 0, (0.5,))
    return Table(found, "local", "model L", "model S", "2026-11-30T04:00+00:00", "a machine")


@pytest.mark.parametrize("lang", LANGS)
def test_what_forms_do_to_answers_is_told_with_how_weak_the_model_is(
    monkeypatch: pytest.MonkeyPatch, lang: Lang
) -> None:
    monkeypatch.setattr("pages._ui.labs.token_answers.kept", answers)
    at = opened("tokens", lang, tokenlab_part="answers")
    body = shown(at)
    assert text(lang, "tokenlab.answers.weak") in body
    assert "67% (4/6; 30%–90%)" in body  # short keys by the schema
    assert "50% (1/2; 9%–91%)" in body  # their field beside that of the plain call
    assert any("model L" in c.value for c in at.caption)
    plain = opened("tokens", lang, tokenlab_part="answers", answers_case=PLAIN)
    assert "50% (1/2" not in shown(plain).split("<thead>")[-1]
    none = opened("tokens", lang, tokenlab_part="answers", pipeline="travel")
    assert text(lang, "tokenlab.answers.none") in [i.value for i in none.info]


# --- waiting --------------------------------------------------------------------------------------


def slow_job() -> None:
    import streamlit as st

    from core.labs.desk import desk
    from pages._ui.labs.waiting import awaited

    job = desk().ask(("test", "waiting"), st.session_state["work"])
    st.write("result", awaited(job, ("test", "waiting"), "working", patience_s=0.3))


def test_what_takes_too_long_goes_on_and_can_be_looked_at_again() -> None:
    import asyncio

    background = Background("test")
    gate: list[asyncio.Event] = []

    async def held() -> str:
        event = asyncio.Event()
        gate.append(event)
        await event.wait()
        return "done"

    desk().forget(("test", "waiting"))
    at = AppTest.from_function(slow_job, default_timeout=30)
    at.session_state["work"] = held
    at.run()
    assert text("en", "lab.slow") in [i.value for i in at.info]
    job = desk().ask(("test", "waiting"), held)
    job._loop.call_soon_threadsafe(gate[0].set)
    assert job.wait(10)
    at.button[0].click().run()
    assert not at.info
    assert any("done" in m.value for m in at.markdown)
    desk().forget(("test", "waiting"))
    background.close()
    assert waiting.PATIENCE_S > waiting.SLICE_S

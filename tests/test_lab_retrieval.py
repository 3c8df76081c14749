"""What the RAG lab works out: the measured table, stages and diets of one question, encoders."""

from __future__ import annotations

from pathlib import Path

import pytest

from core import tokens
from core.errors import InvalidData, Unavailable
from core.labs import encoder_race, recall_table
from core.labs.rag import RagSettings, retrieve
from core.labs.recall_table import DEEPEST, RERANKS, measured
from core.request import Lang
from core.retrieval.bench_search import METHODS
from core.retrieval.diets import DIETS, PLENTY, Diet
from core.scenarios import SCENARIOS, scenario
from core.text import LANGS

# --- the measured table ---------------------------------------------------------------------------


def test_every_setting_is_measured_and_deeper_never_finds_less() -> None:
    found = measured()
    assert found is not None
    wanted = {
        (s, lang, m, r) for s in SCENARIOS for lang in LANGS for m in METHODS for r in RERANKS
    }
    assert {(r.scenario, r.lang, r.method, r.rerank) for r in found.recalls} == wanted
    for row in found.recalls:
        assert len(row.found) == DEEPEST
        assert list(row.found) == sorted(row.found)
        assert row.found[-1] <= row.n
    assert found.date
    assert found.machine


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("name", SCENARIOS)
def test_recall_at_three_reaches_nine_tenths_of_each_pipeline_in_each_language(
    name: str, lang: Lang
) -> None:
    found = measured()
    assert found is not None
    row = found.recall(name, lang, "hybrid", "always")
    assert row is not None
    assert row.share(3).value >= 0.9


def test_a_smaller_diet_spends_less_and_keeps_no_more_facts() -> None:
    found = measured()
    assert found is not None
    for name in SCENARIOS:
        by = {d.kept.diet: d.kept for d in found.diets if d.scenario == name}
        assert tuple(by) == DIETS
        for smaller, larger in ((Diet("whole", 2), Diet("whole", 3)), (Diet("whole", 3), PLENTY)):
            assert by[smaller].tokens_mean < by[larger].tokens_mean
            assert by[smaller].facts.k <= by[larger].facts.k
        assert by[PLENTY].saved == 0.0
        assert all(0.3 < row.saved < 1 for diet, row in by.items() if diet != PLENTY)


def test_the_table_is_about_todays_requests() -> None:
    found = measured()
    assert found is not None
    for row in found.recalls:
        asked = [r for r in scenario(row.scenario).requests if r.lang == row.lang and r.doc_ids]
        assert row.n == len(asked)


def test_a_broken_table_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "retrieval.json"
    monkeypatch.setattr(recall_table, "FILE", file)
    measured.cache_clear()
    assert measured() is None
    file.write_text("{", encoding="utf-8")
    measured.cache_clear()
    with pytest.raises(InvalidData, match=r"retrieval\.json"):
        measured()
    measured.cache_clear()


# --- one question (encoders load: slow) -----------------------------------------------------------

QUESTION = "How long does a refund take?"


@pytest.mark.slow
def test_every_stage_that_runs_is_timed_and_its_passages_fit() -> None:
    found = retrieve("support", QUESTION, RagSettings())
    assert [s.name for s in found.stages] == [
        "embed", "vector_search", "keyword_search", "fuse", "rerank", "assemble",
    ]  # fmt: skip
    assert all(0 < s.low_s <= s.median_s <= s.high_s for s in found.stages)
    assert [p.rank for p in found.passages] == [1, 2, 3]
    assert found.passages[0].document.id == "en-refund-timing"
    assert found.tokens == found.whole_tok == sum(p.tokens for p in found.passages)
    assert not found.gives_up


@pytest.mark.slow
def test_diets_leave_something_out_and_say_what() -> None:
    whole = retrieve("support", QUESTION, RagSettings(top_k=5))
    tight = retrieve("support", QUESTION, RagSettings(top_k=5, budget_tok=100))
    assert tight.tokens <= 100 < whole.tokens
    assert any(p.tokens == 0 and not any(p.kept) for p in tight.passages)
    few = retrieve("support", QUESTION, RagSettings(keep=4))
    assert sum(sum(p.kept) for p in few.passages) == 4
    assert "prune" in [s.name for s in few.stages]
    kept = " ".join(s for p in few.passages for s, k in zip(p.sentences, p.kept, strict=True) if k)
    assert tokens.count(kept) < few.whole_tok


@pytest.mark.slow
def test_a_question_about_something_else_is_stopped_where_that_is_wanted() -> None:
    strange = "What is the boiling point of tungsten?"
    assert retrieve("support", strange, RagSettings()).gives_up
    assert not retrieve("support", strange, RagSettings(fail_fast=False)).gives_up


@pytest.mark.slow
def test_leaving_stages_out_leaves_them_out() -> None:
    found = retrieve("support", QUESTION, RagSettings("keyword", "never", top_k=2))
    assert [s.name for s in found.stages] == ["embed", "keyword_search", "assemble"]
    assert not found.reranked
    assert len(found.passages) == 2


# --- encoders -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_encoder_is_timed_one_text_at_a_time() -> None:
    found = encoder_race.run(encoder_race.RACERS[0])
    assert (found.id, found.dim, found.n) == ("minilm-en", 384, encoder_race.N)
    assert 0 < found.p50_s <= found.p95_s
    assert found.agreement is None


def test_the_torch_model_is_never_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(encoder_race.MODEL_VARIABLE, raising=False)
    monkeypatch.setenv("HF_HUB_CACHE", "/nowhere")
    with pytest.raises(Unavailable, match=r"sentence-transformers"):
        encoder_race.torch_folder()
    monkeypatch.setenv(encoder_race.MODEL_VARIABLE, "/models/minilm")
    assert encoder_race.torch_folder() == "/models/minilm"

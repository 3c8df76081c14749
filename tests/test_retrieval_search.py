"""Search stages: worked examples, oracles, and what was measured still holds."""

from __future__ import annotations

import asyncio
import csv
import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.labs.desk import Desk
from core.request import Document
from core.retrieval.assemble import assemble, is_weak, prune
from core.retrieval.encoders import encoder, encoder_spec
from core.retrieval.fuse import reciprocal_rank
from core.retrieval.guards import objections
from core.retrieval.index import Hit, VectorIndex
from core.retrieval.keywords import KeywordIndex, keyword_terms
from core.retrieval.measure import MEASURED, RANKING
from core.retrieval.measure import main as measure
from core.retrieval.quality import recall, search_question
from core.retrieval.rerank import reorder, scores_are_close
from core.retrieval.search import CachedSearch, Found, Library, SearchSettings
from core.retrieval.store import MemoryStore
from core.retrieval.vectors import BATCH, in_batches, unit
from core.scenarios import SCENARIOS, scenario
from tests.cache_parts import ByAngle, Held


def document(name: str, title: str, text: str, lang: str = "en", category: str = "c") -> Document:
    return Document(name, lang, title, category, text, "2026-01-01")  # type: ignore[arg-type]


DOCUMENTS = (
    document(
        "returns",
        "Returns",
        "You can return a product within 30 days. Keep the box.",
        category="orders",
    ),
    document("warranty", "Warranty", "The warranty lasts 24 months. Water damage is excluded."),
    document(
        "tracking", "Tracking a parcel", "Open your orders to see where it is.", category="orders"
    ),
    document(
        "반품",
        "반품 안내",
        "배송받은 날부터 30일 안에 반품할 수 있어요. 상자는 보관해 주세요.",
        "ko",
    ),
    document("보증", "보증 기간", "보증 기간은 24개월입니다. 침수는 제외됩니다.", "ko"),
)


@pytest.fixture(scope="module")
def library() -> Library:
    return Library(DOCUMENTS)


# --- index ---------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 12), st.booleans()), max_size=40), st.integers(0, 99))
def test_the_index_agrees_with_brute_force_after_any_changes(
    steps: list[tuple[int, bool]], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = unit(rng.standard_normal((40, 8)).astype(np.float32))
    index, model = VectorIndex(8), {}
    for (number, is_add), row in zip(steps, rows, strict=False):
        name = str(number)
        if is_add:
            index.add([name], row.reshape(1, -1))
            model[name] = row
        else:
            index.remove([name])
            model.pop(name, None)
    asked = unit(rng.standard_normal((1, 8)).astype(np.float32))[0]
    best = sorted(((float(row @ asked), name) for name, row in model.items()), reverse=True)[:3]

    found = index.search(asked, 3)

    assert len(index) == len(model)
    assert [hit.id for hit in found] == [name for _, name in best]
    np.testing.assert_allclose([h.score for h in found], [s for s, _ in best], atol=1e-5)


def test_an_empty_index_finds_nothing_and_refuses_other_shapes() -> None:
    index = VectorIndex(2)
    assert index.search(np.array([1, 0], dtype=np.float32), 5) == ()
    with pytest.raises(ValueError, match="length 2"):
        index.add(["a"], np.zeros((1, 3), dtype=np.float32))


# --- keywords, fusion, rerank --------------------------------------------------------------------


def test_keywords_find_stems_in_english_and_nouns_with_particles_in_korean() -> None:
    index = KeywordIndex([d.id for d in DOCUMENTS], [f"{d.title} {d.text}" for d in DOCUMENTS])

    assert index.search("returning products", 1)[0].id == "returns"
    assert index.search("반품은 어떻게 해요?", 1)[0].id == "반품"
    assert index.search("zebra 얼룩말", 5) == ()
    assert index.search("", 5) == ()


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Policies for the boxes", ["policy", "box"]),
        ("30일 환불은", ["30", "일", "환불"]),
        ("반품비도 내야 하나요?", ["반품", "품비", "내야"]),  # 도 cut, the asking left out
        ("보증은 언제까지예요?", ["보증"]),
        ("이의 제기", ["이의", "제기"]),  # too short to lose its last one
    ],
)
def test_terms_are_stems_numbers_and_syllable_pairs(text: str, terms: list[str]) -> None:
    assert list(keyword_terms(text)) == terms


def test_reciprocal_rank_fusion_by_hand() -> None:
    one = (Hit("a", 9.0), Hit("b", 8.0))
    other = (Hit("b", 0.9), Hit("c", 0.1))

    fused = reciprocal_rank((one, other))

    assert [hit.id for hit in fused] == ["b", "a", "c"]
    assert fused[0].score == pytest.approx(1 / 62 + 1 / 61)
    assert fused[1].score == pytest.approx(1 / 61)
    assert fused[2].score == pytest.approx(1 / 62)


def test_of_equals_the_first_ranking_decides() -> None:
    fused = reciprocal_rank(((Hit("a", 1),), (Hit("b", 1),)))
    assert [hit.id for hit in fused] == ["a", "b"]


@pytest.mark.parametrize(
    ("scores", "top_k", "margin", "close"),
    [
        ((0.9, 0.8, 0.79), 2, 0.02, True),
        ((0.9, 0.8, 0.70), 2, 0.02, False),
        ((0.9, 0.8), 2, 0.02, False),  # nothing outside that could come in
    ],
)
def test_the_rerank_gate_looks_at_the_border(
    scores: tuple[float, ...], top_k: int, margin: float, close: bool
) -> None:
    hits = [Hit(str(i), score) for i, score in enumerate(scores)]
    assert scores_are_close(hits, top_k, margin) is close


def test_reordering_keeps_the_first_of_equals_first() -> None:
    assert [h.id for h in reorder(DOCUMENTS[:3], [1.0, 2.0, 1.0])] == [
        "warranty",
        "returns",
        "tracking",
    ]


# --- context -------------------------------------------------------------------------------------


def words_of(text: str) -> int:
    return len(text.split())


def test_a_budget_skips_what_does_not_fit_and_never_the_first() -> None:
    # words of title and text: returns 1 + 11, warranty 1 + 9, tracking 3 + 8
    whole = assemble(DOCUMENTS[:3], words_of)
    assert (whole.tokens, whole.dropped) == (12 + 10 + 11, ())
    returns, warranty, tracking = DOCUMENTS[:3]
    tight = assemble((returns, tracking, warranty), words_of, budget_tok=22)
    assert ([p.document_id for p in tight.passages], tight.tokens) == (["returns", "warranty"], 22)
    assert tight.dropped == ("tracking",)


def test_a_first_passage_that_is_too_long_loses_whole_sentences() -> None:
    cut = assemble(DOCUMENTS[:1], words_of, budget_tok=10)
    assert cut.passages[0].text == "You can return a product within 30 days."
    assert cut.tokens == 9
    with pytest.raises(InputError, match="at least 1"):
        assemble(DOCUMENTS, words_of, budget_tok=0)


def test_pruning_keeps_the_nearest_sentences_verbatim_and_in_order() -> None:
    angles = {
        "You can return a product within 30 days.": 0.6,
        "Keep the box.": 1.2,
        "The warranty lasts 24 months.": 0.6,
        "Water damage is excluded.": 0.0,
    }
    asked = np.array([1, 0], dtype=np.float32)

    kept = prune(DOCUMENTS[:2], asked, ByAngle(angles), keep=3)

    # cos 1.2 = 0.36 stays out. A sentence of the second passage must be 0.15 nearer: 1 is, against
    # cos 0.6 = 0.83 of the first.
    assert [d.text for d in kept] == [
        "You can return a product within 30 days.",
        "The warranty lasts 24 months. Water damage is excluded.",
    ]
    assert [d.id for d in prune(DOCUMENTS[:2], asked, ByAngle(angles), keep=1)] == ["warranty"]


def test_evidence_is_weak_below_the_floor_and_where_there_is_none() -> None:
    assert [is_weak(e, 0.4) for e in (None, 0.0, 0.39, 0.4)] == [True, True, True, False]


# --- the library ---------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["vector", "keyword", "hybrid"])
@pytest.mark.parametrize("rerank", ["never", "when_close", "always"])
def test_every_setting_finds_the_answer_in_both_languages(
    library: Library, method: str, rerank: str
) -> None:
    settings = SearchSettings(method=method, rerank=rerank, top_k=1)  # type: ignore[arg-type]
    assert library.search("How long can I return things?", settings).hits[0].id == "returns"
    assert library.search("보증 기간이 얼마나 되나요?", settings).hits[0].id == "보증"


def test_a_search_tells_its_stages_and_takes_a_known_vector(library: Library) -> None:
    question = "Where is my parcel?"
    found = library.search(question)
    assert [stage for stage, _ in found.stages] == [
        "embed",
        "vector_search",
        "keyword_search",
        "fuse",
        "rerank",
    ]
    vector = library.encoder_for(question).encode([question])[0]
    again = library.search(question, vector=vector)
    assert again.hits == found.hits
    assert "embed" not in dict(again.stages)


def test_a_filter_keeps_its_category_and_a_wrong_one_loses_the_answer(library: Library) -> None:
    orders = library.search("How long is the warranty?", SearchSettings(category="orders"))
    assert {h.id for h in orders.hits} <= {"returns", "tracking"}
    nothing = library.search("How long is the warranty?", SearchSettings(category="none"))
    assert (nothing.hits, nothing.evidence) == ((), None)


def test_a_korean_question_reaches_english_documents() -> None:
    library = Library(DOCUMENTS[:3])
    assert (
        library.search("제품을 반품할 수 있나요?", SearchSettings(top_k=1)).hits[0].id == "returns"
    )


# --- a slow encoder ------------------------------------------------------------------------------


def test_a_library_is_embedded_in_batches_and_comes_out_the_same() -> None:
    reader = Held("held")
    reader.go.set()
    texts = ["x" * n for n in range(1, 2 * BATCH + 3)]
    rows = in_batches(reader, texts)
    assert reader.calls == [BATCH, BATCH, 2]
    np.testing.assert_array_equal(rows, reader.encode(texts))


def test_a_question_need_not_wait_until_a_library_is_embedded() -> None:
    reader, batches = Held("held"), 50
    with ThreadPoolExecutor(2) as threads:
        library = threads.submit(in_batches, reader, ["text"] * (batches * BATCH))
        assert reader.begun.wait(30.0)
        question = threads.submit(reader.encode, ["a question"])
        reader.go.set()
        question.result(30.0)
        library.result(30.0)
    # Whoever waits gets in at the next pause, or at one soon after where the machine is busy.
    assert reader.calls.index(1) < batches


def test_a_shelf_being_made_holds_up_no_other_language(monkeypatch: pytest.MonkeyPatch) -> None:
    readers = {"minilm-en": Held("minilm-en"), "use-multi": Held("use-multi")}
    readers["minilm-en"].go.set()
    monkeypatch.setattr("core.retrieval.search.encoder", readers.__getitem__)
    library = Library(DOCUMENTS)
    with ThreadPoolExecutor(2) as threads:
        slow = threads.submit(library.search, "보증 기간은요?")
        assert readers["use-multi"].begun.wait(30.0)
        assert threads.submit(library.search, "How long is the warranty?").result(30.0).hits
        assert not slow.done()
        readers["use-multi"].go.set()
        assert slow.result(30.0).hits


def test_a_slow_encoder_delays_no_stream_of_another_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader = Held("minilm-en")
    monkeypatch.setattr("core.retrieval.search.encoder", lambda _: reader)
    library, desk = Library(DOCUMENTS[:3]), Desk()

    async def stream() -> int:
        pieces = 0
        for _ in range(100):
            await asyncio.sleep(0)
            pieces += 1
        return pieces

    try:
        search = desk.ask_thread("search", lambda: library.search("Where is my parcel?"))
        assert reader.begun.wait(30.0)
        assert desk.ask("stream", stream).result(30.0) == 100  # on the same loop, all of it
        assert not search.done
        reader.go.set()
        assert search.result(30.0).hits
    finally:
        reader.go.set()
        desk.close()


# --- the version and the cache of hits -----------------------------------------------------------


def test_the_version_changes_with_any_document(library: Library) -> None:
    assert Library(tuple(reversed(DOCUMENTS))).version == library.version
    assert Library(DOCUMENTS[1:]).version != library.version


def test_the_retrieval_layer_searches_once_per_tenant_and_setting(library: Library) -> None:
    store = MemoryStore()
    one = CachedSearch(library, store, tenant="a", ttl_s=None)
    found = one.search("Where is my parcel?")
    again = one.search("where is my  parcel")

    assert (again.hits, again.evidence, again.stages) == (found.hits, found.evidence, ())
    keys = {
        one.key("q", SearchSettings()),
        one.key("q", SearchSettings(top_k=2)),
        CachedSearch(library, store, tenant="b", ttl_s=None).key("q", SearchSettings()),
        CachedSearch(Library(DOCUMENTS[1:]), store, tenant="a", ttl_s=None).key(
            "q", SearchSettings()
        ),
    }
    assert len(keys) == 4
    with pytest.raises(InputError, match="tenant"):
        CachedSearch(library, store, tenant="", ttl_s=None)


@pytest.mark.parametrize(("top_k", "pool"), [(0, 10), (11, 10)])
def test_settings_that_cannot_be_are_refused(top_k: int, pool: int) -> None:
    with pytest.raises(InputError, match="top_k"):
        SearchSettings(top_k=top_k, pool=pool)


# --- what was measured ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ranking() -> dict[tuple[str, str], list[str]]:
    lines = (MEASURED / "ranking.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return {(row["scenario"], row["request"]): row["documents"] for row in rows}


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_the_answering_document_is_among_the_first_three_nine_times_in_ten(
    ranking: dict[tuple[str, str], list[str]], lang: str
) -> None:
    results = [
        (r, Found(tuple(Hit(d, 0.0) for d in ranking[name, r.id]), None, True, ()))
        for name in SCENARIOS
        for r in scenario(name).requests
        if r.lang == lang
    ]
    found = recall(results, 3).answer
    assert found.n >= 80
    assert found.value >= 0.9


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_request_is_ranked_by_documents_that_exist(
    ranking: dict[tuple[str, str], list[str]], name: str
) -> None:
    known = {d.id for d in scenario(name).documents}
    for request in scenario(name).requests:
        assert set(ranking[name, request.id]) <= known


@pytest.mark.slow
def test_a_search_today_still_gives_the_measured_ranking(
    ranking: dict[tuple[str, str], list[str]],
) -> None:
    found = scenario("travel")
    cut = [d for d in found.documents if d.lang == "en"]
    library = Library(cut)
    for request in [r for r in found.requests if r.lang == "en"][:3]:
        hits = library.search(search_question(request), RANKING).hits
        assert [hit.id for hit in hits] == ranking["travel", request.id]


def test_the_similarity_table_is_that_of_the_shipped_requests_and_guards() -> None:
    with (MEASURED / "similarity.csv").open(encoding="utf-8", newline="") as lines:
        rows = {(r["scenario"], r["id_a"], r["id_b"]): r for r in csv.DictReader(lines)}
    for name in SCENARIOS:
        alone = [r for r in scenario(name).requests if not r.history]
        pairs = [(a, b) for i, b in enumerate(alone) for a in alone[:i] if a.lang == b.lang]
        listed = {key[1:] for key in rows if key[0] == name}
        assert listed == {(a.id, b.id) for a, b in pairs}
        for a, b in pairs:
            told = "|".join(o.guard for o in objections(b.message, a.message))
            assert rows[name, a.id, b.id]["guards"] == told
        for a, b in pairs[:4]:
            row = rows[name, a.id, b.id]
            x, y = encoder(row["encoder"]).encode([a.message, b.message])
            assert float(x @ y) == pytest.approx(float(row["cosine"]), abs=2e-4)


def test_near_misses_are_nearer_than_paraphrases_and_guards_keep_them_out() -> None:
    with (MEASURED / "similarity.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    requests = {(n, r.id): r for n in SCENARIOS for r in scenario(n).requests}
    over = [
        (
            row["guards"],
            requests[row["scenario"], row["id_a"]].intent
            == requests[row["scenario"], row["id_b"]].intent,
        )
        for row in rows
        if float(row["cosine"]) >= encoder_spec(row["encoder"]).threshold
    ]
    wrong = [guards for guards, same in over if not same]
    assert len(wrong) >= 10  # without guards each would be a wrong answer
    assert all(wrong)


def test_the_stage_table_has_what_the_simulator_reads() -> None:
    with (MEASURED / "stages.csv").open(encoding="utf-8", newline="") as lines:
        rows = {row["stage"]: row for row in csv.DictReader(lines)}
    needed = {"embed_query_en", "embed_query_ko", "exact_lookup", "vector_search:10000",
              "keyword_search", "rerank"}  # fmt: skip
    assert needed <= set(rows)
    for row in rows.values():
        assert 0 < float(row["p50_s"]) <= float(row["p95_s"]) < 1
        assert int(row["n"]) >= 100
        assert math.isfinite(float(row["p50_s"]))
        assert row["machine"]
        assert row["date"]


def test_measuring_writes_only_what_it_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        measure(["nonsense", "--out", str(tmp_path)])
    assert ended.value.code == 2
    assert "similarity, ranking, stages" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []

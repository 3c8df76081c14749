"""What a smaller context keeps: facts by hand, and diets on a library of three documents."""

from __future__ import annotations

import pytest

from core.excerpt import excerpts
from core.request import Document, Request, Value
from core.retrieval.diets import DIETS, PLENTY, Diet, Facts, cited, context, kept
from core.retrieval.search import Library
from core.scenarios import SCENARIOS, Scenario, scenario

NOTHING: frozenset[str] = frozenset()


def document(name: str, title: str, text: str) -> Document:
    return Document(name, "en", title, "c", text, "2026-01-01")


RETURNS = document(
    "returns",
    "Returns",
    "You can return a product within 30 days. A fee of $6 is taken off the refund.",
)
WARRANTY = document("warranty", "Warranty", "The warranty lasts 24 months. Batteries have 12.")
STAYS = document("stays", "Stays on Jeju", "Hamdeok Tide House rents family rooms.")
DOCUMENTS = (RETURNS, WARRANTY, STAYS)


def request(message: str, doc_ids: tuple[str, ...], **values: Value) -> Request:
    known: dict[str, Value] = {"query": message, **values}
    return Request("r", "en", "t", "i", (), (), message, known, doc_ids, {}, True, DOCUMENTS)


REFUND = request(
    "How do I return a product?", ("returns",), response="Within 30 days; $6 is taken off. Call 99."
)
TRIP = request(
    "Where to stay on Jeju?",
    ("stays",),
    stays=({"name": "Hamdeok Tide House", "area": "Hamdeok"}, {"name": "Palm Inn", "area": "x"}),
)


def test_facts_are_what_the_answer_cites_from_its_documents() -> None:
    assert cited(REFUND).within([RETURNS.text]) == Facts(frozenset({"30", "6"}), NOTHING)
    assert cited(REFUND).within([WARRANTY.text]) == Facts(NOTHING, NOTHING)
    places = cited(TRIP).within([STAYS.text])
    assert places == Facts(NOTHING, frozenset({"Hamdeok Tide House"}))
    assert len(places) == 1


def found(*requests: Request) -> Scenario:
    plan = scenario("support").plan
    return Scenario("stage", {}, {}, {}, {}, plan, requests, DOCUMENTS)


def test_a_diet_that_cuts_the_sentence_that_counts_loses_its_fact() -> None:
    library = Library(DOCUMENTS)
    whole, one = Diet("whole", 1), Diet("sentences", 1, 1)
    assert "$6" in context(whole, library, REFUND).passages[0].text
    assert (
        context(one, library, REFUND).passages[0].text == "You can return a product within 30 days."
    )

    rows = {row.diet: row for row in kept(library, found(REFUND, TRIP), (PLENTY, whole, one))}

    assert (rows[PLENTY].facts.k, rows[PLENTY].facts.n) == (3, 3)
    assert (rows[one].facts.k, rows[one].facts.n) == (2, 3)
    assert rows[one].answer == rows[whole].answer
    assert rows[PLENTY].saved == 0.0
    assert rows[one].tokens_mean < rows[whole].tokens_mean < rows[PLENTY].tokens_mean
    assert rows[one].saved == pytest.approx(1 - rows[one].tokens_mean / rows[PLENTY].tokens_mean)


def test_shared_words_are_those_of_the_technique() -> None:
    (only,) = context(Diet("words", 1, 1), Library(DOCUMENTS), REFUND).passages
    assert only.text == "You can return a product within 30 days."
    assert excerpts((RETURNS,), REFUND.message, 1) == (only.text,)


def test_every_diet_has_a_name_of_its_own() -> None:
    assert len({diet.name for diet in DIETS}) == len(DIETS)
    assert Diet("budget", 5, 300).name == "top5 in 300 tokens"


@pytest.mark.parametrize("name", SCENARIOS)
def test_most_answers_cite_something_that_can_be_lost(name: str) -> None:
    of = scenario(name)
    texts = {d.id: d.text for d in of.documents}
    asked = [r for r in of.requests if r.doc_ids and r.answerable]
    held = [len(cited(r).within(texts[i] for i in r.doc_ids)) for r in asked]
    assert sum(n > 0 for n in held) > 0.6 * len(asked)

"""Picking sentences by their words: what is kept, in which order, and what is said of the rest."""

from __future__ import annotations

from core.excerpt import excerpts, sentences, stems
from core.request import Document

RETURNS = "Parcels arrive on weekdays. A return is free within 30 days. Send it in its box."
FEES = "Express costs $6. A late return costs a fee of $9. Gifts are wrapped."


def document(name: str, text: str) -> Document:
    return Document(name, "en", name, "c", text, "2026-01-01")


DOCUMENTS = (document("returns", RETURNS), document("fees", FEES))


def test_kept_sentences_stand_in_their_order_word_for_word() -> None:
    assert excerpts(DOCUMENTS, "Does a late return cost something?", 2) == (
        "A return is free within 30 days.",
        "A late return costs a fee of $9.",
    )


def test_a_document_without_a_kept_sentence_is_empty() -> None:
    assert excerpts(DOCUMENTS, "Are gifts wrapped?", 1) == ("", "Gifts are wrapped.")


def test_ties_go_to_the_better_document_and_the_earlier_sentence() -> None:
    assert excerpts(DOCUMENTS, "?", 2) == (
        "Parcels arrive on weekdays. A return is free within 30 days.",
        "",
    )


def test_enough_room_leaves_every_text_as_it_is() -> None:
    assert excerpts(DOCUMENTS, "late return", 6) == (RETURNS, FEES)
    assert excerpts((), "late return", 3) == ()


def test_a_rare_word_counts_more_than_one_that_is_everywhere() -> None:
    texts = ("The return label is here. The return box is there. The return desk is upstairs.",)
    (kept,) = excerpts([document("d", t) for t in texts], "return upstairs", 1)
    assert kept == "The return desk is upstairs."


def test_korean_words_meet_by_their_stems() -> None:
    assert stems("반품은 언제까지 돼요?") & stems("반품을 신청해요.") == {"반품"}
    document_ko = document("ko", "배송은 이틀 걸려요. 반품을 30일 안에 신청해요.")
    assert excerpts([document_ko], "반품은 언제까지 돼요?", 1) == ("반품을 30일 안에 신청해요.",)


def test_sentences_keep_their_marks() -> None:
    assert sentences("One. Two?\nThree") == ("One.", "Two?", "Three")

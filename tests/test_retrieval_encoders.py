"""Encoders: chosen by script, unit rows, the same row in any company, nothing loaded early."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import Unavailable, UnknownName
from core.retrieval.encoders import (
    DEFAULT_ENCODER,
    ENCODERS,
    encoder,
    encoder_for,
    encoder_spec,
    languages_of,
)
from core.retrieval.libraries import library, package_dir
from core.retrieval.script import normalise, script_of, sentences, words

SAME = {
    "en": ("When will I get my money back?", "How long does the refund take?"),
    "ko": ("환불은 언제 되나요?", "환불받는 데 얼마나 걸려요?"),
}
OTHER = {"en": "Does the camera record at night?", "ko": "카메라는 밤에도 녹화되나요?"}


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("Where is my parcel?", "en"),
        ("배송 조회는 어디서 하나요?", "ko"),
        ("Beam Tab 11 충전기 있나요?", "ko"),
        ("Is 김치 on the menu of the hotel in Busan?", "en"),
        ("12345 !?", "en"),
        ("", "en"),
    ],
)
def test_the_script_decides_the_language_and_the_encoder(text: str, lang: str) -> None:
    assert script_of(text) == lang
    assert encoder_for(text).name == DEFAULT_ENCODER[lang]  # type: ignore[index]


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_rows_have_unit_length_and_do_not_depend_on_their_company(lang: str) -> None:
    model = encoder(DEFAULT_ENCODER[lang])  # type: ignore[index]
    texts = [*SAME[lang], OTHER[lang], "x", " ".join(["long"] * 400)]
    together = model.encode(texts)

    assert together.shape == (5, model.dim)
    assert together.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    alone = np.vstack([model.encode([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=2e-4)
    assert model.encode([]).shape == (0, model.dim)


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_paraphrase_is_nearer_than_another_question(lang: str) -> None:
    one, same, other = encoder(DEFAULT_ENCODER[lang]).encode([*SAME[lang], OTHER[lang]])  # type: ignore[index]
    assert one @ same > one @ other + 0.15


def test_the_english_encoder_takes_unrelated_korean_questions_for_alike() -> None:
    unrelated = ["환불은 언제 되나요?", "카메라는 밤에도 녹화되나요?", "제주도 날씨 어때요?"]

    def mean_cosine(encoder_id: str) -> float:
        rows = encoder(encoder_id).encode(unrelated)
        return float((rows @ rows.T)[np.triu_indices(3, 1)].mean())

    assert mean_cosine("minilm-en") > 0.45
    assert mean_cosine("use-multi") < 0.25


def test_every_default_is_in_the_catalogue_and_reads_its_language() -> None:
    assert len({spec.id for spec in ENCODERS}) == len(ENCODERS)
    for lang, encoder_id in DEFAULT_ENCODER.items():
        assert lang in encoder_spec(encoder_id).langs
    for spec in ENCODERS:
        assert 0 < spec.threshold < 1
        assert spec.make().name == spec.id
    assert languages_of("st:anything") == ("en", "ko")


def test_an_unknown_encoder_is_named_with_those_there_are() -> None:
    with pytest.raises(UnknownName, match="minilm-en"):
        encoder("mini")


def test_a_missing_library_says_what_to_install() -> None:
    with pytest.raises(Unavailable, match="pip install some-wheel"):
        library("no_such_library_here", "some-wheel")
    with pytest.raises(Unavailable, match="some-wheel"):
        package_dir("no_such_library_here", "some-wheel")


@pytest.mark.slow
def test_any_sentence_transformers_model_may_be_named_and_a_missing_one_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("sentence_transformers")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(Unavailable, match="/no/such/folder cannot be loaded"):
        encoder("st:/no/such/folder").encode(["x"])


def test_sentences_are_verbatim() -> None:
    text = "It costs 3.5 dollars. Really? Yes!  보관해 주세요. 감사합니다.\nEnd"
    assert sentences(text) == (
        "It costs 3.5 dollars.",
        "Really?",
        "Yes!",
        "보관해 주세요.",
        "감사합니다.",
        "End",
    )


def test_words_and_normal_form() -> None:
    assert words("Can't I use Ｂeam-Tab 1,299원?") == (
        "can't",
        "i",
        "use",
        "beam",
        "tab",
        "1,299",
        "원",
    )
    assert normalise("  How LONG\tis it ?! ") == "how long is it"
    assert normalise("not 5") != normalise("5")

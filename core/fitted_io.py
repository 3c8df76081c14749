"""Fitted profiles as JSON files in the user's data folder."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict
from pathlib import Path

from core import kept
from core.errors import InputError, InvalidData, UnknownName
from core.fitted import FittedProfile
from core.places import user_dir
from core.plan_io import read

SCHEMA = 1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def save(profile: FittedProfile, folder: Path | None = None) -> Path:
    """Write a profile under its name, in place of an earlier one; return the file.

    Raises:
        InputError: the name cannot be a file name, or the folder cannot be written.
    """
    path = _path(profile.name, folder)
    aside = path.with_suffix(f".{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_text(json.dumps({"schema": SCHEMA, **asdict(profile)}, indent=1))
        aside.replace(path)
    except OSError as error:
        raise InputError(f"cannot save the profile to {path}: {error}") from error
    finally:
        aside.unlink(missing_ok=True)
    return path


def load(name: str, folder: Path | None = None) -> FittedProfile:
    """Return the saved profile of that name.

    Raises:
        UnknownName: none was saved under it.
        InvalidData: its file is broken; the message names the key.
    """
    path = _path(name, folder)
    data = kept.load(path, name=str(path))
    if data is None:
        valid = saved(folder) or ("none so far: `calibrate --save NAME` makes one",)
        raise UnknownName("fitted profile", name, valid)
    if not isinstance(data, dict) or data.pop("schema", None) != SCHEMA:
        raise InvalidData(str(path), f"only schema {SCHEMA} can be read", key="schema")
    return read(FittedProfile, data, str(path))


def saved(folder: Path | None = None) -> tuple[str, ...]:
    """Return the names of all saved profiles, sorted."""
    return tuple(sorted(path.stem for path in _folder(folder).glob("*.json")))


def delete(name: str, folder: Path | None = None) -> None:
    """Remove a saved profile; none under that name is fine.

    Raises:
        InputError: the name cannot be a file name, or the file cannot be removed.
    """
    path = _path(name, folder)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot remove the profile {path}: {error}") from error


def check_name(name: str) -> None:
    """Refuse a name that cannot be a file name. Raises InputError."""
    _path(name, None)


def _folder(folder: Path | None) -> Path:
    return folder or user_dir("data") / "fitted"


def _path(name: str, folder: Path | None) -> Path:
    if not _NAME.fullmatch(name):
        raise InputError(
            f"a profile cannot be named {name!r:.80}: letters, digits, dot, dash and underscore "
            "only, 64 at most, and a letter or digit first"
        )
    return _folder(folder) / f"{name}.json"

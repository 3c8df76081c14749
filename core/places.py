"""Where this user keeps files of ours: a cache that can be made again, and data that cannot."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Literal

APP = "llm-latency-playground"

Purpose = Literal["cache", "data"]

_XDG: dict[Purpose, tuple[str, str]] = {
    "cache": ("XDG_CACHE_HOME", ".cache"),
    "data": ("XDG_DATA_HOME", ".local/share"),
}
_MAC: dict[Purpose, str] = {"cache": "Library/Caches", "data": "Library/Application Support"}


def user_dir(purpose: Purpose) -> Path:
    """Return this app's folder for the purpose, which need not exist yet.

    An account without a home folder (usual in containers) gets one in the temporary directory.

    Source: XDG Base Directory Specification 0.8 (Linux), Apple's File System Programming Guide
    (macOS), `LOCALAPPDATA` (Windows).
    """
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else _home() / "AppData" / "Local") / APP / purpose
    if sys.platform == "darwin":
        return _home() / _MAC[purpose] / APP
    variable, below_home = _XDG[purpose]
    given = os.environ.get(variable, "")
    # The specification says to ignore a relative path.
    return (Path(given) if given.startswith("/") else _home() / below_home) / APP


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        return Path(tempfile.gettempdir())

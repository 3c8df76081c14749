"""Results kept as JSON files, some with a page to read: read back whole, or one clear line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from core.errors import InputError, InvalidData


def load(file: Path, *, name: str = "") -> object | None:
    """Return what a file holds, None where there is none; messages call it `name`, or by its own.

    Raises: InvalidData for a file that cannot be read.
    """
    try:
        found: object = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InvalidData(name or file.name, f"cannot be read: {error}") from error
    return found


def keep(folder: Path, name: str, data: Mapping[str, object], page: str) -> None:
    """Write `name`.json with the data and `name`.md with the page, in place of earlier ones.

    Raises: InputError where the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        (folder / f"{name}.md").write_text(page, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror}") from None

"""Heavy libraries, imported when first needed and named when missing."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from types import ModuleType

from core.errors import Unavailable
from core.text import unavailable


def library(module: str, distribution: str = "") -> ModuleType:
    """Import a module. Raises: Unavailable that names what to install."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise  # the library is there and broken inside
        raise _missing(distribution or module) from None


def package_dir(module: str, distribution: str) -> Path:
    """Return where a package lies, without importing it. Raises: as `library`."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise _missing(distribution)
    return Path(spec.origin).parent


def _missing(distribution: str) -> Unavailable:
    return unavailable("missing", package=distribution)

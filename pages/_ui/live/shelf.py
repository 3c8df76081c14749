"""Results of live runs by an id nobody guesses: a reload finds its own, a link shows it."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock

from pages._ui.live.asked import Measured

MOST = 32
"""How many results the server keeps; the oldest goes first."""


@dataclass(slots=True)
class Shelf:
    """The newest results; every visit has one shelf with all others."""

    _found: OrderedDict[str, Measured] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def put(self, measured: Measured) -> str:
        """Keep a result and return its id."""
        name = secrets.token_urlsafe(8)
        with self._lock:
            self._found[name] = measured
            while len(self._found) > MOST:
                self._found.popitem(last=False)
        return name

    def get(self, name: str) -> Measured | None:
        """Return the result of that id, None where there is none, or no longer."""
        with self._lock:
            return self._found.get(name)


@lru_cache(maxsize=1)
def shelf() -> Shelf:
    """The shelf of this process."""
    return Shelf()

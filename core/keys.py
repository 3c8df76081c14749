"""API keys: where they come from, and how they are kept out of everything that is written down.

A key is used for one call and held nowhere else: not in a URL, a log, an exception, a saved run or
a cache key. Text that may quote one (a vendor's error message, a traceback) goes through `scrub`
first.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable, Mapping

from core.errors import Unavailable

HIDDEN = "[key]"
"""What stands where a key was."""

NO_KEY = "none"
"""Sent where an endpoint wants no key: the SDKs insist on one."""

SHORTEST_KEY = 8
"""Given keys shorter than this are not searched for: replacing "x" would ruin any text."""

_PATTERNS = (
    re.compile(r"\bsk-[A-Za-z0-9_*.-]{6,}"),  # OpenAI, Anthropic (sk-ant-), OpenRouter (sk-or-)
    re.compile(r"\b(?:gsk|xai|hf|pplx|nvapi|AIza)[_-]?[A-Za-z0-9_-]{16,}"),
    re.compile(r"(?i)(?<=bearer )[A-Za-z0-9._~+/=-]{8,}"),
    re.compile(r"(?i)(?<=x-api-key: )\S{8,}"),
    re.compile(r"(?i)(?<=[?&]key=)[^&\s\"']{8,}"),
)
"""Forms a key takes in the messages of vendors and HTTP libraries, masked forms included."""


def lookup(
    variable: str, explicit: str | None = None, *, environ: Mapping[str, str] = os.environ
) -> str | None:
    """Return the key given explicitly, else the one in the environment, else None.

    Spaces and line ends around a pasted key are dropped; an empty one counts as none.
    """
    for candidate in (explicit, environ.get(variable)):
        if candidate is not None and candidate.strip():
            return candidate.strip()
    return None


def require(
    provider: str,
    variable: str,
    explicit: str | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
) -> str:
    """Return the key as `lookup` does. Raises Unavailable, naming the variable, without one."""
    key = lookup(variable, explicit, environ=environ)
    if key is None:
        raise Unavailable(f"{provider} needs an API key: set {variable} or give one for this visit")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise Unavailable(f"the key for {provider} has characters no key has: paste it again")
    return key


def scrub(text: str, keys: Iterable[str | None] = ()) -> str:
    """Return `text` with the given keys, and whatever looks like a key, replaced by `[key]`."""
    known = sorted({k for k in keys if k and len(k) >= SHORTEST_KEY}, key=len, reverse=True)
    for key in known:
        text = text.replace(key, HIDDEN)
    for pattern in _PATTERNS:
        text = pattern.sub(HIDDEN, text)
    return text


class KeyFilter(logging.Filter):
    """Scrubs every record that passes: message, arguments, traceback and stack.

    Put it on handlers, not on loggers: a logger's filter does not see its children's records.
    `keys` is asked at each record for the keys in use.
    """

    def __init__(self, keys: Callable[[], Iterable[str | None]] = tuple) -> None:
        super().__init__()
        self._keys = keys
        self._formatter = logging.Formatter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record in place and let it pass."""
        keys = tuple(self._keys())
        record.msg, record.args = scrub(record.getMessage(), keys), None
        if record.exc_info and not record.exc_text:
            record.exc_text = self._formatter.formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = scrub(record.exc_text, keys)
        if record.stack_info:
            record.stack_info = scrub(record.stack_info, keys)
        return True

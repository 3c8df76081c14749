"""Every error this package raises on purpose.

    PlaygroundError            a message fit for the person who caused it
    ├── InputError             what was given is wrong: exit code 2, nothing was changed
    │   ├── UnknownName        no such scenario, technique, model, ...: names what would be valid
    │   ├── InvalidPlan        a plan that cannot exist: cycle, missing producer, lost answer
    │   └── InvalidData        a data file is broken: names file, line and key
    └── EngineError            an engine failed: exit code 3
        ├── ProviderError      a model endpoint answered with an error, or not at all
        │   ├── RateLimited    it asked us to wait (`retry_after_s`)
        │   ├── TimedOut       a deadline of ours, or a gap longer than allowed
        │   └── BrokenStream   the stream ended or failed after it had begun
        └── Unavailable        the engine is not installed, not provisioned or switched off here

"Does not apply" is not an error: see `core.rewrite.NotApplicable`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping


class PlaygroundError(Exception):
    """Base of all errors raised on purpose; its text is shown to people as it is."""


class InputError(PlaygroundError):
    """What was given is wrong; the message names it and what would be valid."""


class UnknownName(InputError):
    """A name that no catalogue holds."""

    def __init__(self, kind: str, name: str, valid: Iterable[str]) -> None:
        """`kind` is the word for what was meant, `valid` the names that exist."""
        self.kind, self.name, self.valid = kind, name, tuple(valid)
        shown = name if len(name) <= 60 else name[:57] + "..."
        near = difflib.get_close_matches(name, self.valid, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]!r}? " if near else ""
        super().__init__(f"unknown {kind} {shown!r}: {hint}valid are {', '.join(self.valid)}")


class InvalidPlan(InputError):
    """A plan that cannot exist; the message names the step."""


class InvalidData(InputError):
    """A data file is broken."""

    def __init__(
        self, source: str, problem: str, *, line: int | None = None, key: str = ""
    ) -> None:
        """`source` names the file, `line` counts from 1, `key` is the entry at fault."""
        where = source if line is None else f"{source}:{line}"
        super().__init__(f"{where}: {key + ': ' if key else ''}{problem}")


class EngineError(PlaygroundError):
    """An engine could not do the work."""


class ProviderError(EngineError):
    """A model endpoint answered with an error, or not at all.

    `status` is the HTTP status where there was one; the text never holds a key.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class RateLimited(ProviderError):
    """The endpoint asked us to slow down; `retry_after_s` is None where it did not say."""

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message, status=429)
        self.retry_after_s = retry_after_s


class TimedOut(ProviderError):
    """Our deadline passed, or nothing arrived for longer than allowed."""


class BrokenStream(ProviderError):
    """The answer had begun and then failed or was cut off."""


class Unavailable(EngineError):
    """The engine is not installed, not provisioned or switched off on this host.

    `key` and `facts` name its sentence in the catalogues, where it has one: see
    `core.text.unavailable`, which makes such an error, and `core.text.reason`, which says it.
    """

    def __init__(
        self, message: str, *, key: str = "", facts: Mapping[str, str | float] | None = None
    ) -> None:
        super().__init__(message)
        self.key, self.facts = key, dict(facts or {})

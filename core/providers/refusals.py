"""Options that an endpoint turned out not to know, and how a request does without them.

Compatible servers differ, and vendors drop options between model generations. Most say which
option they refuse; the call is then made again without it, and the model is remembered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from core.providers.capabilities import Fact

Body = dict[str, object]

OTHER_NAMES = {"max_completion_tokens": "max_tokens", "max_tokens": "max_completion_tokens"}
"""Options that some servers know only under another name."""

REFUSING = frozenset({400, 422})
"""Statuses of such answers; 422 is the one of FastAPI servers."""

UNKNOWN = re.compile(
    r"(?i)un(supported|recognized|known|expected)|not (supported|permitted|allowed)"
    r"|does not support|deprecated|extra (inputs|fields)|extra_forbidden"
    r"|invalid (parameter|argument|field)"
)
"""Words for "I do not know this option". An error about an option's value has none of them: that
limit or schema is wrong, and to call without it would be another question."""


class Refusals:
    """What each model of one endpoint has refused so far."""

    def __init__(self) -> None:
        self._by_model: dict[str, tuple[str, ...]] = {}

    def facts(self, model: str) -> tuple[Fact, ...]:
        """Return what requests to this model do without."""
        return tuple(Fact(f"no_{name}") for name in self._by_model.get(model, ()))

    def apply(self, body: Body, model: str) -> None:
        """Take out of the request what this model is known to refuse."""
        for name in self._by_model.get(model, ()):
            self._take_out(body, name, model)

    def learn(self, error: Exception, body: Body, model: str, optional: Iterable[str]) -> bool:
        """Take out of the request what this answer is about; False when it is about no option."""
        name = named_option(error, [name for name in optional if name in body])
        if name is None:
            return False
        self._by_model[model] = (*self._by_model.get(model, ()), name)
        self._take_out(body, name, model)
        return True

    def _take_out(self, body: Body, name: str, model: str) -> None:
        value = body.pop(name, None)
        other = OTHER_NAMES.get(name)
        if value is not None and other is not None and other not in self._by_model[model]:
            body[other] = value


def named_option(error: Exception, candidates: list[str]) -> str | None:
    """Return the option that an endpoint says it does not know; None for any other error.

    The vendor's `param` counts where it is filled, else the option its text names first. A name
    that is also a common word ("text", "stop") has to begin the text or stand in quotes.
    """
    text = f"{error} {getattr(error, 'body', '')}"
    if getattr(error, "status_code", None) not in REFUSING or not UNKNOWN.search(text):
        return None
    param = str(getattr(error, "param", None) or "").split(".", maxsplit=1)[0]
    if param in candidates:
        return param
    found = [(at.start(), name) for name in candidates if (at := _mention(name).search(text))]
    return min(found)[1] if found else None


def _mention(name: str) -> re.Pattern[str]:
    before = r"\b" if "_" in name else r"(?:^|(?<=['\"`]))"
    return re.compile(rf"{before}{name}\b")

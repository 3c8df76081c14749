"""Options that an endpoint turned out not to know, and how a request does without them.

Compatible servers differ, and vendors drop options between model generations. Most say which
option they refuse; the call is then made again without it, and the model is remembered.
"""

from __future__ import annotations

from collections.abc import Iterable

from core.providers.capabilities import Fact

Body = dict[str, object]

OTHER_NAMES = {"max_completion_tokens": "max_tokens", "max_tokens": "max_completion_tokens"}
"""Options that some servers know only under another name."""

REFUSING = frozenset({400, 422})
"""Statuses that mean "I do not know this option"; 422 is the one of FastAPI servers."""


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
    """Return the option that an error answer is about; None when it is about something else.

    The vendor's `param` counts where it is filled, else the option its text names first.
    """
    if getattr(error, "status_code", None) not in REFUSING:
        return None
    param = str(getattr(error, "param", None) or "").split(".", maxsplit=1)[0]
    if param in candidates:
        return param
    text = f"{error} {getattr(error, 'body', '')}"
    found = [(text.index(name), -len(name), name) for name in candidates if name in text]
    return min(found)[2] if found else None

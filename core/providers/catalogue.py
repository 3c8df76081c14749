"""Every provider by id: what it needs, and how it is made. Add a module and a line here.

Factories import their module when they are called: the SDKs take a second to import.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from core import keys, urls
from core.errors import InputError, UnknownName
from core.providers.base import Provider
from core.providers.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class Choices:
    """What a person chose about a provider: a key, a base URL, and how to connect.

    `own_machine`: the app runs on the person's own machine, so base URLs on it and in its network
    are fine, and keys of the environment may be used. In a hosted app it is False, and a visitor's
    calls are paid by the visitor's key. `scripted` sends reference answers along and no
    key, for the emulator.
    """

    api_key: str | None = field(default=None, repr=False)
    base_url: str | None = None
    own_machine: bool = False
    keep_alive_s: float = 60.0
    max_gap_s: float | None = None
    scripted: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """A provider in the list.

    `title` is a text key. `key_variable` names the environment variable with its key, "" where it
    has none; `key_optional` where it works without. `base_url` is its own address, None where it
    has none; `takes_url` says whether a person may give another.
    """

    id: str
    title: str
    make: Callable[[Entry, Choices], Provider]
    key_variable: str = ""
    key_optional: bool = False
    base_url: str | None = None
    takes_url: bool = False


def _endpoint(entry: Entry, choices: Choices) -> Endpoint:
    """Return the endpoint of a hosted provider, its key found and its address checked.

    Raises: Unavailable without a key, InputError for a base URL that may not be used.
    """
    base_url, allowed = entry.base_url, None
    if choices.base_url is not None:
        base_url = urls.check_base_url(choices.base_url, allow_private=choices.own_machine)
        allowed = partial(urls.address_allowed, allow_private=choices.own_machine)
    if base_url is None:
        raise InputError(f"{entry.id} needs a base URL, such as https://api.example.com/v1")
    return Endpoint(
        base_url=base_url,
        api_key=_key(entry, choices),
        keep_alive_s=choices.keep_alive_s,
        max_gap_s=choices.max_gap_s,
        scripted=choices.scripted,
        allowed=allowed,
    )


def _key(entry: Entry, choices: Choices) -> str:
    """Return the key to send; see `Choices` for whose it is."""
    if choices.scripted:
        return choices.api_key or keys.NO_KEY
    environ = os.environ if choices.own_machine else {}
    if entry.key_optional:
        return keys.lookup(entry.key_variable, choices.api_key, environ=environ) or keys.NO_KEY
    return keys.require(entry.id, entry.key_variable, choices.api_key, environ=environ)


def _openai(entry: Entry, choices: Choices) -> Provider:
    from core.providers.openai_chat import OpenAIChat  # noqa: PLC0415  (one line, one import)

    return OpenAIChat(_endpoint(entry, choices), name=entry.id)


def _openai_responses(entry: Entry, choices: Choices) -> Provider:
    from core.providers.openai_responses import OpenAIResponses  # noqa: PLC0415  (same)

    return OpenAIResponses(_endpoint(entry, choices), name=entry.id)


def _anthropic(entry: Entry, choices: Choices) -> Provider:
    from core.providers.anthropic_messages import AnthropicMessages  # noqa: PLC0415  (same)

    return AnthropicMessages(_endpoint(entry, choices), name=entry.id)


def _compatible(entry: Entry, choices: Choices) -> Provider:
    from core.providers.compatible import Compatible  # noqa: PLC0415  (same)

    return Compatible(_endpoint(entry, choices), name=entry.id)


def _local(entry: Entry, choices: Choices) -> Provider:  # noqa: ARG001  (nothing to choose)
    from core.local.provider import LocalProvider  # noqa: PLC0415  (same)

    return LocalProvider()


def _fake(entry: Entry, choices: Choices) -> Provider:  # noqa: ARG001  (nothing to choose)
    from core.providers.fake import DEFAULT_PACE, FakeProvider  # noqa: PLC0415  (same)

    return FakeProvider(DEFAULT_PACE, name=entry.id)


PROVIDERS: tuple[Entry, ...] = (
    Entry(
        "openai",
        "provider.title.openai",
        _openai,
        key_variable="OPENAI_API_KEY",
        base_url="https://api.openai.com/v1",
        takes_url=True,
    ),
    Entry(
        "openai-responses",
        "provider.title.openai_responses",
        _openai_responses,
        key_variable="OPENAI_API_KEY",
        base_url="https://api.openai.com/v1",
        takes_url=True,
    ),
    Entry(
        "anthropic",
        "provider.title.anthropic",
        _anthropic,
        key_variable="ANTHROPIC_API_KEY",
        base_url="https://api.anthropic.com",
        takes_url=True,
    ),
    Entry(
        "compatible",
        "provider.title.compatible",
        _compatible,
        key_variable="COMPATIBLE_API_KEY",
        key_optional=True,
        takes_url=True,
    ),
    Entry("local", "provider.title.local", _local),
    Entry("fake", "provider.title.fake", _fake),
)
"""In the order in which people see them."""


def ids(entries: Iterable[Entry] = PROVIDERS) -> tuple[str, ...]:
    """Return the ids in order."""
    return tuple(entry.id for entry in entries)


def entry(provider: str) -> Entry:
    """Return a provider's entry. Raises UnknownName."""
    for found in PROVIDERS:
        if found.id == provider:
            return found
    raise UnknownName("provider", provider, ids())


def make(provider: str, choices: Choices | None = None) -> Provider:
    """Make a provider by id; nothing is connected yet.

    Raises:
        UnknownName: no such provider.
        Unavailable: it needs a key and has none.
        InputError: the base URL may not be used, or one is needed.
    """
    found, chosen = entry(provider), choices or Choices()
    if chosen.base_url is not None and not found.takes_url:
        raise InputError(f"{provider} takes no base URL")
    return found.make(found, chosen)

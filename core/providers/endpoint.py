"""Where a hosted model is, and how it is called."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Allowed = Callable[[str], bool]
"""Judges the address of a connection: may it be used?"""


def new_nonce() -> str:
    """Return text that no earlier prompt began with."""
    return secrets.token_hex(4)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a hosted model is, and how it is called.

    `keep_alive_s`: how long an idle connection is kept (servers may end it sooner). `max_gap_s`:
    longest silence allowed, None for no limit but the call's deadline: models that think may say
    nothing for minutes. `scripted`: send the reference text along, for the emulator. `allowed`:
    judges the address of every new connection. `nonce`: see `HostedProvider.messages`.
    """

    base_url: str
    api_key: str = field(repr=False)
    keep_alive_s: float = 60.0
    max_gap_s: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    scripted: bool = False
    allowed: Allowed | None = None
    nonce: Callable[[], str] = new_nonce

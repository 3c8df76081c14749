"""What can go wrong on the way, on demand: one header breaks a request in a known manner.

x-playground-fault: stall          half of the answer, then silence until the client leaves
x-playground-fault: stall=0.2      half of the answer, silence for 0.2 s, the rest
x-playground-fault: 429=1.5        refused, with Retry-After 1.5
x-playground-fault: cut            half of the answer, then the connection breaks
x-playground-fault: slow_headers=0.2   headers that long after the first token was there
x-playground-fault: buffering      everything at the end, as through a buffering proxy
x-playground-fault: error_midstream    half of the answer, then an error event
x-playground-fault: refuse=stream_options+stop   400 if the request has such a field
x-playground-fault: no_usage       an OpenAI stream that reports no usage
x-playground-fault: fragments=3    bytes in pieces of 3, cutting through characters
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from core.errors import InputError, UnknownName


class FaultKind(StrEnum):
    """The ways in which a request can be broken."""

    STALL = "stall"
    TOO_MANY = "429"
    CUT = "cut"
    SLOW_HEADERS = "slow_headers"
    BUFFERING = "buffering"
    ERROR_MIDSTREAM = "error_midstream"
    REFUSE = "refuse"
    NO_USAGE = "no_usage"
    FRAGMENTS = "fragments"


NEEDS_NUMBER = frozenset({FaultKind.SLOW_HEADERS, FaultKind.FRAGMENTS})
TAKES_NUMBER = NEEDS_NUMBER | {FaultKind.STALL, FaultKind.TOO_MANY}


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to break a request; `value` is seconds or bytes, `fields` what is refused."""

    kind: FaultKind
    value: float | None = None
    fields: tuple[str, ...] = ()


def parse(header: str | None) -> Fault | None:
    """Read the header; None without one.

    Raises:
        UnknownName: no such fault.
        InputError: its number or fields are missing or not of the right form.
    """
    if not header:
        return None
    name, _, rest = header.strip().partition("=")
    known = [kind.value for kind in FaultKind]
    if name not in known:
        raise UnknownName("fault", name, known)
    kind = FaultKind(name)
    if kind is FaultKind.REFUSE:
        if not rest:
            raise InputError("fault refuse needs fields: refuse=stream_options+stop")
        return Fault(kind, fields=tuple(rest.split("+")))
    if bool(rest) > (kind in TAKES_NUMBER) or (kind in NEEDS_NUMBER and not rest):
        number = "needs a" if kind in NEEDS_NUMBER else "takes no"
        raise InputError(f"fault {name} {number} number")
    try:
        value = float(rest) if rest else None
    except ValueError:
        raise InputError(f"fault {name}: {rest!r} is not a number") from None
    if value is not None and not 0 <= value <= 600:
        raise InputError(f"fault {name}: {rest} is not from 0 to 600")
    if kind is FaultKind.FRAGMENTS and (value or 0) < 1:
        raise InputError("fault fragments needs a number of bytes, 1 or more")
    return Fault(kind, value)

from __future__ import annotations

import pytest

from core.emulator.faults import Fault, FaultKind, parse
from core.errors import InputError, UnknownName


@pytest.mark.parametrize("header", [None, ""])
def test_no_header_no_fault(header: str | None) -> None:
    assert parse(header) is None


@pytest.mark.parametrize(
    ("header", "fault"),
    [
        ("stall", Fault(FaultKind.STALL)),
        (" stall=0.2 ", Fault(FaultKind.STALL, 0.2)),
        ("429", Fault(FaultKind.TOO_MANY)),
        ("429=1.5", Fault(FaultKind.TOO_MANY, 1.5)),
        ("slow_headers=0.1", Fault(FaultKind.SLOW_HEADERS, 0.1)),
        ("fragments=3", Fault(FaultKind.FRAGMENTS, 3.0)),
        ("cut", Fault(FaultKind.CUT)),
        ("refuse=stop+temperature", Fault(FaultKind.REFUSE, fields=("stop", "temperature"))),
    ],
)
def test_faults_as_written(header: str, fault: Fault) -> None:
    assert parse(header) == fault


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("slow_headers", "needs a number"),
        ("fragments", "needs a number"),
        ("fragments=0", "1 or more"),
        ("cut=1", "takes no number"),
        ("stall=x", "'x' is not a number"),
        ("stall=-1", "from 0 to 600"),
        ("stall=nan", "from 0 to 600"),
        ("refuse", "needs fields"),
    ],
)
def test_faults_that_make_no_sense(header: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        parse(header)


def test_unknown_faults_name_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="did you mean 'stall'"):
        parse("stal")

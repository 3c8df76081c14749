"""The machine a measurement was made on: its cores, its name, and who else used it meanwhile.

Times taken while other processes use the cores say little about the engine, so each measurement
carries the share of the machine that others had. Read from `/proc`; elsewhere the share is None,
which means "not known", not "idle".
"""

from __future__ import annotations

import contextlib
import os
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BUSY_SHARE = 0.25
"""Above this foreign share a measurement is flagged as taken on a busy machine.

An assumption between two measured points on a two-core machine: one foreign process (a share of
0.5) left one-thread decoding within 3 %, but tripled the time of a two-thread engine.
"""

_CGROUP_CPU = Path("/sys/fs/cgroup/cpu.max")
_PROC = Path("/proc")


def usable_cores() -> int:
    """Return how many cores this process may really use: affinity and container quota heeded."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else (os.cpu_count() or 1)
    try:
        quota, period = _CGROUP_CPU.read_text().split()
    except (OSError, ValueError):
        return cores
    if quota == "max":
        return cores
    return max(1, min(cores, int(quota) // int(period)))


def describe_machine() -> str:
    """Return processor, cores and system in one line, for the label of a measurement."""
    return f"{_processor()}, {usable_cores()} cores, {platform.system()} {platform.machine()}"


def _processor() -> str:
    try:
        lines = (_PROC / "cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return platform.processor() or "unknown processor"


@dataclass(frozen=True, slots=True)
class CpuReading:
    """Processor seconds used so far: by everybody, and by this process and its descendants."""

    at_s: float
    everybody_s: float
    ours_s: float


def read_cpu() -> CpuReading | None:
    """Return the counters now, or None where the system does not tell."""
    try:
        fields = (_PROC / "stat").read_text().splitlines()[0].split()
        ticks = float(os.sysconf("SC_CLK_TCK"))
        # user nice system idle iowait irq softirq steal; guest time is inside user time.
        counts = [int(value) for value in fields[1:9]]
        ours = sum(_process_ticks(pid) for pid in _family(os.getpid()))
    except (OSError, ValueError, IndexError, AttributeError):
        return None
    everybody = sum(counts) - counts[3] - counts[4]
    return CpuReading(time.monotonic(), everybody / ticks, ours / ticks)


def foreign_share(before: CpuReading | None, after: CpuReading | None) -> float | None:
    """Return the share (0..1) of all cores that others used between two readings.

    None where a reading is missing or no time passed.
    """
    if before is None or after is None or after.at_s <= before.at_s:
        return None
    foreign = (after.everybody_s - before.everybody_s) - (after.ours_s - before.ours_s)
    capacity = (after.at_s - before.at_s) * (os.cpu_count() or 1)
    return min(1.0, max(0.0, foreign / capacity))


def _process_ticks(pid: int) -> int:
    """Return user and system ticks of one process; 0 for one that has just gone."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return 0
    # The command in brackets may hold spaces; the counters are fields 14 and 15 of the line.
    fields = stat.rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


@contextlib.contextmanager
def watched(shares: list[float]) -> Iterator[None]:
    """Add the share of the machine that others use during the block, where the system tells."""
    before = read_cpu()
    yield
    share = foreign_share(before, read_cpu())
    shares += [] if share is None else [share]


def _family(pid: int) -> Iterator[int]:
    """Yield the process and all that descend from it."""
    yield pid
    try:
        lists = [path.read_text() for path in (_PROC / str(pid) / "task").glob("*/children")]
    except OSError:
        return
    for children in lists:
        for child in children.split():
            yield from _family(int(child))

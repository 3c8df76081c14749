"""Benches of the local engine: what it must be able to do, measured on real weights.

Functions that return figures by name, in seconds, tokens, counts and ratios. The machine may be
shared, so arms that are compared run alternately, and what counts is the ratio of their medians.
`python -m core.bench_local [NAME ...]` runs them alone.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from core.calibrate import calibrate, measure, probe_plan
from core.errors import Unavailable, UnknownName
from core.local.machine import foreign_share, read_cpu
from core.local.provider import LocalProvider
from core.providers.base import CallRequest, ChunkKind, Message, Usage

Figures = dict[str, float]

_ROOT = Path(__file__).resolve().parents[1]
_RULES = " ".join(
    f"Rule {number}: answer in one short and friendly sentence." for number in range(1, 84)
)
"""About 1,000 tokens that are the same for every request."""

_LETTER = (
    "Your order 48213 left our warehouse in Rotterdam on Tuesday morning and will reach you by "
    "Friday. The parcel holds one coffee grinder, two paper filters and a spare glass jug. If the "
    "parcel has not arrived by Saturday noon, please write to our support team and quote the order "
    "number. You may return unused goods within thirty days; the return label is printed on the "
    "back of the invoice. Refunds reach your bank account three to five business days after we "
    "have received the goods. The grinder comes with a warranty of two years, which covers motor "
    "faults and broken switches but no damage from water."
)
_EDITED = _LETTER.replace("Friday", "Thursday").replace("thirty", "sixty")
_SHORT = "Of course, I will gladly look into that for you."
_GONE_LIMIT_S = 10.0
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Call:
    """One finished call: its text, the counts, and when things happened."""

    text: str
    usage: Usage
    sent_s: float
    ttft_s: float
    decode_s: float
    queue_s: float
    places: tuple[int, ...]


def cache_reuse(repeats: int = 3) -> Figures:
    """Compare TTFT with a prefix of 1,000 tokens read afresh and reused; `ratio` is cold / warm."""
    return asyncio.run(_cache_reuse(repeats))


def predicted_output(repeats: int = 3) -> Figures:
    """Compare decoding a letter with two words changed with and without its draft known (large).

    Both arms have the draft in the prompt; `ratio` is plain / predicted decode time.
    """
    return asyncio.run(_predicted_output(repeats))


def cancelling(tries: int = 3) -> Figures:
    """How long an engine works on after its stream was closed, writing and reading: the worst."""
    return asyncio.run(_cancelling(tries))


def crowd(asks: int = 20) -> Figures:
    """Many calls at once: how many were answered as they should, and how many knew their place."""
    return asyncio.run(_crowd(asks))


def orphans() -> Figures:
    """Kill an app whose engines are at work: how many engines are left, and when they were gone.

    Raises:
        Unavailable: this system has no /proc to see other processes in.
    """
    if not _PROC.is_dir():
        raise Unavailable("this bench looks at processes in /proc, which is not here")
    holder = subprocess.Popen(
        [sys.executable, "-c", "from core.bench_local import hold; hold()"],
        cwd=_ROOT,
        stdout=subprocess.PIPE,
    )
    with holder:
        pids = json.loads(holder.stdout.readline()) if holder.stdout else []
        holder.kill()
        began = time.perf_counter()
        holder.wait()
        while any(map(_runs, pids)) and time.perf_counter() - began < _GONE_LIMIT_S:
            time.sleep(0.005)
        gone_s = time.perf_counter() - began
    return {"engines": len(pids), "left": sum(map(_runs, pids)), "gone_s": gone_s}


def prediction_error() -> Figures:
    """Calibrate the small model, then predict calls it was not fitted on: relative errors."""
    return asyncio.run(_prediction_error())


BENCHES: Mapping[str, Callable[[], Figures]] = {
    "cache_reuse": cache_reuse,
    "predicted_output": predicted_output,
    "cancelling": cancelling,
    "crowd": crowd,
    "orphans": orphans,
    "prediction_error": prediction_error,
}


def hold() -> None:
    """Start all small engines, print their process ids, and keep one at work until killed."""

    async def work() -> None:
        provider = LocalProvider()
        await provider.warm("small")
        sys.stdout.write(json.dumps([engine.pid for engine in provider.pool.engines]) + "\n")
        sys.stdout.flush()
        while True:
            await _call(provider, _letter("small"))

    asyncio.run(work())


async def _cache_reuse(repeats: int) -> Figures:
    provider = LocalProvider(lanes=1)
    ask = CallRequest(
        "small",
        (Message("system", _RULES), Message("user", "Where is my parcel?")),
        scripted_text=_SHORT,
        static_messages=1,
    )
    keyed = replace(ask, cache_key="bench")
    try:
        await _call(provider, keyed)
        cold, warm = [], []
        for _ in range(repeats):
            cold.append(await _call(provider, ask))
            warm.append(await _call(provider, keyed))
    finally:
        await provider.aclose()
    cold_s, warm_s = median(c.ttft_s for c in cold), median(c.ttft_s for c in warm)
    return {
        "n": repeats,
        "cold_ttft_s": cold_s,
        "warm_ttft_s": warm_s,
        "cold_cached_tok": max(c.usage.tokens_cached or 0 for c in cold),
        "warm_cached_tok": min(c.usage.tokens_cached or 0 for c in warm),
        "ratio": cold_s / warm_s,
    }


async def _predicted_output(repeats: int) -> Figures:
    provider = LocalProvider(lanes=1)
    ask = _letter("large")
    predicting = replace(ask, prediction=_LETTER)
    try:
        for request in (ask, predicting):
            await _call(provider, replace(request, scripted_text=_SHORT))
        plain, predicted = [], []
        for _ in range(repeats):
            plain.append(await _call(provider, ask))
            predicted.append(await _call(provider, predicting))
    finally:
        await provider.aclose()
    plain_s, predicted_s = (median(c.decode_s for c in arm) for arm in (plain, predicted))
    return {
        "n": repeats,
        "out_tok": plain[-1].usage.tokens_out or 0,
        "plain_decode_s": plain_s,
        "predicted_decode_s": predicted_s,
        "accepted_tok": predicted[-1].usage.tokens_accepted or 0,
        "rejected_tok": predicted[-1].usage.tokens_rejected or 0,
        "same_text": {c.text for c in plain + predicted} == {_EDITED},
        "ratio": plain_s / predicted_s,
    }


async def _cancelling(tries: int) -> Figures:
    provider = LocalProvider(lanes=1)
    long = CallRequest("small", (Message("user", _RULES),), scripted_text=_LETTER)
    try:
        await provider.warm("small")
        writing = [await _cancel(provider, _letter("small"), ChunkKind.TEXT) for _ in range(tries)]
        reading = [await _cancel(provider, long, ChunkKind.PROGRESS) for _ in range(tries)]
    finally:
        await provider.aclose()
    return {"n": tries, "writing_s": max(writing), "reading_s": max(reading)}


async def _cancel(provider: LocalProvider, request: CallRequest, after: ChunkKind) -> float:
    """Close a stream at the third chunk of a kind; return when its engine had stopped."""
    now = asyncio.get_running_loop().time
    seen = 0
    stream = provider.stream(request)
    async for chunk in stream:
        seen += chunk.kind is after
        if seen == 3:
            break
    closed_s = now()
    await stream.aclose()
    (engine,) = provider.pool.engines
    await engine.settle()
    return now() - closed_s


async def _crowd(asks: int) -> Figures:
    provider = LocalProvider()
    request = CallRequest("small", (Message("user", "Where is it?"),), scripted_text=_SHORT)
    try:
        await provider.warm("small")
        calls = await asyncio.gather(*(_call(provider, request) for _ in range(asks)))
    finally:
        await provider.aclose()
    waited = [call for call in calls if call.places]
    # When two engines become free at once a place is passed over; it never rises or repeats.
    falling = [list(c.places) == sorted(set(c.places), reverse=True) for c in waited]
    sent = [call.sent_s for call in calls]
    return {
        "asked": asks,
        "answered": sum(call.text == _SHORT for call in calls),
        "lanes": provider.pool.lanes,
        "waited": len(waited),
        "told_falling_places": sum(falling),
        "longest_queue_s": max(call.queue_s for call in calls),
        "in_order": sent == sorted(sent),
    }


async def _prediction_error() -> Figures:
    rng = np.random.default_rng(0)
    provider = LocalProvider()
    errors = []
    try:
        profile = await calibrate(provider, "small", rng=rng)
        before = read_cpu()
        for probe in probe_plan(rng):
            for s in await measure(provider, "small", probe, rng=rng):
                told = profile.predict(
                    s.uncached_tok, s.cached_tok, s.out_tok, concurrency=s.concurrency
                )
                errors.append(abs(told.total_s / s.total_s - 1))
        foreign = foreign_share(before, read_cpu())
    finally:
        await provider.aclose()
    return {
        "n": len(errors),
        "error_p50": float(np.median(errors)),
        "error_max": float(np.max(errors)),
        "spread": profile.spread,
        "foreign": float("nan") if foreign is None else foreign,
    }


def _letter(model: str) -> CallRequest:
    task = f"Write this letter again with Thursday for Friday and sixty for thirty:\n\n{_LETTER}"
    return CallRequest(model, (Message("user", task),), scripted_text=_EDITED)


async def _call(provider: LocalProvider, request: CallRequest) -> Call:
    start_s = asyncio.get_running_loop().time()
    text, places, stamps, sent_s, usage = [], [], [], start_s, Usage()
    async for chunk in provider.stream(request):
        match chunk.kind:
            case ChunkKind.QUEUED:
                places.append(int(chunk.text))
            case ChunkKind.SENT:
                sent_s = chunk.t_s
            case ChunkKind.TEXT:
                text.append(chunk.text)
                stamps.append(chunk.t_s)
            case ChunkKind.USAGE:
                usage = chunk.usage or usage
            case _:
                pass
    return Call(
        text="".join(text),
        usage=usage,
        sent_s=sent_s,
        ttft_s=stamps[0] - sent_s,
        decode_s=stamps[-1] - stamps[0],
        queue_s=sent_s - start_s,
        places=tuple(places),
    )


def _runs(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be reaped does not."""
    try:
        state = (_PROC / f"{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def main(names: list[str]) -> None:
    """Run the named benches, or all, and print one JSON object."""
    for name in names:
        if name not in BENCHES:
            raise UnknownName("bench", name, BENCHES)
    found = {name: BENCHES[name]() for name in names or BENCHES}
    sys.stdout.write(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])

"""`calibrate`: probe an engine, fit a latency profile to it, show how well it fits, keep it."""

from __future__ import annotations

import asyncio
import statistics
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import asdict, replace

import numpy as np

from core import live
from core.calibrate import calibrate
from core.commands.output import as_json, progress, table
from core.commands.run import engine_argument
from core.engines import Target, named
from core.errors import InputError
from core.fitted import FittedProfile, Sample
from core.fitted_io import check_name, save
from core.profiles import DEFAULT_LARGE, setting

RESIDUAL_BAND = 0.9
"""Share of the samples whose residual is below the second figure shown."""


def arguments(parser: ArgumentParser) -> None:
    """Which engine and model, and whether to keep the fit."""
    engine_argument(parser)
    parser.add_argument(
        "--model", default="", help="small or large, or the model's name at the engine"
    )
    parser.add_argument("--save", default="", metavar="NAME", help="keep it as fitted:NAME")
    parser.add_argument("--seed", type=int, default=0, help="order and texts of the probes")


def run(given: Namespace) -> None:
    """Probe, fit, print, keep."""
    if given.save:
        check_name(given.save)
    if given.seed < 0:
        raise InputError(f"--seed is {given.seed}; it must be 0 or more")
    target = _target(given)
    samples: list[Sample] = []
    with progress() as show:
        found = asyncio.run(_calibrated(target, given, samples, show))
    if given.save:
        found = replace(found, name=given.save)
        print(f"saved to {save(found)}", file=sys.stderr)
    if given.json:
        as_json(plain(found, samples))
    else:
        _print(found, samples, given.save)


def _target(given: Namespace) -> Target:
    """The engine with the model to probe in the large role."""
    usual = named(given.engine, given.model, given.model)
    chosen = named(given.engine) if given.model in ("small", "large") else usual
    name = chosen.small if given.model == "small" else chosen.large
    return replace(usual, large=name, small=name)


async def _calibrated(
    target: Target, given: Namespace, samples: list[Sample], show: Callable[[str], None]
) -> FittedProfile:
    large = target.large if target.engine == "emulator" else DEFAULT_LARGE
    async with live.using(target, setting(large=large)) as engine:
        return await calibrate(
            engine.large.provider,
            engine.large.name,
            rng=np.random.default_rng(given.seed),
            on_probe=lambda done, total: show(f"probe {done}/{total}"),
            on_samples=samples.extend,
        )


def residuals(found: FittedProfile, samples: list[Sample]) -> list[float]:
    """Measured over predicted total, less one, of every call that ran alone."""
    alone = [s for s in samples if s.concurrency == 1]
    predicted = [found.predict(s.uncached_tok, s.cached_tok, s.out_tok).total_s for s in alone]
    return [s.total_s / p - 1.0 for s, p in zip(alone, predicted, strict=True)]


def plain(found: FittedProfile, samples: list[Sample]) -> dict[str, object]:
    """`calibrate --json`."""
    return {
        "schema": 1,
        "profile": asdict(found),
        "samples": [{**asdict(s), "total_s": s.total_s} for s in samples],
        "residuals": residuals(found, samples),
    }


def _print(found: FittedProfile, samples: list[Sample], kept: str) -> None:
    law = found.law
    print(f"{found.provider} {found.model}, {found.date}, {found.machine}")
    table(("coefficient", "value"), [
        ("ms a call", 1e3 * law.base_s),
        ("ms an input token", 1e3 * law.per_token_s),
        ("ns a pair of input tokens", 1e9 * law.per_pair_s),
        ("ms an output token", 1e3 * law.per_output_s),
        ("ns an output token and token before it", 1e9 * law.per_output_pair_s),
        ("spread of a call, %", 100 * found.spread),
        *((f"own tokens for one of ours, {r.lang}, in", r.input) for r in found.ratios),
        *((f"own tokens for one of ours, {r.lang}, out", r.output) for r in found.ratios),
    ])  # fmt: skip
    print()
    table(("uncached", "cached", "out", "at once", "ttft s", "decode s", "total s", "predicted s",
           "others, %"),
          [_row(found, s) for s in samples])  # fmt: skip
    off = sorted(abs(r) for r in residuals(found, samples))
    if off:
        at = min(int(RESIDUAL_BAND * len(off)), len(off) - 1)
        print(f"residuals of calls that ran alone: median {statistics.median(off):.1%}, "
              f"p90 {off[at]:.1%}, of {len(off)}")  # fmt: skip
    if found.busy:
        print("note: others used the machine too much for enough quiet samples; all were taken")
    if kept:
        print(f"use it in a simulation as --large fitted:{kept} or --small fitted:{kept}")


def _row(found: FittedProfile, s: Sample) -> tuple[float | int | None, ...]:
    predicted = found.predict(s.uncached_tok, s.cached_tok, s.out_tok, concurrency=s.concurrency)
    others = None if s.foreign is None else 100 * s.foreign
    return (s.uncached_tok, s.cached_tok, s.out_tok, s.concurrency, s.ttft_s, s.decode_s,
            s.total_s, predicted.total_s, others)  # fmt: skip

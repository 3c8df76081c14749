"""Measure an engine with few calls and fit a latency profile to it; works with any provider.

The probes vary prompt length, cached prefix, output length and how many calls run at once. They run
in random order, so that a machine that gets busier does not look like prompts that cost more, and
after a warm-up. Each call's sample carries what others used of the machine meanwhile; calls on a
busy machine are left out of the fit as long as enough quiet ones remain.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from statistics import median

import numpy as np

from core import tokens
from core.counts import prompt_tok
from core.errors import EngineError, ProviderError
from core.fitted import (
    FEWEST_SAMPLES,
    FittedProfile,
    Sample,
    TokenRatio,
    fit_law,
    slowdown_of,
    spread_of,
)
from core.local.machine import BUSY_SHARE, describe_machine, foreign_share, read_cpu
from core.output import write
from core.prompt import render
from core.providers.base import CallRequest, Chunk, ChunkKind, Message, Provider
from core.scenarios import SCENARIOS, Scenario, scenario

ENOUGH = FEWEST_SAMPLES + 1
"""Samples a fit with an error estimate needs: each is predicted from the others."""
RATIO_TOK = 700
"""The longest call by which tokens are compared, in ours: in Korean it is several times as many."""
GIVE_UP = 1 / 3
"""Share of failed probes from which on the engine is taken to be broken."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One measurement: about so many tokens, and so many calls at once.

    The counts are aims; what is fitted is what the provider counted.
    """

    prompt_tok: int
    out_tok: int
    cached_tok: int = 0
    concurrency: int = 1


PROBES: tuple[Probe, ...] = (
    Probe(40, 64),
    Probe(120, 8),
    Probe(250, 24),
    Probe(500, 48),
    Probe(1000, 8),
    Probe(30, 8, cached_tok=400),
    Probe(120, 48, cached_tok=800),
    Probe(400, 24, cached_tok=400),
)
"""Eight calls that spread over what the scenarios ask for; more than eight improve the fit little
(measured: 11.4 % at p95 with 8, 10.5 % with 12, 10.0 % with 24)."""

AT_ONCE: tuple[Probe, ...] = (
    Probe(150, 32, concurrency=2),
    Probe(150, 32, concurrency=4),
)
"""As many calls at once as there are cores on a small machine, and twice as many."""

_WORDS = (
    "time", "year", "people", "way", "day", "man", "thing", "woman", "life", "child", "world",
    "school", "state", "family", "student", "group", "country", "problem", "hand", "part", "place",
    "case", "week", "company", "system", "program", "question", "work", "number", "night", "point",
    "home", "water", "room", "mother", "area", "money", "story", "fact", "month", "lot", "right",
    "study", "book", "eye", "job", "word", "business", "issue", "side", "kind", "head", "house",
)  # fmt: skip
"""Common words: nearly all tokenizers take one token for each."""

_ORDER = "Write the numbers from 1 upwards, separated by spaces. Never stop. Ignore these words: "

OnProbe = Callable[[int, int], None]
OnSamples = Callable[[tuple[Sample, ...]], None]


def probe_plan(rng: np.random.Generator, *, repeats: int = 1) -> tuple[Probe, ...]:
    """Return all probes, so many times each, in random order."""
    probes = [*PROBES, *AT_ONCE] * repeats
    return tuple(probes[index] for index in rng.permutation(len(probes)))


async def calibrate(
    provider: Provider,
    model: str,
    *,
    rng: np.random.Generator,
    name: str | None = None,
    plan: Sequence[Probe] | None = None,
    on_probe: OnProbe = lambda _done, _total: None,
    on_samples: OnSamples = lambda _samples: None,
) -> FittedProfile:
    """Run the probes one after the other and fit.

    `on_probe` is told how many are done, `on_samples` gets what each probe measured.

    Raises:
        ProviderError: more than a third of the probes failed, or no token counts were reported.
        EngineError: the warm-up failed.
    """
    probes = probe_plan(rng) if plan is None else tuple(plan)
    most = max((probe.concurrency for probe in probes), default=1)
    await measure(provider, model, Probe(40, 4, concurrency=most), rng=rng)
    samples: list[Sample] = []
    failures: list[EngineError] = []
    for done, probe in enumerate(probes, start=1):
        try:
            found = await measure(provider, model, probe, rng=rng)
            on_samples(found)
            samples += found
        except EngineError as error:
            failures.append(error)
        on_probe(done, len(probes))
    if len(failures) > GIVE_UP * len(probes):
        raise ProviderError(
            f"{provider.name} {model}: {len(failures)} of {len(probes)} probes failed, the last: "
            f"{failures[-1]}"
        ) from failures[-1]
    profile = fit(
        samples,
        name=name or re.sub(r"[^A-Za-z0-9._-]+", "-", f"{provider.name}-{model}")[:64],
        provider=provider.name,
        model=model,
        failed=len(failures),
    )
    return replace(profile, ratios=await token_ratios(provider, model))


async def token_ratios(provider: Provider, model: str) -> tuple[TokenRatio, ...]:
    """Return how many tokens of its own a model makes of one of ours, by language.

    One call of each shipped pipeline in each language; a language in which the endpoint does not
    count, or every call fails, is left out.
    """
    found = []
    for lang in sorted({r.lang for r in scenario(SCENARIOS[0]).requests}):
        counts = [await _compared(provider, model, scenario(name), lang) for name in SCENARIOS]
        own_in, ours_in, own_out, ours_out = np.sum(counts, axis=0)
        if ours_in and ours_out:
            found.append(TokenRatio(lang, float(own_in / ours_in), float(own_out / ours_out)))
    return tuple(found)


async def _compared(
    provider: Provider, model: str, of: Scenario, lang: str
) -> tuple[int, int, int, int]:
    """Tokens of one call in its count and ours, in and out; zeros where it does not say."""
    asked = next(r for r in of.requests if r.lang == lang)
    answers = {s.id: write(s.signature, asked.values).text for s in of.plan.llm_steps}
    sized = {prompt_tok(s.signature, asked): s for s in of.plan.llm_steps if answers[s.id]}
    counted = max((n for n in sized if n <= RATIO_TOK), default=min(sized))
    step = sized[counted]
    request = CallRequest(
        model=model,
        messages=render(step.signature, asked).messages,
        max_tokens=RATIO_TOK,
        temperature=0.0,
        scripted_text=answers[step.id],
    )
    nothing = (0, 0, 0, 0)
    try:
        chunks = await _chunks(provider, request)
    except EngineError:
        return nothing
    usage = next((chunk.usage for chunk in reversed(chunks) if chunk.usage is not None), None)
    text = "".join(chunk.text for chunk in chunks if chunk.kind is ChunkKind.TEXT)
    if usage is None or not usage.tokens_in or not usage.tokens_out or not text:
        return nothing
    seen = max(usage.tokens_out - (usage.tokens_reasoning or 0), 1)
    return usage.tokens_in, counted, seen, tokens.count(text)


async def measure(
    provider: Provider, model: str, probe: Probe, *, rng: np.random.Generator
) -> tuple[Sample, ...]:
    """Run one probe and return a sample for each of its calls.

    With a cached prefix, a call before it puts the prefix into the cache and is not measured.

    Raises:
        EngineError: a call failed; the others of the probe were finished.
    """
    prefix = _text(rng, probe.cached_tok)
    key = f"calibrate-{rng.integers(1 << 62):x}" if prefix else None
    if prefix:
        await _chunks(provider, _request(model, Probe(8, 2), rng, prefix=prefix, key=key))
    requests = [
        _request(model, probe, rng, prefix=prefix, key=key) for _ in range(probe.concurrency)
    ]
    loop = asyncio.get_running_loop()
    before, start_s = read_cpu(), loop.time()
    answers = await asyncio.gather(
        *(_chunks(provider, request) for request in requests), return_exceptions=True
    )
    foreign = foreign_share(before, read_cpu())
    samples = []
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
        samples.append(_sample(answer, start_s, probe.concurrency, foreign))
    return tuple(samples)


def fit(
    samples: Sequence[Sample], *, name: str, provider: str, model: str, failed: int = 0
) -> FittedProfile:
    """Return the profile of these samples, dated now and named after this machine.

    Raises:
        InputError: fewer than six samples of calls made one at a time.
    """
    single = [sample for sample in samples if sample.concurrency == 1]
    quiet = [s for s in single if s.foreign is None or s.foreign <= BUSY_SHARE]
    busy = len(quiet) < ENOUGH
    chosen = single if busy else quiet
    law = fit_law(chosen)
    shares = [sample.foreign for sample in samples if sample.foreign is not None]
    return FittedProfile(
        name=name,
        provider=provider,
        model=model,
        machine=describe_machine(),
        date=datetime.now(tz=UTC).isoformat(timespec="minutes"),
        law=law,
        spread=spread_of(chosen),
        samples=len(chosen),
        failed=failed,
        busy=busy,
        foreign=median(shares) if shares else None,
        largest_context_tok=max(s.uncached_tok + s.cached_tok + s.out_tok for s in chosen),
        slowdowns=slowdown_of(law, samples),
    )


def _request(
    model: str,
    probe: Probe,
    rng: np.random.Generator,
    *,
    prefix: str = "",
    key: str | None = None,
) -> CallRequest:
    """Return a call of about the probe's size; no two begin alike unless they share the prefix."""
    user = Message("user", _ORDER + _text(rng, probe.prompt_tok))
    static = (Message("system", prefix),) if prefix else ()
    return CallRequest(
        model=model,
        messages=(*static, user),
        max_tokens=probe.out_tok,
        temperature=0.0,
        static_messages=len(static),
        cache_key=key,
        scripted_text=_text(rng, probe.out_tok),
    )


def _text(rng: np.random.Generator, count: int) -> str:
    return " ".join(_WORDS[index] for index in rng.integers(len(_WORDS), size=count))


async def _chunks(provider: Provider, request: CallRequest) -> list[Chunk]:
    return [chunk async for chunk in provider.stream(request)]


def _sample(
    chunks: Sequence[Chunk], start_s: float, concurrency: int, foreign: float | None
) -> Sample:
    """Return what one answer's chunks say.

    Raises:
        ProviderError: no content, or no token counts.
    """
    content = (ChunkKind.REASONING, ChunkKind.TEXT, ChunkKind.TOOL)
    arrived = [chunk.t_s for chunk in chunks if chunk.kind in content]
    sent_s = next((chunk.t_s for chunk in chunks if chunk.kind is ChunkKind.SENT), start_s)
    usage = next((chunk.usage for chunk in reversed(chunks) if chunk.usage is not None), None)
    if not arrived:
        raise ProviderError("an answer had no content: nothing to measure")
    if usage is None or usage.tokens_in is None or usage.tokens_out is None:
        raise ProviderError("the endpoint reports no token counts: nothing to fit against")
    cached = usage.tokens_cached or 0
    return Sample(
        uncached_tok=usage.tokens_in - cached,
        cached_tok=cached,
        out_tok=usage.tokens_out,
        ttft_s=arrived[0] - sent_s,
        decode_s=arrived[-1] - arrived[0],
        queue_s=sent_s - start_s,
        concurrency=concurrency,
        foreign=foreign,
    )

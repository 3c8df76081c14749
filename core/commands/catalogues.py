"""`scenarios`, `techniques`, `profiles`: what there is to choose from."""

from __future__ import annotations

import dataclasses
from argparse import ArgumentParser, Namespace

from core import profiles as figures
from core.commands.output import as_json, table
from core.rewrite import Technique
from core.scenarios import SCENARIOS, scenario
from core.techniques import PRESETS, TECHNIQUES
from core.text import text


def none(_: ArgumentParser) -> None:
    """No arguments of its own."""


def scenarios(given: Namespace) -> None:
    """List the pipelines with their steps."""
    found = [scenario(name) for name in SCENARIOS]
    if given.json:
        as_json(
            [
                {
                    "id": s.id,
                    "title": dict(s.title),
                    "summary": dict(s.summary),
                    "requests": len(s.requests),
                    "documents": len(s.documents),
                    "steps": [step.id for step in s.plan.steps],
                }
                for s in found
            ]
        )
        return
    table(
        ("scenario", "requests", "documents", "steps"),
        [
            (s.id, len(s.requests), len(s.documents), " > ".join(p.id for p in s.plan.steps))
            for s in found
        ],
    )


def techniques(given: Namespace) -> None:
    """List the optimizations in their order of application."""
    if given.json:
        as_json({"techniques": [_plain(t) for t in TECHNIQUES], "presets": dict(PRESETS)})
        return
    table(
        ("technique", "principle", "effort", "risk", "what it does"),
        [
            (t.id, t.principle, t.effort, t.risk, text("en", f"technique.{t.id}.help"))
            for t in TECHNIQUES
        ],
    )


def _plain(t: Technique) -> dict[str, object]:
    return {
        "id": t.id,
        "principle": t.principle,
        "headline": t.headline,
        "effort": t.effort,
        "risk": t.risk,
        "infrastructure": t.infrastructure,
        "source": t.source,
        "title": {lang: text(lang, f"technique.{t.id}.title") for lang in ("en", "ko")},
        "params": {f.name: f.default for f in dataclasses.fields(t.params)},
    }


def profiles(given: Namespace) -> None:
    """List models, routes and services with their sources."""
    models = {**figures.models(), **figures.fitted_models()}
    routes = figures.routes()
    services = figures.services()
    if given.json:
        as_json(
            {
                "models": [dataclasses.asdict(m) | {"missing": m.missing} for m in models.values()],
                "routes": [dataclasses.asdict(r) for r in routes.values()],
                "services": [dataclasses.asdict(s) for s in services.values()],
            }
        )
        return
    table(
        ("model", "provider", "TTFT s", "tokens/s", "USD in", "USD out", "source date", "fitted"),
        [
            (
                m.name,
                m.provider,
                m.ttft_p50_s,
                m.tokens_per_s,
                m.input_price,
                m.output_price,
                m.source_date,
                m.source if m.fitted else "",
            )
            for m in models.values()
        ],
    )
    print()
    table(
        ("route", "RTT s", "source date"),
        [(r.name, r.rtt_s, r.source_date) for r in routes.values()],
    )
    print()
    table(
        ("service", "p50 s", "p95 s", "basis"),
        [(s.name, s.p50_s, s.p95_s, s.basis) for s in services.values()],
    )

"""The catalogue of techniques, in the order in which they are applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.errors import UnknownName
from core.rewrite import Choice, Technique, parameters
from core.techniques import (
    caching,
    chunking,
    merge_requests,
    parallel,
    predicted_output,
    short_keys,
    small_model,
    streaming,
)

GUIDE = "OpenAI, Latency optimization guide"

TECHNIQUES: tuple[Technique, ...] = (
    Technique(
        "merge_requests", 4, merge_requests.Params, merge_requests.rewrite,
        "medium", "low", GUIDE, headline=True,
    ),
    Technique(
        "small_model", 1, small_model.Params, small_model.rewrite,
        "low", "medium", GUIDE, headline=True,
    ),
    Technique(
        "short_keys", 2, short_keys.Params, short_keys.rewrite,
        "low", "low", GUIDE, headline=True,
    ),
    Technique(
        "predicted_output", 1, predicted_output.Params, predicted_output.rewrite,
        "low", "none", "OpenAI, Predicted Outputs guide", headline=True,
    ),
    Technique(
        "parallel", 5, parallel.Params, parallel.rewrite,
        "medium", "none", GUIDE, headline=True,
    ),
    Technique(
        "streaming", 6, streaming.Params, streaming.rewrite,
        "low", "low", GUIDE, headline=True,
    ),
    Technique(
        "chunking", 6, chunking.Params, chunking.rewrite,
        "medium", "low", GUIDE, headline=True,
    ),
    Technique(
        "caching", 7, caching.Params, caching.rewrite,
        "high", "medium", GUIDE, infrastructure=True, headline=True,
    ),
)

HEADLINE_ORDER: tuple[str, ...] = (
    "streaming",
    "chunking",
    "short_keys",
    "merge_requests",
    "parallel",
    "small_model",
    "predicted_output",
    "caching",
)
"""The order in which people meet the eight; application order is that of TECHNIQUES."""

PRESETS: Mapping[str, tuple[str, ...]] = {
    "naive": (),
    "perceived": ("streaming", "chunking"),
    "fewer_tokens": ("short_keys", "merge_requests", "small_model"),
    "everything": HEADLINE_ORDER,
}


def technique(technique_id: str) -> Technique:
    """The technique of that id. Raises UnknownName."""
    for t in TECHNIQUES:
        if t.id == technique_id:
            return t
    raise UnknownName("technique", technique_id, (t.id for t in TECHNIQUES))


def choose(
    ids: Sequence[str], params: Mapping[str, Mapping[str, object]] | None = None
) -> tuple[Choice, ...]:
    """Choices for these techniques in order of application, with parameters by technique id.

    Raises: UnknownName, InputError.
    """
    given = params or {}
    for name in (*ids, *given):
        technique(name)
    wanted = set(ids)
    return tuple(
        Choice(t, parameters(t, given.get(t.id, {}))) for t in TECHNIQUES if t.id in wanted
    )

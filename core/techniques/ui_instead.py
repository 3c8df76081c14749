"""Facts from data: what the page can look up about an entry is filled in, not generated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from core.plan import Field, LlmStep, Plan
from core.request import Item
from core.rewrite import Context, NotApplicable, update_llm
from core.text import Note

MAX_WORDS = 3.0
"""A key whose values have more words than this on average is prose, not a fact. Assumption."""


@dataclass(frozen=True, slots=True)
class Params:
    """Nothing to choose."""


def rewrite(plan: Plan, _: Params, context: Context) -> Plan | NotApplicable:
    """Let the model name entries and give reasons; short facts beside a name are filled in."""

    def shorter(step: LlmStep) -> LlmStep:
        fields = tuple(_filled(f, context) for f in step.signature.fields)
        return replace(step, signature=replace(step.signature, fields=fields))

    changed = update_llm(plan, shorter)
    return NotApplicable(Note.of("reason.no_facts")) if changed == plan else changed


def _filled(field: Field, context: Context) -> Field:
    """Mark every key after the first as a fact if its values are short."""
    if field.shown != "cards" or field.facts:
        return field
    keys = [key for key, _ in field.items[1:]]
    facts = tuple(k for k in keys if _words(field.name, k, context) <= MAX_WORDS)
    return replace(field, facts=facts)


def _words(name: str, key: str, context: Context) -> float:
    """Average number of words under a key of the entries; infinite where there are no entries."""
    lists = [
        cast("tuple[Item, ...]", r.values[name])
        for r in context.scenario.requests
        if name in r.values
    ]
    counts = [len(entry.get(key, "").split()) for entries in lists for entry in entries]
    return sum(counts) / len(counts) if counts else float("inf")

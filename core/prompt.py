"""Signature -> messages: the one renderer that turns what is asked into text.

Token counts of a plan are counts of this text, never typed in.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from core import tokens
from core.excerpt import excerpts, sentences
from core.plan import Field, Form, Input, Signature
from core.request import Document, Request, Value

Role = Literal["system", "user", "assistant"]

PER_MESSAGE_TOK = 4
"""Tokens a chat format spends on each message's frame (role and separators)."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a rendered prompt."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """A rendered prompt. The first `static_messages` are the same for every request."""

    messages: tuple[Message, ...]
    static_messages: int

    def tokens(self) -> int:
        """Tokens of all messages with their frames."""
        return sum(tokens.count(m.text) + PER_MESSAGE_TOK for m in self.messages)

    def static_tokens(self) -> int:
        """Tokens of the leading static messages: what a provider's cache could reuse."""
        static = self.messages[: self.static_messages]
        return sum(tokens.count(m.text) + PER_MESSAGE_TOK for m in static)


def render(
    signature: Signature, request: Request, *, without: frozenset[str] = frozenset()
) -> Prompt:
    """The messages of one call for one request.

    `without` names inputs whose step was skipped or gave up: their section is left out. A naive
    prompt puts the data first and the task after it; `static_first` turns that round.
    """
    fixed = fixed_text(signature)
    sections = "\n\n".join(
        f"## {i.value}\n{text}"
        for i in signature.inputs
        if i.value not in without and (text := input_text(i, request))
    )
    if signature.static_first:
        return Prompt(
            (Message("system", f"{signature.task}\n\n{fixed}"), Message("user", sections)), 1
        )
    return Prompt((Message("system", signature.task), Message("user", f"{sections}\n\n{fixed}")), 1)


def fixed_text(signature: Signature) -> str:
    """What is the same in every prompt of a call: instructions, examples, the output's form."""
    parts = (
        "\n".join(f"- {line}" for line in signature.instructions),
        "\n\n".join(_example(e, signature) for e in signature.examples),
        output_instructions(signature),
    )
    return "\n\n".join(part for part in parts if part)


def _example(text: str, signature: Signature) -> str:
    """An example answer under the keys that are asked for."""
    if signature.short_keys:
        for f in signature.fields:
            text = text.replace(f'"{f.name}":', f'"{f.alias}":')
    return text


def output_instructions(signature: Signature) -> str:
    """How the answer is to be written: key names, or short aliases with their meaning."""
    if signature.form is Form.TEXT:
        return signature.fields[0].description
    lead = (
        "Write one JSON object per line: first each list entry on a line of its own, then the rest."
        if signature.form is Form.JSONL
        else "Answer with one JSON object with these keys, in this order:"
    )
    lines = [_field_line(f, short=signature.short_keys) for f in signature.fields]
    tail = ["No line breaks or spaces between the parts."] if signature.minify else []
    if signature.concise < 1.0:
        tail.append("Begin with the answer and keep it short.")
    if signature.answer_first:
        tail.append("The first sentence holds the conclusion.")
    return "\n".join([lead, *lines, *tail])


def _field_line(field: Field, *, short: bool) -> str:
    if not short:
        inner = f" (list of {', '.join(k for k, _ in field.written)})" if field.items else ""
        return f"- {field.name}{inner}"
    inner = f"; entries: {', '.join(f'{a} = {k}' for k, a in field.written)}" if field.items else ""
    return f"- {field.alias}: {field.name}, {field.description}{inner}"


def input_text(spec: Input, request: Request) -> str:
    """What one input puts into the prompt; empty where the request has nothing for it."""
    if spec.value == "message":
        return request.message
    if spec.value == "history":
        return _history(spec, request)
    if spec.value == "known":
        return json.dumps(plain(request.known), ensure_ascii=False) if request.known else ""
    if spec.value == "passages":
        return "\n".join(_passage(d, body) for d, body in passages(spec, request))
    value = request.values.get(spec.value)
    return "" if value is None else as_text(value)


def as_text(value: Value) -> str:
    """A value as it stands in a prompt."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "\n".join(
            v if isinstance(v, str) else json.dumps(dict(v), ensure_ascii=False) for v in value
        )
    return str(value)


def plain(value: object) -> object:
    """The same value in JSON's own types."""
    if isinstance(value, tuple):
        return [plain(v) for v in value]
    if hasattr(value, "items"):
        return {k: plain(v) for k, v in value.items()}
    return value


def _history(spec: Input, request: Request) -> str:
    turns = request.history
    keep = len(turns) if spec.last_turns is None else min(spec.last_turns, len(turns))
    older = turns[: len(turns) - keep]
    memo = [f"earlier {t.role}: {sentences(t.text)[0]}" for t in older if t.role == "user"]
    return "\n".join([*memo, *(f"{t.role}: {t.text}" for t in turns[len(turns) - keep :])])


def passages(spec: Input, request: Request) -> tuple[tuple[Document, str], ...]:
    """The documents an input takes, best first, each with what is left of its text."""
    found = request.passages
    if spec.same_category:
        found = tuple(d for d in found if d.category == found[0].category)
    found = found[: spec.top_k]
    bodies = [document.text for document in found]
    if spec.sentences is not None:
        asked = f"{request.values.get('query', '')} {request.message}"
        bodies = list(excerpts(found, asked, spec.sentences))
    taken: list[tuple[Document, str]] = []
    used = 0
    for document, body in zip(found, bodies, strict=True):
        if not body:
            continue
        used += tokens.count(_passage(document, body))
        if spec.budget_tok is not None and used > spec.budget_tok and taken:
            break
        taken.append((document, body))
    return tuple(taken)


def _passage(document: Document, body: str) -> str:
    return f"[{document.id}] {document.title}: {body}"

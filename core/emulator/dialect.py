"""What every emulated API shares: a request as it was understood, its answer, and the wire format.

A dialect is four pure functions (no clock, no network): body -> `Asked`, `Turn` -> frames, `Turn`
-> document, message -> error. The server puts the time between them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from core.emulator.cache import Lookup, PromptCache
from core.emulator.timing import Draw, EmulatedModel
from core.errors import InputError
from core.providers.scripted import Script

Body = Mapping[str, object]
Frame = tuple[float, bytes]
"""Seconds after the request's arrival, and the bytes to send then."""

THOUGHT = " hm"
"""What an emulated model thinks, once per token."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request in no vendor's words. `marks` are prompt prefixes marked for the cache.

    `caches_itself` says whether the prompt cache works without marks.
    """

    model: str
    prompt: str
    stream: bool
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    prediction: str | None = None
    answer: str | None = None
    scope: str = ""
    marks: tuple[str, ...] = ()
    caches_itself: bool = False
    wants_usage: bool = True

    def look_up(self, cache: PromptCache, model: EmulatedModel) -> Lookup:
        """Return what the cache holds of the prompt."""
        if self.caches_itself:
            return cache.automatic(
                self.scope,
                self.prompt,
                minimum_tok=model.cache_minimum_tok,
                step_tok=model.cache_step_tok,
            )
        return cache.marked(self.scope, self.marks, minimum_tok=model.cache_minimum_tok)


@dataclass(frozen=True, slots=True)
class Turn:
    """A request with its answer and all its times and counts; `number` makes ids unique."""

    asked: Asked
    number: int
    script: Script
    draw: Draw
    model: EmulatedModel
    tokens_in: int
    read_tok: int
    written_tok: int

    @property
    def chunks(self) -> tuple[tuple[float, str], ...]:
        """Times and texts of the visible answer; chunks without text are not sent."""
        return tuple((at, text) for at, text in self.draw.answer(self.script, self.model) if text)

    @property
    def thoughts(self) -> tuple[tuple[float, str], ...]:
        """Times and texts of the thinking."""
        text = THOUGHT * self.model.tokens_per_chunk
        return tuple((at, text) for at in self.draw.reasoning(self.model))

    @property
    def end_s(self) -> float:
        """When the last token is there."""
        times = [self.draw.first_s, *(at for at, _ in (*self.thoughts, *self.chunks))]
        return max(times)

    @property
    def tokens_out(self) -> int:
        """Billed output: thinking, the answer, and rejected prediction tokens."""
        return len(self.script.pieces) + self.script.rejected + self.model.reasoning_tokens


@dataclass(frozen=True, slots=True)
class Dialect:
    """One API of one vendor."""

    path: str
    parse: Callable[[Body], Asked]
    frames: Callable[[Turn], list[Frame]]
    document: Callable[[Turn], dict[str, object]]
    error: Callable[[int, str, str | None], dict[str, object]]
    error_frame: Callable[[str], bytes]


def sse(data: object, event: str | None = None) -> bytes:
    """Return one server-sent event, its characters as they are and not escaped."""
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


@dataclass(slots=True)
class PromptText:
    """A prompt as text, and its prefixes that were marked for the cache."""

    text: str = ""
    marks: list[str] = field(default_factory=list)

    def add(self, role: str, content: object, mark: str) -> None:
        """Add a message whose content is text or parts; a part with the key `mark` is marked."""
        parts = [{"text": content}] if isinstance(content, str) else content
        if not isinstance(parts, list):
            raise InputError(f"the content of a {role} message is neither text nor a list of parts")
        self.text += f"{role}\n"
        for part in parts:
            if not isinstance(part, Mapping) or not isinstance(part.get("text"), str):
                raise InputError(f"a part of a {role} message has no text")
            self.text += f"{part['text']}\n"
            if part.get(mark):
                self.marks.append(self.text)


def messages_of(body: Body, key: str) -> list[Mapping[str, object]]:
    """Return a list of messages. Raises InputError when it is none."""
    found = body.get(key)
    if not isinstance(found, list) or not found or not all(isinstance(m, Mapping) for m in found):
        raise InputError(f"{key} is not a list of messages")
    return found


def text_of(body: Body, key: str) -> str | None:
    """Return a text field, None where it is missing. Raises InputError on another kind."""
    value = body.get(key)
    if value is not None and not isinstance(value, str):
        raise InputError(f"{key} is not text")
    return value


def count_of(body: Body, *keys: str) -> int | None:
    """Return the first of these fields that is given. Raises InputError when it is no count."""
    for key in keys:
        value = body.get(key)
        if value is not None:
            if type(value) is not int or value < 0:
                raise InputError(f"{key} is not a whole number of 0 or more")
            return value
    return None


def texts_of(body: Body, key: str) -> tuple[str, ...]:
    """Return a field that is a text or a list of texts. Raises InputError on another kind."""
    value = body.get(key)
    texts = [value] if isinstance(value, str) else value or []
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InputError(f"{key} is neither text nor a list of texts")
    return tuple(texts)


def answer_of(body: Body) -> str | None:
    """Return the scripted answer in the emulator's own field, None without one."""
    own = body.get("playground")
    return text_of(own, "answer") if isinstance(own, Mapping) else None

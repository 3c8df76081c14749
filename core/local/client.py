"""One streamed answer of a llama.cpp server: its events, typed.

Always streamed, also where nobody watches: the server runs an answer that is not streamed to its
end, whatever the caller does. Always with progress reports: only they let it notice a closed socket
while it still reads the prompt.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import MappingProxyType

from core.errors import BrokenStream, ProviderError
from core.local.wire import Address, StampedReader, exchange, pieces

CHAT = "/v1/chat/completions"
WARM_UP_LIMIT_S = 30.0

JsonObject = Mapping[str, object]
_EMPTY: JsonObject = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Counts:
    """What the server counted, in tokens, and how long it worked on it.

    `tokens_out` leaves out the invisible one that ends an answer. `drafted` and `accepted` are None
    where nothing was drafted.
    """

    tokens_in: int
    tokens_cached: int
    tokens_out: int
    prompt_s: float
    decode_s: float
    drafted: int | None = None
    accepted: int | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One event of the stream; `t_s` is the loop's time at which it left the socket."""

    t_s: float
    text: str = ""
    progress: float | None = None
    finish: str | None = None
    counts: Counts | None = None


class Answer:
    """A running answer: when its question was sent, and the events as they come."""

    def __init__(self, reader: StampedReader, sent_s: float, deadline_s: float) -> None:
        """`sent_s` and `deadline_s` are times of the running loop."""
        self.sent_s = sent_s
        self._reader, self._deadline_s = reader, deadline_s

    async def events(self) -> AsyncGenerator[Event]:
        """Yield events until the server says it is done.

        Raises:
            ProviderError: the server refused the question, or gave up on it.
            BrokenStream: it went away before it was done.
            TimedOut: the deadline passed.
        """
        pending, finish = b"", None
        async for arrived_s, piece in pieces(self._reader, deadline_s=self._deadline_s):
            *blocks, pending = (pending + piece).split(b"\n\n")
            for block in blocks:
                if block == b"data: [DONE]":
                    return
                if block.startswith(b"data:"):  # anything else is a ping
                    event = _event(arrived_s, json.loads(block[5:]), finish)
                    finish = event.finish or finish
                    yield event
        raise BrokenStream("the local engine stopped in the middle of an answer")


@asynccontextmanager
async def ask(address: Address, body: JsonObject, *, deadline_s: float) -> AsyncIterator[Answer]:
    """Send a chat request; leaving the block early cancels the generation.

    `deadline_s` is a time of the running loop and bounds everything up to the last event.

    Raises:
        ProviderError: the engine does not answer.
        TimedOut: the deadline passed.
    """
    streamed = {
        **body,
        "stream": True,
        "return_progress": True,
        "stream_options": {"include_usage": True},
    }
    async with exchange(address, CHAT, json.dumps(streamed), deadline_s=deadline_s) as reader:
        yield Answer(reader, asyncio.get_running_loop().time(), deadline_s)


async def is_idle(address: Address, *, deadline_s: float) -> bool:
    """Return whether the server works on nothing, as after a cancellation has reached it."""
    async with exchange(address, "/slots", None, deadline_s=deadline_s) as reader:
        body = b"".join([piece async for _, piece in pieces(reader, deadline_s=deadline_s)])
    slots = json.loads(body)
    return isinstance(slots, list) and not any(_object(slot).get("is_processing") for slot in slots)


async def warm_up(address: Address) -> None:
    """Let a fresh server answer one forced word, so that all its parts are loaded."""
    body: JsonObject = {
        "messages": [{"role": "user", "content": "Hello"}],
        "grammar": forced("Hi"),
        "cache_prompt": False,
    }
    deadline_s = asyncio.get_running_loop().time() + WARM_UP_LIMIT_S
    async with ask(address, body, deadline_s=deadline_s) as answer:
        async for _ in answer.events():
            pass


def forced(text: str) -> str:
    r"""Return the grammar under which the engine can write nothing but `text`.

    The engine still decodes token by token, so its timing is real. Measured: the tokens are those
    of the text plus one for its end, at up to 9 % more time per token than free text. (A literal in
    llama.cpp's own grammar language takes 1.3 to 2.1 times as many tokens.)
    """
    return "%llguidance {}\nstart: " + json.dumps(text, ensure_ascii=False)


def constrained(schema: JsonObject) -> str:
    """Return the grammar for compact JSON of a schema: half the tokens of the spaced-out form."""
    compact = {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"}
    return "%llguidance {}\nstart: %json " + json.dumps({**schema, "x-guidance": compact})


def _event(t_s: float, data: object, finish_before: str | None) -> Event:
    """Return the event of one `data:` block.

    Raises:
        ProviderError: the block is the server's error report.
    """
    fields = _object(data)
    if "error" in fields:
        reason = _object(fields["error"]).get("message", "no reason given")
        raise ProviderError(f"the local engine gave up: {reason}")
    choices = fields.get("choices")
    choice = _object(choices[0]) if isinstance(choices, list) and choices else _EMPTY
    text = _object(choice.get("delta")).get("content")
    finish = choice.get("finish_reason")
    return Event(
        t_s=t_s,
        text=text if isinstance(text, str) else "",
        progress=_progress(_object(fields.get("prompt_progress"))),
        finish=finish if isinstance(finish, str) else None,
        counts=_counts(_object(fields.get("timings")), ended=finish_before == "stop"),
    )


def _progress(fields: JsonObject) -> float | None:
    """Return the share of the uncached prompt that was read, 0..1; None in other events."""
    if not fields:
        return None
    cached = _number(fields, "cache")
    todo = _number(fields, "total") - cached
    return (_number(fields, "processed") - cached) / todo if todo > 0 else 1.0


def _counts(timings: JsonObject, *, ended: bool) -> Counts | None:
    """Return the report's counts, less the invisible token of an answer that ended by itself."""
    if not timings:
        return None
    cached = int(_number(timings, "cache_n"))
    speculated = "draft_n" in timings
    return Counts(
        tokens_in=cached + int(_number(timings, "prompt_n")),
        tokens_cached=cached,
        tokens_out=int(_number(timings, "predicted_n")) - ended,
        prompt_s=_number(timings, "prompt_ms") / 1000,
        decode_s=_number(timings, "predicted_ms") / 1000,
        drafted=int(_number(timings, "draft_n")) if speculated else None,
        accepted=int(_number(timings, "draft_n_accepted")) if speculated else None,
    )


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else _EMPTY


def _number(fields: JsonObject, key: str) -> float:
    """Return a number of the server's report; a missing one is a broken stream, not a zero."""
    value = fields.get(key)
    if not isinstance(value, int | float):
        raise BrokenStream(f"the local engine's report lacks {key!r}")
    return float(value)

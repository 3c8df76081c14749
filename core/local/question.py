"""A call in the words of llama.cpp's server."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from core.local.client import JsonObject, constrained, forced
from core.providers.base import CallRequest, Message

FREE_TEXT_LIMIT_TOK: Final = 512
"""Bound of a free answer whose call has none: a small model may never come to an end."""


def question(request: CallRequest, *, reuse: bool, nonce: str) -> JsonObject:
    """Return the body of the chat request.

    `reuse` lets the engine reuse the prefix it holds; `nonce` then keeps it from reusing more than
    the static messages.
    """
    body: dict[str, object] = {
        "messages": [
            {"role": message.role, "content": message.text} for message in _messages(request, nonce)
        ],
        "cache_prompt": reuse,
        # Nothing else is repeatable, and a comparison needs the same text on both sides.
        "temperature": request.temperature or 0.0,
    }
    if request.scripted_text is not None:
        body["grammar"] = forced(request.scripted_text)
    elif request.json_schema is not None:
        body["grammar"] = constrained(request.json_schema)
    if request.scripted_text is None or request.max_tokens is not None:
        body["max_tokens"] = request.max_tokens or FREE_TEXT_LIMIT_TOK
    if request.stop:
        body["stop"] = list(request.stop)
    return body


def lacks_prediction(request: CallRequest) -> bool:
    """Whether the predicted text has to be added to the prompt: drafts are looked up there."""
    predicted = request.prediction
    return predicted is not None and all(predicted not in m.text for m in request.messages)


def _messages(request: CallRequest, nonce: str) -> tuple[Message, ...]:
    messages = list(request.messages)
    if lacks_prediction(request):
        last = _last_of_user(messages)
        text = f"{messages[last].text}\n\nExpected answer:\n{request.prediction}"
        messages[last] = replace(messages[last], text=text)
    static = request.static_messages
    if request.cache_key is not None and static < len(messages):
        messages[static] = replace(messages[static], text=f"[{nonce}] {messages[static].text}")
    return tuple(messages)


def _last_of_user(messages: list[Message]) -> int:
    """Return the index of the user's last message, or of the last one where the user has none."""
    of_user = [index for index, message in enumerate(messages) if message.role == "user"]
    return of_user[-1] if of_user else len(messages) - 1

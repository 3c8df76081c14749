"""Short recorded streams with every form of event a real one has.

An SDK imports modules and builds its types when it meets the first event of a kind. Reading one of
these through it beforehand keeps that second out of the first measured call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

Event = Mapping[str, object]


def recorded(events: tuple[Event, ...]) -> str:
    """Return the events as a server would send them."""
    return "".join(f"{_name_line(event)}data: {json.dumps(event)}\n\n" for event in events)


def _name_line(event: Event) -> str:
    return f"event: {event['type']}\n" if "type" in event else ""


def _choice(delta: Event, finish_reason: str | None = None) -> Event:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


_CALL = {"index": 0, "id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}

CHAT: tuple[Event, ...] = (
    _choice({"role": "assistant", "content": ""}),
    _choice({"content": "."}),
    _choice({"tool_calls": [_CALL]}, "stop"),
    {
        "choices": [],
        "usage": {
            "prompt_tokens": 1,
            "completion_tokens": 1,
            "total_tokens": 2,
            "prompt_tokens_details": {"cached_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
    },
)

_PLACE = {"item_id": "1", "output_index": 0}
_MESSAGE = {"id": "1", "type": "message", "role": "assistant", "status": "completed"}
_TEXT = {"type": "output_text", "text": ".", "annotations": []}

RESPONSES: tuple[Event, ...] = (
    {"type": "response.created", "response": {"id": "1", "output": []}},
    {
        "type": "response.output_item.added",
        "output_index": 0,
        "item": {**_MESSAGE, "content": []},
    },
    {
        "type": "response.reasoning_summary_text.delta",
        **_PLACE,
        "summary_index": 0,
        "delta": ".",
    },
    {
        "type": "response.output_text.delta",
        **_PLACE,
        "content_index": 0,
        "delta": ".",
        "logprobs": [],
    },
    {
        "type": "response.completed",
        "response": {
            "id": "1",
            "status": "completed",
            "output": [{**_MESSAGE, "content": [_TEXT]}],
            "usage": {
                "input_tokens": 1,
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": 1,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 2,
            },
        },
    },
)

MESSAGES: tuple[Event, ...] = (
    {
        "type": "message_start",
        "message": {
            "id": "1",
            "type": "message",
            "role": "assistant",
            "content": [],
            "model": "m",
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "thinking_delta", "thinking": "."},
    },
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "."}},
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 1},
    },
    {"type": "message_stop"},
)

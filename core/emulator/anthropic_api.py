"""Anthropic's Messages as the emulator speaks it."""

from __future__ import annotations

from core.emulator.dialect import (
    Asked,
    Body,
    Dialect,
    Frame,
    PromptText,
    Turn,
    answer_of,
    count_of,
    messages_of,
    sse,
    text_of,
    texts_of,
)
from core.errors import InputError

MARK = "cache_control"

ERROR_TYPES = {
    400: "invalid_request_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def parse(body: Body) -> Asked:
    """Read a Messages request. Raises InputError naming the field at fault."""
    prompt = PromptText()
    if body.get("system") is not None:
        prompt.add("system", body["system"], MARK)
    for message in messages_of(body, "messages"):
        prompt.add(str(message.get("role")), message.get("content"), MARK)
    max_tokens = count_of(body, "max_tokens")
    if max_tokens is None:
        raise InputError("max_tokens is missing")
    return Asked(
        model=text_of(body, "model") or "",
        prompt=prompt.text,
        stream=body.get("stream") is True,
        max_tokens=max_tokens,
        stop=texts_of(body, "stop_sequences"),
        answer=answer_of(body),
        marks=tuple(prompt.marks),
    )


def frames(turn: Turn) -> list[Frame]:
    """Return the stream, with a ping before the first token and usage that adds up."""
    started = {**_head(turn), "content": [], "stop_reason": None, "usage": _usage(turn, 1)}
    events: list[tuple[float, str, dict[str, object]]] = [
        (0.0, "message_start", {"message": started}),
        (0.0, "ping", {}),
    ]
    index = 0
    if turn.thoughts:
        block = {"type": "thinking", "thinking": "", "signature": ""}
        deltas = [(at, {"type": "thinking_delta", "thinking": text}) for at, text in turn.thoughts]
        events += _block(index, block, deltas)
        index += 1
    block = {"type": "text", "text": ""}
    deltas = [(at, {"type": "text_delta", "text": text}) for at, text in turn.chunks]
    events += _block(index, block, deltas or [(turn.end_s, {"type": "text_delta", "text": ""})])
    delta = {"stop_reason": _stop_reason(turn), "stop_sequence": None}
    last = {"delta": delta, "usage": _usage(turn, turn.tokens_out)}
    events += [(turn.end_s, "message_delta", last), (turn.end_s, "message_stop", {})]
    return [(at, sse({"type": kind, **fields}, kind)) for at, kind, fields in events]


def document(turn: Turn) -> dict[str, object]:
    """Return the answer in one piece."""
    return {
        **_head(turn),
        "content": [{"type": "text", "text": turn.script.text}],
        "stop_reason": _stop_reason(turn),
        "usage": _usage(turn, turn.tokens_out),
    }


def error(status: int, message: str, param: str | None = None) -> dict[str, object]:
    """Return an error's body; this vendor names the field at fault in the text only."""
    text = f"{param}: {message}" if param else message
    kind = ERROR_TYPES.get(status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": text}}


def _block(
    index: int, block: dict[str, str], deltas: list[tuple[float, dict[str, str]]]
) -> list[tuple[float, str, dict[str, object]]]:
    """Return a content block's events."""
    at = {"index": index}
    return [
        (deltas[0][0], "content_block_start", {**at, "content_block": block}),
        *((when, "content_block_delta", {**at, "delta": delta}) for when, delta in deltas),
        (deltas[-1][0], "content_block_stop", {**at}),
    ]


def _stop_reason(turn: Turn) -> str:
    return "max_tokens" if turn.script.truncated else "end_turn"


def _head(turn: Turn) -> dict[str, object]:
    head = {"id": f"msg_{turn.number}", "type": "message", "role": "assistant"}
    return {**head, "model": turn.model.name, "stop_sequence": None}


def _usage(turn: Turn, tokens_out: int) -> dict[str, object]:
    return {
        "input_tokens": turn.tokens_in - turn.read_tok - turn.written_tok,
        "cache_creation_input_tokens": turn.written_tok,
        "cache_read_input_tokens": turn.read_tok,
        "output_tokens": tokens_out,
    }


def _error_frame(message: str) -> bytes:
    return sse(error(529, message), "error")


MESSAGES = Dialect("/v1/messages", parse, frames, document, error, _error_frame)

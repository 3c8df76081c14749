"""OpenAI's Chat Completions and Responses as the emulator speaks them."""

from __future__ import annotations

from collections.abc import Mapping

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

MARK = "prompt_cache_breakpoint"


def parse_chat(body: Body) -> Asked:
    """Read a Chat Completions request. Raises InputError naming the field at fault."""
    prompt = _prompt(body, "messages")
    options = body.get("stream_options")
    prediction = body.get("prediction")
    if prediction is not None and count_of(body, "max_completion_tokens") is not None:
        raise InputError("max_completion_tokens is not supported with prediction")
    return Asked(
        model=text_of(body, "model") or "",
        prompt=prompt.text,
        stream=body.get("stream") is True,
        max_tokens=count_of(body, "max_completion_tokens", "max_tokens"),
        stop=texts_of(body, "stop"),
        prediction=text_of(prediction, "content") if isinstance(prediction, Mapping) else None,
        answer=answer_of(body),
        scope=text_of(body, "prompt_cache_key") or "",
        marks=tuple(prompt.marks),
        caches_itself=_caches_itself(body, prompt),
        wants_usage=isinstance(options, Mapping) and options.get("include_usage") is True,
    )


def chat_frames(turn: Turn) -> list[Frame]:
    """Return the stream: a chunk without text first and one without choices last, as OpenAI's."""

    def chunk(choices: list[object], **more: object) -> bytes:
        return sse({**_chat_head(turn, "chat.completion.chunk"), "choices": choices, **more})

    def delta(fields: dict[str, object], finish: str | None = None) -> bytes:
        return chunk([{"index": 0, "delta": fields, "finish_reason": finish, "logprobs": None}])

    frames = [(0.0, delta({"role": "assistant", "content": ""}))]
    frames += [(at, delta({"reasoning_content": text})) for at, text in turn.thoughts]
    frames += [(at, delta({"content": text})) for at, text in turn.chunks]
    frames.append((turn.end_s, delta({}, _finish(turn))))
    if turn.asked.wants_usage:
        frames.append((turn.end_s, chunk([], usage=_chat_usage(turn))))
    return [*frames, (turn.end_s, b"data: [DONE]\n\n")]


def chat_document(turn: Turn) -> dict[str, object]:
    """Return the answer in one piece."""
    message = {"role": "assistant", "content": turn.script.text, "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": _finish(turn), "logprobs": None}
    head = _chat_head(turn, "chat.completion")
    return {**head, "choices": [choice], "usage": _chat_usage(turn)}


def parse_responses(body: Body) -> Asked:
    """Read a Responses request. Raises InputError naming the field at fault."""
    given = body.get("input")
    prompt = PromptText()
    if isinstance(given, str):
        prompt.add("user", given, MARK)
    else:
        prompt = _prompt(body, "input")
    return Asked(
        model=text_of(body, "model") or "",
        prompt=prompt.text,
        stream=body.get("stream") is True,
        max_tokens=count_of(body, "max_output_tokens"),
        answer=answer_of(body),
        scope=text_of(body, "prompt_cache_key") or "",
        marks=tuple(prompt.marks),
        caches_itself=_caches_itself(body, prompt),
    )


def responses_frames(turn: Turn) -> list[Frame]:
    """Return the stream; each event carries its place in it."""
    item = {"item_id": f"msg_{turn.number}", "output_index": 0}
    place = {**item, "content_index": 0}
    events: list[tuple[float, str, dict[str, object]]] = [
        (0.0, "response.created", {"response": _response(turn, "in_progress")}),
        (0.0, "response.in_progress", {"response": _response(turn, "in_progress")}),
    ]
    thinking = "response.reasoning_summary_text.delta"
    events += [
        (at, thinking, {**item, "summary_index": 0, "delta": text}) for at, text in turn.thoughts
    ]
    first = turn.chunks[0][0] if turn.chunks else turn.end_s
    message = _message(turn, "")
    events.append((first, "response.output_item.added", {"output_index": 0, "item": message}))
    events += [
        (at, "response.output_text.delta", {**place, "delta": text, "logprobs": []})
        for at, text in turn.chunks
    ]
    done = {**place, "text": turn.script.text, "logprobs": []}
    events.append((turn.end_s, "response.output_text.done", done))
    status = "incomplete" if turn.script.truncated else "completed"
    events.append((turn.end_s, f"response.{status}", {"response": _response(turn, status)}))
    return [
        (at, sse({"type": kind, "sequence_number": number, **fields}, kind))
        for number, (at, kind, fields) in enumerate(events)
    ]


def responses_document(turn: Turn) -> dict[str, object]:
    """Return the answer in one piece."""
    return _response(turn, "incomplete" if turn.script.truncated else "completed")


def error(status: int, message: str, param: str | None = None) -> dict[str, object]:
    """Return an error's body."""
    kind = "rate_limit_error" if status == 429 else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": param, "code": None}}


def _prompt(body: Body, key: str) -> PromptText:
    prompt = PromptText()
    for message in messages_of(body, key):
        prompt.add(str(message.get("role")), message.get("content"), MARK)
    return prompt


def _caches_itself(body: Body, prompt: PromptText) -> bool:
    """Return whether the longest shared prefix counts: neither marks nor "only marks" are given."""
    options = body.get("prompt_cache_options")
    only_marks = isinstance(options, Mapping) and options.get("mode") == "explicit"
    return not only_marks and not prompt.marks


def _finish(turn: Turn) -> str:
    return "length" if turn.script.truncated else "stop"


def _chat_head(turn: Turn, kind: str) -> dict[str, object]:
    return {"id": f"chatcmpl-{turn.number}", "object": kind, "created": 0, "model": turn.model.name}


def _chat_usage(turn: Turn) -> dict[str, object]:
    predicted = turn.asked.prediction is not None
    inputs = {"cached_tokens": turn.read_tok, "audio_tokens": 0}
    if not turn.asked.caches_itself:
        inputs["cache_write_tokens"] = turn.written_tok
    return {
        "prompt_tokens": turn.tokens_in,
        "completion_tokens": turn.tokens_out,
        "total_tokens": turn.tokens_in + turn.tokens_out,
        "prompt_tokens_details": inputs,
        "completion_tokens_details": {
            "reasoning_tokens": turn.model.reasoning_tokens,
            "accepted_prediction_tokens": turn.script.accepted if predicted else 0,
            "rejected_prediction_tokens": turn.script.rejected if predicted else 0,
            "audio_tokens": 0,
        },
    }


def _message(turn: Turn, text: str) -> dict[str, object]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    head = {"id": f"msg_{turn.number}", "type": "message", "role": "assistant"}
    return {**head, "status": "completed", "content": [part]}


def _response(turn: Turn, status: str) -> dict[str, object]:
    ended = status != "in_progress"
    usage = {
        "input_tokens": turn.tokens_in,
        "input_tokens_details": {
            "cached_tokens": turn.read_tok,
            "cache_write_tokens": turn.written_tok,
        },
        "output_tokens": turn.tokens_out,
        "output_tokens_details": {"reasoning_tokens": turn.model.reasoning_tokens},
        "total_tokens": turn.tokens_in + turn.tokens_out,
    }
    cut = status == "incomplete"
    return {
        "id": f"resp_{turn.number}",
        "object": "response",
        "created_at": 0,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "instructions": None,
        "metadata": {},
        "model": turn.model.name,
        "output": [_message(turn, turn.script.text)] if ended else [],
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": usage if ended and turn.asked.wants_usage else None,
    }


def _chat_error_frame(message: str) -> bytes:
    return sse({"error": {"message": message, "type": "server_error", "code": None, "param": None}})


def _responses_error_frame(message: str) -> bytes:
    fields = {"code": "server_error", "message": message, "param": None, "sequence_number": 0}
    return sse({"type": "error", **fields}, "error")


CHAT = Dialect(
    "/v1/chat/completions", parse_chat, chat_frames, chat_document, error, _chat_error_frame
)
RESPONSES = Dialect(
    "/v1/responses",
    parse_responses,
    responses_frames,
    responses_document,
    error,
    _responses_error_frame,
)

"""OpenAI's Responses, through the official SDK."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, cast

from core.providers import normalise, rehearsal
from core.providers.base import CallRequest, ChunkKind
from core.providers.capabilities import (
    OPENAI,
    RESPONSES_MIN_OUTPUT_TOK,
    Api,
    Fact,
    Family,
    accepts_temperature,
    family,
    split_effort,
)
from core.providers.endpoint import Endpoint
from core.providers.hosted import HostedProvider
from core.providers.openai_chat import (
    EXPLICIT,
    cache_options,
    openai_client,
    openai_errors,
    schema_fields,
)
from core.providers.reading import EventStream, Piece, Reading
from core.providers.refusals import Body

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI
    from openai.types.responses import Response, ResponseStreamEvent

ENDS = {"max_output_tokens": Fact.TRUNCATED, "content_filter": Fact.FILTERED}


class OpenAIResponses(HostedProvider["AsyncOpenAI", "ResponseStreamEvent"]):
    """Models behind Responses."""

    api: ClassVar[Api] = "responses"
    optional = (
        "max_output_tokens",
        "temperature",
        "text",
        "prompt_cache_key",
        "prompt_cache_options",
        "reasoning",
    )

    rehearsal = rehearsal.RESPONSES

    def __init__(self, endpoint: Endpoint, *, name: str = "openai-responses") -> None:
        super().__init__(endpoint, name=name)

    def family(self, model: str) -> Family:
        """Return what is known about the model."""
        return family(model, OPENAI)

    def sdk(self) -> normalise.Sdk:
        """Import the SDK and return its error classes."""
        return openai_errors()

    def make_client(self, http: httpx2.AsyncClient, endpoint: Endpoint) -> AsyncOpenAI:
        """Return the SDK's client."""
        return openai_client(http, endpoint)

    def body(self, request: CallRequest) -> Body:
        """Return the request as Responses takes it; nothing is kept at the vendor."""
        model, effort = split_effort(request.model)
        row = self.family(model)
        body: Body = {
            "model": model,
            "input": self._input(request, row),
            "store": False,
            **self.script(request),
            **cache_options(request, row),
        }
        if request.max_tokens is not None:
            body["max_output_tokens"] = max(request.max_tokens, RESPONSES_MIN_OUTPUT_TOK)
        if request.temperature is not None and accepts_temperature(effort, row):
            body["temperature"] = request.temperature
        if effort is not None and row.efforts:
            body["reasoning"] = {"effort": effort}
        if request.json_schema is not None:
            form = {"type": "json_schema", "name": "answer", **schema_fields(request)}
            body["text"] = {"format": form}
        return body

    def _input(self, request: CallRequest, row: Family) -> list[Body]:
        items: list[Body] = [
            {"role": message.role, "content": message.text} for message in self.messages(request)
        ]
        last = request.static_messages - 1
        if row.cache_marks and request.cache_key is not None and 0 <= last < len(items):
            item = items[last]
            if item["role"] != "assistant":  # its content has no field for a mark
                mark = {"prompt_cache_breakpoint": EXPLICIT}
                item["content"] = [{"type": "input_text", "text": item["content"], **mark}]
        return items

    async def send(self, client: AsyncOpenAI, body: Body) -> EventStream[ResponseStreamEvent]:
        """Send the request; returns once the answer's headers are there."""
        known = {name: value for name, value in body.items() if name != "playground"}
        extra = {"playground": body["playground"]} if "playground" in body else None
        opened = await client.responses.create(  # type: ignore[call-overload]
            stream=True, extra_body=extra, **known
        )
        return cast("EventStream[ResponseStreamEvent]", opened)

    def read(self, event: ResponseStreamEvent, reading: Reading) -> Iterator[Piece]:
        """Yield the pieces of an event; most events of this API carry none."""
        match event.type:
            case "response.output_text.delta" | "response.refusal.delta":
                kind = ChunkKind.TEXT
            case "response.reasoning_text.delta" | "response.reasoning_summary_text.delta":
                kind = ChunkKind.REASONING
            case "response.function_call_arguments.delta":
                kind = ChunkKind.TOOL
            case "response.completed" | "response.incomplete" | "response.failed":
                _finish(event.response, reading)
                return
            case "error":
                reading.failure = event.message
                return
            case _:
                return
        if event.delta:
            yield kind, event.delta


def _finish(response: Response, reading: Reading) -> None:
    """Note how the answer ended, and its usage."""
    if response.usage is not None:
        reading.usage = normalise.responses_usage(response.usage)
    if response.status == "failed" or response.error is not None:
        reading.failure = response.error.message if response.error else "the model failed"
        return
    details = response.incomplete_details
    reading.finish(ENDS.get(details.reason or "") if details else None)

"""OpenAI's Chat Completions, through the official SDK; also the ground of compatible servers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, cast

from core.providers import normalise, rehearsal
from core.providers.base import CallRequest, ChunkKind
from core.providers.capabilities import (
    OPENAI,
    Api,
    Fact,
    Family,
    accepts_temperature,
    family,
    split_effort,
)
from core.providers.endpoint import Endpoint
from core.providers.hosted import HostedProvider
from core.providers.reading import EventStream, Piece, Reading
from core.providers.refusals import Body

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI
    from openai.types.chat import ChatCompletionChunk
    from openai.types.chat.chat_completion_chunk import ChoiceDelta

OPENAI_URL = "https://api.openai.com/v1"

REASONING_FIELDS = ("reasoning_content", "reasoning")
"""Where compatible servers put thinking: DeepSeek and vLLM; OpenRouter, Ollama and Groq."""

ENDS = {"length": Fact.TRUNCATED, "content_filter": Fact.FILTERED}

EXPLICIT = {"mode": "explicit"}
"""For models with cache marks: cache only what is marked, so nothing where nothing is marked."""


def openai_errors() -> normalise.Sdk:
    """Return the OpenAI SDK's error classes, importing it."""
    import openai  # noqa: PLC0415  (0.5 to 1.5 s)

    return normalise.Sdk(
        timeout=openai.APITimeoutError,
        connection=openai.APIConnectionError,
        status=openai.APIStatusError,
        any_error=openai.OpenAIError,
    )


def openai_client(http: httpx2.AsyncClient, endpoint: Endpoint) -> AsyncOpenAI:
    """Return an SDK client that sends no more about this machine's owner than the key it is given.

    The SDK would add the organisation and project of the environment to requests to anybody.
    """
    from openai import AsyncOpenAI  # noqa: PLC0415  (as above)

    client = AsyncOpenAI(
        api_key=endpoint.api_key,
        base_url=endpoint.base_url,
        max_retries=0,
        timeout=None,
        http_client=http,
        default_headers=endpoint.headers,
    )
    if endpoint.base_url != OPENAI_URL:
        client.organization = client.project = client.admin_api_key = None
    return client


class OpenAIChat(HostedProvider["AsyncOpenAI", "ChatCompletionChunk"]):
    """Models behind Chat Completions."""

    api: ClassVar[Api] = "chat"
    optional = (
        "stream_options",
        "max_completion_tokens",
        "max_tokens",
        "temperature",
        "stop",
        "response_format",
        "prediction",
        "prompt_cache_key",
        "prompt_cache_options",
        "reasoning_effort",
    )
    limit_option: ClassVar[str] = "max_completion_tokens"
    rehearsal = rehearsal.CHAT

    def __init__(self, endpoint: Endpoint, *, name: str = "openai") -> None:
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
        """Return the request as Chat Completions takes it."""
        model, effort = split_effort(request.model)
        row = self.family(model)
        body: Body = {
            "model": model,
            "messages": self._messages(request, row),
            "stream_options": {"include_usage": True},
            **self.script(request),
            **cache_options(request, row),
        }
        predicted = request.prediction is not None and row.predictions
        if predicted:
            body["prediction"] = {"type": "content", "content": request.prediction}
        if request.max_tokens is not None and not predicted:
            body[self.limit_option] = request.max_tokens
        if request.stop and row.stop:
            body["stop"] = list(request.stop)
        if request.temperature is not None and accepts_temperature(effort, row):
            body["temperature"] = request.temperature
        if effort is not None and row.efforts:
            body["reasoning_effort"] = effort
        if request.json_schema is not None:
            schema = {"name": "answer", **schema_fields(request)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    def _messages(self, request: CallRequest, row: Family) -> list[Body]:
        messages: list[Body] = [
            {"role": message.role, "content": message.text} for message in self.messages(request)
        ]
        last = request.static_messages - 1
        if row.cache_marks and request.cache_key is not None and 0 <= last < len(messages):
            text = messages[last]["content"]
            part = {"type": "text", "text": text, "prompt_cache_breakpoint": EXPLICIT}
            messages[last]["content"] = [part]
        return messages

    async def send(self, client: AsyncOpenAI, body: Body) -> EventStream[ChatCompletionChunk]:
        """Send the request; returns once the answer's headers are there."""
        known = {name: value for name, value in body.items() if name != "playground"}
        extra = {"playground": body["playground"]} if "playground" in body else None
        opened = await client.chat.completions.create(  # type: ignore[call-overload]
            stream=True, extra_body=extra, **known
        )
        return cast("EventStream[ChatCompletionChunk]", opened)

    def read(self, event: ChatCompletionChunk, reading: Reading) -> Iterator[Piece]:
        """Yield the pieces of a chunk; the last one may have no choice and only usage."""
        if event.usage is not None:
            reading.usage = normalise.chat_usage(event.usage)
        for choice in event.choices or ():
            if choice.delta is not None:
                yield from _pieces_of(choice.delta)
            if choice.finish_reason is not None:
                reading.finish(ENDS.get(choice.finish_reason))


def _pieces_of(delta: ChoiceDelta) -> Iterator[Piece]:
    """Yield what a delta carries; role-only and empty ones carry nothing."""
    extra = delta.model_extra or {}
    thought = next((extra[name] for name in REASONING_FIELDS if extra.get(name)), None)
    if isinstance(thought, str):
        yield ChunkKind.REASONING, thought
    for text in (delta.content, delta.refusal):
        if text:
            yield ChunkKind.TEXT, text
    for call in delta.tool_calls or ():
        if call.function is not None and call.function.arguments:
            yield ChunkKind.TOOL, call.function.arguments


def cache_options(request: CallRequest, row: Family) -> Body:
    """Return what steers OpenAI's prompt cache.

    With caching on, the key routes calls with the same prefix to the same place. On models with
    cache marks only the static prefix is cached: the rest is different each time, and writing
    costs more than plain input. With caching off those models are told to write nothing.
    """
    options: Body = {"prompt_cache_options": EXPLICIT} if row.cache_marks else {}
    if request.cache_key is not None:
        options["prompt_cache_key"] = request.cache_key
    return options


def schema_fields(request: CallRequest) -> Body:
    """Return the schema and whether it can be enforced strictly."""
    schema = request.json_schema or {}
    return {"schema": schema, "strict": is_strict(schema)}


def is_strict(schema: object) -> bool:
    """Return whether every object in the schema is closed and requires all its properties.

    Source: OpenAI structured outputs guide, conditions of `strict`, 2026-10.
    """
    if isinstance(schema, (list, tuple)):
        return all(is_strict(part) for part in schema)
    if not isinstance(schema, Mapping):
        return True
    if schema.get("type") == "object":
        names = set(schema.get("properties", {}))
        if (
            schema.get("additionalProperties") is not False
            or set(schema.get("required", ())) != names
        ):
            return False
    return all(is_strict(part) for part in schema.values())

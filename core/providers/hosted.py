"""One call to a hosted model, the same for every vendor; the vendors' differences are subclasses.

The SDKs are used as they come, with their retries and timeouts off: a call has one total deadline
and, where asked for, a longest gap. Stamps come from `core.providers.wire`, below the SDKs.

* What is measured: SENT is when the last byte of the request was handed to the system. An SDK's
  first use, a client's making and a refused attempt lie before it, so they show up as queueing.
* An option that the endpoint refuses is left out (or sent under its other name), the call is made
  again, and a NOTE says so; later calls to that model leave it out at once.
* After the answer has finished, a missing usage chunk or a socket that stays open cost no more
  than `GRACE_S`; the answer is kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from core.errors import BrokenStream, EngineError, Unavailable
from core.keys import scrub
from core.providers import normalise
from core.providers.base import CallRequest, Chunk, ChunkKind, Message, Usage
from core.providers.capabilities import Api, Fact, Family, below_cache_minimum, losses
from core.providers.endpoint import Endpoint
from core.providers.reading import EventStream, Piece, Reading
from core.providers.refusals import Body, Refusals
from core.providers.rehearsal import Event, recorded
from core.text import Note

if TYPE_CHECKING:
    import httpx2

    from core.providers.wire import Wire

GRACE_S = 2.0
"""How long to wait for usage and the end of the stream once the answer has finished."""

WARM_UP_S = 5.0
"""Longest time a warm-up may take; what is wrong then, the first call says better."""

ClientT = TypeVar("ClientT")
EventT = TypeVar("EventT")


class HostedProvider(ABC, Generic[ClientT, EventT]):
    """A hosted model behind its vendor's SDK. Use one object on one event loop."""

    api: ClassVar[Api]
    optional: ClassVar[tuple[str, ...]]
    """Options of a request that may be left out when the endpoint refuses them."""
    rehearsal: ClassVar[tuple[Event, ...]]
    """A short recorded stream; see `ready`."""
    lenient: ClassVar[bool] = False
    """Whether a stream that ends without a finish reason counts as finished."""
    _rehearsed: ClassVar[set[type]] = set()

    def __init__(self, endpoint: Endpoint, *, name: str) -> None:
        self._endpoint = endpoint
        self._name = name
        self._refusals = Refusals()
        self._bound: tuple[asyncio.AbstractEventLoop, httpx2.AsyncClient, ClientT] | None = None

    @property
    def name(self) -> str:
        """Short id shown beside results."""
        return self._name

    @abstractmethod
    def family(self, model: str) -> Family:
        """Return what is known about the model."""

    @abstractmethod
    def sdk(self) -> normalise.Sdk:
        """Import the SDK and return its error classes; blocks for 0.5 to 1.5 s the first time."""

    @abstractmethod
    def make_client(self, http: httpx2.AsyncClient, endpoint: Endpoint) -> ClientT:
        """Return the SDK's client on this connection pool, without retries."""

    @abstractmethod
    def body(self, request: CallRequest) -> Body:
        """Return the request in the vendor's words."""

    @abstractmethod
    async def send(self, client: ClientT, body: Body) -> EventStream[EventT]:
        """Send the request; returns once the answer's headers are there."""

    @abstractmethod
    def read(self, event: EventT, reading: Reading) -> Iterator[Piece]:
        """Yield the non-empty pieces of an event, and note what else it says."""

    def new_reading(self) -> Reading:
        """Return the reading of a new stream."""
        return Reading()

    def unsupported(self, request: CallRequest) -> tuple[Note, ...]:
        """Return what of this request the model cannot do, before it is asked."""
        row = self.family(request.model)
        short = below_cache_minimum(request, row)
        notes = tuple(fact.note for fact in losses(request, self.api, row))
        return notes if short is None else (*notes, short)

    def messages(self, request: CallRequest) -> tuple[Message, ...]:
        """Return the messages to send.

        With prompt caching off (`cache_key` is None) a nonce goes to the very start: a prefix
        that a cache has seen, from an earlier run or the other arm of a comparison, would make
        this call many times faster. It costs about six tokens.
        """
        first, *rest = request.messages
        if request.cache_key is not None:
            return request.messages
        return (replace(first, text=f"[{self._endpoint.nonce()}]\n{first.text}"), *rest)

    def script(self, request: CallRequest) -> Body:
        """Return the emulator's own field; empty for real endpoints."""
        if not self._endpoint.scripted or request.scripted_text is None:
            return {}
        return {"playground": {"answer": request.scripted_text}}

    async def ready(self) -> None:
        """Do once per process what an SDK does at its first call: about a second, in a thread.

        It imports modules and builds its types at the first events; on the event loop that would
        hold up the very bytes whose arrival is measured, and every other stream on the loop.
        Raises: Unavailable when the SDK is not installed.
        """
        if type(self) in self._rehearsed:
            return
        try:
            await asyncio.to_thread(lambda: asyncio.run(self._rehearse()))
        except ModuleNotFoundError as missing:
            need = f"{self._name} needs the package {missing.name}: pip install {missing.name}"
            raise Unavailable(need) from None
        self._rehearsed.add(type(self))

    async def _rehearse(self) -> None:
        """Read a recorded stream through the SDK, without a network."""
        self.sdk()
        import httpx2  # noqa: PLC0415  (imported by the SDK; too slow to import at start)

        answer = httpx2.Response(
            200, headers={"content-type": "text/event-stream"}, text=recorded(self.rehearsal)
        )
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(lambda _: answer)) as http:
            request = CallRequest("rehearsal", (Message("user", "."),))
            client = self.make_client(http, self._endpoint)
            opened, reading = await self.send(client, self.body(request)), self.new_reading()
            with contextlib.suppress(StopAsyncIteration):
                while True:
                    self._pieces(await opened.__anext__(), reading)

    async def warm_up(self) -> None:
        """Get ready, make the client and open a connection, so that no clock sees it.

        Failures are left to the first call, which can say what is wrong.
        """
        await self.ready()
        import httpx2  # noqa: PLC0415  (as above)

        http, _ = self._clients()
        try:
            async with asyncio.timeout(WARM_UP_S):
                await http.get(self._endpoint.base_url)
        except (httpx2.HTTPError, TimeoutError):
            return

    async def stream(self, request: CallRequest) -> AsyncGenerator[Chunk]:
        """Chunks of one call; see `core.providers.base.Provider`."""
        await self.ready()  # once per process, and not the call's fault
        deadline_s = asyncio.get_running_loop().time() + request.deadline_s
        opened: EventStream[EventT] | None = None
        try:
            opened = await self._open(request, deadline_s)
            wire: Wire = opened.response.extensions["playground_wire"]
            yield Chunk(ChunkKind.SENT, wire.sent_s)
            for fact in self._opening_facts(request, wire):
                yield Chunk(ChunkKind.NOTE, wire.sent_s, fact)
            chunks = self._chunks(opened, request, wire, deadline_s)
            async with contextlib.aclosing(chunks):
                async for chunk in chunks:
                    yield chunk
        except EngineError:
            raise
        except self._expected() as error:
            raise normalise.explain(
                error,
                self.sdk(),
                provider=self._name,
                begun=opened is not None,
                keys=(self._endpoint.api_key,),
            ) from None
        finally:
            if opened is not None:
                await self._close(opened)

    async def aclose(self) -> None:
        """Close the connections; the object may be used again, also on another loop."""
        if self._bound is not None:
            _, http, _ = self._bound
            self._bound = None
            await http.aclose()

    def _expected(self) -> tuple[type[Exception], ...]:
        """Return the errors that a call can end with through no fault of this program."""
        import httpx2  # noqa: PLC0415  (imported by the SDK; too slow to import at start)

        broken = (json.JSONDecodeError, UnicodeDecodeError)
        return (self.sdk().any_error, httpx2.HTTPError, TimeoutError, *broken)

    def _clients(self) -> tuple[httpx2.AsyncClient, ClientT]:
        loop = asyncio.get_running_loop()
        if self._bound is None:
            from core.providers.wire import connect  # noqa: PLC0415  (imports httpx2)

            end = self._endpoint
            http = connect(end.base_url, keep_alive_s=end.keep_alive_s, allowed=end.allowed)
            self._bound = (loop, http, self.make_client(http, end))
        bound_to, http, client = self._bound
        if bound_to is not loop:
            raise RuntimeError(f"{self._name} is in use on another event loop: aclose() it there")
        return http, client

    async def _open(self, request: CallRequest, deadline_s: float) -> EventStream[EventT]:
        """Send the request, leaving out one by one the options the endpoint refuses."""
        _, client = self._clients()
        body = self.body(request)
        self._refusals.apply(body, request.model)
        while True:
            try:
                async with asyncio.timeout_at(deadline_s):
                    return await self.send(client, body)
            except self.sdk().status as error:
                if not self._refusals.learn(error, body, request.model, self.optional):
                    raise

    async def _close(self, opened: EventStream[EventT]) -> None:
        """End the request, then let the SDK's generators run out, the innermost first.

        Left suspended, they would be closed by the garbage collector in no sure order. One that
        has not begun yet says that there is nothing left to read.
        """
        import httpx2  # noqa: PLC0415  (as above)

        await opened.close()
        with contextlib.suppress(StopAsyncIteration, httpx2.StreamError, *self._expected()):
            while True:
                await opened.__anext__()

    def _opening_facts(self, request: CallRequest, wire: Wire) -> Iterable[Fact]:
        if wire.cold:
            yield Fact.COLD_CONNECTION
        yield from losses(request, self.api, self.family(request.model))
        yield from self._refusals.facts(request.model)

    async def _chunks(
        self, opened: EventStream[EventT], request: CallRequest, wire: Wire, deadline_s: float
    ) -> AsyncGenerator[Chunk]:
        """Yield the answer's chunks, then its usage and what is to be said about it."""
        reading = self.new_reading()
        answer: list[str] = []
        events = self._events(opened, reading, deadline_s)
        async with contextlib.aclosing(events):
            async for event in events:
                for kind, text in self._pieces(event, reading):
                    answer.append(text)
                    yield Chunk(kind, wire.arrived_s, text)
                if reading.failure is not None:
                    failure = scrub(reading.failure, (self._endpoint.api_key,))
                    raise BrokenStream(f"{self._name}: {failure}")
        if not reading.finished:
            if not self.lenient:
                raise BrokenStream(f"{self._name}: the stream ended before the answer did")
            reading.facts.append(Fact.NO_FINISH_REASON)
        usage = reading.usage
        if usage is None:
            joined = "".join(answer)
            usage = await asyncio.to_thread(normalise.estimated_usage, request.messages, joined)
        yield Chunk(ChunkKind.USAGE, wire.arrived_s, usage=usage)
        for fact in (*reading.facts, *_closing_facts(request, usage, answered=bool(answer))):
            yield Chunk(ChunkKind.NOTE, wire.arrived_s, fact)

    def _pieces(self, event: EventT, reading: Reading) -> tuple[Piece, ...]:
        """Read one event; the SDKs let through whatever JSON a server sends."""
        try:
            return tuple(self.read(event, reading))
        except (AttributeError, TypeError):
            raise BrokenStream(f"{self._name}: an event has a form that is not known") from None

    async def _events(
        self, opened: EventStream[EventT], reading: Reading, deadline_s: float
    ) -> AsyncGenerator[EventT]:
        """Yield the SDK's events until the stream ends or, once finished, stops being of use.

        The clock of the longest gap runs only while waiting: a slow reader of ours is no fault of
        the endpoint.
        """
        loop = asyncio.get_running_loop()
        until_s = deadline_s
        while True:
            gap_s = self._endpoint.max_gap_s
            limit_s = until_s if gap_s is None else min(until_s, loop.time() + gap_s)
            try:
                async with asyncio.timeout_at(limit_s):
                    event = await opened.__anext__()
            except StopAsyncIteration:
                return
            except self._expected():
                if reading.finished:
                    return
                raise
            yield event
            if reading.finished:
                until_s = min(until_s, loop.time() + GRACE_S)


def _closing_facts(request: CallRequest, usage: Usage, *, answered: bool) -> Iterable[Fact]:
    if not answered:
        yield Fact.EMPTY_ANSWER
    if usage.source == "estimated":
        yield Fact.ESTIMATED_USAGE
    nothing_written = usage.extra.get(normalise.CACHE_WRITE_TOK) == 0
    if request.cache_key is not None and usage.tokens_cached == 0 and nothing_written:
        yield Fact.NOTHING_CACHED

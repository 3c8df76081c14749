"""Sending frames at their absolute times, with or without a fault, until the client leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from starlette.types import Message, Receive, Scope, Send

from core.emulator.dialect import Frame
from core.emulator.faults import Fault, FaultKind
from core.providers.scripted import wait_until

HALVES = frozenset({FaultKind.STALL, FaultKind.CUT, FaultKind.ERROR_MIDSTREAM})
"""Faults that strike in the middle of an answer."""


@dataclass(frozen=True, slots=True)
class Play:
    """An answer on its way, as an ASGI application.

    `arrived_s` is when the request came, on the loop's clock; frames count from it. `headers_s`
    says when the headers go out, also from it. `ended` is told whether the client stayed.
    """

    frames: tuple[Frame, ...]
    arrived_s: float
    headers_s: float
    media_type: str
    fault: Fault | None
    error_frame: bytes
    on_frame: Callable[[], None]
    ended: Callable[[bool], None]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send the answer; stop at once when the client goes away."""
        sending = asyncio.create_task(self._send(send))
        leaving = asyncio.create_task(_left(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stayed = sending.done() and not sending.cancelled()
            self.ended(stayed)
            sending.cancel()
            leaving.cancel()
            await asyncio.wait({sending, leaving})
        if stayed:
            sending.result()

    async def _send(self, send: Send) -> None:
        await wait_until(self.arrived_s + self.headers_s)
        await send(self._headers())
        for at_s, data in self._timed():
            await wait_until(self.arrived_s + at_s)
            await send(_body(data))
            self.on_frame()
        fault = self.fault.kind if self.fault else None
        if fault is FaultKind.STALL and self.fault and self.fault.value is None:
            await asyncio.get_running_loop().create_future()  # until the client leaves
        if fault is FaultKind.CUT:
            return  # an answer without its end makes the server drop the connection
        await send(_body(b"", more=False))

    def _headers(self) -> Message:
        headers = {
            "content-type": self.media_type,
            "cache-control": "no-cache",
            "x-accel-buffering": "no",  # asks proxies not to hold the stream back
        }
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        return {"type": "http.response.start", "status": 200, "headers": pairs}

    def _timed(self) -> Iterator[Frame]:
        """Yield what is sent and when, the fault applied."""
        frames, fault = self.frames, self.fault
        if fault is None:
            yield from frames
            return
        half = len(frames) // 2
        match fault.kind:
            case FaultKind.STALL:
                yield from frames[:half]
                if fault.value is not None:
                    yield from ((at_s + fault.value, data) for at_s, data in frames[half:])
            case FaultKind.CUT:
                yield from frames[:half]
            case FaultKind.ERROR_MIDSTREAM:
                yield from frames[:half]
                yield frames[half][0], self.error_frame
            case FaultKind.BUFFERING:
                yield frames[-1][0], b"".join(data for _, data in frames)
            case FaultKind.FRAGMENTS:
                size = int(fault.value or 1)
                for at_s, data in frames:
                    for start in range(0, len(data), size):
                        yield at_s, data[start : start + size]
            case _:
                yield from frames


def _body(data: bytes, *, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}


async def _left(receive: Receive) -> None:
    """Return once the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass

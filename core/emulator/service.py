"""The emulator's application: a request is understood, answered on paper, and then played.

Everything about an answer (its tokens, their times, what the prompt cache held) is decided before
its first byte is sent; `core.emulator.play` only keeps the time.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field, replace

import numpy as np
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from core import tokens
from core.emulator import anthropic_api, openai_api
from core.emulator.cache import PromptCache
from core.emulator.dialect import Asked, Dialect, Frame, Turn
from core.emulator.faults import Fault, FaultKind, parse
from core.emulator.play import Play
from core.emulator.timing import EmulatedModel, draw
from core.errors import InputError
from core.providers.scripted import script

DIALECTS = (openai_api.CHAT, openai_api.RESPONSES, anthropic_api.MESSAGES)

ANSWER_HEADER = "x-playground-answer"
FAULT_HEADER = "x-playground-fault"


@dataclass(slots=True)
class Ledger:
    """What the server has seen since its start.

    `requests` were answered, `refused` were not; `left` counts clients that went before the end.
    """

    requests: int = 0
    refused: int = 0
    completed: int = 0
    left: int = 0
    frames_sent: int = 0
    running: int = 0
    most_running: int = 0
    last_body: dict[str, object] = field(default_factory=dict, repr=False)

    def begin(self) -> int:
        """Count a request in; returns its number."""
        self.requests += 1
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        return self.requests

    def end(self, completed: bool) -> None:
        """Count a request out."""
        self.running -= 1
        self.completed += completed
        self.left += not completed

    def frame(self) -> None:
        """Count a frame."""
        self.frames_sent += 1


class Service:
    """One emulated model with its prompt cache and its ledger."""

    def __init__(self, model: EmulatedModel, *, seed: int = 0) -> None:
        self.model = model
        self.ledger = Ledger()
        self.cache = PromptCache(lambda: asyncio.get_running_loop().time())
        self._rng = np.random.default_rng(seed)
        tokens.count("a")  # loads the table now: a second that no request shall wait for

    def app(self) -> Starlette:
        """Return the ASGI application."""
        apis = [Route(d.path, self._endpoint(d), methods=["POST"]) for d in DIALECTS]
        profile = Route("/emulator/profile", self._profile, methods=["GET", "POST"])
        return Starlette(routes=[*apis, profile, Route("/emulator/state", self._state)])

    def _endpoint(self, dialect: Dialect) -> Callable[[Request], Awaitable[ASGIApp]]:
        async def answer(request: Request) -> ASGIApp:
            arrived_s = asyncio.get_running_loop().time()
            try:
                body = _object(await request.body())
                fault = parse(request.headers.get(FAULT_HEADER))
                asked = _with_header(dialect.parse(body), request.headers.get(ANSWER_HEADER))
                refusal = _refused(dialect, fault, body)
            except InputError as error:
                refusal = _refusal(dialect, 400, str(error))
            if refusal is not None:
                self.ledger.refused += 1
                return refusal
            self.ledger.last_body = body
            return self._play(dialect, asked, fault, arrived_s)

        return answer

    def _play(self, dialect: Dialect, asked: Asked, fault: Fault | None, arrived_s: float) -> Play:
        """Decide everything about an answer before its first byte is sent."""
        number = self.ledger.begin()
        lookup = asked.look_up(self.cache, self.model)
        tokens_in = tokens.count(asked.prompt)
        turn = Turn(
            asked=asked,
            number=number,
            script=script(
                asked.answer,
                max_tokens=asked.max_tokens,
                stop=asked.stop,
                prediction=asked.prediction,
            ),
            draw=draw(self.model, tokens_in - lookup.read_tok, rng=self._rng),
            model=self.model,
            tokens_in=tokens_in,
            read_tok=lookup.read_tok,
            written_tok=lookup.written_tok,
        )
        asyncio.get_running_loop().call_at(arrived_s + turn.draw.first_s, lookup.commit)
        return Play(
            frames=_frames(dialect, turn, fault),
            arrived_s=arrived_s,
            headers_s=_headers_s(turn, fault),
            media_type="text/event-stream; charset=utf-8" if asked.stream else "application/json",
            fault=fault,
            error_frame=dialect.error_frame("the model failed in the middle of its answer"),
            on_frame=self.ledger.frame,
            ended=self.ledger.end,
        )

    async def _profile(self, request: Request) -> Response:
        """Show the pace, or change some of its values while the server runs."""
        if request.method == "POST":
            try:
                self.model = self.model.retuned(_object(await request.body()))
            except InputError as error:
                return JSONResponse({"error": str(error)}, status_code=400)
        return JSONResponse(asdict(self.model))

    async def _state(self, request: Request) -> Response:  # noqa: ARG002  (Starlette's form)
        """Show the ledger's counts."""
        counts = asdict(self.ledger)
        counts.pop("last_body")
        return JSONResponse(counts)


def _object(data: bytes) -> dict[str, object]:
    """Return a body's JSON object. Raises InputError when it is none."""
    try:
        body = json.loads(data)
    except ValueError:
        raise InputError("the body is not JSON") from None
    if not isinstance(body, dict):
        raise InputError("the body is not a JSON object")
    return body


def _with_header(asked: Asked, header: str | None) -> Asked:
    """Return the request with the answer of its header, which wins over the body's."""
    if header is None:
        return asked
    try:
        text = base64.b64decode(header, validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        raise InputError(f"{ANSWER_HEADER} is not base64 of UTF-8 text") from None
    return replace(asked, answer=text)


def _refused(dialect: Dialect, fault: Fault | None, body: dict[str, object]) -> Response | None:
    """Return the refusal that the fault asks for, None where the request goes on."""
    if fault is None:
        return None
    if fault.kind is FaultKind.TOO_MANY:
        wait = {} if fault.value is None else {"retry-after": f"{fault.value:g}"}
        return _refusal(dialect, 429, "too many requests", headers=wait)
    for name in fault.fields:
        if name in body:
            return _refusal(dialect, 400, f"unsupported parameter: {name}", param=name)
    return None


def _refusal(
    dialect: Dialect,
    status: int,
    message: str,
    *,
    param: str | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    return JSONResponse(dialect.error(status, message, param), status_code=status, headers=headers)


def _frames(dialect: Dialect, turn: Turn, fault: Fault | None) -> tuple[Frame, ...]:
    """Return what to send and when; an answer in one piece is one frame at its end."""
    if not turn.asked.stream:
        return ((turn.end_s, json.dumps(dialect.document(turn), ensure_ascii=False).encode()),)
    if fault is not None and fault.kind is FaultKind.NO_USAGE:
        turn = replace(turn, asked=replace(turn.asked, wants_usage=False))
    return tuple(dialect.frames(turn))


def _headers_s(turn: Turn, fault: Fault | None) -> float:
    """Return when the headers go out, in seconds after the request."""
    if not turn.asked.stream:
        return turn.end_s
    if fault is not None and fault.kind is FaultKind.SLOW_HEADERS:
        return turn.draw.first_s + (fault.value or 0.0)
    return 0.0 if turn.model.headers_early else turn.draw.first_s

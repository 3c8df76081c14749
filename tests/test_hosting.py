from __future__ import annotations

import asyncio
import gzip
import logging
from dataclasses import dataclass, field

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hosting.compression import CompressedOnce
from hosting.headers import SECURITY_HEADERS, SecurityHeaders
from hosting.logs import keep_keys_out_of_logs

BUNDLE = b"function race() { return 'lanes' }\n" * 200
IMMUTABLE = (
    (b"content-type", b"text/javascript; charset=utf-8"),
    (b"cache-control", b"public, immutable, max-age=31536000"),
    (b"etag", b'"abc"'),
)
FONT = ((b"content-type", b"font/woff2"), IMMUTABLE[1])


@dataclass
class Served:
    """A tiny server: answers every request with one body, in two pieces, and counts them."""

    body: bytes = BUNDLE
    headers: tuple[tuple[bytes, bytes], ...] = IMMUTABLE
    status: int = 200
    requests: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.gate.set()

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        self.requests += 1
        await self.gate.wait()
        size = (b"content-length", str(len(self.body)).encode())
        headers = [*self.headers, size]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        half = len(self.body) // 2
        await send({"type": "http.response.body", "body": self.body[:half], "more_body": True})
        await send({"type": "http.response.body", "body": self.body[half:]})


async def get(
    app: ASGIApp, path: str = "/static/js/a.js", method: str = "GET", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    await app({"type": "http", "method": method, "path": path, "headers": raw}, receive, send)
    answer = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], answer, b"".join(m.get("body", b"") for m in sent[1:])


# --- compression ----------------------------------------------------------------------------------


async def test_a_bundle_is_compressed_once_and_kept() -> None:
    served = Served()
    app = CompressedOnce(served)
    answers = [await get(app, accept_encoding="br, gzip") for _ in range(3)]
    assert served.requests == 1
    for status, headers, body in answers:
        assert status == 200
        assert gzip.decompress(body) == BUNDLE
        assert headers["content-encoding"] == "gzip"
        assert headers["content-length"] == str(len(body))
        assert headers["vary"] == "Accept-Encoding"
        assert headers["etag"] == 'W/"abc"'
        assert "immutable" in headers["cache-control"]


async def test_a_room_that_opens_the_page_at_once_costs_one_compression() -> None:
    served = Served()
    served.gate.clear()
    app = CompressedOnce(served)
    async with asyncio.TaskGroup() as group:
        visits = [group.create_task(get(app, accept_encoding="gzip")) for _ in range(20)]
        group.create_task(_open(served))
    assert served.requests == 1
    assert {gzip.decompress(visit.result()[2]) for visit in visits} == {BUNDLE}


async def _open(served: Served) -> None:
    served.gate.set()


@pytest.mark.parametrize(
    ("change", "asked"),
    [
        ({}, {}),
        ({}, {"accept_encoding": "gzip", "range": "bytes=0-9"}),
        ({}, {"accept_encoding": "gzip", "method": "HEAD"}),
        ({}, {"accept_encoding": "gzip", "path": "/"}),
        ({"status": 404}, {"accept_encoding": "gzip"}),
        ({"body": b"x" * 100}, {"accept_encoding": "gzip"}),
        ({"headers": IMMUTABLE[:1]}, {"accept_encoding": "gzip"}),
        (
            {"headers": ((b"content-type", b"font/woff2"), IMMUTABLE[1])},
            {"accept_encoding": "gzip"},
        ),
        ({"headers": (*IMMUTABLE, (b"content-encoding", b"br"))}, {"accept_encoding": "gzip"}),
    ],
    ids=["plain", "range", "head", "index", "missing", "small", "mutable", "font", "packed"],
)
async def test_everything_else_passes_untouched(
    change: dict[str, object], asked: dict[str, str]
) -> None:
    served = Served(**change)  # type: ignore[arg-type]
    app = CompressedOnce(served)
    for _ in range(2):
        status, headers, body = await get(app, **asked)
        assert (status, body) == (served.status, served.body)
        assert headers.get("content-encoding") in {None, "br"}
    assert served.requests == 2


async def test_what_is_kept_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hosting.compression.KEPT_BYTES", len(BUNDLE) + 10)
    app = CompressedOnce(Served())
    _, first, _ = await get(app, "/static/a.js", accept_encoding="gzip")
    _, second, body = await get(app, "/static/b.js", accept_encoding="gzip")
    assert "content-encoding" in first
    assert "content-encoding" not in second
    assert body == BUNDLE


# --- headers --------------------------------------------------------------------------------------


async def test_every_answer_carries_the_security_headers() -> None:
    _, headers, _ = await get(SecurityHeaders(Served()))
    assert {name.lower(): value for name, value in SECURITY_HEADERS}.items() <= headers.items()


async def test_a_header_an_answer_sets_itself_stays() -> None:
    own = ((b"referrer-policy", b"no-referrer"),)
    _, headers, _ = await get(SecurityHeaders(Served(headers=own)))
    assert headers["referrer-policy"] == "no-referrer"


def test_the_policy_lets_nothing_in_from_elsewhere() -> None:
    policy = dict(SECURITY_HEADERS)["Content-Security-Policy"]
    assert "http:" not in policy
    assert "https:" not in policy
    assert "*" not in policy
    assert "unsafe-eval" not in policy


# --- logs -----------------------------------------------------------------------------------------


def test_no_key_reaches_a_log_whoever_writes_it(capsys: pytest.CaptureFixture[str]) -> None:
    before = logging.getLogRecordFactory()
    logger, handler = logging.getLogger("made.before"), logging.StreamHandler()
    logger.addHandler(handler)
    try:
        keep_keys_out_of_logs()
        first = logging.getLogRecordFactory()
        keep_keys_out_of_logs()
        assert logging.getLogRecordFactory() is first
        logger.warning("using %s", "sk-ant-abcdefghijkl")
        logger.error("call failed", exc_info=ValueError("401 for sk-proj-abcdefghijkl"))
    finally:
        logger.removeHandler(handler)
        logging.setLogRecordFactory(before)
    written = capsys.readouterr().err
    assert "using [key]" in written
    assert "ValueError: 401 for [key]" in written
    assert "sk-" not in written

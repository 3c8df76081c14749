"""Running the emulator: on this machine only, in a thread of its own or in the foreground."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import uvicorn

from core.emulator.service import Ledger, Service
from core.emulator.timing import EmulatedModel
from core.errors import InputError, Unavailable

HOST = "127.0.0.1"
_ROOT = Path(__file__).parent.parent.parent
LARGEST_HEADERS = 1 << 20
"""Bytes of headers the server takes: an answer may come in one."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where an emulator listens."""

    port: int

    @property
    def url(self) -> str:
        """Address of the server itself: `/emulator/profile`, `/emulator/state`."""
        return f"http://{HOST}:{self.port}"

    @property
    def openai_url(self) -> str:
        """Base URL for OpenAI's SDK and compatible clients."""
        return f"{self.url}/v1"

    @property
    def anthropic_url(self) -> str:
        """Base URL for Anthropic's SDK."""
        return self.url


@dataclass(frozen=True, slots=True)
class Emulator(Address):
    """An emulator in this process: its ledger can be read and its pace be changed."""

    service: Service

    @property
    def ledger(self) -> Ledger:
        """What the server has seen so far."""
        return self.service.ledger

    def retune(self, model: EmulatedModel) -> None:
        """Change the pace of the requests to come, and forget all cached prompts."""
        self.service.model = model
        self.service.cache.clear()


@contextlib.contextmanager
def serve(model: EmulatedModel, port: int = 0, *, seed: int = 0) -> Iterator[Emulator]:
    """Run an emulator in a thread of its own; port 0 takes a free one.

    Client and server then share one interpreter, which can hold either up for 5 ms or more; for
    timings finer than that there is `serve_apart`. Raises: InputError when the port is taken.
    """
    service = Service(model, seed=seed)
    with _listen(port) as listener:
        server = _server(service)
        thread = threading.Thread(
            target=server.run, args=([listener],), name="emulator", daemon=True
        )
        thread.start()
        try:
            # Connections made before the thread is ready wait in the socket's queue.
            yield Emulator(listener.getsockname()[1], service)
        finally:
            server.should_exit = server.force_exit = True
            thread.join()


@contextlib.contextmanager
def serve_apart(model: EmulatedModel, port: int = 0) -> Iterator[Address]:
    """Run an emulator in a process of its own, which ends with this one at the latest.

    Raises: Unavailable when it does not start.
    """
    command = [sys.executable, "-m", "core.emulator", json.dumps(asdict(model)), str(port)]
    with subprocess.Popen(  # noqa: S603  (this interpreter, our own module)
        command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            if not line.strip().isdigit():
                raise Unavailable("the emulator's process did not start; its stderr says why")
            yield Address(int(line))
        finally:
            process.kill()  # it has nothing to save


def main(
    model: EmulatedModel,
    port: int = 0,
    *,
    seed: int = 0,
    announce: Callable[[Emulator], None] | None = None,
) -> None:
    """Run an emulator in the foreground until it is interrupted.

    `announce` is called with its address once it listens; by default that goes to stderr.
    Raises: InputError when the port is taken.
    """
    service = Service(model, seed=seed)
    with _listen(port) as listener:
        (announce or _print_addresses)(Emulator(listener.getsockname()[1], service))
        with contextlib.suppress(KeyboardInterrupt):
            _server(service).run([listener])


def _listen(port: int) -> socket.socket:
    """Return a listening socket that says it is TCP.

    asyncio switches Nagle's algorithm off only for sockets made with the protocol's number; with
    it on, a token would wait up to 40 ms for the client's delayed acknowledgement of the last one.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(128)
    except (OSError, OverflowError) as error:
        listener.close()
        raise InputError(f"port {port} cannot be used: {error}; 0 takes a free one") from None
    return listener


def _server(service: Service) -> uvicorn.Server:
    """Return a server that leaves this process's logging as it is."""
    return uvicorn.Server(
        uvicorn.Config(
            service.app(),
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            h11_max_incomplete_event_size=LARGEST_HEADERS,
        )
    )


def _print_addresses(emulator: Emulator) -> None:
    print(f"OpenAI     {emulator.openai_url}", file=sys.stderr)  # noqa: T201  (a server's greeting)
    print(f"Anthropic  {emulator.anthropic_url}", file=sys.stderr, flush=True)  # noqa: T201  (same)

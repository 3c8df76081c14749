"""The life of one engine: spawn its process, wait until it serves, stop it."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import secrets
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from core.errors import Unavailable
from core.local import client
from core.local.settings import EngineSettings
from core.local.wire import Address

START_LIMIT_S = 60.0
"""An engine that does not serve after this is given up. Loads took 0.5 to 6 s, the latter on a
machine that was busy otherwise."""

ANSWER_LIMIT_S = 5.0
"""For questions that cost the server nothing."""
SETTLE_POLL_S = 0.02

_ROOT = Path(__file__).resolve().parents[2]
_NOT_STARTED = "the local engine was not started"


class Engine:
    """One child process with one model, serving one call at a time."""

    def __init__(self, settings: Callable[[], EngineSettings]) -> None:
        """Prepare only; `start` asks for the settings and spawns the process.

        `settings` may look for the weights (and read them once), and raise `Unavailable`.
        """
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._address: Address | None = None

    @property
    def alive(self) -> bool:
        """Whether the process serves."""
        process = self._process
        return self._address is not None and process is not None and process.poll() is None

    @property
    def pid(self) -> int | None:
        """The process, or None while there is none."""
        return None if self._process is None else self._process.pid

    @property
    def address(self) -> Address:
        """Where to call it.

        Raises:
            Unavailable: it does not run.
        """
        if self._address is None:
            raise Unavailable(_NOT_STARTED)
        return self._address

    async def start(self) -> None:
        """Spawn the process; return when it serves and has answered once.

        The first answer matters: the part of the engine that forces text loads at its first use,
        0.4 s that no measurement should contain.

        Raises:
            Unavailable: the process could not load the model; the message says why.
        """
        await self.stop()
        settings = await asyncio.to_thread(self._settings)
        _check(settings.path)
        try:
            async with asyncio.timeout(START_LIMIT_S):
                api_key = secrets.token_urlsafe(24)
                answer = await asyncio.to_thread(self._spawn(settings, api_key).readline)
                self._address = Address(_port(answer, settings.path.name), api_key)
                await client.warm_up(self._address)
        except (TimeoutError, OSError) as error:
            self._kill()
            why = str(error) or f"it did not serve within {START_LIMIT_S:.0f} s"
            raise Unavailable(f"the local engine could not be started: {why}") from error
        except BaseException:
            self._kill()
            raise

    async def stop(self) -> None:
        """End the process, whatever it is doing; nothing happens where there is none."""
        if self._process is not None:
            await asyncio.to_thread(self._kill)

    async def settle(self) -> None:
        """Return when it works on nothing any more, as after a cancelled call.

        Raises:
            ProviderError: it does not answer.
        """
        now = asyncio.get_running_loop().time
        # The state is another process's, so there is no event to wait for.
        while not await client.is_idle(self.address, deadline_s=now() + ANSWER_LIMIT_S):  # noqa: ASYNC110
            await asyncio.sleep(SETTLE_POLL_S)

    def _spawn(self, settings: EngineSettings, api_key: str) -> IO[bytes]:
        """Start the worker and hand it its settings; return what it will answer on."""
        process = subprocess.Popen(
            [sys.executable, "-m", "core.local.worker"],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._process = process
        if process.stdin is None or process.stdout is None:
            raise Unavailable(_NOT_STARTED)
        process.stdin.write(settings.to_json(api_key).encode() + b"\n")
        process.stdin.flush()
        return process.stdout

    def _kill(self) -> None:
        """End the process and wait until it is gone (measured: 15 to 70 ms)."""
        process, self._process, self._address = self._process, None, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # unsent words to a process that has died
                    pipe.close()


def _check(path: Path) -> None:
    """Refuse what llama.cpp itself would only call "failed to init"."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise Unavailable("the local engine needs the package xllamacpp: pip install xllamacpp")
    if not path.is_file():
        raise Unavailable(f"no weights at {path}")


def _port(answer: bytes, name: str) -> int:
    """Return the port out of the worker's line.

    Raises:
        Unavailable: the worker reported an error, or died.
    """
    told: dict[str, str] = json.loads(answer) if answer else {"error": "its process ended"}
    port = urlsplit(told.get("url", "")).port
    if port is None:
        raise Unavailable(f"the local engine could not load {name}: {told.get('error')}")
    return port

"""What real runs of all sessions share: one loop, the local engine, and the line before it.

Hosted models and emulators are opened for a run and closed after it: a visitor's key is held no
longer than that. The local engine stays warm, and its runs take turns.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from functools import lru_cache

from core.background import CLOSE_LIMIT_S, Background
from core.engines import Target, close_shared, opened
from core.errors import PlaygroundError
from core.execute import Engine
from core.profiles import Setting
from pages._ui.live.line import Line, Tell


class Desk:
    """The loop on which all real calls are made, and who is next."""

    def __init__(self) -> None:
        self.background = Background("live")
        self._line = Line()

    @contextlib.asynccontextmanager
    async def engine(self, target: Target, setting: Setting, tell: Tell) -> AsyncIterator[Engine]:
        """Give the engine for the length of the block; `tell` hears how many go before.

        Raises: as `core.engines.opened`.
        """
        async with contextlib.AsyncExitStack() as stack:
            if target.engine == "local":
                await stack.enter_async_context(self._line.turn(tell))
            engine = await opened(target, setting)
            stack.push_async_callback(engine.aclose)
            yield engine

    def close(self) -> None:
        """Stop all work and end the local engines. Safe to repeat."""
        with contextlib.suppress(PlaygroundError):  # closed before: nothing is left to end
            self.background.submit(lambda _: close_shared()).wait(CLOSE_LIMIT_S)
        self.background.close()


@lru_cache(maxsize=1)
def desk() -> Desk:
    """Return the process's desk; its thread starts with the first who asks."""
    return Desk()


def close() -> None:
    """End what was started here, at the server's shutdown."""
    if desk.cache_info().currsize:
        desk().close()
        desk.cache_clear()

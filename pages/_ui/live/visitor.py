"""Whether the person who asked for something is still there: nobody pays for what nobody sees."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

T = TypeVar("T")

EVERY_S = 1.0
GRACE_S = 5.0
"""How long a tab may be without a connection: a network that stutters is back within it."""

PATIENCE_S = 600.0
"""Work nobody has looked after for so long ends in any case. A tab in the background may look
after its run once a minute only."""

Here = Callable[[], bool]


def presence() -> Here:
    """Return what tells, from any thread, whether the tab of the running script is open.

    Without a server around it (a test, a script) the visitor counts as there.
    """
    context = get_script_run_ctx()
    if context is None or not runtime.exists():
        return lambda: True
    server, session = runtime.get_instance(), context.session_id
    return lambda: server.is_active_session(session)


async def while_here(
    work: Coroutine[Any, Any, T],
    here: Here,
    *,
    every_s: float = EVERY_S,
    grace_s: float = GRACE_S,
) -> T:
    """Do the work for as long as the visitor is there.

    Raises:
        CancelledError: the visitor went, or the task was cancelled; the work has ended.
    """
    task = asyncio.ensure_future(work)
    now = asyncio.get_running_loop().time
    seen_s = now()
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=every_s)
            seen_s = now() if here() else seen_s
            if now() - seen_s >= grace_s:
                task.cancel()
                await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait({task})
        raise
    return task.result()

"""A known answer as the tokens a model would send; shared by the fake provider and the emulator."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from core import tokens
from core.output import decoding

FILLER = (
    "This answer is a stand-in: nobody has written one for this question, so the emulator fills "
    "the time a real model would need. Watch when the first word appears, how evenly the rest "
    "follows, and when it ends. The words mean nothing; their pace is the point. Switch streaming "
    "off and the same text arrives in one piece, after the same total time. Ask for fewer words "
    "and the end comes sooner while the beginning stays where it was."
)


@dataclass(frozen=True, slots=True)
class Script:
    """An answer cut into tokens.

    `pieces[k]` is the text that becomes complete with token k (empty in the middle of a
    character), `at[k]` when token k is there, in units of one token's time after the first.
    """

    text: str
    pieces: tuple[str, ...]
    at: tuple[float, ...]
    truncated: bool
    accepted: int
    rejected: int

    def chunks(self, size: int = 1) -> tuple[tuple[float, str], ...]:
        """Return (arrival, text) of chunks of `size` tokens, sent when their first is there."""
        starts = range(0, len(self.pieces), size)
        return tuple((self.at[k], "".join(self.pieces[k : k + size])) for k in starts)


def script(
    text: str | None,
    *,
    max_tokens: int | None = None,
    stop: Iterable[str] = (),
    prediction: str | None = None,
) -> Script:
    """Return the answer that a model would give which wants to say `text`.

    It ends before the first stop sequence and after `max_tokens`, as a model's would.
    """
    text = FILLER if text is None else text
    ends = [at for at in (text.find(end) for end in stop if end) if at >= 0]
    text = text[: min(ends)] if ends else text
    offsets = tokens.offsets(text)
    truncated = max_tokens is not None and len(offsets) > max_tokens
    if truncated:
        offsets = offsets[:max_tokens]
        text = text[: offsets[-1]] if offsets else ""
    pace = decoding(text, prediction)
    # Cut at a token's end, a text may tokenise anew into other tokens; then it is counted anew.
    offsets = offsets if len(pace.at) == len(offsets) else tokens.offsets(text)
    pieces = tuple(text[a:b] for a, b in zip((0, *offsets), offsets, strict=False))
    return Script(text, pieces, pace.at, truncated, pace.accepted, pace.rejected)


async def wait_until(due_s: float) -> None:
    """Wait until the loop's clock shows `due_s`; not a sleep, whose sum would round."""
    loop = asyncio.get_running_loop()
    if due_s <= loop.time():
        return
    reached: asyncio.Future[None] = loop.create_future()
    handle = loop.call_at(due_s, _resolve, reached)
    try:
        await reached
    finally:
        handle.cancel()


def _resolve(reached: asyncio.Future[None]) -> None:
    if not reached.done():
        reached.set_result(None)

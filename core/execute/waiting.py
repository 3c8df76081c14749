"""Who waits for whom: until when a step may not start."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from core.execute.track import Track
from core.plan import Plan, Step, WorkStep, guards


@dataclass(frozen=True, slots=True)
class Waiting:
    """The waits of one run; `sources` are the steps that are shown. Times are seconds."""

    plan: Plan
    tracks: Mapping[str, Track]
    sources: tuple[str, ...]

    async def until_ready(self, step: Step) -> float:
        """Wait until it may start; return the end of what it waited for last."""
        ready_s = 0.0
        for other in self.plan.starts_after(step.id):
            track = self.tracks[other]
            if self.plan.follows_at_once(step.id, other):
                await track.own_ended.wait()
                ready_s = max(ready_s, track.own_end_s)
            else:
                await track.ended.wait()
                ready_s = max(ready_s, track.end_s)
        return ready_s

    async def until_settled(self, step: Step) -> None:
        """Let guards speak that are left out at this very moment: nothing is guessed then."""
        for _ in self.plan.steps:
            if self.heard(step):
                return
            await asyncio.sleep(0)

    def heard(self, step: Step) -> bool:
        """Whether all its guards have spoken."""
        return all(self.tracks[g].ended.is_set() for g in guards(step))

    async def until_streaming(self, step: WorkStep) -> float:
        """Wait until all else has ended and a stream it reads has begun, or all have ended."""
        given = {self.plan.producer.get(w.value) for w in step.when}
        streams = {
            s.id
            for s in self.plan.llm_steps
            if s.stream and s.id in self.sources and s.id not in given
        }
        ready_s = 0.0
        waits = self.plan.starts_after(step.id)
        for other in waits:
            if other not in streams:
                await self.tracks[other].ended.wait()
                ready_s = max(ready_s, self.tracks[other].end_s)
        reading = [self.tracks[other] for other in waits if other in streams]
        await _any_begun(reading)
        begun = [t.first_s for t in reading if t.first_out.is_set()]
        ended = [t.end_s for t in reading]
        return max(ready_s, min(begun) if begun else max(ended, default=0.0))


async def _any_begun(tracks: list[Track]) -> None:
    """Wait until one has put something out or all have ended."""
    if not tracks:
        return

    async def all_ended() -> None:
        for track in tracks:
            await track.ended.wait()

    async def begun(track: Track) -> None:
        await track.first_out.wait()

    waiting = [asyncio.create_task(w) for w in (all_ended(), *(begun(t) for t in tracks))]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for waiter in waiting:
            waiter.cancel()

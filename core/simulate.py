"""Plan -> Timeline by arithmetic: all n requests at once, no event loop, no loop over requests.

Two plans simulated on the same seed and workload draw the same numbers for the same step of the
same request, so their difference is the effect of the change and not noise.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import assert_never

import numpy as np

from core import hits
from core.attempts import Sharing
from core.counts import Call, call, lead_tok
from core.display import Display, display
from core.dists import Array
from core.durations import Counted, Luck, llm_spell, work_spell
from core.placing import (
    Guarded,
    Lane,
    between,
    columns,
    drawn,
    late_for,
    placed,
    turns_late,
    usage,
)
from core.plan import Cache, LlmStep, Plan, ShowStep, Step, WorkKind, WorkStep, guards
from core.profiles import Setting
from core.see import Pieces, Source, first_out, visible
from core.spells import Spell, plain_spell
from core.timeline import Later, Mask, State, Timeline, Visible
from core.workload import Ints, Workload, simple


def simulate(plan: Plan, setting: Setting, workload: Workload, *, seed: int = 0) -> Timeline:
    """What happens to each request of the workload under this plan.

    Raises: UnknownName for a service the setting lacks, InputError for a model without figures.
    """
    return Run(plan, setting, workload, seed).timeline()


@dataclass(slots=True)
class Run:
    """One simulation: steps are visited in order, each reads the lanes of those before it.

    `sharing`: how calls fare that share something with those of other requests. `as_late`: what a
    step that looks at the time would do, were it ready at these times.
    """

    plan: Plan
    setting: Setting
    workload: Workload
    seed: int
    sharing: Sharing | None = None
    luck: Luck = field(init=False)
    display: Display = field(init=False)
    lanes: dict[str, Lane] = field(default_factory=dict)
    missed: dict[str, Mask] = field(default_factory=dict)
    served: Ints = field(init=False)
    hit: Mask = field(init=False)
    pieces: dict[str, Pieces] = field(default_factory=dict)
    as_late: dict[str, list[Spell]] = field(default_factory=dict)
    failed: Mask = field(init=False)

    def __post_init__(self) -> None:
        n = self.workload.n
        self.luck = Luck(self.seed, n, self.setting.certain)
        self.failed = np.zeros(n, dtype=bool)
        self.hit = np.zeros(n, dtype=bool)
        self.served = self.workload.index
        sentences = [s.piece_sentences for s in self.plan.work_steps if s.per_piece]
        self.display = display(self.workload.scenario, self.plan, max(sentences, default=1))

    def timeline(self) -> Timeline:
        """Visit all steps and collect what happened."""
        for step in self.plan.steps:
            match step:
                case LlmStep():
                    self.lanes[step.id] = self._llm(step)
                case WorkStep():
                    self.lanes[step.id] = self._work(step)
                case ShowStep():
                    self.lanes[step.id] = self._show(step)
                case _:
                    assert_never(step)
        return self._collected()

    # --- when a step may start -------------------------------------------------------------------

    def _ready(self, step: Step, streams_from: frozenset[str] = frozenset()) -> Array:
        """Latest end of what it waits for; of a step it reads as a stream, the first output.

        Steps that speculate on the same guard follow each other without waiting for it.
        """
        ready = np.zeros(self.workload.n)
        for other in self.plan.starts_after(step.id):
            lane = self.lanes[other]
            end = lane.own_end if self._together(step, other) else lane.end
            ready = np.maximum(ready, lane.first if other in streams_from else end)
        return ready

    def _together(self, step: Step, other: str) -> bool:
        """Whether both speculate on one guard, one right after the other."""
        return self.plan.follows_at_once(step.id, other)

    def _skip(self, step: Step, of: Collection[str] | None = None) -> Mask:
        """Where a condition does not hold: of those `of` gives, or of all but the step's guards."""
        skip = np.zeros(self.workload.n, dtype=bool)
        for when in step.when:
            giver = self.plan.producer.get(when.value, "")
            if (giver in guards(step)) if of is None else (giver not in of):
                continue
            truth = self.missed.get(when.value)
            if truth is None:
                truth = self.workload.flags(when.value)
            skip |= truth != when.is_true
        return skip

    def _guarded(self, step: Step, again: Callable[[], Spell]) -> Guarded | None:
        """What the guards say, where the step speculates."""
        guarding = guards(step)
        if not guarding:
            return None
        said = np.maximum.reduce([self.lanes[g].end for g in guarding])
        misled = np.zeros(self.workload.n, dtype=bool)
        for other in self.plan.needs[step.id]:
            if self._together(step, other):
                misled |= self.lanes[other].state == State.CANCELLED
        return Guarded(said, self._skip(step, guarding), misled, again())

    # --- steps -----------------------------------------------------------------------------------

    def _llm(self, step: LlmStep) -> Lane:
        ready, skip = self._ready(step), self._skip(step)
        spell = self._spell(step, ready, skip, hopeful=True)
        guarded = self._guarded(step, lambda: self._spell(step, ready, skip, hopeful=False))
        if self.sharing is not None:
            self.as_late[step.id] = [
                self._spell(step, np.full(len(ready), at), skip, hopeful=True)
                for at in between(turns_late(step))
            ]
        return self._kept(placed(step, ready, skip, spell, guarded))

    def _kept(self, lane: Lane) -> Lane:
        self.failed |= lane.failed
        return lane

    def _spell(self, step: LlmStep, ready: Array, skip: Mask, *, hopeful: bool) -> Spell:
        """The call, as small and short as rules and deadlines want it."""
        counted = self._counted(step, skip, hopeful=hopeful)
        to_small = None
        if step.small_if is not None:
            to_small = simple(self.workload.scenario, step.small_if)[self.workload.index]
        for _, late in late_for(step, ready, "small"):
            to_small = late if to_small is None else to_small | late
        cap = np.full(self.workload.n, np.inf)
        for policy, late in late_for(step, ready, "short"):
            limit = lead_tok(self.workload.scenario, step)[self.workload.index] + policy.short_tok
            counted = counted.at_most(limit, late)
            cap = np.where(late, limit - 1.0, cap)
        part = "" if hopeful else "again"
        spell = llm_spell(
            self.plan, self.setting, step, counted, self.luck, to_small, self.sharing, part
        )
        return replace(spell, cap=np.minimum(spell.cap, cap))

    def _counted(self, step: LlmStep, skip: Mask, *, hopeful: bool) -> Counted:
        """What the call reads and writes; `hopeful` of steps whose guard has not spoken yet."""
        numbers = call(self.workload.scenario, step)
        rows = self.workload.index
        tokens_in = numbers.tokens_in[rows]
        for value, counts in numbers.input_tok.items():
            producer = self.plan.producer.get(value)
            if producer is not None:
                lane = self.lanes[producer]
                absent = lane.absent
                if hopeful and self._together(step, producer):
                    absent = absent & ((lane.state != State.CANCELLED) | lane.gave_up)
                tokens_in = tokens_in - np.where(absent, counts[rows], 0.0)
        tokens_in = np.maximum(tokens_in, 0.0)
        reusable, written = self._prefix(step, numbers, tokens_in, ~skip)
        return Counted(
            tokens_in,
            reusable,
            written,
            numbers.tokens_out[rows],
            numbers.lead[rows],
            numbers.decode[rows],
            numbers.rejected[rows],
            self.workload.lang,
        )

    def _prefix(
        self, step: LlmStep, numbers: Call, tokens_in: Array, active: Mask
    ) -> tuple[Array, Array]:
        """Tokens read from the provider's prompt cache, and tokens written to it, (n,) each."""
        zero = np.zeros(self.workload.n)
        if not step.prompt_cache:
            return zero, zero
        static = np.minimum(numbers.static_tok[self.workload.index], tokens_in)
        reach = hits.reusable_tok(self.setting.model(step.role).caching, static)
        warm = hits.warm_prefix(self.workload, active) | self.setting.certain
        return np.where(warm, reach, 0.0), np.where(warm, 0.0, reach)

    def _work(self, step: WorkStep) -> Lane:
        if step.layers:
            return self._lookup(step)
        skip = self._skip(step)
        if step.per_piece:
            return self._per_piece(step, skip)
        spell = work_spell(
            self.setting, step, self._chars(step), self.luck, lambda c: self._hit(c, skip)
        )
        guarded = self._guarded(step, lambda: spell)
        lane = self._kept(placed(step, self._ready(step), skip, spell, guarded))
        if step.work is WorkKind.RERANK:
            read = [self.plan.producer[v] for v in step.reads if v in self.plan.producer]
            lane.absent = np.logical_or.reduce([self.lanes[r].absent for r in read])
        return lane

    def _chars(self, step: WorkStep) -> Array:
        """Characters of the answer that the step reads: what was written by those that give it."""
        if self.setting.service(step.service).per_1k_chars_s == 0.0:
            return np.zeros(self.workload.n)
        rows, made = self.workload.index, self.display
        read = np.zeros(made.source.shape, dtype=bool)[rows]
        for j, name in enumerate(made.producers):
            if not set(step.reads).isdisjoint(self.plan.step(name).gives):
                cap = self._source(name).cap[:, None]
                read |= (made.source[rows] == j) & (made.weight[rows] <= cap)
        chars: Array = np.where(read, made.chars[rows], 0.0).sum(axis=1)
        return chars

    def _hit(self, policy: Cache, skip: Mask) -> Mask:
        active = ~skip
        return hits.exact(self.workload, policy.key, policy.ttl_s, active).hit

    def _lookup(self, step: WorkStep) -> Lane:
        """Look for answers at hand: where it hits, all that is under its condition is skipped."""
        skip = self._skip(step)
        found = hits.answers(self.workload, step.layers)
        hit = found.hit & ~skip
        self.missed[step.gives[0]] = ~hit
        self.served = np.where(hit, found.served, self.served)
        self.hit = self.hit | hit
        none = np.zeros(self.workload.n, dtype=bool)
        chars = np.zeros(self.workload.n)
        spell = work_spell(self.setting, step, chars, self.luck, lambda _: none)
        lane = placed(step, self._ready(step), skip, spell)
        lane.state = np.where(hit, State.CACHED, lane.state).astype(np.int8)
        return lane

    def _sources(self) -> list[Source]:
        """The steps whose text is shown, as the stream readers need them."""
        return [self._source(name) for name in self.display.producers]

    def _source(self, name: str) -> Source:
        """One of them; nothing is left of it where it did not run, or ran in vain."""
        step, lane = self.plan.step(name), self.lanes[name]
        streams = isinstance(step, LlmStep) and step.stream
        lost = lane.absent if not streams else lane.absent & (lane.state != State.RAN)
        cap = np.where(lost, -np.inf, lane.cap)
        return Source(lane.begun, lane.first, lane.end, lane.tpot, cap, streams=streams)

    def _per_piece(self, step: WorkStep, skip: Mask) -> Lane:
        """Sentence by sentence on the stream: from the first output of what it reads.

        It ends when the last piece is through and all that it reads has ended. Policies are those
        of work as a whole; here they have no meaning.
        """
        given = {self.plan.producer.get(w.value) for w in step.when}
        streaming = frozenset(
            s.id
            for s in self.plan.llm_steps
            if s.stream and s.id in self.display.producers and s.id not in given
        )
        ready = self._stream_ready(step, streaming)
        service = self.setting.service(step.service)
        costs = np.stack(
            [
                self.luck.draw(service.latency(), step.id, f"piece{j}")
                for j in range(self.display.piece_source.shape[1])
            ],
            axis=1,
        )
        pieces = Pieces.worked(
            self.display, self.workload.index, self._sources(), ready, costs, service.per_1k_chars_s
        )
        self.pieces[step.id] = pieces
        read = (*self.plan.starts_after(step.id), *self.display.producers)
        ends = [self.lanes[other].end for other in read]
        end = np.maximum.reduce([pieces.end, ready, *ends])
        first = np.minimum(pieces.first, end)
        spell = plain_spell(end - ready, ok=np.ones(self.workload.n, dtype=bool))
        spell = replace(spell, begun=first - ready, first=first - ready)
        return self._kept(placed(step, ready, skip, spell))

    def _stream_ready(self, step: WorkStep, streaming: frozenset[str]) -> Array:
        """When all else it waits for has ended and the first stream it reads has begun."""
        waits = self.plan.starts_after(step.id)
        ready = np.zeros(self.workload.n)
        begun, ended = np.full(self.workload.n, np.inf), ready
        for other in waits:
            lane = self.lanes[other]
            if other in streaming:
                wrote = (lane.state == State.RAN) & (lane.cap >= 0.0)
                begun = np.minimum(begun, np.where(wrote, lane.first, np.inf))
                ended = np.maximum(ended, lane.end)
            else:
                ready = np.maximum(ready, lane.end)
        return np.maximum(ready, np.where(np.isfinite(begun), begun, ended))

    def _show(self, step: ShowStep) -> Lane:
        """From the first thing shown to the last thing done."""
        end = self._ready(step)
        begun = first_out(self.display, self.workload.index, self._sources())
        pieces, gate = self._gates(step)
        if pieces is not None:
            begun = np.maximum(begun, pieces.first)
        if gate is not None:
            begun = np.maximum(begun, gate)
        begun = np.minimum(begun, end)
        if self.plan.transport.buffered:
            begun = end
        none = np.zeros(self.workload.n, dtype=bool)
        ran = np.full(self.workload.n, State.RAN, dtype=np.int8)
        zero, never = np.zeros(self.workload.n), np.full(self.workload.n, np.inf)
        return Lane(begun, begun, begun, end, end, ran, zero, never, none)

    def _gates(self, show: ShowStep) -> tuple[Pieces | None, Array | None]:
        """When its checks let each piece through, and when those of the whole have spoken."""
        checks = {self.plan.producer[v] for v in (() if show.early else show.gates)}
        passing = [
            (self.pieces[c], self.lanes[c].state == State.SKIPPED)
            for c in sorted(checks & self.pieces.keys())
        ]
        whole = [self.lanes[c].end for c in checks - self.pieces.keys()]
        return Pieces.through(passing), np.maximum.reduce(whole) if whole else None

    # --- the result ------------------------------------------------------------------------------

    def _collected(self) -> Timeline:
        lanes = [self.lanes[s.id] for s in self.plan.steps]
        requests = self.workload.scenario.requests
        rows = self.workload.index
        served, hit = self.served, self.hit
        intents = np.array([hash((r.intent, r.lang)) for r in requests])
        sources, made = self._sources(), self.display
        pieces, gate = self._gates(self.plan.show)
        shown = self.lanes[self.plan.show.id]
        buffered = self.plan.transport.buffered

        def see() -> Visible:
            return visible(
                made,
                served,
                sources,
                pieces,
                gate,
                shown.first,
                shown.end,
                hit,
                self.failed,
                buffered=buffered,
            )

        return Timeline(
            self.plan,
            "simulated",
            drawn(requests, rows),
            columns([lane.ready for lane in lanes]),
            columns([lane.start for lane in lanes]),
            columns([lane.first for lane in lanes]),
            columns([lane.end for lane in lanes]),
            columns([lane.state for lane in lanes]),
            self.failed,
            hit,
            hit & (intents[served] != intents[rows]),
            Later(lambda: usage(lanes)),
            self._status(),
            drawn(made.units, served),
            Later(see),
        )

    def _status(self) -> dict[str, Array]:
        """Stage messages: at the start of each step that announces itself, if it runs."""
        return {
            s.id: np.where(self.lanes[s.id].state == State.SKIPPED, np.nan, self.lanes[s.id].ready)
            for s in self.plan.steps
            if s.announce
        }

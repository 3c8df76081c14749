"""Plan -> Timeline by arithmetic: all n requests at once, no event loop, no loop over requests.

Two plans simulated on the same seed and workload draw the same numbers for the same step of the
same request, so their difference is the effect of the change and not noise.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import assert_never

import numpy as np

from core import hits
from core.dists import Array
from core.durations import Counted, Luck, Spell, llm_spell, work_spell
from core.plan import Cache, Deadline, LlmStep, Plan, ShowStep, Speculate, Step, WorkStep
from core.profiles import Profile, Setting
from core.see import Pieces, Source, visible
from core.timeline import Mask, State, Timeline, Usage, Visible
from core.workload import Call, Display, Workload, call, display

PROMPT_CACHE_LIFE_S = 300.0
"""How long a provider keeps an unused prefix. Source: vendors' guides, 5 to 10 minutes."""


def simulate(plan: Plan, setting: Setting, workload: Workload, *, seed: int = 0) -> Timeline:
    """What happens to each request of the workload under this plan.

    Raises: UnknownName for a service the setting lacks, InputError for a model without figures.
    """
    return _Run(plan, setting, workload, seed).timeline()


@dataclass(slots=True)
class _Lane:
    """One step's arrays, (n,), absolute times."""

    ready: Array
    start: Array
    first: Array
    end: Array
    state: np.ndarray
    tpot: Array
    absent: Mask
    spell: Spell | None = None


@dataclass(slots=True)
class _Run:
    """One simulation: steps are visited in order, each reads the lanes of those before it."""

    plan: Plan
    setting: Setting
    workload: Workload
    seed: int
    luck: Luck = field(init=False)
    display: Display = field(init=False)
    lanes: dict[str, _Lane] = field(default_factory=dict)
    missed: dict[str, Mask] = field(default_factory=dict)
    found: hits.Hits | None = None
    pieces: Pieces | None = None
    failed: Mask = field(init=False)

    def __post_init__(self) -> None:
        n = self.workload.n
        self.luck = Luck(self.seed, n, self.setting.certain)
        self.failed = np.zeros(n, dtype=bool)
        sentences = [s.piece_sentences for s in self.plan.work_steps if s.per_piece]
        self.display = display(self.workload.scenario, self.plan, max(sentences, default=1))

    def timeline(self) -> Timeline:
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
        """Latest end of what it waits for; of a step it reads as a stream, the first output."""
        ready = np.zeros(self.workload.n)
        for other in self.plan.waits(step.id):
            lane = self.lanes[other]
            ready = np.maximum(ready, lane.first if other in streams_from else lane.end)
        return ready

    def _skip(self, step: Step) -> Mask:
        """Where a condition of the step does not hold."""
        skip = np.zeros(self.workload.n, dtype=bool)
        for when in step.when:
            truth = self.missed.get(when.value)
            if truth is None:
                truth = self.workload.flags(when.value)
            skip |= truth != when.is_true
        return skip

    def _placed(self, step: Step, ready: Array, skip: Mask, spell: Spell) -> _Lane:
        """A spell put on the clock, with speculation and the deadline taken into account."""
        start, state = ready, np.where(skip, State.SKIPPED, State.RAN).astype(np.int8)
        first, end = start + spell.first, start + spell.end
        for policy in step.policies:
            if isinstance(policy, Speculate):
                guard = self.lanes[policy.guard]
                said = np.maximum(guard.end, start)
                first, end = np.maximum(first, said), np.maximum(end, said)
                end = np.where(skip, said, end)
                state = np.where(skip, State.CANCELLED, state).astype(np.int8)
                skip = np.zeros_like(skip)
            elif isinstance(policy, Deadline):
                late = policy.slo_s - ready < policy.left_s
                spell = replace(spell, absent=spell.absent | late)
                state = np.where(late, State.SKIPPED, state).astype(np.int8)
                skip = skip | late
        state = np.where(spell.cached & ~skip, State.CACHED, state).astype(np.int8)
        bad = ~spell.ok & ~skip
        state = np.where(bad, State.FAILED, state).astype(np.int8)
        self.failed |= bad
        absent = skip | (state == State.CANCELLED) | spell.absent
        return _Lane(
            ready,
            start,
            np.where(skip, ready, first),
            np.where(skip, ready, end),
            state,
            spell.tpot,
            absent,
            spell,
        )

    # --- steps -----------------------------------------------------------------------------------

    def _llm(self, step: LlmStep) -> _Lane:
        ready, skip = self._ready(step), self._skip(step)
        counted = self._counted(step, skip)
        spell = llm_spell(self.plan, self.setting, step, counted, self.luck)
        return self._placed(step, ready, skip, spell)

    def _counted(self, step: LlmStep, skip: Mask) -> Counted:
        numbers = call(self.workload.scenario, step)
        rows = self.workload.index
        tokens_in = numbers.tokens_in[rows]
        for value, counts in numbers.input_tok.items():
            producer = self.plan.producer.get(value)
            if producer is not None:
                tokens_in = tokens_in - np.where(self.lanes[producer].absent, counts[rows], 0.0)
        tokens_in = np.maximum(tokens_in, 0.0)
        reusable, written = self._prefix(step, numbers, tokens_in, ~skip)
        return Counted(
            tokens_in,
            reusable,
            written,
            numbers.tokens_out[rows],
            numbers.decode[rows],
            numbers.rejected[rows],
        )

    def _prefix(
        self, step: LlmStep, numbers: Call, tokens_in: Array, active: Mask
    ) -> tuple[Array, Array]:
        """Tokens read from the provider's prompt cache, and tokens written to it, (n,) each."""
        zero = np.zeros(self.workload.n)
        if not step.prompt_cache:
            return zero, zero
        model: Profile = self.setting.model(step.role)
        rules = model.caching
        static = np.minimum(numbers.static_tok[self.workload.index], tokens_in)
        reach = np.floor(static / rules.step_tok) * rules.step_tok
        reach = np.where(static >= rules.minimum_tok, reach, 0.0)
        warm = np.zeros(self.workload.n, dtype=bool)
        used = np.flatnonzero(active)
        warm[used[1:]] = np.diff(self.workload.arrival_s[used]) <= PROMPT_CACHE_LIFE_S
        if self.setting.certain:
            warm[:] = True
        return np.where(warm, reach, 0.0), np.where(warm, 0.0, reach)

    def _work(self, step: WorkStep) -> _Lane:
        if step.layers:
            return self._lookup(step)
        skip = self._skip(step)
        if step.per_piece:
            return self._per_piece(step, skip)
        chars = self.display.chars.sum(axis=1)[self.workload.index]
        spell = work_spell(self.setting, step, chars, self.luck, lambda c: self._hit(c, skip))
        return self._placed(step, self._ready(step), skip, spell)

    def _hit(self, policy: Cache, skip: Mask) -> Mask:
        active = ~skip
        return hits.exact(self.workload, policy.key, policy.ttl_s, active).hit

    def _lookup(self, step: WorkStep) -> _Lane:
        """A look-up of finished answers: where it hits, everything under its condition is skipped."""
        self.found = hits.answers(self.workload, step.layers)
        self.missed[step.gives[0]] = ~self.found.hit
        none = np.zeros(self.workload.n, dtype=bool)
        chars = np.zeros(self.workload.n)
        spell = work_spell(self.setting, step, chars, self.luck, lambda _: none)
        lane = self._placed(step, self._ready(step), none, spell)
        lane.state = np.where(self.found.hit, State.CACHED, lane.state).astype(np.int8)
        return lane

    def _sources(self) -> list[Source]:
        """The steps whose text is shown, as the stream readers need them."""
        lanes = [(self.plan.step(p), self.lanes[p]) for p in self.display.producers]
        return [
            Source(lane.first, lane.end, lane.tpot, streams=isinstance(s, LlmStep) and s.stream)
            for s, lane in lanes
        ]

    def _per_piece(self, step: WorkStep, skip: Mask) -> _Lane:
        """Sentence by sentence on the stream: from the first output of what it reads."""
        streaming = frozenset(
            s.id for s in self.plan.llm_steps if s.stream and s.id in self.display.producers
        )
        ready = self._ready(step, streaming)
        service = self.setting.service(step.service)
        pieces = self.display.piece_source.shape[1]
        costs = np.stack(
            [self.luck.draw(service.latency(), step.id, f"piece{j}") for j in range(pieces)], axis=1
        )
        self.pieces = Pieces.worked(
            self.display, self.workload.index, self._sources(), costs, service.per_1k_chars_s
        )
        first = np.maximum(self.pieces.first, ready)
        end = np.maximum(self.pieces.end, ready)
        spell = work_spell(
            self.setting, step, np.zeros(self.workload.n), self.luck, lambda c: self._hit(c, skip)
        )
        spell = replace(spell, first=first - ready, end=end - ready)
        return self._placed(step, ready, skip, spell)

    def _show(self, step: ShowStep) -> _Lane:
        """From the first thing shown to the last thing done."""
        end = self._ready(step)
        begun = np.full(self.workload.n, np.inf)
        for source, lane in zip(self._sources(), self._producers(), strict=True):
            at = source.first if source.streams else source.end
            begun = np.where(lane.state == State.RAN, np.minimum(begun, at), begun)
        for value in () if step.early else step.gates:
            gate = self.plan.step(self.plan.producer[value])
            lane = self.lanes[gate.id]
            piecewise = isinstance(gate, WorkStep) and gate.per_piece
            begun = np.maximum(begun, lane.first if piecewise else lane.end)
        begun = np.minimum(begun, end)
        if self.plan.transport.buffered:
            begun = end
        none = np.zeros(self.workload.n, dtype=bool)
        ran = np.full(self.workload.n, State.RAN, dtype=np.int8)
        return _Lane(begun, begun, begun, end, ran, np.zeros(self.workload.n), none)

    def _producers(self) -> list[_Lane]:
        return [self.lanes[p] for p in self.display.producers]

    # --- the result ------------------------------------------------------------------------------

    def _collected(self) -> Timeline:
        lanes = [self.lanes[s.id] for s in self.plan.steps]
        requests = self.workload.scenario.requests
        rows = self.workload.index
        served = rows if self.found is None else self.found.served
        hit = np.zeros(self.workload.n, dtype=bool) if self.found is None else self.found.hit
        intents = np.array([hash((r.intent, r.lang)) for r in requests])
        show, sources, pieces, made = self.plan.show, self._sources(), self.pieces, self.display
        gate = self._whole_gate(show)
        shown = self.lanes[show.id]
        buffered = self.plan.transport.buffered

        def see() -> Visible:
            gated = None if show.early else pieces
            return visible(made, served, sources, gated, gate, shown.start, shown.end, hit,
                           self.failed, buffered=buffered)

        return Timeline(
            self.plan,
            "simulated",
            tuple(requests[r] for r in rows),
            _columns([lane.ready for lane in lanes]),
            _columns([lane.start for lane in lanes]),
            _columns([lane.first for lane in lanes]),
            _columns([lane.end for lane in lanes]),
            np.stack([lane.state for lane in lanes], axis=1),
            self.failed,
            hit,
            hit & (intents[served] != intents[rows]),
            _usage(lanes),
            self._status(),
            tuple(made.units[r] for r in served),
            see,
        )

    def _whole_gate(self, show: ShowStep) -> Array | None:
        """When the checks that look at the whole answer have spoken, (n,)."""
        if show.early or not show.gates:
            return None
        whole = [
            self.lanes[g.id].end
            for v in show.gates
            if not (
                isinstance(g := self.plan.step(self.plan.producer[v]), WorkStep) and g.per_piece
            )
        ]
        return np.maximum.reduce(whole) if whole else None

    def _status(self) -> dict[str, Array]:
        """Stage messages: at the start of each step that announces itself, if it runs."""
        return {
            s.id: np.where(
                self.lanes[s.id].state == State.SKIPPED, np.nan, self.lanes[s.id].start
            )
            for s in self.plan.steps
            if s.announce
        }


def _columns(arrays: list[Array]) -> Array:
    return np.stack(arrays, axis=1)


def _usage(lanes: list[_Lane]) -> Usage:
    """What was used, (n, S); nothing where a step was skipped."""

    def column(name: str) -> Array:
        zero = np.zeros_like(lanes[0].ready)
        return _columns(
            [
                zero
                if lane.spell is None
                else np.where(lane.state == State.SKIPPED, 0.0, getattr(lane.spell, name))
                for lane in lanes
            ]
        )

    used = column("tokens_in")
    return Usage(
        used,
        column("tokens_cached"),
        column("tokens_out"),
        np.zeros_like(used),
        column("tokens_rejected"),
        column("cost_usd"),
        column("calls"),
    )

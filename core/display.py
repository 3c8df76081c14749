"""What a plan shows, as padded arrays over a scenario's requests: units, and pieces for checks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from core.counts import answer_form, call
from core.dists import Array
from core.output import Unit
from core.plan import LlmStep, Plan
from core.scenarios import Scenario
from core.workload import Ints, Mask


@dataclass(frozen=True, slots=True, eq=False)
class Display:
    """What a plan shows, as padded arrays over a scenario's requests.

    Units (m, K): `source` is the position of the producing step in `producers` (-1 pads), `weight`
    when it is there after that step's first token (in token times), `chars`, `closes`, `piece`.
    Pieces (m, J): the sentences or cards a check works on: `piece_source` (-1 pads),
    `piece_first` and `piece_weight` (when the first of it can be read, and when it is known to be
    complete), `piece_chars`. `producer_first` (m, P): when the first of each producer's units can
    be read, inf where it has none.
    """

    producers: tuple[str, ...]
    source: Ints
    weight: Array
    chars: Array
    closes: Mask
    piece: Ints
    piece_source: Ints
    piece_first: Array
    piece_weight: Array
    piece_chars: Array
    producer_first: Array
    units: tuple[tuple[Unit, ...], ...]

    @property
    def exclusive(self) -> bool:
        """Whether each request's units come from one step only (so they are in time order)."""
        return bool(np.all((self.source == self.source[:, :1]) | (self.source < 0)))


def display(scenario: Scenario, plan: Plan, piece_sentences: int = 1) -> Display:
    """What the plan's show step shows, from the calls that produce it."""
    reads = plan.show.reads
    makers = tuple(_wording(s) for s in plan.llm_steps if set(s.gives) & set(reads))
    return _display(scenario, makers, reads, piece_sentences)


def _wording(step: LlmStep) -> LlmStep:
    """The step as far as its text goes: plans that differ in nothing else share their counts."""
    return LlmStep(
        step.id,
        answer_form(step.signature),
        decides=step.decides,
        when=step.when,
        predict=step.predict,
        max_output_tok=step.max_output_tok,
    )


@lru_cache(maxsize=96)
def _display(
    scenario: Scenario, makers: tuple[LlmStep, ...], reads: tuple[str, ...], piece_sentences: int
) -> Display:
    entries: list[tuple[int, int, int, float, float, Unit, int]] = []
    kept: list[tuple[Unit, ...]] = []
    for r in range(len(scenario.requests)):
        base = 0
        row: list[Unit] = []
        for j, step in enumerate(makers):
            counted = call(scenario, step)
            found = [u for u in counted.units[r] if u.field in reads]
            pieces = {p: base + g for p, g in _grouped(found, piece_sentences).items()}
            at = counted.at[r]
            for column, u in enumerate(found, start=len(row)):
                entries.append((r, column, j, at[u.token], at[u.known], u, pieces[u.piece]))
            base = max(pieces.values(), default=base - 1) + 1
            row += found
        kept.append(tuple(row))
    return _padded(tuple(s.id for s in makers), entries, tuple(kept))


def _padded(
    producers: tuple[str, ...],
    entries: list[tuple[int, int, int, float, float, Unit, int]],
    kept: tuple[tuple[Unit, ...], ...],
) -> Display:
    """Entries (request, column, producer, weight, known, unit, piece) as arrays."""
    at = np.array([(r, c, j, p) for r, c, j, *_, p in entries], dtype=np.int64).reshape(-1, 4)
    row, column, producer, piece = at.T
    weight = np.array([w for _, _, _, w, *_ in entries])
    known = np.array([k for *_, k, _, _ in entries])
    chars = np.array([u.chars for *_, u, _ in entries], dtype=float)
    shape = (len(kept), int(column.max(initial=0)) + 1)
    pieces = (len(kept), int(piece.max(initial=0)) + 1)
    out = Display(
        producers,
        np.full(shape, -1, dtype=np.int64),
        np.zeros(shape),
        np.zeros(shape),
        np.zeros(shape, dtype=bool),
        np.zeros(shape, dtype=np.int64),
        np.full(pieces, -1, dtype=np.int64),
        np.full(pieces, np.inf),
        np.zeros(pieces),
        np.zeros(pieces),
        np.full((len(kept), len(producers)), np.inf),
        kept,
    )
    out.source[row, column], out.weight[row, column] = producer, weight
    out.chars[row, column], out.piece[row, column] = chars, piece
    out.closes[row, column] = [u.closes for *_, u, _ in entries]
    out.piece_source[row, piece] = producer
    np.minimum.at(out.piece_first, (row, piece), weight)
    np.maximum.at(out.piece_weight, (row, piece), known)
    np.minimum.at(out.producer_first, (row, producer), weight)
    np.add.at(out.piece_chars, (row, piece), chars)
    return out


def _grouped(found: list[Unit], sentences: int) -> dict[int, int]:
    """The passage each piece belongs to: so many sentences of one text, or a card."""
    groups: dict[int, int] = {}
    taken, text, last = 0, "", -1
    for unit in found:
        if unit.piece in groups:
            continue
        goes_on = not unit.part and unit.unit == text and taken < sentences
        taken = taken + 1 if goes_on else 1
        last += not goes_on
        groups[unit.piece] = last
        text = "" if unit.part else unit.unit
    return groups

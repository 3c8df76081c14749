"""The stream of requests a plan is simulated on, and what each of its calls costs per request.

Everything that does not depend on chance is counted here once per distinct request (m of them) from
real text; the simulator then only gathers rows for its n drawn requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from core import tokens
from core.dists import Array
from core.errors import InputError
from core.output import Decoding, Unit, decoding, units, write
from core.plan import Input, LlmStep, Plan, Signature, SmallIf, When
from core.prompt import PER_MESSAGE_TOK, fixed_text, input_text
from core.reading import Reader
from core.request import Request
from core.scenarios import Scenario

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Words = npt.NDArray[np.str_]

ZIPF_EXPONENT = 0.9
"""How unevenly requests repeat. Assumption: query logs are Zipf with exponents of 0.7 to 1.1."""

RATE_PER_S = 0.2
"""Requests per second of the whole service, where nothing else is said. Assumption."""

REPEAT_SHARE = 0.3
"""Share of requests asked in words used before. Assumption: about a third of chat questions repeat;
set it to your own log's share."""

MAX_REQUESTS = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """n requests of a scenario, arrays (n,).

    `index` says which one, `arrival_s` when it arrives, `fresh` whether it is asked in words never
    used before, `luck` is a number in [0, 1) that decides what becomes of a fresh wording.
    """

    scenario: Scenario
    index: Ints
    arrival_s: Array
    fresh: Mask
    luck: Array

    @property
    def n(self) -> int:
        """How many requests."""
        return len(self.index)

    @property
    def lang(self) -> Words:
        """The language of each request, shape (n,)."""
        return _langs(self.scenario)[self.index]

    def flags(self, value: str) -> Mask:
        """Reference truth of a value, shape (n,)."""
        return _flags(self.scenario, value)[self.index]


def stream(
    scenario: Scenario,
    n: int,
    *,
    seed: int = 0,
    zipf: float = ZIPF_EXPONENT,
    rate_per_s: float = RATE_PER_S,
    repeat_share: float = REPEAT_SHARE,
) -> Workload:
    """n requests arriving at random, popular ones more often (earlier lines of the data).

    `repeat_share` of them use the words of the data, the others say the same in fresh words.

    Raises InputError for an n that is not 1 to MAX_REQUESTS.
    """
    check_n(n)
    m = len(scenario.requests)
    weight = np.arange(1, m + 1) ** -zipf
    rng = np.random.default_rng((seed, 0x5EED))
    index = rng.choice(m, size=n, p=weight / weight.sum())
    gaps: Array = rng.exponential(1.0 / rate_per_s, size=n)
    fresh = rng.random(n) >= repeat_share
    arrival: Array = np.cumsum(gaps)
    return Workload(scenario, index.astype(np.int64), arrival, fresh, rng.random(n))


def only(scenario: Scenario, request: Request, n: int = 1) -> Workload:
    """n independent asks of one request, so far apart that no cache remembers the last one."""
    row = scenario.requests.index(request)
    index = np.full(n, row, dtype=np.int64)
    far_apart = np.arange(n, dtype=np.float64) * 1e9
    return Workload(scenario, index, far_apart, np.ones(n, dtype=bool), np.ones(n))


def asked_before(scenario: Scenario, request: Request, gap_s: float = 60.0) -> Workload:
    """The same request twice in the same words, `gap_s` apart: row 1 is the one to look at."""
    row = scenario.requests.index(request)
    again = np.zeros(2, dtype=bool)
    return Workload(
        scenario, np.full(2, row, dtype=np.int64), np.array([0.0, gap_s]), again, np.zeros(2)
    )


def check_n(n: int) -> None:
    """Refuse a number of requests that makes no sense. Raises InputError."""
    if not 1 <= n <= MAX_REQUESTS:
        raise InputError(f"n is {n}; it must be from 1 to {MAX_REQUESTS:,} requests")


@lru_cache(maxsize=8)
def _langs(scenario: Scenario) -> Words:
    return np.array([r.lang for r in scenario.requests], dtype=np.str_)


@lru_cache(maxsize=128)
def _flags(scenario: Scenario, value: str) -> Mask:
    return np.array([r.flag(value) for r in scenario.requests])


@lru_cache(maxsize=64)
def simple(scenario: Scenario, rule: SmallIf) -> Mask:
    """Which requests (m,) a rule calls simple: by task, and by tokens of message and history."""
    return np.array(
        [
            r.task in rule.tasks
            and sum(tokens.count(t) for t in (r.message, *(t.text for t in r.history)))
            <= rule.max_tok
            for r in scenario.requests
        ]
    )


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One LLM step's counts, arrays of shape (m,) over a scenario's requests.

    `tokens_in` counts the whole prompt, `input_tok` each input's share of it (subtracted where the
    input is absent), `static_tok` the leading part that never changes. `lead` and
    `decode` are when the first and the last token are there, in units of one token's time (a first
    token waits for what a prediction had wrong before it).
    """

    tokens_in: Array
    input_tok: dict[str, Array]
    static_tok: Array
    tokens_out: Array
    lead: Array
    decode: Array
    accepted: Array
    rejected: Array
    units: tuple[tuple[Unit, ...], ...]
    at: tuple[tuple[float, ...], ...]


def call(scenario: Scenario, step: LlmStep) -> Call:
    """The counts of an LLM step; shared between all plans that hold the same call."""
    return _call(scenario, step.signature, step.predict, step.max_output_tok, step.when)


@lru_cache(maxsize=96)
def _call(
    scenario: Scenario,
    signature: Signature,
    predict: bool,
    limit: int | None,
    when: tuple[When, ...],
) -> Call:
    rows = [_count(signature, r, predict, limit, asked(when, r)) for r in scenario.requests]
    names = [i.value for i in signature.inputs]
    return Call(
        np.array([r.tokens_in for r in rows], dtype=float),
        {v: np.array([r.inputs[j] for r in rows], dtype=float) for j, v in enumerate(names)},
        np.array([r.static for r in rows], dtype=float),
        np.array([r.out for r in rows], dtype=float),
        np.array([r.at[0] if r.at else 0.0 for r in rows], dtype=float),
        np.array([r.at[-1] if r.at else 0.0 for r in rows], dtype=float),
        np.array([r.decoding.accepted for r in rows], dtype=float),
        np.array([r.decoding.rejected for r in rows], dtype=float),
        tuple(r.units for r in rows),
        tuple(r.at for r in rows),
    )


def lead_tok(scenario: Scenario, step: LlmStep) -> Array:
    """Tokens a call writes before the first one that can be read, (m,)."""
    return np.array([float(row[0].token if row else 0) for row in call(scenario, step).units])


@dataclass(frozen=True, slots=True)
class _Counts:
    tokens_in: int
    inputs: tuple[int, ...]
    static: int
    out: int
    decoding: Decoding
    units: tuple[Unit, ...]
    at: tuple[float, ...]


def asked(when: tuple[When, ...], request: Request) -> bool:
    """Whether this request makes the call at all, as far as its reference values say."""
    return all(w.value not in request.values or request.flag(w.value) == w.is_true for w in when)


def _count(
    signature: Signature, request: Request, predict: bool, limit: int | None, made: bool
) -> _Counts:
    """What one request makes of a call; the answer is empty where the call is not `made`."""
    inputs = tuple(input_tok(i, request) for i in signature.inputs)
    prompt, static = prompt_tok(signature, request), static_tok(signature)
    output = write(signature, request.values if made else {})
    known = write(signature, request.known).text if predict and request.known else None
    text = shortened(output.text, limit)
    found = units(output) if text == output.text else _begun(signature, request, text)
    how = decoding(text, known)
    return _Counts(prompt, inputs, static, len(how.at), how, found, how.at)


def shortened(text: str, limit: int | None) -> str:
    """A text cut off after so many tokens."""
    ends = tokens.offsets(text)
    if limit is None or len(ends) <= limit:
        return text
    return text[: ends[limit - 1]] if limit > 0 else ""


def _begun(signature: Signature, request: Request, text: str) -> tuple[Unit, ...]:
    """What can be read of an answer that was cut off."""
    reader = Reader(signature, known=request.values)
    at = 0
    for end in tokens.offsets(text):
        reader.feed(text[at:end])
        at = end
    reader.finish(cut=True)
    return reader.units()


def input_tok(spec: Input, request: Request) -> int:
    """Tokens that one input adds to a prompt; 0 where the request has nothing for it."""
    text = input_text(spec, request)
    return tokens.count(f"## {spec.value}\n{text}\n\n") if text else 0


def prompt_tok(
    signature: Signature, request: Request, without: frozenset[str] = frozenset()
) -> int:
    """Tokens of a prompt: its fixed parts, its inputs but those `without`, two messages' frames."""
    fixed = tokens.count(signature.task) + tokens.count(fixed_text(signature))
    inputs = (input_tok(i, request) for i in signature.inputs if i.value not in without)
    return fixed + sum(inputs) + 2 * PER_MESSAGE_TOK


def static_tok(signature: Signature) -> int:
    """Tokens at the head of the prompt that are the same for every request."""
    fixed = tokens.count(fixed_text(signature)) if signature.static_first else 0
    return tokens.count(signature.task) + fixed + PER_MESSAGE_TOK


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
        step.signature,
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

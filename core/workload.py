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
from core.plan import LlmStep, Plan, ShowStep, Signature, When
from core.prompt import input_text, render
from core.request import Request
from core.scenarios import Scenario

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

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
    weight = 1.0 / np.arange(1, m + 1) ** zipf
    rng = np.random.default_rng((seed, 0x5EED))
    index = rng.choice(m, size=n, p=weight / weight.sum())
    gaps = rng.exponential(1.0 / rate_per_s, size=n)
    fresh = rng.random(n) >= repeat_share
    return Workload(scenario, index.astype(np.int64), np.cumsum(gaps), fresh, rng.random(n))


def only(scenario: Scenario, request: Request, n: int = 1) -> Workload:
    """n independent asks of one request, so far apart that no cache remembers the last one."""
    row = scenario.requests.index(request)
    index = np.full(n, row, dtype=np.int64)
    return Workload(scenario, index, np.arange(n) * 1e9, np.ones(n, dtype=bool), np.ones(n))


def asked_before(scenario: Scenario, request: Request, gap_s: float = 60.0) -> Workload:
    """The same request twice in the same words, `gap_s` apart: row 1 is the one to look at."""
    row = scenario.requests.index(request)
    again = np.zeros(2, dtype=bool)
    return Workload(scenario, np.full(2, row, dtype=np.int64), np.array([0.0, gap_s]), again,
                    np.zeros(2))


def check_n(n: int) -> None:
    """Refuse a number of requests that makes no sense. Raises InputError."""
    if not 1 <= n <= MAX_REQUESTS:
        raise InputError(f"n is {n}; it must be from 1 to {MAX_REQUESTS:,} requests")


@lru_cache(maxsize=128)
def _flags(scenario: Scenario, value: str) -> Mask:
    return np.array([r.flag(value) for r in scenario.requests])


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One LLM step's counts, arrays of shape (m,) over a scenario's requests.

    `tokens_in` counts the whole prompt, `input_tok` each input's share of it (subtracted where the
    input is absent), `static_tok` the leading part that never changes. `decode` is the time from
    the first to the last token in units of one token's time.
    """

    tokens_in: Array
    input_tok: dict[str, Array]
    static_tok: Array
    tokens_out: Array
    decode: Array
    accepted: Array
    rejected: Array
    units: tuple[tuple[Unit, ...], ...]
    at: tuple[tuple[float, ...], ...]


def call(scenario: Scenario, step: LlmStep) -> Call:
    """The counts of an LLM step; shared between all plans that hold the same call."""
    return _call(scenario, step.signature, step.predict, step.max_output_tok, step.when)


@lru_cache(maxsize=256)
def _call(
    scenario: Scenario,
    signature: Signature,
    predict: bool,
    limit: int | None,
    when: tuple[When, ...],
) -> Call:
    rows = [_count(signature, r, predict, limit, _asked(when, r)) for r in scenario.requests]
    names = [i.value for i in signature.inputs]
    return Call(
        np.array([r.tokens_in for r in rows], dtype=float),
        {v: np.array([r.inputs[j] for r in rows], dtype=float) for j, v in enumerate(names)},
        np.array([r.static for r in rows], dtype=float),
        np.array([r.out for r in rows], dtype=float),
        np.array([r.at[-1] if r.at else 0.0 for r in rows], dtype=float),
        np.array([r.decoding.accepted for r in rows], dtype=float),
        np.array([r.decoding.rejected for r in rows], dtype=float),
        tuple(r.units for r in rows),
        tuple(r.at for r in rows),
    )


@dataclass(frozen=True, slots=True)
class _Counts:
    tokens_in: int
    inputs: tuple[int, ...]
    static: int
    out: int
    decoding: Decoding
    units: tuple[Unit, ...]
    at: tuple[float, ...]


def _asked(when: tuple[When, ...], request: Request) -> bool:
    """Whether this request makes the call at all, as far as its reference values say."""
    return all(
        w.value not in request.values or request.flag(w.value) == w.is_true for w in when
    )


def _count(
    signature: Signature, request: Request, predict: bool, limit: int | None, asked: bool
) -> _Counts:
    inputs = tuple(
        tokens.count(f"## {i.value}\n{text}\n\n") if (text := input_text(i, request)) else 0
        for i in signature.inputs
    )
    if not asked:
        return _Counts(0, (0,) * len(inputs), 0, 0, Decoding(()), (), ())
    prompt = render(signature, request)
    output = write(signature, request.values)
    known = write(signature, request.known).text if predict and request.known else None
    how = decoding(output.text, known)
    found = units(output)
    at = how.at
    if limit is not None and len(at) > limit:
        at, found = at[:limit], tuple(u for u in found if u.token < limit)
    return _Counts(prompt.tokens(), inputs, prompt.static_tokens(), len(at), how, found, at)


@dataclass(frozen=True, slots=True, eq=False)
class Display:
    """What a plan shows, as padded arrays over a scenario's requests.

    Units (m, K): `source` is the position of the producing step in `producers` (-1 pads), `weight`
    when it is there after that step's first token (in token times), `chars`, `closes`, `piece`.
    Pieces (m, J): the sentences or cards a check works on: `piece_source` (-1 pads),
    `piece_weight`, `piece_chars`.
    """

    producers: tuple[str, ...]
    source: Ints
    weight: Array
    chars: Array
    closes: Mask
    piece: Ints
    piece_source: Ints
    piece_weight: Array
    piece_chars: Array
    units: tuple[tuple[Unit, ...], ...]

    @property
    def exclusive(self) -> bool:
        """Whether each request's units come from one step only (so they are in time order)."""
        return bool(np.all((self.source == self.source[:, :1]) | (self.source < 0)))


def display(scenario: Scenario, plan: Plan, piece_sentences: int = 1) -> Display:
    """What the plan's show step shows, from the calls that produce it."""
    show = plan.show
    steps = [s for s in plan.llm_steps if set(s.gives) & set(show.reads)]
    return _display(scenario, tuple(steps), show, piece_sentences)


@lru_cache(maxsize=256)
def _display(
    scenario: Scenario, steps: tuple[LlmStep, ...], show: ShowStep, piece_sentences: int
) -> Display:
    rows: list[list[tuple[int, float, Unit, int]]] = []
    for r in range(len(scenario.requests)):
        row: list[tuple[int, float, Unit, int]] = []
        base = 0
        for j, step in enumerate(steps):
            counted = call(scenario, step)
            found = [u for u in counted.units[r] if u.field in show.reads]
            pieces = {p: base + i // piece_sentences for i, p in enumerate(_distinct(found))}
            row += [(j, counted.at[r][u.token], u, pieces[u.piece]) for u in found]
            base = max(pieces.values(), default=base - 1) + 1
        rows.append(row)
    k = max((len(row) for row in rows), default=0) or 1
    j_max = max((p + 1 for row in rows for *_, p in row), default=1)
    m = len(rows)
    out = Display(
        tuple(s.id for s in steps),
        np.full((m, k), -1, dtype=np.int64),
        np.zeros((m, k)),
        np.zeros((m, k)),
        np.zeros((m, k), dtype=bool),
        np.zeros((m, k), dtype=np.int64),
        np.full((m, j_max), -1, dtype=np.int64),
        np.zeros((m, j_max)),
        np.zeros((m, j_max)),
        tuple(tuple(u for _, _, u, _ in row) for row in rows),
    )
    for i, row in enumerate(rows):
        for c, (source, weight, unit, piece) in enumerate(row):
            out.source[i, c], out.weight[i, c], out.chars[i, c] = source, weight, unit.chars
            out.closes[i, c], out.piece[i, c] = unit.closes, piece
            out.piece_source[i, piece] = source
            out.piece_weight[i, piece] = max(out.piece_weight[i, piece], weight)
            out.piece_chars[i, piece] += unit.chars
    return out


def _distinct(found: list[Unit]) -> list[int]:
    return list(dict.fromkeys(u.piece for u in found))

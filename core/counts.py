"""What each model call of a plan reads and writes, request by request, counted from real text.

Everything here does not depend on chance: it is counted once per request of a scenario (m of them)
and shared by all plans that hold the same call; the simulator then only gathers rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from core import tokens
from core.dists import Array
from core.output import Unit, decoding, units, write
from core.plan import Input, LlmStep, Signature, When
from core.prompt import PER_MESSAGE_TOK, fixed_text, input_text
from core.reading import Reader
from core.request import Request
from core.scenarios import Scenario


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
    inputs = {i.value: _input_counts(scenario, i) for i in signature.inputs}
    alone = np.full(len(scenario.requests), float(fixed_tok(signature)))
    told = tuple(w for w in when if w.value in _named(scenario))
    written = _written(scenario, answer_form(signature), predict, limit, told)
    return Call(
        sum(inputs.values(), alone),
        inputs,
        np.full(len(alone), float(static_tok(signature))),
        np.array([len(w.at) for w in written], dtype=float),
        np.array([w.at[0] if w.at else 0.0 for w in written], dtype=float),
        np.array([w.at[-1] if w.at else 0.0 for w in written], dtype=float),
        np.array([w.accepted for w in written], dtype=float),
        np.array([w.rejected for w in written], dtype=float),
        tuple(w.units for w in written),
        tuple(w.at for w in written),
    )


@lru_cache(maxsize=128)
def _input_counts(scenario: Scenario, spec: Input) -> Array:
    """Tokens that one input adds to each request's prompt, (m,)."""
    return np.array([input_tok(spec, r) for r in scenario.requests], dtype=float)


def lead_tok(scenario: Scenario, step: LlmStep) -> Array:
    """Tokens a call writes before the first one that can be read, (m,)."""
    return np.array([float(row[0].token if row else 0) for row in call(scenario, step).units])


def answer_form(signature: Signature) -> Signature:
    """The signature as far as the form of its answer goes; what is read does not matter."""
    fields = tuple(
        replace(f, description="", difficulty="open", reads=None) for f in signature.fields
    )
    return Signature(
        "",
        (),
        (),
        fields,
        form=signature.form,
        short_keys=signature.short_keys,
        minify=signature.minify,
        concise=signature.concise,
    )


@dataclass(frozen=True, slots=True)
class _Written:
    """One answer: when each of its tokens is there (token times), and what can be read of it."""

    at: tuple[float, ...]
    accepted: int
    rejected: int
    units: tuple[Unit, ...]


@lru_cache(maxsize=48)
def _written(
    scenario: Scenario, form: Signature, predict: bool, limit: int | None, when: tuple[When, ...]
) -> tuple[_Written, ...]:
    """The answer to each request, (m,); plans that ask otherwise for the same answer share it."""
    return tuple(_answer(form, r, predict, limit, asked(when, r)) for r in scenario.requests)


@lru_cache(maxsize=8)
def _named(scenario: Scenario) -> frozenset[str]:
    """Values that some request has a reference for; conditions on others change no answer."""
    return frozenset(name for r in scenario.requests for name in r.values)


def asked(when: tuple[When, ...], request: Request) -> bool:
    """Whether this request makes the call at all, as far as its reference values say."""
    return all(w.value not in request.values or request.flag(w.value) == w.is_true for w in when)


def _answer(
    form: Signature, request: Request, predict: bool, limit: int | None, made: bool
) -> _Written:
    """What one request makes of a call; the answer is empty where the call is not `made`."""
    output = write(form, request.values if made else {})
    known = write(form, request.known).text if predict and request.known else None
    text = shortened(output.text, limit)
    found = units(output) if text == output.text else _begun(form, request, text)
    how = decoding(text, known)
    return _Written(how.at, how.accepted, how.rejected, found)


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
    """Tokens of a prompt: without its inputs, and those of them that are not `without`."""
    inputs = (input_tok(i, request) for i in signature.inputs if i.value not in without)
    return fixed_tok(signature) + sum(inputs)


def fixed_tok(signature: Signature) -> int:
    """Tokens of a prompt without its inputs: its fixed parts, two messages' frames."""
    fixed = tokens.count(signature.task) + tokens.count(fixed_text(signature))
    return fixed + 2 * PER_MESSAGE_TOK


def static_tok(signature: Signature) -> int:
    """Tokens at the head of the prompt that are the same for every request."""
    fixed = tokens.count(fixed_text(signature)) if signature.static_first else 0
    return tokens.count(signature.task) + fixed + PER_MESSAGE_TOK

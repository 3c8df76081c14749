"""What an LLM step is asked: inputs, output fields and form, as data.

A signature, not a string: merging two calls joins instructions and unites fields, splitting is the
reverse, short keys are aliases. `core.prompt` renders it, `core.output` writes its answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from core.errors import InvalidPlan

Shown = Literal["no", "text", "cards"]


class Form(StrEnum):
    """How an LLM step writes its output fields."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"


@dataclass(frozen=True, slots=True)
class Field:
    """One output field of an LLM step.

    `alias` is its short JSON key. `routine` fields are read off the input, `open` ones need
    judgement. `read=False` marks a field nobody reads. `reads` names the inputs this field needs,
    None for all of the signature's. A list of cards has `items`: (key, short key) of each entry;
    `facts` are those of its keys that the page fills in from data: shown with the entry, at no
    cost, and never written by the model. `stops`: the answer is stopped when this field's key
    comes, so neither it nor what follows is written.
    """

    name: str
    alias: str
    description: str
    difficulty: Literal["routine", "open"] = "routine"
    shown: Shown = "no"
    read: bool = True
    reads: tuple[str, ...] | None = None
    items: tuple[tuple[str, str], ...] = ()
    facts: tuple[str, ...] = ()
    stops: bool = False

    @property
    def written(self) -> tuple[tuple[str, str], ...]:
        """The (key, short key) of an entry that the model writes."""
        return tuple(i for i in self.items if i[0] not in self.facts)


@dataclass(frozen=True, slots=True)
class Input:
    """One value put into a prompt, with what is left of it: turns, items, tokens, sentences.

    `sentences` is how many of all passages are kept, the ones that bear most on the question.
    `same_category` keeps only the documents of the best one's category: what a filter on metadata
    leaves for the search to find.
    """

    value: str
    last_turns: int | None = None
    top_k: int | None = None
    budget_tok: int | None = None
    sentences: int | None = None
    same_category: bool = False


@dataclass(frozen=True, slots=True)
class Signature:
    """What an LLM step is asked.

    `static_first` puts everything that never changes before everything that does. `concise` is the
    share of a text's sentences that is asked for. `answer_first` asks for the conclusion in the
    first sentence.
    """

    task: str
    instructions: tuple[str, ...]
    inputs: tuple[Input, ...]
    fields: tuple[Field, ...]
    examples: tuple[str, ...] = ()
    form: Form = Form.JSON
    short_keys: bool = False
    minify: bool = False
    static_first: bool = False
    answer_first: bool = False
    concise: float = 1.0

    def __post_init__(self) -> None:
        if not self.fields:
            raise InvalidPlan(f"signature {self.task[:40]!r} has no output field")
        for kind in ("name", "alias"):
            names = [getattr(f, kind) for f in self.fields]
            twice = {n for n in names if names.count(n) > 1}
            if twice:
                raise InvalidPlan(f"output field {kind} {min(twice)!r} is used twice in one call")
        known = {i.value for i in self.inputs}
        for f in self.fields:
            for value in f.reads or ():
                if value not in known:
                    raise InvalidPlan(f"field {f.name!r} reads {value!r}, not an input of its call")
            for key in f.facts:
                if key not in {name for name, _ in f.items}:
                    raise InvalidPlan(f"field {f.name!r} has no entry key {key!r} to fill in")
        if self.form is Form.TEXT and len(self.fields) != 1:
            raise InvalidPlan(f"a text answer has one field, {self.task[:40]!r} has more")

    @property
    def stop(self) -> str | None:
        """The text at which the answer is stopped, if there is one.

        It is a key with its colon, which no value holds: within a value a quote is escaped.
        """
        names = (f.alias if self.short_keys else f.name for f in self.fields if f.stops)
        return next((f'"{name}":' for name in names), None)

    @property
    def routine(self) -> bool:
        """Whether no field needs judgement."""
        return all(f.difficulty == "routine" for f in self.fields)

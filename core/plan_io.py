"""Plan <-> plain data (JSON, TOML), in one schema version.

The plain form names each step's and policy's kind and leaves defaults out. Reading it back checks
every key and type; an error names the place, e.g. `steps[2].signature.fields[0].shown`.
"""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar, cast

from core.errors import InvalidData
from core.plan import (
    Cache,
    Cascade,
    Deadline,
    Gate,
    Hedge,
    LlmStep,
    Plan,
    Retry,
    ShowStep,
    Speculate,
    Timeout,
    WorkStep,
)

SCHEMA = 1

KINDS: Mapping[str, type] = {
    "llm": LlmStep,
    "work": WorkStep,
    "show": ShowStep,
    "timeout": Timeout,
    "retry": Retry,
    "hedge": Hedge,
    "cache": Cache,
    "gate": Gate,
    "speculate": Speculate,
    "cascade": Cascade,
    "deadline": Deadline,
}
_NAMES = {cls: name for name, cls in KINDS.items()}

T = TypeVar("T")
Plain = str | int | float | bool | list["Plain"] | dict[str, "Plain"] | None


def to_plain(plan: Plan) -> dict[str, Plain]:
    """The plan as JSON-able data with its schema version."""
    body = cast("dict[str, Plain]", _plain(plan))
    return {"schema": SCHEMA, **body}


def from_plain(data: Mapping[str, object], source: str = "plan") -> Plan:
    """The plan described by `data`; `source` names it in messages.

    Raises:
        InvalidData: an unknown key, a missing one, a value of the wrong type, another schema.
        InvalidPlan: the plan itself cannot exist.
    """
    schema = data.get("schema", SCHEMA)
    if schema != SCHEMA:
        raise InvalidData(source, f"schema {schema!r} is not readable, {SCHEMA} is", key="schema")
    body = {k: v for k, v in data.items() if k != "schema"}
    return read(Plan, body, source)


def read(cls: type[T], data: object, source: str, key: str = "") -> T:
    """Any of the plan's parts from plain data. Raises InvalidData."""
    return cast("T", _build(cls, data, _Place(source, key)))


@dataclasses.dataclass(frozen=True, slots=True)
class _Place:
    """Where in which source we are reading."""

    source: str
    path: str

    def at(self, part: str | int) -> _Place:
        if isinstance(part, int):
            return _Place(self.source, f"{self.path}[{part}]")
        return _Place(self.source, f"{self.path}.{part}" if self.path else part)

    def error(self, problem: str) -> InvalidData:
        return InvalidData(self.source, problem, key=self.path)


def _plain(value: object) -> Plain:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        out: dict[str, Plain] = {}
        if type(value) in _NAMES:
            out["kind"] = _NAMES[type(value)]
        for f in dataclasses.fields(value):
            item = getattr(value, f.name)
            if f.init and not (f.default is not dataclasses.MISSING and item == f.default):
                out[f.name] = _plain(item)
        return out
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if isinstance(value, enum.Enum):
        return str(value.value)
    return cast("Plain", value)


def _build(kind: Any, data: object, place: _Place) -> Any:
    origin = typing.get_origin(kind)
    args = typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _union(args, data, place)
    if origin is Literal:
        if data not in args:
            raise place.error(f"{data!r} is not one of {', '.join(map(str, args))}")
        return data
    if origin is tuple:
        return _tuple(args, data, place)
    if dataclasses.is_dataclass(kind):
        return _dataclass(cast("type", kind), data, place)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        valid = [str(m.value) for m in kind]
        if data not in valid:
            raise place.error(f"{data!r} is not one of {', '.join(valid)}")
        return kind(data)
    return _scalar(kind, data, place)


def _union(args: tuple[Any, ...], data: object, place: _Place) -> Any:
    if data is None and type(None) in args:
        return None
    options = [a for a in args if a is not type(None)]
    if len(options) == 1:
        return _build(options[0], data, place)
    names = {_NAMES[o]: o for o in options}
    if not isinstance(data, Mapping) or data.get("kind") not in names:
        given = data.get("kind") if isinstance(data, Mapping) else data
        raise place.at("kind").error(f"{given!r} is not one of {', '.join(names)}")
    return _build(names[str(data["kind"])], data, place)


def _tuple(args: tuple[Any, ...], data: object, place: _Place) -> tuple[Any, ...]:
    if isinstance(data, str) or not isinstance(data, Sequence):
        raise place.error(f"a list is expected, not {type(data).__name__}")
    kinds = [args[0]] * len(data) if args[-1] is Ellipsis else list(args)
    if len(kinds) != len(data):
        raise place.error(f"{len(kinds)} entries are expected, not {len(data)}")
    return tuple(
        _build(k, d, place.at(i)) for i, (k, d) in enumerate(zip(kinds, data, strict=True))
    )


def _dataclass(cls: type, data: object, place: _Place) -> Any:
    if not isinstance(data, Mapping):
        raise place.error(f"a table is expected, not {type(data).__name__}")
    hints = typing.get_type_hints(cls)
    fields = {f.name: f for f in dataclasses.fields(cls) if f.init}
    given = {k: v for k, v in data.items() if not (k == "kind" and cls in _NAMES)}
    for key in given:
        if key not in fields:
            raise place.at(str(key)).error(f"unknown key; valid are {', '.join(fields)}")
    for name, f in fields.items():
        required = f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
        if required and name not in given:
            raise place.at(name).error("is missing")
    values = {k: _build(hints[k], v, place.at(str(k))) for k, v in given.items()}
    return cls(**values)


def _scalar(kind: Any, data: object, place: _Place) -> Any:
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if not isinstance(data, kind) or (kind is int and isinstance(data, bool)):
        raise place.error(f"{kind.__name__} is expected, not {data!r:.60}")
    return data

"""What a model wrote in its own words, as values; and the schema that holds it to their form."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import cast

from core.plan import Field, Form, Signature
from core.reading import KINDS
from core.request import Item, Request, Value

Json = Mapping[str, object]


def read_values(signature: Signature, text: str) -> dict[str, Value]:
    """Return the values a text holds, by field; fields that cannot be found in it are left out."""
    if signature.form is Form.TEXT:
        return {signature.fields[0].name: text} if text else {}
    fields = {f.alias: f for f in signature.fields} | {f.name: f for f in signature.fields}
    found: dict[str, Value] = {}
    for record in _objects(text):
        kind = next((str(record[k]) for k in KINDS if k in record), "")
        listed = fields.get(kind)
        if signature.form is Form.JSONL and listed is not None and listed.items:
            before = cast("tuple[Item, ...]", found.get(listed.name, ()))
            found[listed.name] = (*before, _item(listed, record))
            continue
        for key, raw in record.items():
            field = fields.get(key)
            value = None if field is None else _value(field, raw)
            if field is not None and value is not None:
                found[field.name] = value
    return found


def schema(signature: Signature, request: Request) -> Json | None:
    """Return the JSON schema of an answer, None for forms that no schema describes.

    A value's type is that of the reference value, text where there is none.
    """
    if signature.form is not Form.JSON:
        return None
    short = signature.short_keys
    return _object_of(
        {
            (f.alias if short else f.name): _schema_of(f, request.values.get(f.name), short=short)
            for f in signature.fields
        }
    )


def _objects(text: str) -> Iterator[Json]:
    """Yield every JSON object at the top of a text, whatever stands between them.

    The last one may lack its closing brace: an answer that was stopped before a key.
    """
    decoder, at = json.JSONDecoder(), text.find("{")
    while at >= 0:
        try:
            found, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError:
            found, at = _closed(text[at:]), -1
        if isinstance(found, dict):
            yield found
        at = text.find("{", at) if at >= 0 else -1


def _closed(text: str) -> object:
    """Return what a text is with a closing brace at its end, None where that is no JSON."""
    with contextlib.suppress(json.JSONDecodeError):
        return json.loads(f"{text.rstrip().removesuffix(',')}}}")
    return None


def _value(field: Field, raw: object) -> Value | None:
    """Return a raw JSON value as a value of the field; None where it is of no use."""
    if isinstance(raw, str | int | float):
        return raw
    if not isinstance(raw, list):
        return None
    if field.items:
        return tuple(_item(field, entry) for entry in raw if isinstance(entry, dict))
    return tuple(str(entry) for entry in raw)


def _item(field: Field, record: Json) -> Item:
    names = {key: name for name, alias in field.items for key in (alias, name)}
    return {names[key]: str(raw) for key, raw in record.items() if key in names}


def _schema_of(field: Field, value: Value | None, *, short: bool) -> Json:
    if field.items:
        keys = [alias if short else name for name, alias in field.written]
        return {"type": "array", "items": _object_of({k: {"type": "string"} for k in keys})}
    if isinstance(value, bool):
        return {"type": "boolean"}
    if isinstance(value, int):
        return {"type": "integer"}
    if isinstance(value, float):
        return {"type": "number"}
    if isinstance(value, tuple):
        return {"type": "array", "items": {"type": "string"}}
    return {"type": "string"}


def _object_of(properties: Mapping[str, Json]) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }

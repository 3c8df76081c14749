"""Values out of whatever a model writes, and the schema that asks for them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from core.execute.own_words import read_values, schema
from core.output import write
from core.request import Request, Value
from core.signature import Field, Form, Signature

FIELDS = (
    Field("stays", "s", "places", shown="cards", items=(("name", "n"), ("area", "a"))),
    Field("sure", "y", "true or false"),
    Field("nights", "k", "how many"),
    Field("share", "h", "0 to 1"),
    Field("words", "w", "some words"),
    Field("answer", "z", "the answer", shown="text"),
)
VALUES: dict[str, Value] = {
    "stays": ({"name": "Tide House", "area": "Hamdeok"}, {"name": "동문", "area": "제주"}),
    "sure": True,
    "nights": 3,
    "share": 0.5,
    "words": ("one", "two"),
    "answer": 'He said "yes".\nThen he left.',
}
ASKED = Signature("Answer.", (), (), FIELDS)


@pytest.mark.parametrize("form", [Form.JSON, Form.JSONL])
@pytest.mark.parametrize("short", [True, False])
def test_it_reads_back_what_the_writer_writes(form: Form, short: bool) -> None:
    asked = replace(ASKED, form=form, short_keys=short)
    assert read_values(asked, write(asked, VALUES).text) == VALUES


def test_a_text_is_its_own_value() -> None:
    asked = Signature("Answer.", (), (), (FIELDS[-1],), form=Form.TEXT)
    assert read_values(asked, "Just words.") == {"answer": "Just words."}
    assert read_values(asked, "") == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("no JSON", {}),
        ('{"answer": "cut o', {}),
        ('Sure!\n```json\n{"answer": "x"}\n```', {"answer": "x"}),
        ('{"answer": null, "sure": false, "other": 1}', {"sure": False}),
        ('{"stays": [{"n": "x", "area": 5, "q": 1}, 7]}', {"stays": ({"name": "x", "area": "5"},)}),
        ('{"words": {"a": 1}}', {}),
    ],
)
def test_what_cannot_be_used_is_left_out(text: str, expected: dict[str, Value]) -> None:
    assert read_values(ASKED, text) == expected


def request(values: dict[str, Value]) -> Request:
    return Request("r", "en", "t", "i", (), (), "?", values, (), {}, True, ())


def test_the_schema_names_every_key_with_its_type() -> None:
    found = schema(replace(ASKED, short_keys=True), request(VALUES))
    assert found is not None
    assert found["required"] == ["s", "y", "k", "h", "w", "z"]
    properties = found["properties"]
    assert isinstance(properties, dict)
    kinds = {key: one["type"] for key, one in properties.items()}
    assert kinds == {
        "s": "array", "y": "boolean", "k": "integer", "h": "number", "w": "array", "z": "string",
    }  # fmt: skip
    assert properties["s"]["items"]["required"] == ["n", "a"]
    assert json.loads(json.dumps(found)) == found


def test_facts_are_not_asked_for_and_only_json_has_a_schema() -> None:
    with_facts = replace(ASKED, fields=(replace(FIELDS[0], facts=("area",)),))
    found = schema(with_facts, request({}))
    assert found is not None
    assert found["properties"]["stays"]["items"]["required"] == ["name"]  # type: ignore[index]
    assert schema(replace(ASKED, form=Form.JSONL), request({})) is None

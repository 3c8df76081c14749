"""Rewritten calls and their answers: what is read off texts, and what a whole measurement says."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from core import bench_quality
from core.bench_quality import Asked, page
from core.errors import EngineError, InputError, InvalidData, ProviderError, UnknownName
from core.execute import Engine, Model
from core.likeness import overlap, reading, says_the_same
from core.profiles import setting
from core.prompt import plain
from core.providers.base import CallRequest, Chunk, ChunkKind, Usage
from core.quality import REWRITES, quality, spread
from core.quality_table import KEPT, PLAIN, CaseRow, FieldRow, Quality, Table, kept
from core.request import Value
from core.retrieval.quality import Share
from core.scenarios import scenario
from core.signature import Field, Form, Signature
from core.text import LANGS
from tests.virtual_time import run

SUPPORT = scenario("support")

# --- one text -------------------------------------------------------------------------------------

ASKED = Signature(
    "Sort it.",
    (),
    (),
    (Field("query_type", "type", "a type"), Field("is_human", "human", "true or false")),
    short_keys=True,
)

# As small models have really answered: in prose, fenced, cut off, under other names.
TEXTS = [
    ('{"type":"refund","human":false}', True, True),
    ('{"query_type": "refund", "is_human": false}', True, True),
    ('{"type":"refund"}', True, False),
    ('```json\n{"type": "refund", "human": false}\n```', False, True),
    ('Here is the answer: {"type": "refund", "human": false}', False, True),
    ('{"type":"refund","human":', False, False),
    ('["refund", false]', False, False),
    ("The customer wants a refund.", False, False),
    ("", False, False),
    ("[" * 100_000, False, False),
]


@pytest.mark.parametrize(("text", "valid", "complete"), TEXTS, ids=[t[0][:30] for t in TEXTS])
def test_a_text_is_valid_only_as_a_whole(text: str, valid: bool, complete: bool) -> None:
    found = reading(ASKED, text)
    assert (found.valid, found.complete) == (valid, complete)
    if complete:
        assert found.values == {"query_type": "refund", "is_human": False}


def test_json_lines_are_valid_line_by_line() -> None:
    cards = Field("stays", "s", "places", shown="cards", items=(("name", "n"),))
    asked = Signature("List.", (), (), (cards,), form=Form.JSONL)
    assert reading(asked, '{"kind":"stays","name":"a"}\n{"kind":"stays","name":"b"}\n').valid
    assert not reading(asked, '{"kind":"stays","name":"a"}\nand\n{"kind":"stays","name":"b"}').valid


@pytest.mark.parametrize(
    ("value", "other", "same"),
    [
        (True, True, True),
        (True, "true", True),  # written as text
        (True, False, False),
        (3, "3.0", True),
        (0.9, 0.91, False),
        ("refund", "Refund.", True),
        ("refund", "return", False),
        ("order_change", "order", False),  # labels are equal or not
        ("friendly and brief", "brief, friendly", True),
        ("calm and concrete", "warm and short", False),
        # one, parcel; 2 of 3 and 2 of 4 terms: F1 is 4/7
        ("track one parcel", "one parcel never came", True),
        ("배송 조회는 어디에서 하나요?", "배송 조회는 어디서 하나요?", True),
        ("배송 조회는 어디에서 하나요?", "환불은 언제 되나요?", False),
        (({"name": "Tide House"},), ({"name": "Tide House"},), True),
        (({"name": "Tide House"},), ({"name": "Palm Inn"},), False),
    ],
)
def test_values_say_the_same(value: Value, other: Value, same: bool) -> None:
    assert says_the_same(value, other) is same
    assert says_the_same(other, value) is same


def test_overlap_is_the_f1_of_terms() -> None:
    assert overlap("track one parcel", "one parcel never came") == pytest.approx(4 / 7)
    assert overlap("track", "refund") == 0.0
    assert overlap("", "") == 0.0


# --- a whole measurement --------------------------------------------------------------------------

Answer = Callable[[CallRequest], str]


@dataclass
class Author:
    """A provider that writes what a function says, a token of time each."""

    answer: Answer
    name: str = "author"

    async def stream(self, request: CallRequest) -> AsyncIterator[Chunk]:
        now = asyncio.get_running_loop().time
        yield Chunk(ChunkKind.SENT, now())
        await asyncio.sleep(1.0)
        text = self.answer(request)
        yield Chunk(ChunkKind.TEXT, now(), text)
        yield Chunk(ChunkKind.USAGE, now(), usage=Usage(tokens_in=9, tokens_out=len(text.split())))

    async def aclose(self) -> None:
        pass


def parts(answer: Answer, n: int) -> list[Quality]:
    """What is known after each request, the whole last."""
    provider = Author(answer)
    engine = Engine("author", Model(provider, "large"), Model(provider, "small"))

    async def all_of_them() -> list[Quality]:
        rng = np.random.default_rng(0)
        asking = quality([SUPPORT], REWRITES, engine, setting(), n=n, rng=rng, tell=lambda *_: None)
        return [found async for found in asking]

    return run(all_of_them())


def measured(answer: Answer) -> Quality:
    """What a whole measurement of one request says."""
    return parts(answer, 1)[-1]


def keys_asked(request: CallRequest) -> tuple[str, ...]:
    """The keys by the schema, or by the list at the end of the prompt."""
    if request.json_schema is not None:
        required = request.json_schema["required"]
        assert isinstance(required, list)
        return tuple(required)
    text = "\n".join(m.text for m in request.messages)
    listed = text.rpartition("with these keys, in this order:\n")[2]
    return tuple(re.findall(r"^- ([a-z_]+)", listed, re.MULTILINE))


NAMES = {f.alias: f.name for s in SUPPORT.plan.llm_steps for f in s.signature.fields}
(ONE,) = spread(SUPPORT, 1)


def told(request: CallRequest, instead: Mapping[str, Value] | None = None) -> str:
    """The reference answer under the keys that are asked for."""
    values = {**ONE.values, **(instead or {})}
    return json.dumps({k: plain(values[NAMES.get(k, k)]) for k in keys_asked(request)})


def test_a_model_that_knows_the_answers_keeps_them_in_every_form() -> None:
    found = measured(lambda r: told(r) if keys_asked(r) else "yes")
    cases = {(row.case, row.by_schema): row for row in found.cases}
    assert set(cases) == {(c, held) for c in (PLAIN, *REWRITES) for held in (True, False)}
    assert found.failed == 0
    calls = {PLAIN: 3, "short_keys": 3, "merge_requests": 2, "split_reasoning": 4}
    for (case, _), row in cases.items():
        assert row.valid == row.complete == Share(calls[case], calls[case])
        assert row.calls_s == pytest.approx(calls[case])
        as_plain, as_reference = found.agreement(row)
        assert as_reference == Share(11, 11)
        assert as_plain == (Share(0, 0) if case == PLAIN else Share(11, 11))


def test_prose_round_the_object_is_told_as_invalid_and_still_read() -> None:
    def fenced(request: CallRequest) -> str:
        bare = told(request) if keys_asked(request) else "yes"
        return bare if request.json_schema is not None else f"Sure!\n```json\n{bare}\n```"

    rows = measured(fenced).cases
    assert {row.valid.value for row in rows if row.by_schema} == {1.0}
    assert {row.valid.value for row in rows if not row.by_schema} == {0.0}
    assert {row.complete.value for row in rows} == {1.0}


def test_a_field_that_changes_with_the_form_is_named() -> None:
    def mistaken(request: CallRequest) -> str:
        if "type" in keys_asked(request):  # the short key
            return told(request, {"query_type": "other"})
        return told(request) if keys_asked(request) else "yes"

    rows = measured(mistaken).fields
    wrong = {(row.case, row.field) for row in rows if row.as_reference.k < row.as_reference.n}
    assert wrong == {("short_keys", "query_type")}
    (one,) = (r for r in rows if (r.case, r.field, r.by_schema) == (*next(iter(wrong)), True))
    assert one.as_plain == Share(0, 1)


def test_runs_that_fail_are_counted_and_a_case_without_answers_is_an_error() -> None:
    def refusing(request: CallRequest) -> str:
        if keys_asked(request):
            raise ProviderError("no")
        return "yes"

    with pytest.raises(EngineError, match="support, plain: no run got an answer"):
        measured(refusing)


def test_what_is_known_so_far_is_told_after_each_request() -> None:
    first, whole = parts(lambda _: "{}", 2)
    asked = [r.id for r in spread(SUPPORT, 2)]
    assert (first.requests, whole.requests) == (
        (f"support: {asked[0]}",),
        (f"support: {', '.join(asked)}",),
    )
    assert [row.valid.n for row in whole.cases] == [2 * row.valid.n for row in first.cases]


def test_requests_are_spread_over_both_languages() -> None:
    few = spread(SUPPORT, 12)
    assert [sum(r.lang == lang for r in few) for lang in LANGS] == [6, 6]
    places = [SUPPORT.requests.index(r) for r in few]
    assert places == sorted(places)
    assert places[-1] > len(SUPPORT.requests) * 0.9
    assert [r.lang for r in spread(SUPPORT, 1)] == ["en"]
    assert len(spread(SUPPORT, 10_000)) == len(SUPPORT.requests)


# --- what is kept ---------------------------------------------------------------------------------


def table() -> Table:
    row = CaseRow(
        "support", "short_keys", True, Share(36, 36), Share(30, 36), 12.0, 9.0, 15.5, 140.0
    )
    field = FieldRow("support", "short_keys", True, "query_type", Share(4, 12), Share(3, 12))
    found = Quality((row,), (field,), ("support: s001",), 1, (0.1, 0.4, 0.2))
    return Table(found, "local", "model L", "model S", "2026-11-30T04:00+00:00", "a machine")


def test_the_page_of_the_docs_says_what_was_found() -> None:
    text = page(table())
    assert "large: model L; small: model S" in text
    assert "| support | short_keys | schema | 100% (36/36; 90% to 100%)" in text
    assert "| `query_type` | 33% (4/12; 14% to 61%)" in text
    assert "in the median run: 20%. Runs without an answer: 1." in text.replace("\n", " ")


def test_what_is_written_is_read_back_or_named_as_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def found(*_: object, **__: object) -> AsyncIterator[Quality]:
        yield replace(table().found, failed=0)
        yield table().found

    @contextlib.asynccontextmanager
    async def nothing(*_: object) -> AsyncIterator[None]:
        yield None

    monkeypatch.setattr(bench_quality, "quality", found)
    monkeypatch.setattr(bench_quality, "using", nothing)
    monkeypatch.setattr(bench_quality, "_weights", lambda _, name: name)
    assert kept(tmp_path / "quality.json") is None
    bench_quality.run(Asked(), lambda _: None, tmp_path)
    again = kept(tmp_path / "quality.json")
    assert again is not None
    assert (again.found, again.large, again.engine) == (table().found, "large", "local")
    assert (tmp_path / "quality.md").read_text(encoding="utf-8") == page(again)
    (tmp_path / "quality.json").write_text("{}")
    with pytest.raises(InvalidData, match=r"quality\.json"):
        kept(tmp_path / "quality.json")


def test_the_shipped_result_can_be_read_and_its_page_says_the_same() -> None:
    found = kept()
    assert found is not None
    assert KEPT.with_suffix(".md").read_text(encoding="utf-8") == page(found)
    asked = {(row.scenario, row.case) for row in found.found.cases}
    assert {("support", case) for case in (PLAIN, *REWRITES)} <= asked


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(InputError, match="0 requests; from 1 to 500"):
        Asked(requests=0)
    with pytest.raises(UnknownName, match="'short_key'"):
        Asked(rewrites=("short_key",))
    with pytest.raises(UnknownName, match="scenario 'shop'"):
        Asked(scenarios=("shop",))

"""Shipped data makes sense; broken data is refused by file, line and key."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from core import tokens
from core.errors import InvalidData, UnknownName
from core.output import units, write
from core.plan import LlmStep
from core.scenarios import DATA, SCENARIOS, Scenario, load, scenario

ALL = pytest.mark.parametrize("name", SCENARIOS)


@ALL
def test_enough_of_everything(name: str) -> None:
    found = scenario(name)
    korean = sum(r.lang == "ko" for r in found.requests) / len(found.requests)
    assert len(found.requests) >= 40
    assert len(found.documents) >= 60
    assert 0.3 <= korean <= 0.5
    assert any(r.history for r in found.requests)
    assert any(not r.answerable for r in found.requests)
    assert any(r.known for r in found.requests)
    assert any("near_miss" in r.tags for r in found.requests)


@ALL
def test_labels_and_statuses_cover_the_plan(name: str) -> None:
    found = scenario(name)
    for lang in ("en", "ko"):
        for step in found.plan.steps:
            assert step.id in found.labels[lang]
            assert step.kind == "show" or step.id in found.statuses[lang]


@ALL
def test_near_duplicates_exist_in_other_words(name: str) -> None:
    groups: dict[tuple[str, str], set[str]] = {}
    for r in scenario(name).requests:
        groups.setdefault((r.intent, r.lang), set()).add(r.message)
    assert sum(len(words) > 1 for words in groups.values()) >= 6


def answered(found: Scenario) -> list[tuple[str, LlmStep, int]]:
    return [
        (r.id, s, i)
        for i, r in enumerate(found.requests)
        for s in found.plan.llm_steps
        if all(r.flag(w.value) == w.is_true for w in s.when)
    ]


@ALL
def test_visible_units_rebuild_what_is_shown(name: str) -> None:
    found = scenario(name)
    for _, step, i in answered(found):
        output = write(step.signature, found.requests[i].values)
        json.loads(output.text)
        seen = "".join(u.text for u in units(output))
        wanted = []
        for f in step.signature.fields:
            value = found.requests[i].values[f.name]
            if f.shown == "text":
                wanted.append(str(value))
            elif f.shown == "cards":
                wanted += [item[k] for item in value for k, _ in f.items]  # type: ignore[union-attr,index]
        assert seen == "".join(wanted)
        last = len(tokens.offsets(output.text))
        assert all(0 <= u.token < last for u in units(output))


@ALL
def test_requests_of_one_intent_share_a_language_dependent_answer(name: str) -> None:
    for r in scenario(name).requests:
        hangul = any("가" <= c <= "힣" for c in r.message)
        assert hangul == (r.lang == "ko")


def copied(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DATA / "scenarios" / "support", tmp_path / "mine"))


def change_line(folder: Path, number: int, edit: str) -> None:
    path = folder / "requests.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[number - 1] = edit
    path.write_text("\n".join(lines), encoding="utf-8")


def test_broken_json_names_the_line(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    change_line(folder, 3, "{")
    with pytest.raises(InvalidData, match=r"requests\.jsonl:3: "):
        load(folder)


def test_a_missing_reference_names_line_and_key(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    row = json.loads((folder / "requests.jsonl").read_text(encoding="utf-8").splitlines()[1])
    del row["values"]["response"]
    change_line(folder, 2, json.dumps(row))
    with pytest.raises(InvalidData, match=r"requests\.jsonl:2: values.response: is missing"):
        load(folder)


def test_an_unknown_document_names_line_and_id(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    row = json.loads((folder / "requests.jsonl").read_text(encoding="utf-8").splitlines()[0])
    change_line(folder, 1, json.dumps(row | {"doc_ids": ["ghost"]}))
    with pytest.raises(InvalidData, match=r"requests\.jsonl:1: doc_ids: no document 'ghost'"):
        load(folder)


def test_broken_toml_names_the_file(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    (folder / "scenario.toml").write_text("[plan", encoding="utf-8")
    with pytest.raises(InvalidData, match=r"scenario\.toml: "):
        load(folder)


def test_unknown_scenario() -> None:
    with pytest.raises(UnknownName, match="unknown scenario 'x': valid are support, travel"):
        scenario("x")

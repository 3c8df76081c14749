"""Scenarios: a naive plan, its requests with reference answers, and the documents they draw on.

A scenario is a folder of data (`scenario.toml`, `requests.jsonl`, `documents.jsonl`); adding one is
adding a folder and its name here. Everything is checked when loaded: a broken file names file, line
and key.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import cast

from core.errors import InvalidData, UnknownName
from core.plan import LlmStep, Plan, When
from core.plan_io import from_plain
from core.request import Document, Lang, Request, Turn, Value
from core.text import catalogue

DATA = Path(__file__).parent.parent / "sample_data"

SCENARIOS: tuple[str, ...] = ("support", "travel")

PASSAGES = 8
"""How many ranked documents a request carries; plans take fewer."""


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """One pipeline with everything that is needed to run it; compared by identity.

    `labels` and `statuses` are texts by language and step id, for charts and stage messages.
    """

    id: str
    title: Mapping[str, str]
    summary: Mapping[str, str]
    labels: Mapping[str, Mapping[str, str]]
    statuses: Mapping[str, Mapping[str, str]]
    plan: Plan
    requests: tuple[Request, ...]
    documents: tuple[Document, ...]

    def request(self, request_id: str) -> Request:
        """The request of that id. Raises UnknownName."""
        for r in self.requests:
            if r.id == request_id:
                return r
        raise UnknownName("request", request_id, (r.id for r in self.requests))

    def label(self, step_id: str, lang: str) -> str:
        """What a step is called; steps made by a rewrite are called after their parts."""
        return " + ".join(self._part_label(part, lang) for part in step_id.split("+"))

    def _part_label(self, part: str, lang: str) -> str:
        """A step of the scenario, a part of one (`recommend.food`), or one that techniques add."""
        whole, _, field = part.partition(".")
        if whole in self.labels[lang]:
            name = self.labels[lang][whole]
            return f"{name}: {field}" if field else name
        added = catalogue()["ko" if lang == "ko" else "en"]
        return added.get(f"added.{whole}", part)


def scenario(name: str) -> Scenario:
    """A shipped scenario by id, loaded once. Raises UnknownName, InvalidData."""
    if name not in SCENARIOS:
        raise UnknownName("scenario", name, SCENARIOS)
    return _shipped(name)


@lru_cache(maxsize=8)
def _shipped(name: str) -> Scenario:
    return load(DATA / "scenarios" / name)


def load(folder: Path) -> Scenario:
    """The scenario in a folder. Raises InvalidData, InvalidPlan."""
    head = _toml(folder / "scenario.toml")
    for key in ("id", "title", "summary", "labels", "plan"):
        if key not in head:
            raise InvalidData("scenario.toml", "is missing", key=key)
    plan = from_plain(cast("Mapping[str, object]", head["plan"]), "scenario.toml")
    documents = tuple(_document(row) for row in _jsonl(folder / "documents.jsonl"))
    by_id = {d.id: d for d in documents}
    rankings = _rankings(str(head["id"]))
    requests = tuple(
        _request(row, by_id, documents, plan, rankings) for row in _jsonl(folder / "requests.jsonl")
    )
    if not requests:
        raise InvalidData("requests.jsonl", "holds no request")
    texts = cast("Mapping[str, Mapping[str, Mapping[str, str]]]", head)
    flat = cast("Mapping[str, Mapping[str, str]]", head)
    return Scenario(
        str(head["id"]),
        flat["title"],
        flat["summary"],
        texts["labels"],
        texts.get("status", {"en": {}, "ko": {}}),
        plan,
        requests,
        documents,
    )


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of a JSONL file, read with its place for messages."""

    file: str
    line: int
    data: Mapping[str, object]

    def get(self, key: str, kind: type) -> object:
        if key not in self.data:
            raise InvalidData(self.file, "is missing", line=self.line, key=key)
        value = self.data[key]
        if not isinstance(value, kind):
            problem = f"{kind.__name__} is expected, not {value!r:.60}"
            raise InvalidData(self.file, problem, line=self.line, key=key)
        return value

    def text(self, key: str) -> str:
        return cast("str", self.get(key, str))

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(str(v) for v in cast("list[object]", self.get(key, list)))

    def lang(self) -> Lang:
        lang = self.text("lang")
        if lang not in ("en", "ko"):
            problem = f"{lang!r} is not one of en, ko"
            raise InvalidData(self.file, problem, line=self.line, key="lang")
        return cast("Lang", lang)


def _document(row: _Row) -> Document:
    return Document(
        row.text("id"),
        row.lang(),
        row.text("title"),
        row.text("category"),
        row.text("text"),
        row.text("updated"),
    )


def _request(
    row: _Row,
    by_id: Mapping[str, Document],
    documents: tuple[Document, ...],
    plan: Plan,
    rankings: Mapping[str, tuple[str, ...]],
) -> Request:
    doc_ids = row.texts("doc_ids")
    for doc_id in doc_ids:
        if doc_id not in by_id:
            raise InvalidData(row.file, f"no document {doc_id!r}", line=row.line, key="doc_ids")
    turns = cast("list[Mapping[str, str]]", row.get("history", list))
    values = {
        k: _value(v) for k, v in cast("Mapping[str, object]", row.get("values", dict)).items()
    }
    known = cast("Mapping[str, object]", row.data.get("known") or {})
    lang = row.lang()
    request_id = row.text("id")
    ranked = rankings.get(request_id) or _labelled(doc_ids, lang, by_id, documents)
    made = Request(
        request_id,
        lang,
        row.text("task"),
        row.text("intent"),
        row.texts("tags"),
        tuple(_turn(row, t) for t in turns),
        row.text("message"),
        values,
        doc_ids,
        {k: _value(v) for k, v in known.items()},
        bool(row.get("answerable", bool)),
        tuple(by_id[i] for i in ranked[:PASSAGES] if i in by_id),
    )
    _check_values(row, made, plan)
    return made


def _turn(row: _Row, data: Mapping[str, str]) -> Turn:
    role = data.get("role")
    if role not in ("user", "assistant"):
        problem = f"role {role!r} is not one of user, assistant"
        raise InvalidData(row.file, problem, line=row.line, key="history")
    return Turn("user" if role == "user" else "assistant", str(data.get("text", "")))


def _check_values(row: _Row, request: Request, plan: Plan) -> None:
    """Every field of every call this request makes has its reference value."""
    for step in plan.steps:
        if isinstance(step, LlmStep) and _runs(step.when, request):
            for name in step.gives:
                if name not in request.values:
                    raise InvalidData(row.file, "is missing", line=row.line, key=f"values.{name}")


def _runs(when: tuple[When, ...], request: Request) -> bool:
    return all(request.flag(w.value) == w.is_true for w in when)


def _labelled(
    doc_ids: tuple[str, ...],
    lang: str,
    by_id: Mapping[str, Document],
    documents: tuple[Document, ...],
) -> tuple[str, ...]:
    """The documents labelled as right, then others of their category: a stand-in for a search."""
    categories = {by_id[i].category for i in doc_ids}
    rest = sorted(
        (d for d in documents if d.lang == lang and d.id not in doc_ids),
        key=lambda d: d.category not in categories,
    )
    return (*doc_ids, *(d.id for d in rest[:PASSAGES]))


def _value(raw: object) -> Value:
    """A reference value from JSON; lists become tuples."""
    if isinstance(raw, list):
        return cast("Value", tuple(raw))
    return cast("Value", raw)


@lru_cache(maxsize=1)
def _all_rankings() -> Mapping[tuple[str, str], tuple[str, ...]]:
    path = DATA / "measured" / "ranking.jsonl"
    if not path.exists():
        return {}
    rows = list(_jsonl(path))
    return {(r.text("scenario"), r.text("request")): r.texts("documents") for r in rows}


def _rankings(scenario_id: str) -> Mapping[str, tuple[str, ...]]:
    """Measured search results by request id, where they have been measured."""
    return {r: docs for (s, r), docs in _all_rankings().items() if s == scenario_id}


def _toml(path: Path) -> Mapping[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InvalidData(path.name, str(error)) from None
    except OSError as error:
        raise InvalidData(path.name, error.strerror or "cannot be read") from None


def _jsonl(path: Path) -> Iterator[_Row]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InvalidData(path.name, error.strerror or "cannot be read") from None
    seen: set[str] = set()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except json.JSONDecodeError as error:
            raise InvalidData(path.name, error.msg, line=number) from None
        if not isinstance(data, dict):
            raise InvalidData(path.name, "one JSON object a line is expected", line=number)
        row = _Row(path.name, number, data)
        identity = str(data.get("id", number))
        if identity in seen:
            raise InvalidData(path.name, f"{identity!r} is used twice", line=number, key="id")
        seen.add(identity)
        yield row

"""What retrieval settings find of the labelled documents, and what each diet keeps: measured ahead.

`python -m core.labs.recall_table` measures again and writes `sample_data/measured/retrieval.json`.
The quality does not depend on the machine, the file says on which day and machine it was made.
"""

from __future__ import annotations

import datetime as dt
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, cast

from core.errors import InvalidData
from core.request import Lang
from core.retrieval import speed
from core.retrieval.bench_search import METHODS, retrieval
from core.retrieval.quality import Share, recall, searched
from core.retrieval.search import Library, Method, Rerank, SearchSettings
from core.scenarios import DATA, SCENARIOS, Scenario, scenario
from core.text import LANGS

FILE = DATA / "measured" / "retrieval.json"
DEEPEST = 8
"""Largest k measured."""

RERANKS: tuple[Rerank, ...] = ("never", "always")


@dataclass(frozen=True, slots=True)
class RecallRow:
    """Of `n` labelled requests the answering document is among the first k for `found[k - 1]`."""

    scenario: str
    lang: Lang
    method: Method
    rerank: Rerank
    n: int
    found: tuple[int, ...]

    def share(self, top_k: int) -> Share:
        """Return recall at `top_k` with its interval; beyond the deepest k, that of the deepest."""
        return Share(self.found[min(top_k, len(self.found)) - 1], self.n)


@dataclass(frozen=True, slots=True)
class DietRow:
    """What a smaller context spends and keeps, over the answerable requests of a scenario.

    `answer`: the answering document is still there; `facts`: quantities of the reference answer
    that the context still holds.
    """

    scenario: str
    name: str
    tokens_mean: float
    answer: Share
    facts: Share


@dataclass(frozen=True, slots=True)
class StopRow:
    """How many questions fail-fast stops, of each kind: answerable, unanswerable, off subject."""

    scenario: str
    lang: Lang
    kind: str
    stopped: Share


@dataclass(frozen=True, slots=True)
class Measured:
    """The whole table, with day and machine."""

    date: str
    machine: str
    recalls: tuple[RecallRow, ...]
    diets: tuple[DietRow, ...]
    stops: tuple[StopRow, ...]

    def recall(
        self, scenario_id: str, lang: Lang, method: Method, rerank: Rerank
    ) -> RecallRow | None:
        """Return the row of these settings; None where they were not measured."""
        wanted = (scenario_id, lang, method, rerank)
        rows = (r for r in self.recalls if (r.scenario, r.lang, r.method, r.rerank) == wanted)
        return next(rows, None)


@lru_cache(maxsize=1)
def measured() -> Measured | None:
    """Return the table; None where it was never made. Raises: InvalidData for a broken file."""
    if not FILE.exists():
        return None
    try:
        data = cast("Mapping[str, Any]", json.loads(FILE.read_text(encoding="utf-8")))
        return Measured(
            data["date"],
            data["machine"],
            tuple(RecallRow(**{**row, "found": tuple(row["found"])}) for row in data["recalls"]),
            tuple(DietRow(**_with_shares(row, "answer", "facts")) for row in data["diets"]),
            tuple(StopRow(**_with_shares(row, "stopped")) for row in data["stops"]),
        )
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise InvalidData(FILE.name, f"cannot be read: {error}") from None


def _with_shares(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {**row, **{name: Share(**row[name]) for name in names}}


# --- making it ------------------------------------------------------------------------------------


def measure() -> Measured:
    """Search for every labelled request under every setting; encoding takes minutes."""
    figures = retrieval()
    rows = [row for name in SCENARIOS for row in _recalls(scenario(name))]
    today = dt.datetime.now(tz=dt.UTC).date().isoformat()
    diets, stops = [], []
    for name in SCENARIOS:
        found = cast("dict[str, Any]", figures[name])
        diets += [_diet(name, diet, kept) for diet, kept in found["diet"].items()]
        stops += [stop for lang in LANGS for stop in _stops(name, lang, found["fail_fast"][lang])]
    return Measured(today, speed.machine(), tuple(rows), tuple(diets), tuple(stops))


def _recalls(found: Scenario) -> Iterator[RecallRow]:
    library = Library(found.documents)
    library.warm_up()
    for lang in LANGS:
        asked = [r for r in found.requests if r.lang == lang and r.doc_ids]
        for method in METHODS:
            for rerank in RERANKS:
                results = searched(library, asked, SearchSettings(method, DEEPEST, rerank=rerank))
                counts = tuple(recall(results, k).answer.k for k in range(1, DEEPEST + 1))
                yield RecallRow(found.id, lang, method, rerank, len(asked), counts)


def _diet(scenario_id: str, name: str, kept: Mapping[str, Any]) -> DietRow:
    return DietRow(
        scenario_id,
        name,
        round(kept["tokens_mean"], 1),
        _share(kept["answer_found"]),
        _share(kept["facts_kept"]),
    )


def _stops(scenario_id: str, lang: Lang, found: Mapping[str, Any]) -> Iterator[StopRow]:
    for kind in ("answerable", "unanswerable", "off_subject"):
        yield StopRow(scenario_id, lang, kind, _share(found[f"{kind}_stopped"]))


def _share(plain: Mapping[str, Any]) -> Share:
    return Share(int(plain["k"]), int(plain["n"]))


def main() -> None:
    """Measure and write the table."""
    FILE.write_text(json.dumps(asdict(measure()), ensure_ascii=False, indent=1), encoding="utf-8")
    sys.stderr.write(f"{FILE}\n")


if __name__ == "__main__":
    main()

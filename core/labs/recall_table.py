"""What retrieval settings find of the labelled documents, and what each diet keeps: measured ahead.

`python -m core.labs.recall_table` measures again and writes `sample_data/measured/retrieval.json`.
The quality does not depend on the machine, the file says on which day and machine it was made.
"""

from __future__ import annotations

import datetime as dt
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache

from core.kept import load
from core.plan_io import read
from core.request import Lang
from core.retrieval import speed
from core.retrieval.assemble import EVIDENCE_FLOOR, is_weak
from core.retrieval.bench_search import METHODS, evidence_by_kind
from core.retrieval.diets import Kept, kept
from core.retrieval.encoders import DEFAULT_ENCODER
from core.retrieval.quality import Share, recall, searched, share_of
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
    """What a smaller context of a scenario spends and keeps."""

    scenario: str
    kept: Kept


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
    data = load(FILE)
    return None if data is None else read(Measured, data, FILE.name)


# --- making it ------------------------------------------------------------------------------------


def measure() -> Measured:
    """Search for every labelled request under every setting; encoding takes minutes."""
    recalls: list[RecallRow] = []
    diets: list[DietRow] = []
    stops: list[StopRow] = []
    for name in SCENARIOS:
        found, library = scenario(name), Library(scenario(name).documents)
        library.warm_up()
        recalls += _recalls(found, library)
        diets += [DietRow(name, row) for row in kept(library, found)]
        stops += [row for lang in LANGS for row in _stops(found, library, lang)]
    today = dt.datetime.now(tz=dt.UTC).date().isoformat()
    return Measured(today, speed.machine(), tuple(recalls), tuple(diets), tuple(stops))


def _recalls(found: Scenario, library: Library) -> Iterator[RecallRow]:
    for lang in LANGS:
        asked = [r for r in found.requests if r.lang == lang and r.doc_ids]
        for method in METHODS:
            for rerank in RERANKS:
                results = searched(library, asked, SearchSettings(method, DEEPEST, rerank=rerank))
                counts = tuple(recall(results, k).answer.k for k in range(1, DEEPEST + 1))
                yield RecallRow(found.id, lang, method, rerank, len(asked), counts)


def _stops(found: Scenario, library: Library, lang: Lang) -> Iterator[StopRow]:
    floor = EVIDENCE_FLOOR[DEFAULT_ENCODER[lang]]
    for kind, evidence in evidence_by_kind(library, found, lang).items():
        yield StopRow(found.id, lang, kind, share_of([is_weak(e, floor) for e in evidence]))


def main() -> None:
    """Measure and write the table."""
    FILE.write_text(json.dumps(asdict(measure()), ensure_ascii=False, indent=1), encoding="utf-8")
    sys.stderr.write(f"{FILE}\n")


if __name__ == "__main__":
    main()

"""Writes what the simulator reads about retrieval: `python -m core.retrieval.measure`.

| file in `sample_data/measured` | content |
| --- | --- |
| similarity.csv | cosine of two requests' messages, its encoder, and the guards that object |
| ranking.jsonl | the documents a search returns for each request, best first |
| stages.csv | what each stage took on which machine, when |

Similarities are of messages without a conversation, in one language: those are the only ones an
answer cache compares, since its keys hold the conversation and the answer's language.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from core.request import Request
from core.retrieval import speed
from core.retrieval.encoders import DEFAULT_ENCODER, encoder
from core.retrieval.guards import objections
from core.retrieval.quality import search_question
from core.retrieval.search import Library, SearchSettings
from core.scenarios import DATA, PASSAGES, SCENARIOS, Scenario, scenario
from core.text import LANGS

MEASURED = DATA / "measured"

RANKING = SearchSettings(top_k=PASSAGES)
"""The best setting of `bench retrieval`: hybrid search, then a rerank."""

_STAGE_CALLS = 400


def similarity_rows(found: Scenario) -> Iterator[tuple[str, str, str, str, str, str]]:
    """Yield scenario, two request ids, cosine, encoder, and objecting guards joined by `|`."""
    for lang in LANGS:
        alone = [r for r in found.requests if r.lang == lang and not r.history]
        reader = encoder(DEFAULT_ENCODER[lang])
        vectors = reader.encode([r.message for r in alone])
        cosines = vectors @ vectors.T
        for i, a in enumerate(alone):
            for j in range(i):
                b = alone[j]
                against = "|".join(o.guard for o in objections(a.message, b.message))
                yield found.id, b.id, a.id, f"{cosines[i, j]:.4f}", reader.name, against


def ranking_rows(found: Scenario, requests: Sequence[Request]) -> Iterator[dict[str, object]]:
    """Yield the ranked documents of each request."""
    library = Library(found.documents)
    for request in requests:
        hits = library.search(search_question(request), RANKING).hits
        yield {
            "id": f"{found.id}.{request.id}",
            "scenario": found.id,
            "request": request.id,
            "documents": [hit.id for hit in hits],
            "method": "hybrid+rerank",
        }


def stage_rows(found: Scenario) -> Iterator[speed.Timing]:
    """Yield the stages' times, on this scenario's questions and documents."""
    by_lang = {
        lang: [search_question(r) for r in found.requests if r.lang == lang] for lang in LANGS
    }
    for lang in LANGS:
        encoder_id = DEFAULT_ENCODER[lang]
        yield speed.encoding(encoder_id, by_lang[lang], _STAGE_CALLS, f"embed_query_{lang}")
    yield speed.exact_lookup(by_lang["en"], 20_000)
    yield speed.vector_search(10_000, _STAGE_CALLS)
    yield speed.guarding(by_lang["en"] + by_lang["ko"], 2_000)
    for timing in speed.search_stages(found.documents, by_lang["en"] + by_lang["ko"], 2):
        if timing.stage != "embed":
            yield timing


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and write the tables, all or those named."""
    parser = argparse.ArgumentParser(prog="python -m core.retrieval.measure", description=__doc__)
    tables = ("similarity", "ranking", "stages")
    parser.add_argument("tables", nargs="*", metavar="|".join(tables), help="all where none")
    parser.add_argument("--out", type=Path, default=MEASURED)
    given = parser.parse_args(arguments)
    for name in given.tables:
        if name not in tables:
            parser.error(f"no table {name!r}; there are {', '.join(tables)}")
    chosen = given.tables or tables
    given.out.mkdir(parents=True, exist_ok=True)
    shipped = [scenario(name) for name in SCENARIOS]
    if "similarity" in chosen:
        _write_similarity(given.out / "similarity.csv", shipped)
    if "ranking" in chosen:
        _write_ranking(given.out / "ranking.jsonl", shipped)
    if "stages" in chosen:
        _write_stages(given.out / "stages.csv", shipped[0])


def _write_similarity(path: Path, shipped: Sequence[Scenario]) -> None:
    header = ("scenario", "id_a", "id_b", "cosine", "encoder", "guards")
    _write_csv(path, header, [row for found in shipped for row in similarity_rows(found)])


def _write_ranking(path: Path, shipped: Sequence[Scenario]) -> None:
    rows = [row for found in shipped for row in ranking_rows(found, found.requests)]
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text("".join(lines), encoding="utf-8")
    _tell(path, len(rows))


def _write_stages(path: Path, found: Scenario) -> None:
    today = dt.datetime.now(tz=dt.UTC).date().isoformat()
    rows = [
        (t.stage, str(t.n), f"{t.p50_s:.7f}", f"{t.p95_s:.7f}", speed.machine(), today)
        for t in stage_rows(found)
    ]
    _write_csv(path, ("stage", "n", "p50_s", "p95_s", "machine", "date"), rows)


def _write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    _tell(path, len(rows))


def _tell(path: Path, rows: int) -> None:
    sys.stderr.write(f"{path}: {rows} rows\n")


if __name__ == "__main__":
    main()

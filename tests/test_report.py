"""The long report: both plans under the same load, told in parts, in both languages."""

from __future__ import annotations

import pytest

from core import report as reports
from core.advice.answer import Question, headline_answer
from core.profiles import setting
from core.report import SHARES, Report, report
from core.scenarios import SCENARIOS, scenario
from core.text import LANGS, Lang, Note
from pages._ui.advice.written import markdown


@pytest.fixture(scope="module", params=SCENARIOS)
def made(request: pytest.FixtureRequest) -> tuple[Report, list[tuple[float, Note]]]:
    """A report on a pipeline, with the eight in the place of the whole catalogue."""
    told: list[tuple[float, Note]] = []
    asked = Question(scenario(request.param), setting())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reports, "whole_answer", lambda *_: headline_answer(asked))
        found = report(asked, lambda done, doing: told.append((done, doing)), lambda: None)
    return found, told


def test_it_says_what_it_does_and_goes_on(made: tuple[Report, list[tuple[float, Note]]]) -> None:
    _, told = made
    shares = [done for done, _ in told]
    assert shares == sorted(shares)
    assert len({doing for _, doing in told}) == len(SHARES)


def test_more_arrivals_never_make_the_naive_program_faster(
    made: tuple[Report, list[tuple[float, Note]]],
) -> None:
    found, _ = made
    assert [r.rate_per_s for r in found.rates] == pytest.approx(
        [s * found.bearable_per_s[0] for s in SHARES]
    )
    for values in ([r.p95_s[0] for r in found.rates], [r.queue[0] for r in found.rates]):
        assert values == sorted(values)
    assert all(after < before for before, after in (r.p95_s for r in found.rates))
    for owning in found.owners:
        assert sum(o.share for o in owning) == pytest.approx(1.0)


@pytest.mark.parametrize("lang", LANGS)
def test_it_is_whole_in_both_languages(
    made: tuple[Report, list[tuple[float, Note]]], lang: Lang
) -> None:
    found, _ = made
    body = markdown(found, lang)
    assert body.startswith("# ")
    assert body.count("\n## ") == 7
    assert found.question.scenario.title[lang] in body
    best = found.answer.advice.best
    assert body.count("\n| ") >= 3 * 2 + 2 * best.changes + len(SHARES)
    assert "nan" not in body
    assert "inf " not in body

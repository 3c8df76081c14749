"""What a race is given: its payload, and its texts."""

from __future__ import annotations

import dataclasses
import math
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from core.errors import InputError, InvalidData
from pages._ui.race import labels, payload

ROOT = Path(__file__).parents[1]
SCRIPTS = ROOT / "pages" / "_ui" / "race" / "scripts"
TEXT = tomllib.loads((ROOT / "sample_data" / "text" / "race.toml").read_text(encoding="utf-8"))


def test_every_text_is_written_in_both_languages_and_every_key_used_exists() -> None:
    assert set(TEXT) == {"en", "ko"}
    for texts in TEXT.values():
        assert set(texts) == set(labels.LABEL_KEYS)
    used = set[str]()
    for script in SCRIPTS.glob("*.js"):
        used |= set(re.findall(r'say\(\s*"(\w+)"', script.read_text(encoding="utf-8")))
    assert len(used) > 30
    assert used <= set(labels.LABEL_KEYS)


def test_placeholders_are_the_same_in_both_languages() -> None:
    for key, english in TEXT["en"].items():
        places = re.findall(r"\{\w+\}", english)
        assert sorted(re.findall(r"\{\w+\}", TEXT["ko"][key])) == sorted(places), key


LANE = payload.Lane(
    id="yours",
    title="Yours",
    subtitle="",
    question="?",
    marks=payload.Marks(done_s=1.0),
    events=(payload.VisibleEvent(0.5, "text", "Hi"), payload.VisibleEvent(1.0, "done")),
    steps=(payload.StepBar("answer", "Answer", "llm", 0.0, 0.1, 1.0, 0.5),),
)
RACE = payload.RacePayload("r", "en", TEXT["en"], 1.5, (LANE,))


def test_equal_payloads_give_equal_data_and_titles_do_not_name_the_run() -> None:
    assert RACE.as_data() == dataclasses.replace(RACE).as_data()
    renamed = dataclasses.replace(LANE, title="내 버전")
    assert payload.run_id_of((renamed,)) == payload.run_id_of((LANE,))
    slower = dataclasses.replace(LANE, marks=payload.Marks(done_s=1.1))
    assert payload.run_id_of((slower,)) != payload.run_id_of((LANE,))


@pytest.mark.parametrize(
    ("build", "names"),
    [
        (lambda: payload.VisibleEvent(math.nan, "text"), "text event"),
        (lambda: payload.VisibleEvent(1.0, "field", "x", "card"), "'card'"),
        (lambda: payload.VisibleEvent(1.0, "card"), "no unit"),
        (lambda: payload.Marks(ack_s=-1.0), "ack_s"),
        (lambda: payload.StepBar("a", "A", "llm", 0.0, 2.0, 1.0), "'a' runs backwards"),
        (lambda: dataclasses.replace(LANE, events=LANE.events[::-1]), "0.5 s stands after"),
        (lambda: dataclasses.replace(LANE, steps=LANE.steps * 2), "'answer' stands twice"),
        (lambda: dataclasses.replace(RACE, lanes=()), "1 to 2 lanes"),
        (lambda: dataclasses.replace(RACE, lanes=(LANE, LANE)), "'yours' stands twice"),
        (lambda: dataclasses.replace(RACE, horizon_s=0.0), "horizon_s"),
    ],
)
def test_an_impossible_race_is_refused_by_name(build: Callable[[], object], names: str) -> None:
    with pytest.raises(InputError, match=re.escape(names)):
        build()


def test_a_missing_text_is_named() -> None:
    texts = {key: text for key, text in TEXT["en"].items() if key != "play"}
    with pytest.raises(InvalidData, match=r"en\.play"):
        dataclasses.replace(RACE, labels=texts)

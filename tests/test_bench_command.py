"""`python -m core bench` on labelled data: what it refuses, what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core import bench
from core.cli import EXIT_INPUT, main

SHARE = {"k": 3, "n": 4, "share": 0.75, "low": 0.3, "high": 0.95}


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(("bench", *arguments))
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("cache", "--data", "/nowhere/at/all"), "there is no such folder"),
        (("router", "--data", "/nowhere/at/all"), "there is no such folder"),
        (("retrieval", "--data", "{tmp}"), "cache and router do"),
        (("cache", "--data", "{tmp}"), "banking77_train.csv is not in"),
        (("router", "--data", "{tmp}"), "banking77_train.csv is not in"),
        (("serve",), "unknown bench 'serve'"),
    ],
)
def test_what_is_missing_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    code, out, err = run(capsys, *(a.format(tmp=tmp_path) for a in arguments))
    assert (code, out) == (EXIT_INPUT, "")
    assert err.count("\n") == 1
    assert says in err


def test_the_folder_may_hold_the_files_below_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "banking77_train.csv").write_text("text,category\n", encoding="utf-8")
    _, _, err = run(capsys, "router", "--data", str(tmp_path))
    assert "banking77_test.csv is not in" in err


def test_figures_are_rows_for_people_and_one_object_for_programs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = {"en": {"right": SHARE, "curve": [1, 2]}, "n": 4, "none": {**SHARE, "share": None}}
    monkeypatch.setattr(bench, "DATA_BENCHES", {"router": lambda _: figures})
    code, out, err = run(capsys, "router")
    assert code == 0
    assert "shipped requests alone" in err
    assert "en.right  0.750 (3 of 4, 95 % 0.300 to 0.950)" in " ".join(out.split("\n")).replace(
        "   ", ""
    )
    assert "2 rows, see --json" in out
    code, out, _ = run(capsys, "router", "--json")
    assert json.loads(out) == {"router": figures}


def test_unnamed_benches_are_the_quick_ones(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "BENCHES", {"headline": lambda: {"a": 1.0}})
    monkeypatch.setattr(bench, "DATA_BENCHES", {"cache": lambda _: pytest.fail("it was not named")})
    code, out, err = run(capsys)
    assert (code, err) == (0, "")
    assert "a       1" in out

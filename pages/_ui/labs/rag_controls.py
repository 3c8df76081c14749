"""The settings of a search in the RAG lab, each kept in the address."""

from __future__ import annotations

from typing import cast

import streamlit as st

from core.labs.rag import RagSettings
from core.retrieval.search import Method, Rerank
from pages._ui.address import keep_choice
from pages._ui.lang import tr

METHODS: tuple[Method, ...] = ("hybrid", "vector", "keyword")
RERANKS: tuple[Rerank, ...] = ("always", "when_close", "never")
BUDGETS = ("none", "400", "300", "200", "100")
SENTENCES = ("all", "8", "6", "4")


def pick_search() -> RagSettings:
    """Return how to search, and how much of what is found to use."""
    method = cast("Method", _choice("method", METHODS))
    rerank = cast("Rerank", _choice("rerank", RERANKS))
    top_k = st.slider(
        tr("raglab.top_k"), 1, 8, 3, key="top_k", bind="query-params", help=tr("raglab.top_k_help")
    )
    budget = _choice("budget", BUDGETS)
    keep = _choice("keep", SENTENCES)
    fail_fast = st.toggle(
        tr("raglab.fail_fast"),
        value=True,
        key="fail_fast",
        bind="query-params",
        help=tr("raglab.fail_fast_help"),
    )
    return RagSettings(method, rerank, top_k, _number(budget), _number(keep), fail_fast)


def _choice(key: str, options: tuple[str, ...]) -> str:
    keep_choice(key, options, default=options[0])
    chosen = st.segmented_control(
        tr(f"raglab.{key}"),
        options,
        key=key,
        format_func=lambda option: option if option.isdigit() else tr(f"raglab.{key}_{option}"),
        required=True,
        help=tr(f"raglab.{key}_help"),
    )
    return str(chosen)


def _number(option: str) -> int | None:
    return int(option) if option.isdigit() else None

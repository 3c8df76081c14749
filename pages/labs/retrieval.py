"""RAG lab: what each stage of a search takes here, what it finds, and what a diet costs."""

from __future__ import annotations

from pages._ui.labs import rag_encoders, rag_run, rag_tables
from pages._ui.labs.parts import draw_part

draw_part(
    "raglab",
    {"run": rag_run.draw, "tables": rag_tables.draw, "encoders": rag_encoders.draw},
)

"""Any server that speaks Chat Completions: vLLM, llama.cpp, Ollama, gateways, other vendors.

They differ from OpenAI in what they accept and in what they report, so this provider sends less,
takes more, and says what was left out.
"""

from __future__ import annotations

from typing import ClassVar

from core.providers.capabilities import COMPATIBLE, Family
from core.providers.endpoint import Endpoint
from core.providers.openai_chat import OpenAIChat


class Compatible(OpenAIChat):
    """Models behind a compatible server."""

    limit_option: ClassVar[str] = "max_tokens"
    lenient: ClassVar[bool] = True

    def __init__(self, endpoint: Endpoint, *, name: str = "compatible") -> None:
        super().__init__(endpoint, name=name)

    def family(self, model: str) -> Family:  # noqa: ARG002  (servers are not in any table)
        """Return the row for servers nothing is known about."""
        return COMPATIBLE

"""How one engine runs: what the parent tells the child process that holds it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Settings of one llama.cpp server.

    `context_tok` bounds prompt and answer together; 8192 is what SmolLM2 was trained for, and
    Korean needs it (about two of its tokens per syllable). One thread each: two engines on two
    cores then keep their pace when both work, and a busy neighbour costs 3 % instead of a factor.
    `batch_tok` is how much of a prompt is read before a cancellation is noticed.
    `kept_prompts_mib` bounds the memory for prefixes that are not in use at the moment.
    `drafts` switches on self-speculation: the last `draft_match_tok` tokens are looked up in the
    prompt, and up to `draft_tok` tokens that followed there are tried at once. 3 and 8 were the
    best of four pairs measured on two processors.
    """

    path: Path
    context_tok: int = 8192
    threads: int = 1
    batch_tok: int = 128
    kept_prompts_mib: int = 256
    drafts: bool = False
    draft_match_tok: int = 3
    draft_tok: int = 8

    def to_json(self, api_key: str) -> str:
        """Return the settings and the server's key as one line for the child."""
        return json.dumps({**asdict(self), "path": str(self.path), "api_key": api_key})

    @classmethod
    def from_json(cls, line: str | bytes) -> tuple[EngineSettings, str]:
        """Return the settings and the key from what `to_json` wrote."""
        values = json.loads(line)
        api_key = str(values.pop("api_key"))
        return cls(**{**values, "path": Path(values["path"])}), api_key

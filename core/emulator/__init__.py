"""A server on this machine that speaks like hosted models, at the pace of one.

It exists for two things: the official SDKs run against it in the tests, and people without an API
key can feel a hosted model's pace. It does no thinking: answers are scripted (the reference text
that comes with the request) or filler.

    with serve(EmulatedModel(ttft_s=0.6, tpot_s=0.01)) as emulator:
        emulator.openai_url, emulator.anthropic_url
"""

from core.emulator.server import Address, Emulator, main, serve, serve_apart
from core.emulator.timing import EmulatedModel

__all__ = ["Address", "EmulatedModel", "Emulator", "main", "serve", "serve_apart"]

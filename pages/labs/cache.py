"""Cache lab: what a semantic cache serves, what keeps it from serving wrongly, what it is worth."""

from __future__ import annotations

from pages._ui.labs import cache_key, cache_pair, cache_stream, cache_sweep
from pages._ui.labs.parts import draw_part

draw_part(
    "cachelab",
    {
        "pair": cache_pair.draw,
        "sweep": cache_sweep.draw,
        "key": cache_key.draw,
        "stream": cache_stream.draw,
    },
)

"""The sections under the race, by name, in the order of their control; only one is drawn.

Importing them is cheap: nothing here loads a chart library before its section is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pages._ui.sections import export, graph, prompts, spread, toggles
from pages._ui.view import View

SECTIONS: Mapping[str, Callable[[View], None]] = {
    "toggles": toggles.draw,
    "spread": spread.draw,
    "prompts": prompts.draw,
    "graph": graph.draw,
    "export": export.draw,
}

"""Token lab: what a text costs in tokens, and what it would cost written otherwise."""

from __future__ import annotations

from pages._ui.labs import token_answers, token_guide, token_languages, token_prefix, token_shapes
from pages._ui.labs.parts import draw_part

draw_part(
    "tokenlab",
    {
        "shapes": token_shapes.draw,
        "prefix": token_prefix.draw,
        "languages": token_languages.draw,
        "guide": token_guide.draw,
        "answers": token_answers.draw,
    },
)

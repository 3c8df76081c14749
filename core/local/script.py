"""A check that an engine writes the text it is made to write."""

from __future__ import annotations

from core.errors import ProviderError


class Script:
    """How far a scripted text has been written; None where the engine writes freely.

    Needed because an engine that cannot write a text, for instance one with a mark of its own like
    `<|im_end|>` or a control character it has no token for, does not refuse: it goes on freely.
    """

    def __init__(self, text: str | None, *, ends_early: bool) -> None:
        """`ends_early` tells that a stop text may end the answer before the script does."""
        self._text, self._ends_early = text, ends_early
        self._at = 0

    def follow(self, piece: str) -> None:
        """Take the next piece of the answer.

        Raises:
            ProviderError: it is not what the script says.
        """
        if self._text is None:
            return
        if not self._text.startswith(piece, self._at):
            raise self._failure()
        self._at += len(piece)

    def end(self, finish: str) -> None:
        """Take the end of the answer: `length` for the limit, `stop` for anything else.

        Raises:
            ProviderError: the answer ended by itself before the script did.
        """
        complete = self._text is None or self._at == len(self._text)
        if finish == "stop" and not complete and not self._ends_early:
            raise self._failure()

    def _failure(self) -> ProviderError:
        following = (self._text or "")[self._at : self._at + 20]
        return ProviderError(f"the local model cannot write this text: it failed at {following!r}")

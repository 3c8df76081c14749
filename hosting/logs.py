"""A log that holds no API keys."""

from __future__ import annotations

import logging

from core.keys import KeyFilter


def keep_keys_out_of_logs() -> None:
    """Scrub every log record of this process when it is made, tracebacks included.

    Streamlit gives each of its loggers a handler of its own, and logs every exception of a page
    whatever the browser is shown; a filter would have to be on all of those handlers, also on the
    ones made later. Calling this again changes nothing.
    """
    make = logging.getLogRecordFactory()
    if isinstance(make, _ScrubbedRecords):
        return
    logging.setLogRecordFactory(_ScrubbedRecords())


class _ScrubbedRecords:
    """A record factory that passes what it makes through `KeyFilter`."""

    def __init__(self) -> None:
        self._make = logging.getLogRecordFactory()
        self._scrub = KeyFilter()

    def __call__(self, *args: object, **kwargs: object) -> logging.LogRecord:
        record: logging.LogRecord = self._make(*args, **kwargs)
        self._scrub.filter(record)
        return record

"""The names of all texts the race shows; their words live in the text catalogue `race.toml`."""

from __future__ import annotations

MARKS = (
    "ack_s",
    "first_visible_s",
    "first_useful_s",
    "done_s",
    "reader_done_s",
    "total_s",
)
STEP_KINDS = ("llm", "embed", "search", "rerank", "fetch", "compute", "show")
STEP_STATES = ("ran", "skipped", "cached", "cancelled", "failed")
EVENT_KINDS = ("ack", "status", "text", "card", "field", "withdraw", "done")
LANE_STATES = ("waiting", "working", "answering", "done", "ended")

_TRANSPORT = (
    "race",
    "controls",
    "keys",
    "play",
    "pause",
    "restart",
    "previous",
    "next",
    "jump",
    "speed",
    "speed_of",
    "scrub",
    "time_of",
    "unit_s",
    "in_s",
    "in_ms",
)
_PANES = (
    "nothing_yet",
    "done_after",
    "withdrawn",
    "sooner",
    "later",
    "same_time",
    "none",
    "moment",
    "field_name",
    "field_area",
    "field_reason",
    "field_price_level",
    "price_level_of",
)
_WATERFALL = (
    "waterfall",
    "seen",
    "seen_meaning",
    "critical",
    "legend_wait",
    "legend_stream",
    "legend_queue",
    "legend_critical",
    "tip_queue",
    "tip_first",
    "tip_stream",
    "tip_whole",
)
_TABLE = (
    "table",
    "table_marks",
    "table_steps",
    "col_mark",
    "col_meaning",
    "col_step",
    "col_lane",
    "col_kind",
    "col_state",
    "col_critical",
    "col_ready",
    "col_start",
    "col_first",
    "col_end",
    "col_length",
    "yes",
    "no",
)

LABEL_KEYS: tuple[str, ...] = (
    *_TRANSPORT,
    *_PANES,
    *_WATERFALL,
    *_TABLE,
    *(f"state_{state}" for state in LANE_STATES),
    *(f"mark_{mark}" for mark in MARKS),
    *(f"mean_{mark}" for mark in MARKS),
    *(f"kind_{kind}" for kind in STEP_KINDS),
    *(f"step_{state}" for state in STEP_STATES),
    *(f"event_{kind}" for kind in EVENT_KINDS if kind != "done"),
)
"""Every text the race needs. A card field beyond the four named ones may add `field_<name>`."""

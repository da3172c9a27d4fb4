"""What is said of the limits of a reading: what needs two, and what was dropped to save memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from msmq_wire.sessions import LeftOut


READ_ONCE = "this capture can be read only once: save it to a file first"
READ_TWICE = f"needs two readings, and {READ_ONCE}"
"""What is said of a pipe, and of standard input, behind what needs them."""


def dropped_text(left_out: LeftOut) -> str:
    """What was not followed to the end for want of memory; empty if there is nothing."""
    counts = (
        (left_out.sessions, "session", "sessions"),
        (left_out.lives, "message", "messages"),
        (left_out.streams, "transactional sequence", "transactional sequences"),
        (left_out.reads, "remote read", "remote reads"),
        (left_out.reports, "report message", "report messages"),
        (left_out.waiting, "packet that waited", "packets that waited"),
    )
    return ", ".join(f"{count:,} {one if count == 1 else more}" for count, one, more in counts if count)

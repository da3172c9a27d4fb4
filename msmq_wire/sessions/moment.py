"""`Moment`: when something of a session was seen."""

from __future__ import annotations

import msgspec


class Moment(msgspec.Struct, frozen=True, gc=False):
    """When something was seen: id of the record, 1-based frame and time (ns since 1970, UTC) of its end.

    ``frame`` and ``time`` are None where the capture does not tell.
    """

    record: int
    frame: int | None
    time: int | None

"""The places where the same traffic was recorded: `VantagePoint`, `SharedTraffic`. Plain values.

The rule kept here: times are told by the clock of the first point, and addresses as the first point has them.
"""

from __future__ import annotations

import msgspec

from msmq_wire.reassembly.tcp_events import Endpoints
from msmq_wire.units import SECOND

CLOCK_ERROR = 26 * 3600 * SECOND + 60 * SECOND
"""Nanoseconds by which a clock may be wrong, at most: the widest difference of time zones, and a minute."""


class VantagePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One place of recording: the ``files`` of one capture, in order of time.

    ``offset`` is the nanoseconds to add to its times, to have those of the first point, at its time ``at``
    (ns since 1970, by its own clock). ``drift`` is the nanoseconds to add, or to take away, for each second
    of its clock after ``at``. The offset may be wrong by ``uncertainty`` ns; that is None where only one
    direction was seen at both points: then the time of travel is part of the offset.
    """

    files: tuple[str, ...]
    offset: int = 0
    drift: int = 0
    at: int = 0
    uncertainty: int | None = 0

    def corrected(self, time: int) -> int:
        """A time of this point by the clock of the first one, ns since 1970; no time (0) stays none."""
        if not time:
            return 0
        return max(1, time + self.offset + self.drift * (time - self.at) // SECOND)


class AddressTranslation(msgspec.Struct, frozen=True):
    """An address translation (NAT) between two points.

    Point number ``point`` calls the sender and the receiver of a direction ``there``, the first point calls
    them ``here``. Both directions of a connection are listed.
    """

    point: int
    there: Endpoints
    here: Endpoints


class SharedTraffic(msgspec.Struct, frozen=True, kw_only=True):
    """Points that recorded the same traffic.

    The first has the most segments of shared connections, of those that were compared; or it is the first
    that was named. ``shared`` counts the segments that were found at two points, of those compared.
    """

    points: tuple[VantagePoint, ...]
    translations: tuple[AddressTranslation, ...] = ()
    shared: int = 0

"""HTTP connections in, records out: messages and receipts of SRMP, each with the response to it.

The rule kept here: a request is a record when it goes to a queue of MSMQ by its target or its headers, or its
envelope is one of SRMP; other exchanges are counted.
"""

from __future__ import annotations

from typing import Any

from msmq_wire.reassembly.tcp_events import Direction
from msmq_wire.records.record import Record
from msmq_wire.records.srmp_content import is_srmp
from msmq_wire.records.srmp_records import SrmpPlace
from msmq_wire.records.stream_reader import FollowedConnection, StreamReader
from msmq_wire.srmp.http.connection import HttpConnection
from msmq_wire.srmp.http.message import HttpExchange, HttpHole, is_credible

_OTHERS = "HTTP requests that are no SRMP: not decoded"
_ALONE = "HTTP responses without a request in the capture: not decoded"
_LEGS = "HTTP requests without a body, to authenticate: no message is in them"
_HOLES = "HTTP connections with bytes in no message: not decoded"
_CHALLENGES = (401, 407)
_KEPT = 16
"""Holes that a connection keeps while it is not known whose it is."""


def _is_leg(exchange: HttpExchange) -> bool:
    """Whether a request only begins to authenticate: the server wants more before it takes the message."""
    request, answer = exchange.request, exchange.response
    if request is None or not request.complete or request.body or answer is None:
        return False
    return answer.status in _CHALLENGES


class _Connection(FollowedConnection):
    """One HTTP connection; ``srmp`` says that one of its requests is a message."""

    __slots__ = ("holes", "http", "srmp")

    def __init__(self) -> None:
        self.http = HttpConnection()
        super().__init__(self.http)
        self.srmp = False
        self.holes: list[HttpHole] = []


class SrmpReader(StreamReader[_Connection]):
    """Follows the HTTP connections of a capture."""

    PROTOCOL = "HTTP"

    def _open(self) -> _Connection:
        return _Connection()

    def _close(self, connection: _Connection) -> None:
        if connection.holes:
            self._notice(_HOLES)

    def end_side(self, stream: int, direction: Direction) -> list[Record]:
        connection = self._connections.get(stream)
        if connection is None:
            return []
        return self._after(stream, connection, connection.http.end(direction == 0))

    def _records(self, stream: int, connection: _Connection, events: list[Any]) -> list[Record]:
        place = SrmpPlace(self._record, self._frames, self._names, stream)
        records: list[Record] = []
        for event in events:
            if isinstance(event, HttpExchange):
                request = event.request
                if request is None:
                    self._notice(_ALONE)
                elif _is_leg(event):
                    self._notice(_LEGS)
                elif is_credible(request.head) or is_srmp(request):
                    connection.srmp = True
                    records += [place.gap(hole) for hole in connection.holes]
                    connection.holes.clear()
                    records.append(place.message(event))
                else:
                    self._notice(_OTHERS)
            elif connection.srmp:
                records.append(place.gap(event))
            elif len(connection.holes) < _KEPT:
                connection.holes.append(event)
        return records

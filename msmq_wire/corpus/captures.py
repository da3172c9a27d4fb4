"""Small captures: a binary session, a call and an SRMP request, each in its own TCP connection.

The rule kept here: the same bytes at every run. Times count from a fixed second.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from msmq_wire.capture.conversation_writer import CaptureWriter, Endpoint
from msmq_wire.capture.reader import CaptureReader
from msmq_wire.corpus.bases import bases
from msmq_wire.corpus.messages import pdus, request
from msmq_wire.corpus.sample import Expected, ExpectedPlace, Sample, SampleEdit, SampleSequence
from msmq_wire.engines import reference
from msmq_wire.errors import CaptureError
from msmq_wire.records.record import Record
from msmq_wire.rpc.pdu.encoding import encode_pdu
from msmq_wire.units import SECOND
from msmq_wire.wire.registry import PACKETS

Piece: TypeAlias = tuple[bool, bytes]
"""Whether the client sends it, and its bytes."""

SERVER = "192.0.2.2"
CLIENT = "192.0.2.1"
BINARY_PORT, CALLS_PORT, HTTP_PORT = 1801, 2103, 80
_BEGIN = 1_700_000_000 * SECOND
_STEP = SECOND // 1000
_MOST_CUTS = 40


def capture_of(connections: Sequence[tuple[int, Sequence[Piece]]]) -> bytes:
    """A pcap file in which connections to these ports carry these pieces, one connection after the other."""
    file = io.BytesIO()
    clock = itertools.count(_BEGIN, _STEP)
    with CaptureWriter(file, clock=lambda: next(clock)) as writer:
        for number, (port, pieces) in enumerate(connections):
            client: Endpoint = (CLIENT, 50000 + number)
            connection = writer.connection(client, (SERVER, port))
            for from_client, data in pieces:
                connection.feed(from_client, data)
            connection.finish()
    return file.getvalue()


def session_pieces(*messages: bytes) -> list[Piece]:
    """A binary session: establish, parameters, messages, and a SessionAck."""
    establish, parameters, ack = (
        reference.build(bases(PACKETS[stem])[0])
        for stem in ("establish_connection", "connection_parameters", "session_ack")
    )
    return [
        (True, establish),
        (False, establish),
        (True, parameters),
        (False, parameters),
        *((True, message) for message in messages),
        (False, ack),
    ]


def captures() -> dict[str, bytes]:
    """The captures by name."""
    message = reference.build(bases(PACKETS["user_message"])[1])
    some = pdus()
    names = ("bind", "bind_ack", "request", "response")
    call = [(at % 2 == 0, encode_pdu(some[name])) for at, name in enumerate(names)]
    http = [(True, request("plain")), (False, b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")]
    connections = {
        "binary": [(BINARY_PORT, session_pieces(message, message))],
        "call": [(CALLS_PORT, call)],
        "srmp": [(HTTP_PORT, http)],
    }
    found = {name: capture_of(held) for name, held in connections.items()}
    found["all"] = capture_of([one for held in connections.values() for one in held])
    return found


CAPTURES = ("binary", "call", "srmp", "all")
"""The names of the captures."""


def capture_samples(name: str) -> Iterator[Sample]:
    """The samples of a capture: whole, and cut at the border of each of its first frames and inside of it."""
    sequence = SampleSequence("captures", name, {"as": "capture"})
    data = captures()[name]
    sequence.sees(data)
    yield sequence.sample(data, _expected(data))
    for size in sorted({0, 23, *_borders(data)})[:_MOST_CUTS]:
        if size < len(data) and sequence.sees(data[:size]):
            yield sequence.sample(data[:size], _expected(data[:size]), SampleEdit(how="cut", offset=size))


def _borders(data: bytes) -> Iterator[int]:
    """Where the frames of a pcap file begin, and a place inside of each."""
    at = 24
    while at < len(data):
        yield at
        yield at + 17
        at += 16 + int.from_bytes(data[at + 8 : at + 12], "little")


def _expected(data: bytes) -> Expected:
    try:
        reader = CaptureReader(io.BytesIO(data), columns=False)
        records = list(reader)
    except CaptureError as error:
        return Expected(consumed=0, error=ExpectedPlace(code="no-capture", path="", offset=error.offset))
    broken = [one for one in records if one.type == "error"]
    return Expected(
        type="capture",
        consumed=len(data),
        error=ExpectedPlace(code="damaged-capture", path="", offset=0) if broken else None,
        detail={"frames": reader.summary.frames, "records": [_record(one) for one in records]},
    )


def _record(record: Record) -> dict[str, object]:
    return {
        "type": record.type,
        "frames": list(record.frames),
        "offset": record.offset,
        "length": record.length,
    }

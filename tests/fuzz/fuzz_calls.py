"""Any bytes of both sides of a connection, as DCE/RPC: records, whatever comes, and nothing held at the end.

Input: one byte (lowest bit: with the secrets of the recorded conversations); then pieces: one byte (lowest
bit: from the server, second bit: a gap, of unknown length with the third bit), two bytes of length,
little-endian, and, if it is no gap, that many bytes.
"""

from __future__ import annotations

import json
import runpy
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msmq_wire.reassembly.tcp_events import Direction
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_reader import RpcReader
from msmq_wire.records.view import record_view
from msmq_wire.rpc.association import Association
from msmq_wire.rpc.events import RpcEvent
from msmq_wire.rpc.unseal.negotiation import negotiator
from msmq_wire.rpc.unseal.secrets import Secrets

_KEYTAB = Path(__file__).resolve().parents[2] / "fixtures" / "rpc_captures" / "rpc_kerberos.keytab"
_NEGOTIATOR = negotiator(Secrets.of(passwords=["Passw0rd!"], keytabs=[_KEYTAB.read_bytes()]))
_GAP, _UNKNOWN = 2, 4
_THERE = ("192.0.2.1:50000", "192.0.2.2:2103")
_BACK = (_THERE[1], _THERE[0])

Piece = tuple[bool, bytes | None, int | None]
"""From the client or not; bytes, or None for a gap and its length."""


def pieces(data: bytes) -> Iterator[Piece]:
    at = 1
    while at + 3 <= len(data):
        kind, length = data[at], int.from_bytes(data[at + 1 : at + 3], "little")
        at += 3
        if kind & _GAP:
            yield not kind & 1, None, None if kind & _UNKNOWN else length
        else:
            yield not kind & 1, data[at : at + length], None
            at += length


def test_one_input(data: bytes) -> None:
    """Judge one input; raises AssertionError, or what must not be raised."""
    if not data:
        return
    secrets = _NEGOTIATOR if data[0] & 1 else None
    made: list[Record] = []

    def record(*, time: int | None = None, **values: Any) -> Record:
        made.append(Record(id=len(made) + 1, time=time or None, **values))
        return made[-1]

    reader = RpcReader(
        record=record,
        names=lambda stream, direction: _BACK if direction else _THERE,
        frames=lambda frames: frames,
        notices=Counter(),
        negotiator=secrets,
    )
    association = Association(negotiator=secrets)
    given: list[Record] = []
    events: list[RpcEvent] = []
    frame = 0
    for frame, (client, piece, gap) in enumerate(pieces(data), 1):
        direction: Direction = 0 if client else 1
        if piece is None:
            given += reader.gap(1, direction, gap, "loss", frame, frame, 0)
            events += association.gap(client, gap, "loss", frame, frame)
        else:
            given += reader.feed(1, direction, piece, frame, frame)
            events += association.feed(client, piece, frame, frame)
        assert association.held_bytes >= 0
    given += reader.finish()
    events += association.finish()
    assert association.finish() == []
    assert [one.id for one in given] == list(range(1, len(made) + 1))
    for one in given:
        assert one.parent is None or one.parent < one.id
        assert all(1 <= number <= frame for number in one.frames)
        json.dumps(record_view(one))


if __name__ == "__main__":
    runpy.run_path(str(Path(__file__).with_name("run.py")))["fuzz"](__file__)

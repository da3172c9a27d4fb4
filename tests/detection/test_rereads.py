"""Messages that are received again: which reads are of one message."""

from __future__ import annotations

from pathlib import Path

import msgspec

from msmq_wire.capture.reader import read_capture
from msmq_wire.detection.rereads import Place, Reread, take_read
from msmq_wire.sessions import follow

_CAPTURE = Path(__file__).resolve().parents[2] / "fixtures" / "digest" / "poison_message.pcap"


def test_a_lookup_id_names_a_message_of_one_queue_and_its_subqueues() -> None:
    read = next(iter(follow(read_capture(_CAPTURE, streams=True)).reads))
    known: dict[Place, Reread] = {}
    for queue in ("orders", "invoices", "payments", "ORDERS;retry"):
        take_read(known, msgspec.structs.replace(read, queue=f"DIRECT=OS:msg01\\{queue}"), 9)
    assert [one.received for one in known.values()] == [2, 1, 1]

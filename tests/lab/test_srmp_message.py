"""What a POST becomes in a queue, and what a remote reader gets of it. [MS-MQRR] 2.2.5.1.2"""

from __future__ import annotations

import struct
from uuid import UUID

import pytest

from msmq_wire.lab.model.data.elements import ModelMessage
from msmq_wire.lab.model.data.message_packet import message_packet
from msmq_wire.lab.srmp_message import srmp_message
from msmq_wire.srmp.building import build_srmp
from msmq_wire.srmp.http.connection import parse_message
from tests.lab.model.scene import make_manager, make_queue

_BODY = b"by post"
_POST = build_srmp(
    "http://host/msmq/private$/orders",
    _BODY,
    source_qm_guid=UUID(int=7),
    message_number=9,
    sent_at=1_700_000_000,
)


def _posted() -> ModelMessage:
    manager = make_manager()
    queue = make_queue(manager)
    request, _ = parse_message(_POST)
    assert request is not None
    found = srmp_message(manager, request)
    assert isinstance(found, tuple)
    assert found[0] is queue
    return found[1]


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


@pytest.mark.rule(
    "MQRR-2.2.5.1.2-1",
    "MQRR-2.2.5.1.2-2",
    "MQRR-2.2.5.1.2.1-2",
    "MQRR-2.2.5.1.2.1-3",
    "MQRR-2.2.5.1.2.1-4",
    "MQRR-2.2.5.1.2.1-5",
    "MQRR-2.2.5.1.2.2-2",
    "MQRR-2.2.5.1.2.2-3",
    "MQRR-2.2.5.1.2.2-4",
    "MQRR-2.2.5.1.2.2-5",
    "MQRR-2.2.5.1.2.2-6",
)
def test_a_posted_message_has_its_envelope_and_its_post_behind_the_other_headers() -> None:
    data = message_packet(_posted())
    # AH is bit 25 of Flags, the 44 bytes before it begin UserHeader.
    assert data[63] & 0x02
    end = b"</se:Envelope>"
    envelope = _POST[_POST.index(b"<se:Envelope") : _POST.index(end) + len(end)].decode("ascii")
    wchars = envelope.encode("utf-16-le") + b"\0\0"
    compound = struct.pack("<HHIII", 500, 0, len(_POST), len(_BODY), _POST.index(_BODY)) + _POST
    headers = _padded(struct.pack("<HHI", 0, 0, len(wchars) // 2) + wchars) + _padded(compound)
    # ExtensionHeader and the headers that it counts are 188 bytes.
    assert data[-188 - len(headers) : -188] == headers

"""`MSMQSession`: the packets of a capture, however they are cut into segments."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.config import conf
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.sendrecv import sniff

import msmq_scapy as ms
import msmq_wire as mw
from msmq_scapy.packets import StructurePacket
from msmq_wire.records.record import Record
from msmq_wire.records.view import view
from msmq_wire.wire.registry import PACKETS
from tests.effort import examples, share

# scapy dissects VXLAN where its layer is loaded.
importlib.import_module("scapy.layers.vxlan")

_CAPTURES = Path(__file__).resolve().parents[3] / "fixtures" / "captures"
_NOT_OF_SCAPY = {
    "path_damaged_record.pcap": "scapy reads a record whose length is damaged as a frame",
    "path_erspan.pcap": "scapy dissects ERSPAN only with a module of its contrib",
    "path_mpls.pcap": "scapy dissects MPLS only with a module of its contrib",
    "path_zstd.pcap": "scapy reads no zstd",
}
_FILES = sorted(path for path in _CAPTURES.glob("*.pcap*") if path.name not in _NOT_OF_SCAPY)


def _is_packet(record: Record) -> bool:
    return record.type in PACKETS and record.parent is None


def _layers(frames: Any) -> list[Any]:
    return [
        layer
        for frame in frames
        for layer in [next((one for one in frame.iterpayloads() if isinstance(one, StructurePacket)), None)]
        if layer is not None
    ]


def test_the_captures_that_scapy_cannot_read_are_there() -> None:
    assert all((_CAPTURES / name).exists() for name in _NOT_OF_SCAPY)


@pytest.mark.parametrize("path", share(_FILES, 3), ids=lambda path: path.name)
def test_a_capture_gives_the_packets_that_read_capture_gives(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What scapy has to say of odd captures is not judged here.
    monkeypatch.setattr(conf, "verb", 0)
    expected = [record for record in mw.read_capture(str(path)) if _is_packet(record)]
    found = _layers(sniff(offline=str(path), session=ms.MSMQSession))
    assert [layer.structure.stem() for layer in found] == [record.type for record in expected]
    for layer, record in zip(found, expected, strict=True):
        assert ms.view(layer) == view(record.packet)
        assert len(bytes(layer)) == record.length


def _stream(sizes: list[int]) -> tuple[bytes, list[bytes]]:
    packets = [
        bytes(ms.MSMQUserMessage(destination_queue=r"DIRECT=OS:h\q", label=f"{i}", message_body=b"x" * size))
        for i, size in enumerate(sizes)
    ]
    return b"".join(packets), packets


def _ethernet() -> Any:
    # Without addresses scapy asks the network for them.
    return Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")


def _frame(seq: int, data: bytes, flags: str = "PA") -> Any:
    frame = _ethernet() / IP(src="192.0.2.1", dst="192.0.2.2")
    return Ether(bytes(frame / TCP(sport=40000, dport=1801, seq=seq, flags=flags) / Raw(data)))


@pytest.mark.slow
@given(st.lists(st.integers(0, 300), min_size=1, max_size=4), st.integers(0, 2**32 - 1), st.data())
@settings(max_examples=examples(25))
def test_any_split_order_and_repetition_gives_the_same_packets(
    sizes: list[int], start: int, data: st.DataObject
) -> None:
    stream, packets = _stream(sizes)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(stream) - 1), max_size=8)))
    pieces = [(at, stream[at:stop]) for at, stop in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    pieces += [pieces[0], pieces[-1]]
    random.Random(start).shuffle(pieces)
    session = ms.MSMQSession()
    frames = list(session.feed(_frame(start, b"", "S")))
    for at, piece in pieces:
        frames += session.feed(_frame((start + 1 + at) & 0xFFFFFFFF, piece))
    frames += session.finish()
    assert [bytes(layer) for layer in _layers(frames)] == packets


def test_other_traffic_passes_unchanged() -> None:
    session = ms.MSMQSession()
    web = Ether(bytes(_ethernet() / IP() / TCP(dport=80) / Raw(b"GET / HTTP/1.0\r\n\r\n")))
    assert session.feed(web) == [web]
    names = Ether(bytes(_ethernet() / IP() / UDP(dport=9999) / Raw(b"?")))
    assert session.feed(names) == [names]
    assert session.finish() == []


def test_a_ping_is_dissected_without_registration() -> None:
    frame = Ether(bytes(_ethernet() / IP() / UDP(dport=3527) / Raw(bytes(ms.MSMQPing(cookie=9)))))
    (found,) = ms.MSMQSession().feed(frame)
    assert found[ms.MSMQPing].cookie == 9


def test_discovery_is_dissected_without_registration() -> None:
    reply = bytes(ms.MSMQTopologyServerReply(connected_network_mask=7))
    frame = Ether(bytes(_ethernet() / IP() / UDP(sport=1801, dport=5000) / Raw(reply)))
    (found,) = ms.MSMQSession().feed(frame)
    assert found[ms.MSMQTopologyServerReply].connected_network_mask == 7


def test_the_frame_around_a_packet_is_that_of_its_last_segment(
    packet_bytes: Callable[[str], bytes],
) -> None:
    data = packet_bytes("user_message/everything")
    session = ms.MSMQSession()
    frames = session.feed(_frame(100, b"", "S")) + session.feed(_frame(101, data[:50]))
    assert _layers(frames) == []
    (found,) = session.feed(_frame(151, data[50:]))
    assert found[IP].src == "192.0.2.1"
    assert bytes(found[ms.MSMQUserMessage]) == data
    # Lengths and checksums are those of the whole packet.
    assert Ether(bytes(found))[IP].len == 40 + len(data)

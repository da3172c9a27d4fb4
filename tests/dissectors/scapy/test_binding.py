"""`register` and `unregister`: ports, content, and scapy left as it was found."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from scapy.layers.dcerpc import DCE_RPC_INTERFACES, DCE_RPC_INTERFACES_NAMES, DceRpc5, DceRpc5Request
from scapy.layers.inet import IP, TCP, UDP
from scapy.packet import Raw
from scapy.utils import rdpcap

import msmq_scapy as ms


def _bound() -> tuple[object, ...]:
    return (
        list(TCP.payload_guess),
        list(UDP.payload_guess),
        TCP.default_payload_class,
        UDP.default_payload_class,
        dict(DCE_RPC_INTERFACES),
        dict(DCE_RPC_INTERFACES_NAMES),
    )


@pytest.mark.slow
def test_an_import_loads_no_scapy_and_binds_nothing() -> None:
    code = (
        "import sys, msmq_scapy; assert 'scapy' not in sys.modules;"
        "assert 'MSMQUserHeader' in dir(msmq_scapy);"
        "from scapy.layers.inet import TCP; before = list(TCP.payload_guess);"
        "msmq_scapy.MSMQUserHeader; assert TCP.payload_guess == before"
    )
    folders = [str(Path(__file__).resolve().parents[3] / name) for name in ("", "dissectors")]
    program = f"import sys; sys.path[:0] = {folders!r}; {code}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_registering_twice_and_taking_it_back_twice_leaves_scapy_as_it_was() -> None:
    before = _bound()
    ms.register()
    once = _bound()
    ms.register()
    assert _bound() == once != before
    ms.unregister()
    ms.unregister()
    assert _bound() == before


def test_a_capture_shows_messages_by_their_class(registered: None, fixtures: Path) -> None:
    packets = rdpcap(str(fixtures / "captures" / "demo.pcap"))
    found = packets[ms.MSMQUserMessage]
    assert len(found) > 0
    assert all("MSMQUserMessage" in line for line in (pkt.summary() for pkt in found))
    assert len(packets[ms.MSMQUserHeader]) >= len(found)


def test_ports_tell_in_both_directions_and_content_tells_on_others(
    registered: None, packet_bytes: Callable[[str], bytes]
) -> None:
    data = packet_bytes("user_message/everything")
    for sport, dport in ((5001, 1801), (1801, 5000), (5001, 5000)):
        assert ms.MSMQUserMessage in IP(bytes(IP() / TCP(sport=sport, dport=dport) / Raw(data)))
    ping = bytes(ms.MSMQPing())
    for sport, dport in ((5001, 3527), (3527, 5000), (5001, 5000)):
        assert ms.MSMQPing in IP(bytes(IP() / UDP(sport=sport, dport=dport) / Raw(ping)))
    request = bytes(ms.MSMQTopologyClientRequest())
    for sport, dport, shown in ((5001, 1801, True), (1801, 5000, True), (5001, 5000, False)):
        packet = IP(bytes(IP() / UDP(sport=sport, dport=dport) / Raw(request)))
        assert (ms.MSMQTopologyClientRequest in packet) == shown
    other = IP(bytes(IP() / TCP(dport=5000) / Raw(b"something else")))
    assert other[TCP].payload == Raw(b"something else")


def test_what_is_no_packet_on_the_port_stays_bytes(registered: None) -> None:
    data = b"no packet of MSMQ at all"
    assert IP(bytes(IP() / TCP(dport=1801) / Raw(data)))[TCP].payload == Raw(data)


def test_several_packets_of_one_segment_follow_each_other(
    registered: None, packet_bytes: Callable[[str], bytes]
) -> None:
    data = packet_bytes("user_message/direct_destination")
    pkt = IP(bytes(IP() / TCP(dport=1801) / Raw(data * 3)))
    assert [type(layer).__name__ for layer in pkt.iterpayloads()][2:] == ["MSMQUserMessage"] * 3
    many = IP(bytes(IP() / TCP(dport=1801) / Raw(data * 200)))
    assert bytes(many[TCP].payload) == data * 200


def test_the_stub_of_a_crafted_call_brings_its_opnum(registered: None) -> None:
    call = DceRpc5() / DceRpc5Request() / ms.MSMQStub.of("R_CancelReceive", "request")()
    assert call[DceRpc5Request].opnum == 8

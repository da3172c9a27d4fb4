from __future__ import annotations

from pathlib import Path

import pytest

from msmq_wire.capture.reader import read_capture
from msmq_wire.records.record import Record
from msmq_wire.records.summary import summary

_CAPTURES = Path(__file__).resolve().parents[2] / "fixtures" / "captures"


def first(name: str, type_: str, event: str | None = None) -> Record:
    found = read_capture(_CAPTURES / f"{name}.pcap", streams=True)
    return next(one for one in found if (one.type, one.event) == (type_, event))


@pytest.mark.parametrize(
    ("name", "type_", "event", "said"),
    [
        ("clean_acknowledged_later", "establish_connection", None, "request by a1d30c5b…"),
        ("clean_acknowledged_later", "connection_parameters", None, "ack within 20 s, window 64"),
        ("clean_acknowledged_later", "user_message", None, '"order 1" to msg01 orders'),
        ("clean_acknowledged_later", "session_ack", None, "ack 1"),
        ("clean_acknowledged_later", "final_ack", None, "number 31 of sequence 0x6a85fd5f00000001"),
        ("clean_acknowledged_later", "order_ack", None, "up to number 33 of sequence 0x6a85fd5f00000001"),
        ("clean_acknowledged_later", "tcp_stream", "syn_ack", "syn ack"),
        ("clean_all_deliveries", "ping", None, "request, cookie 7"),
        ("clean_one_direction", "gap", None, "1,300 bytes missing (loss)"),
        ("clean_srmp", "srmp_message", None, '"order 1" to msg01 orders (http)'),
        ("com_cut", "rpc_bind", None, "interfaces IMSMQQueue"),
        ("com_receive_current", "rpc_fault", None, "status 0x80010108"),
        ("lab_remote_read", "rpc_call", None, "asks for the port: 2103"),
        ("path_cut_file", "error", None, "the file is cut inside a record of 60 bytes"),
        ("path_icmp_port_unreachable", "tcp_stream", "icmp_unreachable", "icmp unreachable: code 3"),
        ("path_midstream_start", "gap", None, "126 bytes not read (no-signature)"),
    ],
)
def test_a_record_has_a_line_that_says_what_it_is_about(
    name: str, type_: str, event: str | None, said: str
) -> None:
    assert summary(first(name, type_, event)) == said


def test_both_ends_of_an_opening_are_told_apart() -> None:
    packets = read_capture(_CAPTURES / "clean_acknowledged_later.pcap")
    reported = [summary(one) for one in packets if one.type == "establish_connection"]
    assert reported == ["request by a1d30c5b…", "response by c277e190…"]


def test_every_record_of_every_capture_has_a_line_without_a_fault() -> None:
    for path in sorted(_CAPTURES.glob("path_*.pcap")):
        for one in read_capture(path, streams=True):
            assert "\n" not in summary(one)

"""What a port carries may be said: then its bytes are read as that, whatever they begin with."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from msmq_wire import build_message, encode, read_capture
from msmq_wire.capture.conversation_writer import CaptureWriter
from msmq_wire.capture.reader import CaptureReader
from msmq_wire.reassembly.tcp_events import TcpSegment
from msmq_wire.records.recognition import Content
from msmq_wire.records.record import Record
from tests.capture.test_pathologies import datagrams
from tests.effort import in_batches

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_PORTS: dict[int, Content] = {1801: "msmq", 2103: "rpc", 2105: "rpc", 80: "http"}
_CAPTURES = sorted((*(_FIXTURES / "captures").glob("*.pcap"), *(_FIXTURES / "rpc_captures").glob("*.pcap")))
_MIDSTREAM = _FIXTURES / "captures" / "path_srmp_midstream.pcap"
_BIND = bytes.fromhex("05000b03 10000000 48000000 01000000") + bytes(56)
_REQUEST = b"POST /other HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"


def _captured(path: Path, port: int, sent: bytes) -> str:
    with CaptureWriter(str(path / "one.pcap")) as writer:
        connection = writer.connection(("192.0.2.1", 4000), ("192.0.2.2", port))
        connection.feed(True, sent)
        connection.finish()
    return str(path / "one.pcap")


def _request() -> bytes:
    """A request that brings a message."""
    segments = datagrams(_FIXTURES / "captures" / "path_srmp_message.pcap")
    return b"".join(one.payload for one in segments if isinstance(one, TcpSegment) and one.dport == 80)


def _packets() -> bytes:
    return encode(build_message(r"DIRECT=OS:msg01\private$\orders", b"order")) * 100


def _facts(record: Record) -> tuple[object, ...]:
    return record.id, record.type, record.src, record.dst, record.offset, record.length, record.reason


@in_batches([path for path in _CAPTURES if path != _MIDSTREAM])
def test_what_a_port_carries_may_be_said(path: Path) -> None:
    plain = [_facts(one) for one in read_capture(str(path))]
    for columns in (False, True):
        with CaptureReader(str(path), ports=_PORTS, columns=columns) as reader:
            assert [_facts(one) for one in reader] == plain


def test_bytes_before_a_start_line_are_a_gap_on_a_port_that_is_said_to_carry_http() -> None:
    with CaptureReader(str(_MIDSTREAM), ports=_PORTS) as reader:
        found = [(one.type, one.offset, one.length) for one in reader]
    assert found == [("gap", 0, 783), ("srmp_message", 783, 1286), ("srmp_message", 1997, 1488)]
    # Without it the connection is followed from its first request on.
    plain = [(one.type, one.offset, one.length) for one in read_capture(str(_MIDSTREAM))]
    assert plain == [("srmp_message", 0, 1286), ("srmp_message", 1214, 1488)]


@pytest.mark.parametrize("port", [1801, 8085])
@pytest.mark.parametrize(
    ("content", "notice"),
    [("rpc", "DCE/RPC connections with bytes in no PDU: not decoded"), ("msmq", ""), ("http", "HTTP")],
)
@pytest.mark.parametrize("sent", [random.Random(1).randbytes(300), bytes(300), _BIND, _REQUEST], ids=len)
def test_what_is_no_such_thing_is_told(
    tmp_path: Path, port: int, content: Content, notice: str, sent: bytes
) -> None:
    with CaptureReader(_captured(tmp_path, port, sent), ports={port: content}) as reader:
        records = list(reader)
    reported = [one.reason for one in records] + list(reader.summary.notices)
    assert any(notice in one for one in reported if one) or (content == "rpc" and sent == _BIND), reported
    assert reader.summary.skipped.total() == 0


def test_a_port_of_the_binary_protocol_may_carry_http(tmp_path: Path) -> None:
    path = _captured(tmp_path, 1801, _request())
    with CaptureReader(path) as reader:
        assert [one.type for one in reader] == ["gap"]
        assert reader.summary.notices == {
            "SRMP over HTTP on port 1801 of the binary protocol: --decode-as 1801=http reads it": 1
        }
    assert [one.type for one in read_capture(path, ports={1801: "http"})] == ["srmp_message"]


@pytest.mark.parametrize("port", [1801, 80])
def test_the_port_of_a_client_says_nothing(port: int, tmp_path: Path) -> None:
    sent = _packets() if port == 1801 else _request()
    with CaptureWriter(str(tmp_path / "one.pcap")) as writer:
        connection = writer.connection(("192.0.2.1", 49664), ("192.0.2.2", port))
        connection.feed(True, sent)
        connection.finish()
    path = str(tmp_path / "one.pcap")
    plain = [_facts(one) for one in read_capture(path)]
    assert plain != []
    for columns in (False, True):
        with CaptureReader(path, ports={49664: "rpc"}, columns=columns) as reader:
            assert [_facts(one) for one in reader] == plain

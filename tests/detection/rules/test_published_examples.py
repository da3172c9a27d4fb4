"""Values that Microsoft publishes as lawful: no rule calls them wrong for certain (docs/deviations.md)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from msmq_wire import build_message, encode, fit
from msmq_wire.capture.conversation_writer import CaptureWriter
from msmq_wire.capture.reader import read_capture
from msmq_wire.detection import Finding, judge
from msmq_wire.rpc.ndr import NDR, StubValue, encode_stub, inspect_stub
from msmq_wire.rpc.types.queue_format import QUEUE_FORMAT, QueueFormat
from msmq_wire.wire.names.queue_format_types import QueueFormatType
from msmq_wire.wire.types.direct_queue_format_name import DirectQueueFormatName, is_direct_name
from msmq_wire.wire.types.wchar_text import WcharText

_SRMP = Path(__file__).resolve().parents[3] / "fixtures" / "srmp"
_NAMES = (
    r"OS:machine-name\private$\abc",
    "http://machine/msmq/private$/abc",
    # The article on queue addressing recommends it where a web site has no directory of that name.
    "http://adatum.com/private$/abc",
    "https://www.northwindtraders.com/msmq/MyQueue",
    "http://157.18.3.1/msmq/MyQueue",
    r"TCP:[2001:4898:2a:1005:230:48ff:fe73:989d]\PRIVATE$\queuename",
    r"OS:mymachine\private$\orders;rejectedorders",
    # MSMQ 1.0 took these for letters.
    'OS:host\\q+1,"a"',
)


def _found(path: Path, port: int, data: bytes) -> Iterator[Finding]:
    with CaptureWriter(str(path / "one.pcap")) as writer:
        connection = writer.connection(("192.0.2.21", 49731), ("192.0.2.10", port))
        connection.feed(True, data)
        connection.finish()
    yield from judge(read_capture(str(path / "one.pcap"), streams=True))


@pytest.mark.parametrize("name", _NAMES)
def test_published_direct_names_are_names_in_packets_and_in_calls(name: str) -> None:
    text = WcharText.of(name)
    assert is_direct_name(text)
    assert DirectQueueFormatName.of(name).direct_format_name == text
    stub = encode_stub(QUEUE_FORMAT, StubValue(QueueFormat(m_qft=QueueFormatType.DIRECT, arm=text)), NDR)
    assert inspect_stub(QUEUE_FORMAT, stub, NDR).anomalies == ()


@pytest.mark.parametrize("name", ["http://", "http:host/q", "https://host", "ftp://host/msmq/q", "OS:host"])
def test_what_no_article_has_is_no_name(name: str) -> None:
    assert not is_direct_name(WcharText.of(name))


@pytest.mark.parametrize("body_type", [4, 5, 6, 7, 8, 9, 13, 23, 30, 68, 69, 0x2000, 0x2011])
def test_published_body_types_give_no_finding(body_type: int, tmp_path: Path) -> None:
    message = build_message(r"DIRECT=OS:msg01\private$\orders", b"x" * 8)
    assert message.message_properties_header is not None
    properties = replace(message.message_properties_header, body_type=body_type)
    data = encode(fit(replace(message, message_properties_header=properties)))
    assert [one for one in _found(tmp_path, 1801, data) if one.id == "CNT-BODYTYPE"] == []


def test_the_printed_message_without_an_element_of_msmq_is_wrong_in_nothing(tmp_path: Path) -> None:
    found = list(_found(tmp_path, 80, (_SRMP / "simple_message.http").read_bytes()))
    assert [(one.id, one.severity) for one in found if one.id.startswith("SRM") and one.rank] == []
    assert [(one.confidence, one.severity) for one in found if one.id == "SRM-ID"] == [("likely", "info")]

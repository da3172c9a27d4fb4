"""QUEUE_FORMAT, OBJECT_FORMAT and their parts, [MS-MQMQ] 2.2.7 to 2.2.10."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.rpc.ndr import (
    NDR,
    NDR64,
    NDR_BIG_ENDIAN,
    StubValue,
    Syntax,
    decode_stub,
    encode_stub,
    inspect_stub,
)
from msmq_wire.rpc.types.queue_format import (
    OBJECT_FORMAT,
    QUEUE_FORMAT,
    DlId,
    MulticastId,
    ObjectFormat,
    ObjectId,
    QueueFormat,
)
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

_GUID = GUID.parse("00112233-4455-6677-8899-aabbccddeeff")
_WIRE = "33221100554477668899aabbccddeeff"
_NAME = WcharText.of("OS:a\\q")
# It and its terminator: seven characters.
_TEXT = "4f 00 53 00 3a 00 61 00 5c 00 71 00 00 00"


@pytest.mark.parametrize(
    ("m_qft", "arm", "name", "ndr", "ndr64"),
    [
        (0, None, None, "00000000 00", "0000000000000000 0000000000000000"),
        (
            1,
            _GUID,
            f"PUBLIC={_GUID}",
            f"01000000 01000000 {_WIRE}",
            f"0100000000000000 0100000000000000 {_WIRE}",
        ),
        (
            2,
            ObjectId(lineage=_GUID, uniquifier=15),
            f"PRIVATE={_GUID}\\0000000f",
            f"02000000 02000000 {_WIRE} 0f000000",
            f"0200000000000000 0200000000000000 {_WIRE} 0f000000 00000000",
        ),
        (
            3,
            _NAME,
            "DIRECT=OS:a\\q",
            f"03000000 03000000 00000200 07000000 00000000 07000000 {_TEXT}",
            "0300000000000000 0300000000000000 0000020000000000"
            f"0700000000000000 0000000000000000 0700000000000000 {_TEXT}",
        ),
        (
            4,
            _GUID,
            f"MACHINE={_GUID}",
            f"04000000 04000000 {_WIRE}",
            f"0400000000000000 0400000000000000 {_WIRE}",
        ),
        (
            5,
            _GUID,
            f"CONNECTOR={_GUID}",
            f"05000000 05000000 {_WIRE}",
            f"0500000000000000 0500000000000000 {_WIRE}",
        ),
        (
            6,
            DlId(m_dl_guid=_GUID),
            f"DL={_GUID}",
            f"06000000 06000000 {_WIRE} 00000000",
            f"0600000000000000 0600000000000000 {_WIRE} 0000000000000000",
        ),
        (
            7,
            MulticastId(m_address=0x010000E0, m_port=1801),
            "MULTICAST=224.0.0.1:1801",
            "07000000 07000000 e0000001 09070000",
            "0700000000000000 0700000000000000 e0000001 09070000",
        ),
    ],
)
def test_every_kind_of_name_lies_where_its_syntax_has_it(
    m_qft: int, arm: Any, name: str | None, ndr: str, ndr64: str
) -> None:
    for syntax, digits in ((NDR, ndr), (NDR64, ndr64)):
        stub = bytes.fromhex(digits)
        decoded = decode_stub(QUEUE_FORMAT, stub, syntax)
        assert decoded.value == QueueFormat(m_qft=m_qft, arm=arm)
        assert encode_stub(QUEUE_FORMAT, decoded, syntax) == stub
    format_name = QueueFormat(m_qft=m_qft, arm=arm).format_name
    if m_qft not in (0, 4, 5):
        assert str(format_name).lower() == str(name).lower()


def test_numbers_of_a_big_endian_name_are_swapped_and_its_text_too() -> None:
    stub = bytes.fromhex("02000000 02000000 00112233445566778899aabbccddeeff 0000000f")
    expected = QueueFormat(m_qft=2, arm=ObjectId(lineage=_GUID, uniquifier=15))
    assert decode_stub(QUEUE_FORMAT, stub, NDR_BIG_ENDIAN).value == expected
    stub = bytes.fromhex(
        "03000000 03000000 00020000 00000007 00000000 00000007 004f 0053 003a 0061 005c 0071 0000"
    )
    assert decode_stub(QUEUE_FORMAT, stub, NDR_BIG_ENDIAN).value == QueueFormat(m_qft=3, arm=_NAME)
    assert encode_stub(QUEUE_FORMAT, StubValue(QueueFormat(m_qft=3, arm=_NAME)), NDR_BIG_ENDIAN) == stub


@pytest.mark.parametrize(
    ("name", "m_qft", "suffix"),
    [
        ("DIRECT=OS:host\\private$\\q", 3, 0),
        ("DIRECT=OS:host\\private$\\q;sub", 8, 5),
        ("DIRECT=OS:host\\q;JOURNAL", 3, 1),
        ("PUBLIC=00112233-4455-6677-8899-aabbccddeeff", 1, 0),
        ("PRIVATE=00112233-4455-6677-8899-aabbccddeeff\\0000000f", 2, 0),
        ("MACHINE=00112233-4455-6677-8899-aabbccddeeff;DEADLETTER", 4, 2),
        ("DL=00112233-4455-6677-8899-aabbccddeeff", 6, 0),
        ("MULTICAST=224.0.0.1:1801", 7, 0),
    ],
)
def test_a_format_name_becomes_a_structure_and_again_a_name(name: str, m_qft: int, suffix: int) -> None:
    queue = QueueFormat.of(FormatName.parse(name))
    assert (queue.m_qft, queue.bit("suffix_type")) == (m_qft, suffix)
    for syntax in (NDR, NDR64, NDR_BIG_ENDIAN):
        stub = encode_stub(QUEUE_FORMAT, StubValue(queue), syntax)
        result = inspect_stub(QUEUE_FORMAT, stub, syntax)
        assert result.value == queue
        assert result.anomalies == ()
        assert str(result.value.format_name).lower() == name.lower()


def test_parts_that_make_no_name_are_told() -> None:
    stub = bytes.fromhex("03000000 03000000 00000000")
    result = inspect_stub(QUEUE_FORMAT, stub)
    assert result.value.format_name is None
    assert [(found.code, found.path) for found in result.anomalies] == [("queue_format.format-name", "arm")]
    # A journal of a multicast address.
    stub = bytes.fromhex("07010000 07000000 e0000001 09070000")
    assert "queue_format.suffix-and-flags" in [
        found.code for found in inspect_stub(QUEUE_FORMAT, stub).anomalies
    ]


def _direct(text: str, suffix: int = 0) -> QueueFormat:
    return QueueFormat(m_qft=3, m_suffix_and_flags=suffix, arm=WcharText.of(text))


@pytest.mark.parametrize(
    ("queue", "name"),
    [
        (_direct("os:a\\private$\\" + "q" * 500), "DIRECT=OS:a\\private$\\" + "q" * 500),
        (_direct("OS:a\\" + "q" * 125, 1), f"DIRECT=OS:a\\{'q' * 125};JOURNAL"),
        (_direct("OS:a\\q\ar;journal"), "DIRECT=OS:a\\q\ar;JOURNAL"),
        (_direct("no protocol"), "DIRECT=no protocol"),
        (QueueFormat(m_qft=8, m_suffix_and_flags=5, arm=WcharText.of("FOO:a\\q;s")), "DIRECT=FOO:a\\q;s"),
        (QueueFormat(m_qft=3, arm=WcharText(b"O\0S\0:\0\0\xd8\0\0")), "DIRECT=OS:\ufffd"),
        (QueueFormat(m_qft=1, m_suffix_and_flags=9, arm=_GUID), f"PUBLIC={_GUID}"),
        (QueueFormat(m_qft=5, m_suffix_and_flags=1, arm=_GUID), f"CONNECTOR={_GUID};JOURNAL"),
        (
            QueueFormat(m_qft=2, m_suffix_and_flags=2, arm=ObjectId(lineage=_GUID, uniquifier=9)),
            f"PRIVATE={_GUID}\\00000009;DEADLETTER",
        ),
        (
            QueueFormat(m_qft=7, arm=MulticastId(m_address=0x0100007F, m_port=0x10000)),
            "MULTICAST=127.0.0.1:65536",
        ),
        (QueueFormat(m_qft=6, m_suffix_and_flags=1, arm=DlId(m_dl_guid=_GUID)), f"DL={_GUID};JOURNAL"),
    ],
)
def test_a_name_that_no_queue_can_have_is_shown_as_it_was_sent(queue: QueueFormat, name: str) -> None:
    assert queue.format_name is None
    assert queue.shown_name == name
    result = inspect_stub(QUEUE_FORMAT, encode_stub(QUEUE_FORMAT, StubValue(queue)))
    assert result.value.shown_name == name
    assert "queue_format.format-name" in [found.code for found in result.anomalies]


@pytest.mark.parametrize(
    "queue", [QueueFormat(), QueueFormat(m_qft=3), QueueFormat(m_qft=9), QueueFormat(m_qft=2)]
)
def test_where_there_is_no_name_none_is_shown(queue: QueueFormat) -> None:
    assert queue.shown_name is None


@pytest.mark.parametrize("length", range(28))
@pytest.mark.parametrize("arm", ["06000000 06000000", "02000000 02000000"])
def test_a_cut_name_is_no_name(arm: str, length: int) -> None:
    stub = bytes.fromhex(f"{arm} {_WIRE} 01000000")[:length]
    partial = inspect_stub(QUEUE_FORMAT, stub).value
    assert partial is None or (partial.format_name, partial.shown_name) == (None, None)


def test_an_unknown_kind_is_an_error_with_its_place() -> None:
    with pytest.raises(DecodeError, match="9 selects nothing") as caught:
        decode_stub(QUEUE_FORMAT, bytes.fromhex("09000000 09000000"))
    assert (caught.value.path, caught.value.offset) == ("arm", 4)
    assert caught.value.partial == QueueFormat(m_qft=9, arm=msgspec.UNSET)


@pytest.mark.parametrize(
    "queue",
    [
        QueueFormat(m_qft=9),
        QueueFormat(m_qft=1),
        QueueFormat(m_qft=1, arm=_NAME),
        QueueFormat(m_qft=0, arm=_GUID),
        QueueFormat(m_qft=2, arm=_GUID),
        QueueFormat(m_qft=3, arm="OS:a"),
        QueueFormat(m_qft=256),
    ],
)
def test_a_name_that_contradicts_itself_is_refused(queue: QueueFormat) -> None:
    with pytest.raises(EncodeError):
        encode_stub(QUEUE_FORMAT, StubValue(queue))


@pytest.mark.parametrize(
    ("syntax", "digits"),
    [
        (NDR, f"01000000 01000000 00000200 04000000 04000000 {_WIRE}"),
        (
            NDR64,
            f"0100000000000000 0100000000000000 0000020000000000 0400000000000000 0400000000000000 {_WIRE}",
        ),
    ],
)
def test_an_object_is_a_pointer_to_its_name(syntax: Syntax, digits: str) -> None:
    stub = bytes.fromhex(digits)
    decoded = decode_stub(OBJECT_FORMAT, stub, syntax)
    assert decoded.value == ObjectFormat(obj_type=1, arm=QueueFormat(m_qft=4, arm=_GUID))
    assert encode_stub(OBJECT_FORMAT, decoded, syntax) == stub


def test_an_object_that_is_only_local_has_no_arm() -> None:
    with pytest.raises(DecodeError, match="2 selects nothing"):
        decode_stub(OBJECT_FORMAT, bytes.fromhex("02000000 02000000 00000200"))

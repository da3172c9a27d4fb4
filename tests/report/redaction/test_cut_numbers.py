"""A length that was read out of a text goes with the text; any other number stays."""

from __future__ import annotations

import pytest

from msmq_wire import build_message, encode, inspect
from msmq_wire.records.record import Record
from msmq_wire.report.redaction.cut_numbers import may_be_text
from msmq_wire.report.redaction.redactor import Redaction, Redactor
from tests.whole_repr import whole_repr

_PACKET = encode(build_message("DIRECT=OS:srv\\private$\\q", b"body", label="lab"))
_COUNT, _SIZE, _PACKET_SIZE = 64, 136, 8


def shown(data: bytes) -> tuple[str, str]:
    """The record of a packet and its error, with hosts redacted and as it is."""
    result = inspect(data)
    record = Record(
        id=1,
        type=result.type or "error",
        length=len(data),
        packet=result.packet,
        remainder=result.remainder,
        error=result.error,
        anomalies=result.anomalies,
    )
    assert record.error is not None
    return whole_repr(Redactor({Redaction.HOSTS}).record(record)), whole_repr(record)


@pytest.mark.parametrize(
    ("at", "text", "size"),
    [
        (_COUNT, b"SR", 2),
        (_SIZE, b"SRV0", 4),
        (_SIZE, "SR".encode("utf-16-le"), 4),
        (_SIZE, "\u0441\u0435".encode("utf-16-le"), 4),
        (_SIZE, "s\u00fcd".encode(), 4),
        (_PACKET_SIZE, b"SRV0", 4),
    ],
)
def test_a_length_that_was_read_out_of_a_text_is_not_shown(at: int, text: bytes, size: int) -> None:
    number = str(int.from_bytes(text, "little"))
    reported, before = shown(_PACKET[:at] + text.ljust(size, b"\0") + _PACKET[at + size :])
    assert number in before
    assert number not in reported


@pytest.mark.parametrize("size", [0x8000000F, 0xFFFFFFFF, 0x40000000, 0x100000])
def test_a_length_that_is_no_text_stays_as_an_attacker_chose_it(size: int) -> None:
    reported, _ = shown(_PACKET[:_SIZE] + size.to_bytes(4, "little") + _PACKET[_SIZE + 4 :])
    assert str(size) in reported


def test_a_size_that_fits_its_packet_stays_where_the_capture_cut_it() -> None:
    packet = encode(build_message("DIRECT=OS:a\\private$\\q", bytes(0x3039), label="label"))
    reported, _ = shown(packet[:1000])
    assert "message_size=12345" in reported


def test_what_may_be_text_has_two_letters_or_more() -> None:
    texts = (b"SR", b"SRV0", b"A\0B\0", "\u00e4\u00f6".encode())
    assert all(may_be_text(int.from_bytes(one, "little"), 100) for one in texts)
    numbers = (0x41, 0x10000, 0x8000000F, 0xFFFFFFFF, 0xFFFF, 1 << 70, 0x400000)
    assert not any(may_be_text(one, 100) for one in numbers)
    assert not may_be_text(int.from_bytes(b"SR", "little"), 30000)

"""Framed messages of net.msmq, typed in from the records of [MC-NMF] 2.2."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.records.bodies import Body, open_body, preview

VIA = "net.msmq://srv01/private/orders"
ENVELOPE = b"<s:Envelope/>"


def preamble(mode: int, encoding: int) -> bytes:
    return b"\0\1\0\1" + bytes((mode, 2, len(VIA))) + VIA.encode() + bytes((3, encoding))


def rows(body: Body, name: str) -> list[str]:
    return [value for key, value in body.details if key == name]


def test_a_single_sized_message_is_what_follows_the_preamble() -> None:
    body = open_body(preamble(4, 8) + b"\x00\x56\x02\x0b", 0x1011)
    assert (body.kind, body.confidence, body.convention, body.text) == (
        "message_framing",
        "certain",
        "WCF",
        None,
    )
    assert rows(body, "mode") == ["singleton sized"]
    assert rows(body, "via") == [VIA]
    assert rows(body, "encoding") == ["SOAP 1.2, binary XML with its dictionary in band"]
    assert rows(body, "envelope") == ["4 bytes"]
    assert preview(body, 80) == f".NET message framing {VIA}"


@pytest.mark.parametrize(("encoding", "codec"), [(0, "utf-8"), (3, "utf-8"), (4, "utf-16"), (5, "utf-16-le")])
def test_an_envelope_of_text_is_shown(encoding: int, codec: str) -> None:
    body = open_body(preamble(4, encoding) + ENVELOPE.decode().encode(codec), 0)
    assert body.text == ENVELOPE.decode()
    assert body.encoding == ("UTF-8" if codec == "utf-8" else "UTF-16")


def test_simplex_messages_are_counted() -> None:
    long = b"x" * 300
    records = b"\x0c\x06\x0d" + ENVELOPE + b"\x06\xac\x02" + long + b"\x07"
    body = open_body(preamble(3, 3) + records, 0)
    assert body.confidence == "certain"
    assert rows(body, "envelope") == ["13 bytes", "300 bytes"]
    assert body.text is None


def test_an_unsized_envelope_is_joined() -> None:
    body = open_body(preamble(1, 3) + b"\x0c\x05\x05<a><b\x06/></a>\x00\x07", 0)
    assert (body.text, body.confidence) == ("<a><b/></a>", "certain")


def test_upgrade_and_fault_are_named() -> None:
    body = open_body(preamble(3, 7) + b"\x09\x0fapplication/ssl\x0a\x0b\x08\x01f", 0)
    assert rows(body, "upgrade") == ["application/ssl"]
    assert rows(body, "fault") == ["f"]


@pytest.mark.parametrize(
    ("rest", "why"),
    [
        (b"\x06\xff\xff\xff\xff\x0f", "end inside"),
        (b"\x06" + b"\xff" * 5, "five bytes"),
        (b"\x0d", "type 13"),
    ],
)
def test_records_that_lie_end_the_list(rest: bytes, why: str) -> None:
    body = open_body(preamble(2, 7) + rest, 0)
    assert body.confidence == "likely"
    assert why in rows(body, "stopped")[0]
    assert rows(body, "via") == [VIA]


def test_many_records_leave_a_short_list() -> None:
    body = open_body(preamble(3, 7) + b"\x06\x00" * 50_000 + b"\x08\x01f" * 5_000, 0)
    assert len(body.details) < 100


@given(st.integers(1, 4), st.integers(0, 8), st.binary(max_size=100))
def test_any_records_behind_a_preamble_are_opened(mode: int, encoding: int, rest: bytes) -> None:
    assert open_body(preamble(mode, encoding) + rest, 0).kind == "message_framing"

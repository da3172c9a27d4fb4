"""Messages of COM+ queued components, typed in from the tables of [MC-COMQC] 2.2."""

from __future__ import annotations

import struct

import pytest

from msmq_wire.records.bodies import open_body

_CLASS = bytes.fromhex("78563412 bc9a f0de 0123456789abcdef")
_INTERFACE = bytes.fromhex("44332211 6655 8877 99aabbccddeeff00")
_DISPATCH = bytes.fromhex("00040200 0000 0000 c000000000000046")
_PARTITION = bytes.fromhex("efbeadde 0100 0200 0304050607080910")
_MESSAGE_SIGNATURE = bytes.fromhex("83dbbb71 41fc d011 b764 0080c7ec3fc1")
_STRUCTURE = bytes.fromhex("c6afabec 197f d211 978e 0000f8757e2a")


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)


def _header(signature: bytes, rest: bytes) -> bytes:
    rest = _padded(rest)
    return signature + struct.pack("<I", 8 + len(rest)) + rest


def _method(number: int, parameters: bytes, interface: bytes = b"") -> bytes:
    fixed = struct.pack("<6I", number, 0x10, 0x1000, len(parameters), 1, 0)
    return _header(b"METH" if interface else b"SMTH", fixed + interface + parameters)


def _message(*headers: bytes, size: int | None = None) -> bytes:
    text = "{12345678-9ABC-DEF0-0123-456789ABCDEF}\0".encode("utf-16-le")
    target = _padded(_STRUCTURE + _CLASS + struct.pack("<I", len(text)) + text)
    behind = b"".join(headers)
    rest = bytes(32) + struct.pack("<I", len(target)) + bytes(8) + target
    whole = 36 + len(rest) + len(behind)
    counts = struct.pack("<3I", 1, 1, whole if size is None else size)
    return _header(b"CHDR", _MESSAGE_SIGNATURE + counts + rest) + behind


_SECURITY = _header(b"SECD", struct.pack("<2I", 5, 0) + b"token")
_PART = _header(b"PART", _PARTITION)


def test_calls_are_named_and_measured() -> None:
    body = open_body(
        _message(
            _PART,
            _SECURITY,
            _method(7, b"\1\2\3", _INTERFACE),
            _method(8, bytes(16)),
            _header(b"SECR", struct.pack("<2I", 200, 0)),
            _method(6, b"", _DISPATCH),
        ),
        None,
    )
    assert (body.kind, body.confidence) == ("queued_components", "certain")
    assert body.title == "COM+ queued components, 3 calls"
    assert body.details == (
        ("class", "12345678-9abc-def0-0123-456789abcdef"),
        ("partition", "deadbeef-0001-0002-0304-050607080910"),
        ("call", "method 7 of 11223344-5566-7788-99aa-bbccddeeff00, 3 bytes"),
        ("call", "method 8 of 11223344-5566-7788-99aa-bbccddeeff00, 16 bytes"),
        ("call", "method 6 of IDispatch, 0 bytes"),
    )


def test_more_calls_than_are_listed_are_counted() -> None:
    calls = [_method(number, b"") for number in range(70)]
    body = open_body(_message(_method(3, b"", _INTERFACE), *calls), None)
    assert body.title == "COM+ queued components, 71 calls"
    assert body.details[-1] == ("more", "8 more")
    assert len(open_body(_message(*[_PART] * 1000), None).details) == 65


def test_what_calls_nothing_or_begins_again_is_not_sure() -> None:
    call = _method(7, b"\1", _INTERFACE)
    assert open_body(_message(_PART), None).confidence == "likely"
    assert open_body(_message(call, _message(call)), None).confidence == "likely"
    assert open_body(_message(call, size=8), None).confidence == "likely"
    assert open_body(_message(call), None).confidence == "certain"


@pytest.mark.parametrize(
    ("headers", "reported"),
    [
        ((b"SMTH" + struct.pack("<I", 0x7FFFFFF8),), "a header of 2,147,483,640 bytes"),
        ((b"SMTH" + struct.pack("<I", 0),), "a header of 0 bytes"),
        ((_header(b"WHAT", b""),), "there is no header b'WHAT'"),
        ((_header(b"PART", b"12345678"),), "a header is too short"),
        (
            (_header(b"METH", struct.pack("<6I", 1, 16, 4096, 999, 1, 0) + _INTERFACE),),
            "999 bytes of parameters",
        ),
    ],
)
def test_what_is_no_header_ends_the_reading(headers: tuple[bytes, ...], reported: str) -> None:
    body = open_body(_message(*headers), None)
    assert (body.kind, body.confidence) == ("queued_components", "likely")
    (stopped,) = (value for name, value in body.details if name == "stopped")
    assert reported in stopped


def test_a_message_that_is_cut_says_so_and_one_that_goes_on_too() -> None:
    data = _message(_method(7, b"\1", _INTERFACE))
    assert ("behind", "4 bytes") in open_body(data + b"more", None).details
    assert open_body(data[:30], None).kind == "queued_components"
    assert "stopped" in dict(open_body(data[:-8], None).details)

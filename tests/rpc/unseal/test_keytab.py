"""Keytab files written by hand, whole, with holes, cut and lying."""

from __future__ import annotations

import struct
from typing import Any, Literal, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.errors import DecodeError
from msmq_wire.rpc.unseal.keytab import KeytabEntry, parse_keytab

_AES = bytes(range(32))
_RC4 = bytes(range(100, 116))
# HOST/srv@CORP, kvno 300 (0x2C in 8 bits), aes256.
_FIRST = bytes.fromhex(
    "0000004d 0002 0004 434f5250 0004 484f5354 0003 737276 00000001 65000000 2c 0012 0020"
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f 0000012c"
)
# alice@CORP, kvno 2 in 8 bits only, rc4.
_SECOND = bytes.fromhex(
    "0000002c 0001 0004 434f5250 0005 616c696365 00000001 65000000 02 0017 0010"
    "6465666768696a6b6c6d6e6f70717273"
)
_HOLE = bytes.fromhex("fffffff8 deadbeefdeadbeef")
_ENTRIES = (KeytabEntry("HOST/srv@CORP", 300, 18, _AES), KeytabEntry("alice@CORP", 2, 23, _RC4))


def _sized(record: bytes) -> bytes:
    return struct.pack(">i", len(record) - 4) + record[4:]


def _version_1(order: Literal["<", ">"]) -> bytes:
    texts = (b"CORP", b"HOST", b"srv")
    record = struct.pack(order + "H", len(texts))
    record += b"".join(struct.pack(order + "H", len(text)) + text for text in texts)
    record += struct.pack(order + "IBHH", 0, 7, 17, 16) + bytes(range(16))
    return b"\x05\x01" + struct.pack(order + "i", len(record)) + record


def test_records_are_read_and_holes_are_not() -> None:
    assert parse_keytab(b"\x05\x02" + _sized(_FIRST) + _HOLE + _sized(_SECOND)) == _ENTRIES


def test_a_size_of_zero_ends_the_file() -> None:
    assert parse_keytab(b"\x05\x02" + _sized(_FIRST) + bytes(4) + _sized(_SECOND)) == _ENTRIES[:1]


def test_a_kvno_of_32_bits_that_is_zero_says_nothing() -> None:
    record = _sized(_SECOND + bytes(4))
    assert parse_keytab(b"\x05\x02" + record) == _ENTRIES[1:]


@pytest.mark.parametrize("order", ["<", ">"])
def test_the_first_version_is_read_in_either_byte_order(order: Literal["<", ">"]) -> None:
    assert parse_keytab(_version_1(order)) == (KeytabEntry("HOST/srv@CORP", 7, 17, bytes(range(16))),)


def test_a_file_without_records_has_no_entries() -> None:
    assert parse_keytab(b"\x05\x02") == ()


@pytest.mark.parametrize("data", [b"", b"\x05", b"\x05\x03", b"\x04\x02\0\0\0\0", b"plain text"])
def test_another_file_is_no_keytab(data: bytes) -> None:
    with pytest.raises(DecodeError, match="no keytab"):
        parse_keytab(data)


@pytest.mark.parametrize("size", range(1, len(_SECOND) - 4))
def test_a_cut_file_says_where_and_keeps_what_it_had(size: int) -> None:
    whole = b"\x05\x02" + _sized(_FIRST)
    with pytest.raises(DecodeError) as caught:
        parse_keytab(whole + _sized(_SECOND)[: 4 + size])
    assert (caught.value.code, caught.value.offset, caught.value.partial) == (
        "missing-bytes",
        len(whole),
        _ENTRIES[:1],
    )


@pytest.mark.parametrize("size", range(1, len(_SECOND) - 4))
def test_a_record_that_is_too_short_for_its_fields_is_an_error(size: int) -> None:
    record = struct.pack(">i", size) + _SECOND[4 : 4 + size]
    with pytest.raises(DecodeError) as caught:
        parse_keytab(b"\x05\x02" + record)
    assert caught.value.partial == ()


def test_a_realm_is_needed_in_the_first_version() -> None:
    with pytest.raises(DecodeError) as caught:
        parse_keytab(b"\x05\x01" + struct.pack("<iH", 2, 0))
    assert caught.value.code == "negative-length"


def test_neither_a_repr_nor_an_error_shows_a_key() -> None:
    entry = KeytabEntry("HOST/srv@CORP", 3, 18, b"SECRETKEY")
    assert repr(entry) == "KeytabEntry('HOST/srv@CORP', kvno=3, etype=18)"
    assert dict(entry.__rich_repr__()) == {"principal": "HOST/srv@CORP", "kvno": 3, "etype": 18}
    with pytest.raises(DecodeError) as caught:
        parse_keytab(b"\x05\x02" + _sized(_SECOND[:-1]))
    assert "defgh" not in str(caught.value)


@given(data=st.binary(max_size=200), version=st.sampled_from([b"\x05\x01", b"\x05\x02", b""]))
def test_bytes_are_entries_or_a_decode_error(data: bytes, version: bytes) -> None:
    try:
        entries = parse_keytab(version + data)
    except DecodeError as error:
        entries = cast(Any, error.partial)
    assert sum(len(entry.key) + len(entry.principal) - 1 for entry in entries) <= len(data)

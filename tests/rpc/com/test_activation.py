"""Interface pointers that other calls give, against bytes written by hand from [MS-DCOM] 3.1."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.rpc.com.activation import GIVERS, pointer_of, pointers_given
from msmq_wire.rpc.com.orpc import MInterfacePointer
from msmq_wire.wire.types.guid import GUID, NULL_GUID

QUEUE = GUID.parse("eba96b1b-2168-11d3-898c-00e02c074f6b")
DISPATCH = GUID.parse("00020400-0000-0000-c000-000000000046")
IPID = GUID.parse("0000a803-0f3c-0e94-5d1b-77c2a1e94c60")
OTHER = GUID.parse("0000ac04-0f3c-0e94-3f62-08d94b1e7ac5")
ASKED = GUID.parse("00004c02-0f3c-0e94-77d0-5a1c2e9f6b31")
REM_UNKNOWN = GUID.parse("00000131-0000-0000-c000-000000000046")
REM_UNKNOWN_2 = GUID.parse("00000143-0000-0000-c000-000000000046")
SCM_ACTIVATOR = GUID.parse("000001a0-0000-0000-c000-000000000046")
ACTIVATION = GUID.parse("4d9f4ab8-7d1c-11cf-861e-0020af6e7c57")
QUEUE_INFO_3 = GUID.parse("eba96b1d-2168-11d3-898c-00e02c074f6b")

THIS = bytes.fromhex("0500 0700 00000000 00000000") + bytes(16) + bytes(4)
THAT = bytes(8)
# MEOW, standard, IID, STDOBJREF, the smallest of all resolver bindings: 70 bytes with the count of 4 units.
OBJREF = b"MEOW\1\0\0\0" + QUEUE + struct.pack("<IIQQ", 0, 5, 1, 2) + IPID + b"\4\0\2\0" + bytes(8)
POINTER = struct.pack("<II", len(OBJREF), len(OBJREF)) + OBJREF

QUERY = THIS + ASKED + struct.pack("<IHH", 5, 2, 0) + struct.pack("<I", 2) + QUEUE + DISPATCH
# A referent, max_count; of each result hResult, a gap, flags, cPublicRefs, oxid, oid, ipid.
QUERIED = (
    THAT
    + struct.pack("<II", 0x00020000, 2)
    + struct.pack("<II", 0, 0)
    + struct.pack("<IIQQ", 0, 5, 1, 2)
    + IPID
    + struct.pack("<II", 0x80004002, 0)
    + struct.pack("<IIQQ", 0, 5, 1, 2)
    + OTHER
    + bytes(4)
)
QUERY_2 = THIS + ASKED + struct.pack("<HHI", 1, 0, 1) + QUEUE
QUERIED_2 = THAT + struct.pack("<II", 1, 0) + struct.pack("<II", 1, 0x00020000) + POINTER + bytes(4)
OPENED = THAT + struct.pack("<I", 0x00020000) + POINTER + bytes(4)
# pOxid; a pointer to bindings of no unit; pipidRemUnknown, pAuthnHint, pServerVersion, phr; the interfaces.
ACTIVATED = (
    THAT
    + struct.pack("<Q", 1)
    + struct.pack("<IIHH", 0x00020000, 0, 0, 0)
    + OTHER
    + struct.pack("<IHHI", 1, 5, 7, 0)
    + struct.pack("<II", 1, 0x00020004)
    + POINTER
    + struct.pack("<III", 1, 0, 0)
)


def _serialized(data: bytes) -> bytes:
    """[MS-RPCE] 2.2.6: version 1, little-endian, 8 bytes of header, filler; the length of what follows."""
    padded = data + bytes(-len(data) & 7)
    return b"\1\x10\x08\0\xcc\xcc\xcc\xcc" + struct.pack("<II", len(padded), 0) + padded


def _created() -> bytes:
    """An answer of RemoteCreateInstance: an OBJREF_CUSTOM with two properties, [MS-DCOM] 2.2.22."""
    scm = _serialized(bytes(24))
    # cIfs, three pointers; the IIDs, the results, the pointers, the pointees.
    given = struct.pack("<IIII", 1, 0x00020000, 0x00020004, 0x00020008)
    given += struct.pack("<I", 1) + QUEUE + struct.pack("<II", 1, 0)
    properties = _serialized(given + struct.pack("<II", 1, 0x0002000C) + POINTER)
    sizes = len(scm), len(properties)
    out = GUID.parse("00000339-0000-0000-c000-000000000046")
    reply = GUID.parse("000001b6-0000-0000-c000-000000000046")
    # totalSize, headerSize, dwReserved, destCtx, cIfs, classInfoClsid, pclsid, pSizes, pdwReserved.
    after = struct.pack("<III", 0x00020000, 0x00020004, 0) + struct.pack("<I", 2) + reply + out
    after += struct.pack("<III", 2, *sizes)
    length = 16 + 20 + 16 + len(after)
    length += -length & 7
    total = length + sum(sizes)
    header = _serialized(struct.pack("<IIIII", total, length, 0, 2, 2) + bytes(16) + after)
    blob = struct.pack("<II", total, 0) + header + scm + properties
    custom = b"MEOW\4\0\0\0" + GUID.parse("000001a3-0000-0000-c000-000000000046") + out
    custom += struct.pack("<II", 0, len(blob)) + blob
    return THAT + struct.pack("<III", 0x00020000, len(custom), len(custom)) + custom + bytes(4)


ANSWERS: dict[str, tuple[GUID, int, bytes, bytes, list[tuple[GUID, GUID, GUID]]]] = {
    "RemQueryInterface": (REM_UNKNOWN, 3, QUERY, QUERIED, [(IPID, QUEUE, ASKED)]),
    "RemQueryInterface of IRemUnknown2": (REM_UNKNOWN_2, 3, QUERY, QUERIED, [(IPID, QUEUE, ASKED)]),
    "RemQueryInterface2": (REM_UNKNOWN_2, 6, QUERY_2, QUERIED_2, [(IPID, QUEUE, ASKED)]),
    "RemoteActivation": (ACTIVATION, 0, b"", ACTIVATED, [(IPID, QUEUE, NULL_GUID)]),
    "RemoteCreateInstance": (SCM_ACTIVATOR, 4, b"", _created(), [(IPID, QUEUE, NULL_GUID)]),
    "Open": (QUEUE_INFO_3, 34, b"", OPENED, [(IPID, QUEUE, NULL_GUID)]),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_gives_the_interface_pointers_in_it(name: str) -> None:
    iid, opnum, request, response, expected = ANSWERS[name]
    assert pointers_given(iid, opnum, request, response) == expected


def test_other_methods_give_none() -> None:
    assert pointers_given(QUEUE, 17, QUERY, QUERIED) == []
    assert pointers_given(REM_UNKNOWN, 4, QUERY, QUERIED) == []
    assert {len(opnums) for opnums in GIVERS.values()} == {1, 2}


def test_a_pointer_that_is_null_or_no_objref_names_nothing() -> None:
    assert pointer_of(None) is None
    assert pointer_of(MInterfacePointer(ul_cnt_data=4, ab_data=b"MEOW")) is None
    assert pointer_of(MInterfacePointer(ul_cnt_data=len(OBJREF), ab_data=OBJREF)) == (IPID, QUEUE, NULL_GUID)


@given(
    name=st.sampled_from(list(ANSWERS)),
    changes=st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 255)), max_size=5),
    end=st.integers(0, 600),
)
def test_a_changed_or_cut_answer_gives_pointers_or_none(
    name: str, changes: list[tuple[int, int]], end: int
) -> None:
    iid, opnum, request, response, expected = ANSWERS[name]
    changed = bytearray(response)
    for place, byte in changes:
        changed[place % len(changed)] = byte
    found = pointers_given(iid, opnum, request, bytes(changed[:end]))
    assert len(found) <= len(response)
    if not changes and end >= len(response):
        assert found == expected

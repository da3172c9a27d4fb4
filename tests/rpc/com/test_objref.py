"""OBJREF in its four forms, against bytes written by hand from [MS-DCOM] 2.2.18 and 2.2.19."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.rpc.com.objref import (
    DataElement,
    DualStringArray,
    SecurityBinding,
    StringBinding,
    decode_objref,
    encode_objref,
)
from msmq_wire.wire.types.guid import GUID

IID = GUID.parse("d7d6e074-dccd-11d0-aa4b-0060970debae")
HEAD = "4d454f57 {kind} 74e0d6d7 cddc d011 aa4b0060970debae"
STD = (
    "00100000"  # flags: SORF_NOPING
    "05000000"  # cPublicRefs
    "ee77d0553cb3118a"  # oxid
    "efcdab8967452301"  # oid
    "03a80000 3c0f 940e 5d1b77c2a1e94c60"  # ipid
)
RESOLVER = (
    "1400"  # wNumEntries: units that follow
    "0b00"  # wSecurityOffset: where the security bindings begin
    "0700 3a003a003100 0000"  # TCP to ::1
    "0f00 41004200 0000"  # a named pipe of AB
    "0000 0000"  # no more, and a unit that no binding has
    "0a00 ffff 0000"  # NTLM, no principal
    "0900 ffff 4300 0000"  # SPNEGO, C
    "0000 0000"
)
CLSID = "3b030000 0000 0000 c000000000000046"


def _bytes(kind: str, *parts: str) -> bytes:
    return bytes.fromhex(HEAD.format(kind=kind) + "".join(parts))


STANDARD = _bytes("01000000", STD, RESOLVER)
HANDLER = _bytes("02000000", STD, CLSID, RESOLVER)
CUSTOM = _bytes("04000000", CLSID, "00000000 08000000", "0102030405060708")
EXTENDED = _bytes(
    "08000000",
    STD,
    "5659534e",
    RESOLVER,
    "01000000 5659534e",
    CLSID,  # dataID
    "03000000 08000000 0102030000000000",
)
FORMS = {"standard": STANDARD, "handler": HANDLER, "custom": CUSTOM, "extended": EXTENDED}


@pytest.mark.parametrize("kind", FORMS)
def test_an_objref_says_its_kind_and_is_written_back(kind: str) -> None:
    found = decode_objref(FORMS[kind])
    assert (found.kind_name, found.iid, found.remainder) == (kind, IID, b"")
    assert encode_objref(found) == FORMS[kind]


def test_a_standard_objref_names_exporter_object_and_interface() -> None:
    std = decode_objref(STANDARD).std
    assert std is not None
    assert (std.flags, std.public_refs) == (0x1000, 5)
    assert (std.oxid, std.oid) == (0x8A11B33C55D077EE, 0x0123456789ABCDEF)
    assert str(std.ipid) == "0000a803-0f3c-0e94-5d1b-77c2a1e94c60"


def test_bindings_are_protocols_with_addresses_and_providers_with_principals() -> None:
    resolver = decode_objref(STANDARD).resolver
    assert resolver is not None
    assert resolver.string_bindings == (StringBinding(7, "::1"), StringBinding(15, "AB"))
    assert resolver.security_bindings == (SecurityBinding(10, ""), SecurityBinding(9, "C"))


def test_a_custom_objref_has_a_class_and_its_data_and_no_object() -> None:
    found = decode_objref(CUSTOM)
    assert (found.std, found.object_data) == (None, bytes(range(1, 9)))
    assert str(found.clsid) == "0000033b-0000-0000-c000-000000000046"


def test_an_extended_objref_has_its_envoy_context() -> None:
    (element,) = decode_objref(EXTENDED).elements
    assert element == DataElement(GUID(bytes.fromhex(CLSID)), 3, b"\1\2\3" + bytes(5))


@pytest.mark.parametrize(
    ("data", "strings"),
    [
        (b"", ()),
        (b"\x07\0A\0", ()),  # the text does not end
        (b"\x07\0A\0\0\0", (StringBinding(7, "A"),)),  # the list does not end
        (b"\x07\0", ()),
        (b"\0\0\x07\0A\0\0\0", ()),
    ],
)
def test_bindings_end_with_the_first_that_is_not_whole(
    data: bytes, strings: tuple[StringBinding, ...]
) -> None:
    assert DualStringArray(len(data) // 2, data).string_bindings == strings


def test_an_offset_behind_the_bindings_leaves_none_for_security() -> None:
    found = DualStringArray(0xFFFF, b"\x07\0A\0\0\0\0\0")
    assert (found.string_bindings, found.security_bindings) == ((StringBinding(7, "A"),), ())


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"MEOX" + STANDARD[4:], "signature"),
        (_bytes("03000000", STD, RESOLVER), "unknown-selector"),
        (_bytes("00000000"), "unknown-selector"),
        (EXTENDED.replace(b"\1\0\0\0VYSN", b"\xff\xff\xff\xffVYSN"), "missing-bytes"),
        (STANDARD[:64] + b"\xff\xff" + STANDARD[66:], "missing-bytes"),
        (b"", "missing-bytes"),
    ],
)
def test_what_is_no_objref_is_an_error(data: bytes, code: str) -> None:
    with pytest.raises(DecodeError) as raised:
        decode_objref(data)
    assert raised.value.code == code


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("lacking", ["std", "resolver", "clsid"])
def test_an_objref_without_what_its_kind_needs_is_not_written(kind: str, lacking: str) -> None:
    whole = decode_objref(FORMS[kind])
    if getattr(whole, lacking) is None:
        assert encode_objref(whole) == FORMS[kind]
        return
    with pytest.raises(EncodeError):
        encode_objref(msgspec.structs.replace(whole, **{lacking: None}))


@given(
    data=st.sampled_from(list(FORMS.values())),
    changes=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=4),
    end=st.integers(0, 200),
)
def test_changed_and_cut_bytes_are_written_back_or_an_error(
    data: bytes, changes: list[tuple[int, int]], end: int
) -> None:
    changed = bytearray(data)
    for place, byte in changes:
        changed[place % len(changed)] = byte
    cut = bytes(changed[:end])
    try:
        found = decode_objref(cut)
    except DecodeError as error:
        found, offset = None, error.offset
    if found is None:
        assert offset <= len(cut)
        return
    assert encode_objref(found) == cut
    if found.resolver is not None:
        assert len(found.resolver.string_bindings) <= len(cut)
        assert len(found.resolver.security_bindings) <= len(cut)

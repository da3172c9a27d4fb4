"""ORPCTHIS, ORPCTHAT and interface pointers among parameters, against bytes written by hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.rpc.com.orpc import (
    INTERFACE_POINTER,
    MInterfacePointer,
    OrpcExtent,
    OrpcExtentArray,
    OrpcThat,
    OrpcThis,
)
from msmq_wire.rpc.com.queue_interfaces import OrpcRequest, OrpcResponse
from msmq_wire.rpc.ndr import (
    NDR,
    NDR64,
    NDR_BIG_ENDIAN,
    Parameters,
    StubValue,
    decode_stub,
    encode_stub,
    inspect_stub,
)
from msmq_wire.wire.types.guid import GUID

CID = GUID.parse("2f5b0c11-7a64-4d0e-9b53-8e1c6f2a9d40")
CONTEXT = GUID.parse("00000334-0000-0000-c000-000000000046")
REQUEST, RESPONSE = Parameters(OrpcRequest), Parameters(OrpcResponse)

# [MS-DCOM] 2.2.13.3, little-endian.
PLAIN = bytes.fromhex(
    "0500 0700"  # COMVERSION 5.7
    "00000000"  # flags
    "00000000"  # reserved1
    "110c5b2f 647a 0e4d 9b538e1c6f2a9d40"  # cid
    "00000000"  # extensions: NULL
)
EXTENDED = bytes.fromhex(
    "0500 0600"
    "00000000"
    "00000000"
    "110c5b2f 647a 0e4d 9b538e1c6f2a9d40"
    "00000200"  # extensions: a referent
    "01000000"  # ORPC_EXTENT_ARRAY.size
    "00000000"  # reserved
    "04000200"  # extent: a referent
    "02000000"  # max_count, size rounded up to 2
    "08000200"  # the first
    "00000000"  # NULL
    "08000000"  # max_count of its data
    "34030000 0000 0000 c000000000000046"  # id: the context extension
    "05000000"  # size: five of the eight
    "0102030405 000000"
)
# The same in NDR64: pointers and counts take 8 bytes and are aligned to them.
EXTENDED_WIDE = bytes.fromhex(
    "0500 0600"
    "00000000"
    "00000000"
    "110c5b2f 647a 0e4d 9b538e1c6f2a9d40"
    "00000000"  # gap: ORPCTHIS has 28 bytes so far
    "0000020000000000"  # extensions
    "01000000 00000000"  # size, reserved
    "0400020000000000"  # extent
    "0200000000000000"  # max_count
    "0800020000000000"  # the first
    "0000000000000000"  # NULL
    "0800000000000000"  # max_count of its data
    "34030000 0000 0000 c000000000000046"
    "05000000"
    "0102030405 000000"
)
VALUE = OrpcThis(
    version=OrpcThis().version.__class__(major_version=5, minor_version=6),
    cid=CID,
    extensions=OrpcExtentArray(
        size=1, extent=(OrpcExtent(id=CONTEXT, size=5, data=b"\1\2\3\4\5\0\0\0"), None)
    ),
)


def test_a_request_without_extensions_is_thirty_two_bytes_and_its_parameters() -> None:
    read = decode_stub(REQUEST, PLAIN + b"parameters")
    assert read.value == OrpcRequest(orpcthis=OrpcThis(cid=CID), stub=b"parameters")
    assert encode_stub(REQUEST, read) == PLAIN + b"parameters"


def test_extensions_are_read_and_written_in_ndr() -> None:
    read = decode_stub(REQUEST, EXTENDED)
    assert read.value.orpcthis == VALUE
    assert encode_stub(REQUEST, StubValue(read.value)) == EXTENDED


def test_extensions_are_read_and_written_in_ndr64() -> None:
    read = decode_stub(REQUEST, EXTENDED_WIDE, NDR64)
    assert read.value.orpcthis == VALUE
    assert encode_stub(REQUEST, StubValue(read.value), NDR64) == EXTENDED_WIDE


def test_an_extension_whose_size_is_not_that_of_its_data_is_told_and_kept() -> None:
    data = EXTENDED.replace(bytes.fromhex("05000000 01"), bytes.fromhex("11000000 01"))
    read = inspect_stub(REQUEST, data)
    (anomaly,) = read.anomalies
    assert (anomaly.code, anomaly.path) == ("ndr.size-is", "orpcthis.extensions.extent[0].data")
    assert encode_stub(REQUEST, StubValue(read.value, read.residue)) == data


def test_flags_in_a_call_on_an_object_are_told() -> None:
    read = inspect_stub(REQUEST, PLAIN[:4] + b"\1" + PLAIN[5:])
    assert [(one.code, one.path) for one in read.anomalies] == [("orpc_this.flags", "orpcthis.flags")]
    assert str(read.anomalies[0].spec) == "[MS-DCOM] 2.2.13.3"


def test_a_response_ends_with_its_hresult_whatever_is_before() -> None:
    data = bytes.fromhex("00000000 00000000") + b"four" + bytes.fromhex("1b000ec0")
    read = decode_stub(RESPONSE, data)
    assert read.value == OrpcResponse(orpcthat=OrpcThat(), stub=b"four", status=0xC00E001B)
    assert encode_stub(RESPONSE, read) == data


def test_a_response_that_has_no_room_for_its_hresult_is_cut() -> None:
    read = inspect_stub(RESPONSE, bytes(10))
    assert read.error is not None
    assert read.error.path == "status"


def test_an_interface_pointer_has_its_count_twice() -> None:
    data = bytes.fromhex("00000200 03000000 03000000") + b"MEO"
    read = decode_stub(INTERFACE_POINTER, data)
    assert read.value == MInterfacePointer(ul_cnt_data=3, ab_data=b"MEO")
    assert encode_stub(INTERFACE_POINTER, StubValue(read.value)) == data


def test_an_interface_pointer_in_ndr64_has_one_count_of_eight_bytes() -> None:
    data = bytes.fromhex("0000020000000000 0300000000000000 03000000") + b"MEO"
    read = decode_stub(INTERFACE_POINTER, data, NDR64)
    assert read.value == MInterfacePointer(ul_cnt_data=3, ab_data=b"MEO")
    assert encode_stub(INTERFACE_POINTER, StubValue(read.value), NDR64) == data


def test_a_count_that_cannot_be_there_is_not_believed() -> None:
    read = inspect_stub(INTERFACE_POINTER, bytes.fromhex("00000200 ffffffff 04000000") + b"MEOW")
    assert read.error is not None
    assert read.error.path == "ab_data"
    assert read.value.ab_data == b"MEOW"


@given(data=st.binary(max_size=120), syntax=st.sampled_from((NDR, NDR64, NDR_BIG_ENDIAN)))
def test_any_bytes_are_a_value_that_is_written_back_or_an_error(data: bytes, syntax: object) -> None:
    for parameters in (REQUEST, RESPONSE):
        read = inspect_stub(parameters, data, syntax)  # type: ignore[arg-type]  # hypothesis says object
        if read.error is None:
            again = StubValue(read.value, read.residue, read.remainder)
            assert encode_stub(parameters, again, syntax) == data  # type: ignore[arg-type]  # as above
        else:
            assert read.error.offset <= len(data)


@given(data=st.data())
def test_a_request_cut_anywhere_gives_all_that_was_before(data: st.DataObject) -> None:
    end = data.draw(st.integers(0, len(EXTENDED) - 1))
    read = inspect_stub(REQUEST, EXTENDED[:end])
    assert read.error is not None
    if end >= 28:
        assert read.value.orpcthis.cid == CID

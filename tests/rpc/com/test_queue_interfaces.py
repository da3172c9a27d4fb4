"""The methods of queue objects against [MC-MQAC] 3.11.4; ReceiveCurrent_v1 against bytes by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.rpc.com.orpc import MInterfacePointer
from msmq_wire.rpc.com.queue_interfaces import (
    COM_INTERFACES,
    COM_METHODS,
    RECEIVE_CURRENT,
    ReceiveCurrentRequest,
    ReceiveCurrentResponse,
    object_interface_name,
)
from msmq_wire.rpc.com.variant import Variant, VariantType
from msmq_wire.rpc.interfaces import METHODS, Interface, Role, interface_name
from msmq_wire.rpc.ndr import NDR, NDR64, StubValue, Syntax, decode_stub, encode_stub, inspect_stub
from msmq_wire.wire.types.guid import GUID

INTERFACES = {interface.name: interface for interface in COM_INTERFACES.values()}
SHARED = {
    3: "GetTypeInfoCount",
    4: "GetTypeInfo",
    5: "GetIDsOfNames",
    6: "Invoke",
    7: "get_Access",
    8: "get_ShareMode",
    9: "get_QueueInfo",
    10: "get_Handle",
    11: "get_IsOpen",
    12: "Close",
    15: "EnableNotification",
    16: "Reset",
}
FIRST = SHARED | {13: "Receive", 14: "Peek", 17: "ReceiveCurrent", 18: "PeekNext", 19: "PeekCurrent"}
SECOND = SHARED | {
    13: "Receive_v1",
    14: "Peek_v1",
    17: "ReceiveCurrent_v1",
    18: "PeekNext_v1",
    19: "PeekCurrent_v1",
    20: "Receive",
    21: "Peek",
    22: "ReceiveCurrent",
    23: "PeekNext",
    24: "PeekCurrent",
    25: "get_Properties",
}
THIRD = SECOND | {
    26: "get_Handle2",
    27: "ReceiveByLookupId",
    28: "ReceiveNextByLookupId",
    29: "ReceivePreviousByLookupId",
    30: "ReceiveFirstByLookupId",
    31: "ReceiveLastByLookupId",
    32: "PeekByLookupId",
    33: "PeekNextByLookupId",
    34: "PeekPreviousByLookupId",
    35: "PeekFirstByLookupId",
    36: "PeekLastByLookupId",
    37: "Purge",
    38: "get_IsOpen2",
}
REVISIONS = {
    "IMSMQQueue": FIRST,
    "IMSMQQueue2": SECOND,
    "IMSMQQueue3": THIRD,
    "IMSMQQueue4": THIRD | {39: "ReceiveByLookupIdAllowPeek"},
}
METHOD = INTERFACES["IMSMQQueue3"].methods[RECEIVE_CURRENT]

ORPC_THIS = "0500 0700 00000000 00000000 110c5b2f 647a 0e4d 9b538e1c6f2a9d40 00000000"
# 32 bytes so far. Each argument: a referent, a gap up to 8, then the variant: clSize, rpcReserved, vt, three
# reserved words, the discriminant, the value.
REQUEST = bytes.fromhex(
    ORPC_THIS
    + "00000200 00000000"  # Transaction, at 40
    + "03000000 00000000 0300 0000 0000 0000 03000000 00000000"  # VT_I4: MQ_NO_TRANSACTION; up to 64
    + "04000200 00000000"  # WantDestinationQueue
    + "03000000 00000000 0b00 0000 0000 0000 0b000000 ffff"  # VT_BOOL: VARIANT_TRUE; up to 94
    + "0000"  # gap up to 96
    + "08000200 00000000"  # WantBody... at 104
    + "03000000 00000000 0b00 0000 0000 0000 0b000000 0000"  # VT_BOOL: VARIANT_FALSE
    + "0000"
    + "0c000200 00000000"  # ReceiveTimeout
    + "03000000 00000000 0a00 0000 0000 0000 0a000000 04000280"  # VT_ERROR: not specified
)
# ORPCTHAT, the pointer, max_count, ulCntData, four bytes, the HRESULT.
RESPONSE = bytes.fromhex("00000000 00000000 00000200 04000000 04000000") + b"MEOW" + bytes(4)
NONE_CAME = bytes.fromhex("00000000 00000000 00000000 1b000ec0")


@pytest.mark.parametrize("name", REVISIONS)
def test_an_interface_has_the_methods_of_its_revision(name: str) -> None:
    found = {opnum: method.name for opnum, method in INTERFACES[name].methods.items()}
    assert found == REVISIONS[name]


@pytest.mark.parametrize("name", REVISIONS)
def test_a_method_names_the_section_that_describes_it(name: str) -> None:
    sections = {opnum: str(method.spec) for opnum, method in INTERFACES[name].methods.items()}
    assert sections[6] == "[MS-OAUT] 3.1.4.4"
    assert sections[7] == "[MC-MQAC] 3.11.4.1.1"
    assert sections[17] == "[MC-MQAC] 3.11.4.1.11"
    assert sections.get(39, "[MC-MQAC] 3.11.4.1.33") == "[MC-MQAC] 3.11.4.1.33"


def test_an_interface_is_found_by_its_iid_as_binds_name_it() -> None:
    found: dict[GUID, Interface] = dict(COM_INTERFACES)
    assert {str(iid): interface.name for iid, interface in found.items()} == {
        "d7d6e076-dccd-11d0-aa4b-0060970debae": "IMSMQQueue",
        "ef0574e0-06d8-11d3-b100-00e02c074f6b": "IMSMQQueue2",
        "eba96b1b-2168-11d3-898c-00e02c074f6b": "IMSMQQueue3",
        "eba96b20-2168-11d3-898c-00e02c074f6b": "IMSMQQueue4",
    }
    assert [interface_name(iid) for iid in found] == [object_interface_name(iid) for iid in found]
    assert object_interface_name(GUID.parse("d7d6e074-dccd-11d0-aa4b-0060970debae")) == "IMSMQMessage"
    assert object_interface_name(GUID(bytes(16))) is None


def test_a_method_has_one_role_in_all_revisions_and_no_name_of_an_rpc_method() -> None:
    methods = [one for each in COM_INTERFACES.values() for one in each.methods.values()]
    assert all(COM_METHODS[one.name].role is one.role for one in methods)
    assert [one.name for one in COM_METHODS.values() if one.role is Role.CLOSE] == ["Close"]
    assert not COM_METHODS.keys() & METHODS.keys()


def test_a_request_has_four_arguments_each_aligned_to_eight() -> None:
    read = inspect_stub(METHOD.request, REQUEST)
    assert (read.error, read.anomalies, read.remainder) == (None, (), b"")
    value = read.value
    assert isinstance(value, ReceiveCurrentRequest)
    assert value.transaction == Variant(cl_size=3, vt=VariantType.VT_I4, arm=0)
    assert value.want_destination_queue == Variant(cl_size=3, vt=VariantType.VT_BOOL, arm=-1)
    assert value.want_body == Variant(cl_size=3, vt=VariantType.VT_BOOL, arm=0)
    assert value.receive_timeout == Variant(cl_size=3, vt=VariantType.VT_ERROR, arm=0x80020004)
    assert encode_stub(METHOD.request, StubValue(value)) == REQUEST


def test_a_response_has_the_message_and_the_hresult() -> None:
    read = decode_stub(METHOD.response, RESPONSE)
    assert read.value == ReceiveCurrentResponse(
        ppmsg=MInterfacePointer(ul_cnt_data=4, ab_data=b"MEOW"), status=0
    )
    assert encode_stub(METHOD.response, StubValue(read.value)) == RESPONSE


def test_a_response_without_a_message_has_null_and_the_hresult() -> None:
    read = decode_stub(METHOD.response, NONE_CAME)
    assert read.value == ReceiveCurrentResponse(status=0xC00E001B)
    assert encode_stub(METHOD.response, StubValue(read.value)) == NONE_CAME


@given(
    data=st.sampled_from((REQUEST, RESPONSE, NONE_CAME)),
    changes=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=5),
    end=st.integers(0, 200),
    syntax=st.sampled_from((NDR, NDR64)),
)
def test_changed_and_cut_stubs_are_written_back_or_an_error(
    data: bytes, changes: list[tuple[int, int]], end: int, syntax: Syntax
) -> None:
    changed = bytearray(data)
    for place, byte in changes:
        changed[place % len(changed)] = byte
    cut = bytes(changed[:end])
    for parameters in (METHOD.request, METHOD.response):
        read = inspect_stub(parameters, cut, syntax)
        if read.error is None:
            again = StubValue(read.value, read.residue, read.remainder)
            assert encode_stub(parameters, again, syntax) == cut
            assert decode_stub(parameters, cut, syntax) == again
        else:
            assert read.error.offset <= len(cut)


@given(end=st.integers(0, len(REQUEST) - 1))
def test_a_request_cut_anywhere_yields_every_argument_before_it(end: int) -> None:
    read = inspect_stub(METHOD.request, REQUEST[:end])
    assert read.error is not None
    # Where each argument ends.
    ends = {"transaction": 64, "want_destination_queue": 94, "want_body": 126}
    whole = inspect_stub(METHOD.request, REQUEST).value
    for name, stop in ends.items():
        if end >= stop:
            assert getattr(read.value, name) == getattr(whole, name)

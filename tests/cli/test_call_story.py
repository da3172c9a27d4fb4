"""The words for calls: every method has some, and they say how it ended."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.records.call_story import STORIES, CarriedMessage, call_story, carries_packet, size_text
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.rpc.constants import MgmtObjectType
from msmq_wire.rpc.interfaces import INTERFACES, Role
from msmq_wire.rpc.interfaces.qm2qm import RemoteQMStartReceiveByLookupIdRequest
from msmq_wire.rpc.interfaces.qmcomm_queues import OpenQueueInternalRequest, QueryRegistryRequest
from msmq_wire.rpc.interfaces.qmmgmt import QMMgmtActionRequest, QMMgmtGetInfoRequest
from msmq_wire.rpc.interfaces.remote_read import (
    EndReceiveRequest,
    MoveMessageRequest,
    OpenQueueRequest,
    StartReceiveRequest,
    StartReceiveResponse,
    StartTransactionalReceiveRequest,
)
from msmq_wire.rpc.interfaces.shared_parameters import StatusResponse
from msmq_wire.rpc.types.management_object import MgmtObject
from msmq_wire.rpc.types.remote_read_descriptor import RemoteReadDesc, RemoteReadDesc2
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.section_buffer import SectionBuffer
from msmq_wire.wire.types.wchar_text import WcharText

_METHODS = [
    (interface.name, method.opnum, method)
    for interface in INTERFACES.values()
    for method in interface.all_methods
]
_DONE = StatusResponse()
_CUT = msgspec.structs.replace(_DONE, status=msgspec.UNSET)


def call(method: str, request: Any = None, response: Any = _DONE, **values: Any) -> RpcCall:
    return RpcCall(
        interface="RemoteRead",
        opnum=0,
        method=method,
        syntax="ndr",
        request=request,
        response=response,
        **values,
    )


def test_every_method_has_words_and_no_other() -> None:
    reported = {method.role for _, _, method in _METHODS if not method.does}
    assert reported == set(STORIES)
    assert {method.role for _, _, method in _METHODS} - reported == {*set(Role) - set(STORIES), None}


@pytest.mark.parametrize(("interface", "opnum", "method"), _METHODS, ids=lambda value: str(value)[:40])
def test_words_come_from_any_values_and_from_none(interface: str, opnum: int, method: Any) -> None:
    for request, response in (
        (method.request.cls(), method.response.cls()),
        (None, None),
        (method.request.cls(), None),
    ):
        story = call_story(
            RpcCall(
                interface=interface,
                opnum=opnum,
                method=method.name,
                syntax="ndr",
                request=request,
                response=response,
            )
        )
        assert story
        assert len(story) < 80
        assert story[0].islower()


@pytest.mark.parametrize(
    ("action", "lookup_id", "story"),
    [
        (0x00000000, 0, "receives the first message"),
        (0x80000000, 0, "peeks at the first message"),
        (0x80000001, 0, "peeks at the next message"),
        (0x40000010, 17, "peeks at message 17"),
        (0x40000021, 17, "receives the message after 17"),
        (0x40000011, 0, "peeks at the first message"),
        (0x40000022, (1 << 64) - 1, "receives the last message"),
        (0x12345678, 0, "reads a message"),
    ],
)
def test_a_read_says_which_message_is_meant(action: int, lookup_id: int, story: str) -> None:
    request = StartReceiveRequest(ul_action=action, lookup_id=lookup_id)
    assert call_story(call("R_StartReceive", request)) == story
    descriptor = RemoteReadDesc2(p_remote_read_desc=RemoteReadDesc(ul_action=action))
    legacy = RemoteQMStartReceiveByLookupIdRequest(lookup_id=lookup_id, lp_remote_read_desc2=descriptor)
    assert call_story(call("RemoteQMStartReceiveByLookupId", legacy)) == story


def test_a_read_tells_the_message_that_came() -> None:
    request = StartReceiveRequest(ul_action=0x80000001)
    story = call_story(call("R_StartReceive", request), CarriedMessage(4198, "order 17"))
    assert story == "peeks at the next message: 4.1 KB, label 'order 17'"


def test_a_transaction_is_told() -> None:
    request = StartTransactionalReceiveRequest(p_transaction_id=GUID(bytes(15) + b"\x01"))
    story = call_story(call("R_StartTransactionalReceive", request))
    assert story == "receives the first message in a transaction"


@pytest.mark.parametrize(
    ("timeout", "status", "story"),
    [
        (30_000, 0xC00E001B, "waits up to 30 s for a message: none came"),
        (1_500, 0xC00E001B, "waits up to 1.5 s for a message: none came"),
        (500, 0xC00E0008, "waits up to 500 ms for a message: cancelled"),
        (0xFFFFFFFF, 0xC00E0008, "waits for a message: cancelled"),
        (0, 0xC00E001B, "receives the first message: there is none"),
        (30_000, 0xC00E009C, "receives the first message: a transaction holds it"),
        (30_000, 0xDEAD0001, "receives the first message: fails"),
    ],
)
def test_waiting_is_told_with_its_end(timeout: int, status: int, story: str) -> None:
    request = StartReceiveRequest(ul_timeout=timeout)
    assert call_story(call("R_StartReceive", request, status=status)) == story


@pytest.mark.parametrize(
    ("access", "share", "story"),
    [
        (0x01, 0, "opens the queue to receive from it"),
        (0x20, 0, "opens the queue to peek into it"),
        (0x02, 0, "opens the queue to send to it"),
        (0x81, 1, "opens the queue to receive from it while its messages wait to be sent, alone"),
        (0x00, 0, "opens the queue"),
    ],
)
def test_opening_says_for_what(access: int, share: int, story: str) -> None:
    one = OpenQueueRequest(dw_access=access, dw_share_mode=share)
    other = OpenQueueInternalRequest(dw_desired_access=access, dw_share_mode=share)
    assert call_story(call("R_OpenQueue", one)) == story
    assert call_story(call("rpc_QMOpenQueueInternal", other)) == story


@pytest.mark.parametrize(
    ("values", "story"),
    [
        ({"fault": True, "status": 5, "response": None}, "closes the queue: access denied"),
        ({"fault": True, "status": 0xDEAD0001, "response": None}, "closes the queue: refused"),
        ({"status": 0xC00E0056}, "closes the queue: the handle is no longer valid"),
        ({"response": None}, "closes the queue: no answer"),
        ({"response": None, "cancelled": True}, "closes the queue: cancelled"),
        ({"response": None, "orphaned": True}, "closes the queue: given up"),
        ({"verified": False}, "closes the queue; its signature is wrong"),
        ({"sealed": True, "response": None}, "sealed"),
        (
            {"response": None, "latency": 7, "complete": False},
            "closes the queue: the rest of the answer is missing",
        ),
        ({"response": None, "latency": 7}, "closes the queue: the answer cannot be read"),
        ({"response": _CUT, "complete": False}, "closes the queue: the rest of the answer is missing"),
        ({"complete": False}, "closes the queue"),
    ],
)
def test_how_a_call_ended_is_told(values: dict[str, Any], story: str) -> None:
    assert call_story(call("R_CloseQueue", **values)) == story


def test_ends_of_receives_and_moves() -> None:
    assert (
        call_story(call("R_EndReceive", EndReceiveRequest(dw_ack=2)))
        == "takes the message off the queue (ACK)"
    )
    assert call_story(call("R_EndReceive", EndReceiveRequest(dw_ack=1))) == "puts the message back (NACK)"
    assert call_story(call("R_EndReceive", EndReceiveRequest(dw_ack=3))) == "ends the receive"
    assert (
        call_story(call("R_MoveMessage", MoveMessageRequest(lookup_id=9)))
        == "moves message 9 to another queue"
    )
    query = QueryRegistryRequest(dw_query_type=3)
    assert call_story(call("R_QMQueryQMRegistryInternal", query)) == "asks the server for its version"


def test_an_unknown_method_is_told_as_one() -> None:
    unknown = RpcCall(interface="unknown", opnum=99, method=None, syntax=None)
    assert call_story(unknown) == "a call that is not known"
    named = RpcCall(interface="dscomm", opnum=0, method=None, syntax="ndr")
    assert call_story(named) == "a call of dscomm"


def test_a_question_of_an_administrator_says_about_what() -> None:
    machine, queue = MgmtObject(), MgmtObject(type=MgmtObjectType.MGMT_QUEUE, arm=None)
    asked = QMMgmtGetInfoRequest(p_object_format=machine, cp=2, a_prop=(1, 2))
    assert call_story(call("R_QMMgmtGetInfo", asked)) == "asks for 2 properties of the computer"
    asked = msgspec.structs.replace(asked, p_object_format=queue, cp=1, a_prop=(7,))
    assert call_story(call("R_QMMgmtGetInfo", asked)) == "asks for 1 property of the queue"
    reported = QMMgmtActionRequest(p_object_format=queue, lpwsz_action=WcharText.of("PAUSE"))
    assert call_story(call("R_QMMgmtAction", reported)) == "tells the queue to PAUSE"
    nothing = QMMgmtActionRequest(p_object_format=MgmtObject(type=3))
    assert call_story(call("R_QMMgmtAction", nothing)).startswith("tells what there is not")


def test_only_what_brings_a_packet_waits_for_it() -> None:
    section = SectionBuffer(section_size=1, section_size_alloc=1, data=b"x")
    assert carries_packet(call("R_StartReceive", None, StartReceiveResponse(pp_packet_sections=(section,))))
    assert not carries_packet(call("R_StartReceive", None, StartReceiveResponse(pp_packet_sections=())))
    assert not carries_packet(call("R_StartReceive", None, None))


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1023, "1023 bytes"),
        (1024, "1 KB"),
        (4198, "4.1 KB"),
        (1 << 20, "1 MB"),
        (1_048_000, "1 MB"),
    ],
)
def test_sizes_are_told_in_units_people_use(size: int, text: str) -> None:
    assert size_text(size) == text


@given(st.integers(0, 1 << 40), st.text(max_size=300))
def test_what_is_told_of_a_message_is_short(size: int, label: str) -> None:
    assert len(str(CarriedMessage(size, label))) <= 80

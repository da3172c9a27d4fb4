from __future__ import annotations

import struct
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.rpc.association import Association
from msmq_wire.rpc.call_matcher import MAX_CALLS
from msmq_wire.rpc.events import (
    BindEvent,
    CallEvent,
    ControlEvent,
    FaultEvent,
    RpcEvent,
    SkippedBytes,
    Stub,
    SyntaxId,
)
from msmq_wire.rpc.pdu_protection import Negotiation, ProtectedPdu, Unwrapped
from msmq_wire.wire.types.guid import GUID

QMCOMM = SyntaxId(GUID.parse("fdb3a030-065f-11d1-bb9b-00a024ea5525"), 1, 0)
QMCOMM2 = SyntaxId(GUID.parse("76d12b80-3467-11d3-91ff-0090272f9ea3"), 1, 0)
NDR = SyntaxId(GUID.parse("8a885d04-1ceb-11c9-9fe8-08002b104860"), 2, 0)
NDR64 = SyntaxId(GUID.parse("71710533-beba-4937-8319-b5dbef9ccc36"), 1, 0)
# [MS-RPCE] 3.3.1.5.3: the pseudo syntax of bind time feature negotiation.
FEATURES = SyntaxId(GUID.parse("6cb71c2c-9812-4540-0300-000000000000"), 1, 0)
NOTHING = SyntaxId(GUID(bytes(16)), 0, 0)
FIRST, LAST, WHOLE = 1, 2, 3
TRAILER = bytes.fromhex("8ae3137102f43671 0140 0400 01000000")


def pdu(ptype: int, body: bytes, *, call_id: int, flags: int = WHOLE, auth: bytes = b"") -> bytes:
    size = 16 + len(body) + len(auth)
    sizes = struct.pack("<HHI", size, max(0, len(auth) - 8), call_id)
    return bytes((5, 0, ptype, flags, 0x10, 0, 0, 0)) + sizes + body + auth


def auth(token: bytes, *, level: int = 6, pad: int = 0, context: int = 1, kind: int = 10) -> bytes:
    return struct.pack("<BBBBI", kind, level, pad, 0, context) + token


def syntax(value: SyntaxId) -> bytes:
    return bytes(value.uuid) + struct.pack("<HH", value.major, value.minor)


def bind(
    *offers: tuple[int, SyntaxId, SyntaxId], call_id: int = 1, alter: bool = False, **more: object
) -> bytes:
    body = struct.pack("<HHIBBH", 5840, 4280, 0, len(offers), 0, 0)
    for context_id, interface, transfer in offers:
        body += struct.pack("<HBB", context_id, 1, 0) + syntax(interface) + syntax(transfer)
    return pdu(14 if alter else 11, body, call_id=call_id, **more)  # type: ignore[arg-type]  # passed on


def ack(*results: tuple[int, int, SyntaxId], call_id: int = 1, alter: bool = False, **more: object) -> bytes:
    body = (
        struct.pack("<HHIH", 5840, 4280, 77, 5) + b"2103\0" + b"\0" + struct.pack("<BBH", len(results), 0, 0)
    )
    for result, reason, transfer in results:
        body += struct.pack("<HH", result, reason) + syntax(transfer)
    return pdu(15 if alter else 12, body, call_id=call_id, **more)  # type: ignore[arg-type]  # passed on


def request(stub: bytes = b"", *, call_id: int, context: int = 0, opnum: int = 7, **more: object) -> bytes:
    body = struct.pack("<IHH", 0xFFFFFFFF, context, opnum) + stub
    return pdu(0, body, call_id=call_id, **more)  # type: ignore[arg-type]  # passed on


def response(stub: bytes = b"", *, call_id: int, context: int = 0, **more: object) -> bytes:
    body = struct.pack("<IHBB", 0xFFFFFFFF, context, 0, 0) + stub
    return pdu(2, body, call_id=call_id, **more)  # type: ignore[arg-type]  # passed on


def fault(status: int, *, call_id: int, context: int = 0) -> bytes:
    return pdu(3, struct.pack("<IHBBI", 32, context, 0, 0, status) + bytes(4), call_id=call_id, flags=0x23)


class Talk:
    """Feeds PDUs, a frame each, and collects the events."""

    def __init__(self, association: Association | None = None) -> None:
        self.association = association or Association()
        self.frame = 0
        self.events: list[RpcEvent] = []

    def say(self, from_client: bool, *pdus: bytes) -> list[RpcEvent]:
        events: list[RpcEvent] = []
        for data in pdus:
            self.frame += 1
            events += self.association.feed(from_client, data, self.frame, self.frame * 10)
        self.events += events
        return events

    def client(self, *pdus: bytes) -> list[RpcEvent]:
        return self.say(True, *pdus)

    def server(self, *pdus: bytes) -> list[RpcEvent]:
        return self.say(False, *pdus)


def calls(events: list[RpcEvent]) -> list[CallEvent]:
    return [event for event in events if isinstance(event, CallEvent)]


def data(stub: Stub | None) -> bytes | None:
    return None if stub is None else stub.data


def bound() -> Talk:
    talk = Talk()
    talk.client(bind((0, QMCOMM, NDR), (1, QMCOMM2, NDR64)))
    talk.server(ack((0, 0, NDR), (0, 0, NDR64)))
    return talk


def test_a_bind_and_its_answer_are_one_event() -> None:
    talk = Talk()
    offers = ((0, QMCOMM, NDR), (1, QMCOMM, NDR64), (2, QMCOMM, FEATURES))
    assert talk.client(bind(*offers)) == []
    (event,) = talk.server(ack((2, 2, NOTHING), (0, 0, NDR64), (3, 3, NOTHING)))
    assert isinstance(event, BindEvent)
    assert [(one.context_id, one.result, one.reason, one.accepted) for one in event.contexts] == [
        (0, 2, 2, None),
        (1, 0, 0, NDR64),
        (2, 3, 3, None),
    ]
    assert (event.answered, event.alter, event.nak_reason) == (True, False, None)
    assert (event.association_group, event.secondary_address) == (77, "2103")
    assert (event.max_xmit_frag, event.max_recv_frag) == (5840, 4280)
    assert (event.frames, event.time, event.offset) == ((1, 2), 20, 0)
    talk.client(request(call_id=2, context=0), request(call_id=3, context=1), request(call_id=4, context=2))
    assert [(call.interface, call.syntax) for call in calls(talk.association.finish())] == [
        (None, None),
        (QMCOMM, NDR64),
        (None, None),
    ]


def test_a_bind_without_an_answer_comes_at_the_end_and_accepts_nothing() -> None:
    talk = Talk()
    talk.client(bind((0, QMCOMM, NDR)), request(call_id=2))
    first, second = talk.association.finish()
    assert isinstance(first, BindEvent)
    assert not first.answered
    assert isinstance(second, CallEvent)
    assert second.interface is None


def test_a_bind_with_a_call_id_used_again_gives_the_older_one_first() -> None:
    talk = Talk()
    talk.client(bind((0, QMCOMM, NDR)))
    (older,) = talk.client(bind((0, QMCOMM2, NDR)))
    (newer,) = talk.server(ack((0, 0, NDR)))
    assert isinstance(older, BindEvent)
    assert isinstance(newer, BindEvent)
    assert [(one.answered, one.contexts[0].interface) for one in (older, newer)] == [
        (False, QMCOMM),
        (True, QMCOMM2),
    ]


def test_an_answer_without_its_bind_is_told() -> None:
    (event,) = Talk().server(ack((0, 0, NDR)))
    assert isinstance(event, BindEvent)
    assert (event.answered, event.contexts, event.association_group) == (True, (), 77)


def test_a_refused_bind_gives_its_reason() -> None:
    talk = Talk()
    talk.client(bind((0, QMCOMM, NDR)))
    (event,) = talk.server(pdu(13, struct.pack("<HBBB", 8, 1, 5, 0), call_id=1))
    assert isinstance(event, BindEvent)
    assert (event.answered, event.nak_reason, event.contexts[0].result) == (True, 8, None)


def test_alter_context_adds_interfaces_to_the_association() -> None:
    talk = bound()
    talk.client(bind((7, QMCOMM2, NDR), call_id=5, alter=True))
    (event,) = talk.server(ack((0, 0, NDR), call_id=5, alter=True))
    assert isinstance(event, BindEvent)
    assert event.alter
    talk.client(request(call_id=6, context=7), request(call_id=7, context=0))
    assert [call.interface for call in calls(talk.association.finish())] == [QMCOMM2, QMCOMM]


def test_a_fault_may_answer_alter_context() -> None:
    talk = bound()
    talk.client(bind((7, QMCOMM2, NDR), call_id=5, alter=True))
    event, behind = talk.server(fault(5, call_id=5))
    assert isinstance(event, BindEvent)
    assert (event.answered, event.note) == (True, "refused with a fault")
    assert isinstance(behind, FaultEvent)


def test_request_and_response_are_one_event_at_the_response() -> None:
    talk = bound()
    held = talk.association.held_bytes
    assert talk.client(request(b"ask", call_id=2, context=1, opnum=9)) == []
    (call,) = calls(talk.server(response(b"answer", call_id=2, context=1)))
    assert (call.call_id, call.context_id, call.opnum) == (2, 1, 9)
    assert (call.interface, call.syntax) == (QMCOMM2, NDR64)
    assert call.request == Stub(data=b"ask", frames=(3,), time=30, offset=116, length=27)
    assert call.response == Stub(data=b"answer", frames=(4,), time=40, offset=84, length=30)
    assert talk.association.held_bytes == held


def test_a_big_endian_stub_is_told_as_one() -> None:
    association = Association()
    data = struct.pack(">BBBB4sHHIIHH", 5, 0, 0, 3, bytes(4), 28, 0, 2, 4, 0, 0x107) + b"stub"
    assert association.feed(True, data, 1, 0) == []
    (call,) = calls(association.finish())
    assert call.opnum == 0x107
    assert call.request is not None
    assert (call.request.big_endian, call.request.data) == (True, b"stub")


def test_fragments_of_interleaved_calls_are_joined() -> None:
    talk = bound()
    talk.client(
        request(b"a1", call_id=2, flags=FIRST),
        request(b"b1", call_id=3, flags=FIRST),
        request(b"a2", call_id=2, flags=0),
        request(b"b2", call_id=3, flags=LAST),
        request(b"a3", call_id=2, flags=LAST),
    )
    events = talk.server(
        response(b"B1", call_id=3, flags=FIRST),
        response(b"A1", call_id=2, flags=FIRST),
        response(b"A2", call_id=2, flags=LAST),
        response(b"B2", call_id=3, flags=LAST),
    )
    assert [(data(call.request), data(call.response)) for call in calls(events)] == [
        (b"a1a2a3", b"A1A2"),
        (b"b1b2", b"B1B2"),
    ]
    first = calls(events)[0].request
    assert first is not None
    assert (first.complete, first.frames, first.length) == (True, (3, 5, 7), 78)


def test_without_its_first_fragment_a_stub_has_no_data_and_its_pdus_count() -> None:
    talk = Talk()
    talk.client(request(b"middle", call_id=2, flags=0), request(b"tail", call_id=2, flags=LAST))
    (call,) = calls(talk.server(response(b"all", call_id=2)))
    assert call.request == Stub(
        data=b"",
        complete=False,
        headless=True,
        note="the first fragment was not captured",
        frames=(1, 2),
        time=20,
        length=58,
    )
    assert call.response is not None
    assert (call.response.complete, call.response.headless) == (True, False)


def test_a_response_cut_by_the_end_is_given_as_far_as_it_came() -> None:
    talk = bound()
    talk.client(request(call_id=2))
    talk.server(response(b"begun", call_id=2, flags=FIRST))
    (call,) = calls(talk.association.finish())
    assert (data(call.response), call.response and call.response.complete) == (b"begun", False)


def test_a_call_id_used_again_gives_the_older_call_first() -> None:
    talk = bound()
    talk.client(request(b"old", call_id=2))
    (old,) = calls(talk.client(request(b"new", call_id=2)))
    assert (data(old.request), old.response) == (b"old", None)
    (new,) = calls(talk.server(response(call_id=2)))
    assert data(new.request) == b"new"


def test_a_fault_ends_its_call_and_follows_it() -> None:
    talk = bound()
    talk.client(request(b"ask", call_id=2))
    call, event = talk.server(fault(0x1C010003, call_id=2))
    assert isinstance(call, CallEvent)
    assert isinstance(event, FaultEvent)
    assert call.fault == event
    assert (event.status, event.flags, event.call_id) == (0x1C010003, 0x23, 2)
    assert data(call.request) == b"ask"


def test_answers_without_a_request_are_calls_without_one() -> None:
    talk = bound()
    call, _ = talk.server(fault(5, call_id=2, context=1))
    assert isinstance(call, CallEvent)
    assert (call.request, call.opnum, call.interface) == (None, None, QMCOMM2)
    assert talk.server(response(b"late", call_id=3)) == []
    (call,) = calls(talk.association.finish())
    assert (call.request, call.opnum, data(call.response)) == (None, None, b"late")
    assert call.interface == QMCOMM
    assert call.response is not None
    assert call.response.note == "the request was not captured"


def test_a_response_captured_before_its_request_is_paired_with_it() -> None:
    talk = bound()
    assert talk.server(response(b"answer", call_id=2, context=1)) == []
    (call,) = calls(talk.client(request(b"ask", call_id=2, context=1, opnum=9)))
    assert (data(call.request), data(call.response), call.opnum) == (b"ask", b"answer", 9)
    assert (call.context_id, call.interface, call.response and call.response.note) == (1, QMCOMM2, "")


def test_a_response_captured_before_the_last_fragment_of_its_request_is_paired_with_it() -> None:
    talk = bound()
    talk.client(request(b"1", call_id=2, flags=FIRST))
    assert talk.server(response(b"answer", call_id=2)) == []
    talk.client(*(request(b"+", call_id=2, flags=0) for _ in range(20)))
    (call,) = calls(talk.client(request(b"2", call_id=2, flags=LAST)))
    assert (data(call.request), data(call.response)) == (b"1" + b"+" * 20 + b"2", b"answer")
    assert call.request is not None
    assert call.request.complete


def test_a_response_that_began_before_its_request_is_paired_with_it() -> None:
    talk = bound()
    talk.server(response(b"an", call_id=2, flags=FIRST))
    assert talk.client(request(b"ask", call_id=2)) == []
    (call,) = calls(talk.server(response(b"swer", call_id=2, flags=LAST)))
    assert (data(call.request), data(call.response)) == (b"ask", b"answer")


def test_a_response_waits_for_eight_requests_and_no_more() -> None:
    talk = bound()
    talk.server(response(b"stray", call_id=2))
    assert talk.client(*(request(call_id=call_id) for call_id in range(10, 17))) == []
    (call,) = calls(talk.client(request(call_id=17)))
    assert (call.request, data(call.response)) == (None, b"stray")


def test_sixteen_responses_wait_for_their_requests_the_oldest_goes_first() -> None:
    talk = bound()
    events = talk.server(*(response(call_id=call_id) for call_id in range(2, 20)))
    assert [call.call_id for call in calls(events)] == [2, 3]
    assert [call.call_id for call in calls(talk.association.finish())] == list(range(4, 20))


def test_where_requests_may_be_missing_a_second_answer_takes_the_place_of_the_first() -> None:
    talk = Talk()
    talk.server(response(b"to what came before", call_id=2))
    assert talk.client(request(b"ask", call_id=2)) == []
    stray, call = calls(talk.server(response(b"answer", call_id=2)))
    assert (stray.request, stray.opnum, data(stray.response)) == (None, None, b"to what came before")
    assert (data(call.request), data(call.response)) == (b"ask", b"answer")
    talk.server(response(b"early", call_id=3))
    talk.client(request(b"late", call_id=3))
    (pair,) = calls(talk.client(request(call_id=4)))
    assert (data(pair.request), data(pair.response)) == (b"late", b"early")


def test_a_fault_parts_a_request_from_a_response_held_before_it() -> None:
    talk = Talk()
    talk.server(response(b"stray", call_id=2))
    talk.client(request(b"ask", call_id=2))
    stray, call, reported = talk.server(fault(5, call_id=2))
    assert isinstance(stray, CallEvent)
    assert isinstance(call, CallEvent)
    assert (stray.request, data(stray.response)) == (None, b"stray")
    assert (data(call.request), call.response, call.fault) == (b"ask", None, reported)


def test_cancel_and_orphaned_mark_the_call() -> None:
    talk = bound()
    talk.client(request(call_id=2), request(call_id=3))
    assert talk.client(pdu(18, b"", call_id=2), pdu(19, b"", call_id=3)) == []
    assert [(call.cancelled, call.orphaned) for call in calls(talk.association.finish())] == [
        (True, False),
        (False, True),
    ]


def test_pdus_of_no_call_are_told_as_they_are() -> None:
    talk = bound()
    events = talk.client(pdu(18, b"", call_id=9), pdu(16, bytes(4), call_id=1, auth=auth(b"third")))
    events += talk.server(pdu(17, b"", call_id=0), pdu(20, b"what", call_id=4))
    assert [
        (event.ptype, event.from_client, event.call_id) for event in events if isinstance(event, ControlEvent)
    ] == [(18, True, 9), (16, True, 1), (17, False, 0), (20, False, 4)]
    assert [event.note for event in events if isinstance(event, ControlEvent)] == [
        "no such call is open",
        "",
        "",
        "",
    ]


def test_a_pdu_that_cannot_be_decoded_is_told_with_the_reason() -> None:
    talk = bound()
    broken = request(call_id=2)[:10] + b"\x40\x00" + request(call_id=2)[12:]
    (event,) = talk.client(broken)
    assert isinstance(event, ControlEvent)
    assert event.note == "a PDU that cannot be decoded: auth-length"
    assert calls(talk.client(request(call_id=3)) + talk.association.finish())


def test_the_side_that_sends_requests_is_the_client_whatever_the_caller_says() -> None:
    talk = Talk()
    talk.server(bind((0, QMCOMM, NDR)))
    talk.client(ack((0, 0, NDR)))
    assert talk.association.flipped
    talk.server(request(b"ask", call_id=2))
    events = talk.client(response(b"answer", call_id=2)) + talk.server(b"junk" * 5 + bind())
    call, hole = events[0], talk.association.finish()[0]
    assert isinstance(call, CallEvent)
    assert (data(call.request), data(call.response), call.interface) == (b"ask", b"answer", QMCOMM)
    assert isinstance(hole, SkippedBytes)
    assert hole.from_client


def test_a_header_inside_a_payload_does_not_decide_which_side_is_the_client() -> None:
    talk = Talk()
    talk.server(b"Q" * 20 + bind((0, QMCOMM, NDR)) + b"Q" * 100)
    talk.client(request(b"ask", call_id=2))
    assert not talk.association.flipped
    (call,) = calls(talk.server(response(b"answer", call_id=2)))
    assert (data(call.request), data(call.response)) == (b"ask", b"answer")
    bogus = next(event for event in talk.association.finish() if isinstance(event, BindEvent))
    assert not bogus.from_client


def test_a_header_found_behind_other_bytes_stands_while_nothing_else_is_known() -> None:
    talk = Talk()
    talk.server(b"half a PDU" + request(b"ask", call_id=2))
    assert talk.association.flipped
    talk.client(b"half a PDU" + request(call_id=3))
    assert talk.association.flipped


def test_two_pdus_in_step_correct_which_side_is_the_client() -> None:
    talk = Talk()
    talk.server(request(b"a payload that begins like a PDU", call_id=0x4D51))
    assert talk.association.flipped
    talk.client(bind((0, QMCOMM, NDR)))
    assert talk.association.flipped
    (event,) = talk.server(ack((0, 0, NDR)))
    assert not talk.association.flipped
    assert isinstance(event, BindEvent)
    assert event.from_client
    talk.client(request(b"ask", call_id=2))
    (call,) = calls(talk.server(response(b"answer", call_id=2)))
    assert (data(call.request), data(call.response), call.interface) == (b"ask", b"answer", QMCOMM)
    (hole,) = talk.association.gap(True, 5, "loss", 9, 90)
    assert isinstance(hole, SkippedBytes)
    assert hole.from_client


def test_one_contradiction_or_two_apart_correct_nothing() -> None:
    talk = bound()
    talk.server(request(call_id=50))
    talk.client(request(call_id=51))
    talk.server(request(call_id=52), pdu(77, b"", call_id=53))
    assert not talk.association.flipped
    talk.server(request(call_id=54))
    assert talk.association.flipped


def test_callbacks_do_not_change_which_side_is_the_client() -> None:
    talk = Talk()
    talk.client(request(b"outer", call_id=2))
    for _ in range(3):
        talk.server(request(b"inner", call_id=2))
        talk.client(response(b"inner answer", call_id=2))
    assert not talk.association.flipped


def test_a_callback_of_the_same_call_id_is_a_call_of_its_own() -> None:
    talk = bound()
    talk.client(request(b"outer", call_id=2))
    talk.server(request(b"inner", call_id=2))
    (inner,) = calls(talk.client(response(b"inner answer", call_id=2)))
    (outer,) = calls(talk.server(response(b"outer answer", call_id=2)))
    assert (data(inner.request), data(outer.request)) == (b"inner", b"outer")
    assert (inner.callback, outer.callback) == (True, False)


def test_a_call_in_a_callback_is_the_clients_own() -> None:
    # [MS-RPCE] 3.3.1.5.9: a call that both sides have open is no callback of what runs in it.
    talk = bound()
    talk.client(request(b"outer", call_id=2))
    talk.server(request(b"inner", call_id=2))
    (inner,) = calls(talk.client(response(call_id=2)))
    talk.server(request(b"again", call_id=2))
    (again,) = calls(talk.client(response(call_id=2)))
    assert inner.callback
    assert again.callback


def test_a_call_of_the_other_side_under_another_number_is_no_callback() -> None:
    talk = bound()
    talk.client(request(b"outer", call_id=2))
    talk.server(request(b"inner", call_id=3))
    (inner,) = calls(talk.client(response(call_id=3)))
    assert not inner.callback


def test_the_verification_trailer_of_a_request_is_kept_apart() -> None:
    talk = bound()
    talk.client(request(b"params##" + TRAILER, call_id=2), request(TRAILER, call_id=3))
    events = talk.server(response(b"12345678" + TRAILER, call_id=2), response(call_id=3))
    one, only = calls(events)
    assert one.request is not None
    assert (one.request.data, one.request.trailer) == (b"params##", TRAILER)
    assert data(one.response) == b"12345678" + TRAILER
    assert only.request is not None
    assert (only.request.data, only.request.trailer) == (b"", TRAILER)


class Xor:
    """A provider that seals with one number, keeps what it is given, and signs with words."""

    def __init__(self, auth_type: int) -> None:
        self.auth_type = auth_type
        self.account = ""
        self.note = ""
        self.tokens: list[tuple[bool, bytes]] = []
        self.pdus: list[ProtectedPdu] = []

    def exchange(self, from_client: bool, token: bytes) -> None:
        self.tokens.append((from_client, token))
        self.account = "LAB\\alice" if len(self.tokens) > 2 else ""

    def unwrap(self, pdu: ProtectedPdu) -> Unwrapped:
        self.pdus.append(pdu)
        if pdu.auth_value == b"unknown":
            return Unwrapped(None, None, "no key")
        clear = seal(pdu.stub) if pdu.level == 6 else pdu.stub
        return Unwrapped(clear, pdu.auth_value != b"wrong")


def seal(stub: bytes) -> bytes:
    return bytes(byte ^ 0x5A for byte in stub)


def secured() -> tuple[Talk, list[Xor]]:
    made: list[Xor] = []

    def negotiator(auth_type: int) -> Negotiation | None:
        if auth_type != 10:
            return None
        made.append(Xor(auth_type))
        return made[-1]

    talk = Talk(Association(negotiator=negotiator))
    talk.client(bind((0, QMCOMM, NDR), flags=7, auth=auth(b"one")))
    talk.server(ack((0, 0, NDR), flags=7, auth=auth(b"two")))
    talk.client(pdu(16, bytes(4), call_id=1, auth=auth(b"three")))
    return talk, made


def test_tokens_and_every_protected_pdu_go_to_their_security_context() -> None:
    talk, made = secured()
    event = talk.events[0]
    assert isinstance(event, BindEvent)
    assert (event.auth_type, event.auth_level, event.header_signing) == (10, 6, True)
    talk.client(request(seal(b"ask\0"), call_id=2, auth=auth(b"ok", pad=1)))
    talk.client(request(b"", call_id=3, auth=auth(b"ok")))
    events = talk.server(
        response(seal(b"answer##"), call_id=2, auth=auth(b"wrong", pad=2)),
        response(b"", call_id=3, auth=auth(b"ok")),
    )
    (provider,) = made
    assert provider.tokens == [(True, b"one"), (False, b"two"), (True, b"three")]
    first, empty = calls(events)
    assert first.request is not None
    assert first.response is not None
    assert (first.request.data, first.request.sealed, first.request.verified) == (b"ask", False, True)
    assert (first.response.data, first.response.verified, first.response.auth_level) == (b"answer", False, 6)
    assert empty.request is not None
    assert (empty.request.data, empty.request.sealed) == (b"", False)
    assert [len(one.stub) for one in provider.pdus] == [4, 0, 8, 0]
    assert provider.pdus[0] == ProtectedPdu(
        True,
        6,
        request(seal(b"ask\0"), call_id=2, auth=auth(b"ok", pad=1))[:24],
        seal(b"ask\0"),
        auth(b"", pad=1),
        b"ok",
        True,
    )


def test_what_cannot_be_opened_stays_sealed_with_its_padding() -> None:
    talk, _ = secured()
    talk.client(request(b"????pad!", call_id=2, auth=auth(b"unknown", pad=4)))
    (call,) = calls(talk.association.finish())
    assert call.request is not None
    assert (call.request.data, call.request.sealed) == (b"????pad!", True)
    assert (call.request.verified, call.request.note) == (None, "no key")


@pytest.mark.parametrize(
    ("level", "pad", "expected"), [(5, 4, b"clear"), (5, 200, b""), (2, 0, b"clear\0\0\0\0")]
)
def test_below_privacy_a_stub_is_readable_without_a_key(level: int, pad: int, expected: bytes) -> None:
    talk = bound()
    talk.client(request(b"clear\0\0\0\0", call_id=2, auth=auth(b"mac", level=level, pad=pad)))
    (call,) = calls(talk.association.finish())
    assert call.request is not None
    assert (call.request.data, call.request.sealed, call.request.verified) == (expected, False, None)
    assert call.request.auth_level == level


def test_security_contexts_of_one_association_are_told_apart() -> None:
    talk, made = secured()
    talk.client(bind((0, QMCOMM, NDR), call_id=5, alter=True, auth=auth(b"four", context=2)))
    talk.server(ack((0, 0, NDR), call_id=5, alter=True, auth=auth(b"five", context=2)))
    talk.client(bind((0, QMCOMM, NDR), call_id=6, alter=True, auth=auth(b"six", context=3, kind=0x44)))
    assert [one.tokens for one in made][1:] == [[(True, b"four"), (False, b"five")]]
    talk.client(request(seal(b"to two"), call_id=7, auth=auth(b"ok", context=2)))
    talk.client(request(b"sealed", call_id=8, auth=auth(b"ok", context=3, kind=0x44)))
    talk.client(request(b"sealed", call_id=9, auth=auth(b"ok", context=4)))
    assert [len(one.pdus) for one in made] == [0, 1]
    seven, eight, nine = calls(talk.association.finish())
    assert data(seven.request) == b"to two"
    assert eight.request is not None
    assert eight.request.note == "security provider 0x44 is not known"
    assert nine.request is not None
    assert nine.request.note == "the negotiation of its security context was not captured"


@pytest.mark.parametrize(("verdicts", "expected"), [("ok", None), ("wrong", False)])
def test_one_wrong_signature_speaks_for_the_whole_stub(verdicts: str, expected: bool | None) -> None:
    talk, _ = secured()
    talk.client(request(seal(b"a"), call_id=2, flags=FIRST, auth=auth(verdicts.encode())))
    talk.client(request(b"b", call_id=2, flags=LAST, auth=auth(b"unknown")))
    (call,) = calls(talk.association.finish())
    assert call.request is not None
    assert (call.request.verified, call.request.sealed, call.request.data) == (expected, True, b"ab")


def test_header_signing_needs_both_sides() -> None:
    talk = Talk()
    talk.client(bind((0, QMCOMM, NDR), flags=7))
    (event,) = talk.server(ack((0, 0, NDR), flags=3))
    assert isinstance(event, BindEvent)
    assert not event.header_signing


def test_a_loss_between_fragments_makes_the_stub_incomplete_and_others_stay_whole() -> None:
    talk = bound()
    talk.client(request(b"a1", call_id=2, flags=FIRST))
    events = talk.association.gap(True, 100, "loss", 9, 90)
    assert [event.reason for event in events if isinstance(event, SkippedBytes)] == ["loss"]
    talk.client(request(b"a3", call_id=2, flags=LAST), request(b"whole", call_id=3))
    two, three = calls(talk.server(response(call_id=2), response(call_id=3)))
    assert two.request is not None
    assert (two.request.data, two.request.complete, two.request.headless) == (b"a1", False, False)
    assert (two.request.frames, two.request.length) == ((3, 4), 52)
    assert three.request is not None
    assert three.request.complete


def test_behind_a_cut_fragment_nothing_is_joined() -> None:
    talk = bound()
    talk.client(request(call_id=2))
    second = response(b"45678", call_id=2, flags=0)
    talk.server(response(b"123", call_id=2, flags=FIRST) + second[:-3])
    talk.association.gap(False, 3, "snaplen", 9, 90)
    (call,) = calls(talk.server(response(b"90", call_id=2, flags=LAST)))
    assert call.response is not None
    assert (call.response.data, call.response.complete) == (b"12345", False)
    assert call.response.note == "the capture cut a PDU"
    assert call.response.length == 27 + 26 + 26


@pytest.mark.parametrize(
    "between",
    [
        b"what is no PDU",
        response(b"a fragment", call_id=2, flags=0)[:10]
        + b"\x40\x00"
        + response(b"a fragment", call_id=2)[12:],
    ],
)
def test_fragments_are_not_joined_across_what_cannot_be_read(between: bytes) -> None:
    talk = bound()
    talk.client(request(call_id=2))
    talk.server(response(b"1", call_id=2, flags=FIRST), between)
    (call,) = calls(talk.server(response(b"3", call_id=2, flags=LAST)))
    assert call.response is not None
    assert (call.response.data, call.response.complete) == (b"1", False)


def test_a_verification_trailer_is_not_looked_for_in_a_part_of_a_stub() -> None:
    talk = bound()
    talk.client(request(b"params##" + TRAILER, call_id=2, flags=FIRST))
    talk.association.gap(True, 100, "loss", 9, 90)
    talk.client(request(b"more", call_id=2, flags=LAST))
    (call,) = calls(talk.server(response(call_id=2)))
    assert call.request is not None
    assert (call.request.data, call.request.trailer) == (b"params##" + TRAILER, b"")


def test_what_cannot_be_opened_behind_a_loss_does_not_seal_what_stood_before_it() -> None:
    talk, _ = secured()
    talk.client(request(call_id=2))
    talk.server(response(seal(b"clear"), call_id=2, flags=FIRST, auth=auth(b"ok")))
    talk.association.gap(False, None, "loss", 9, 90)
    (call,) = calls(talk.server(response(b"?", call_id=2, flags=LAST, auth=auth(b"unknown"))))
    assert call.response is not None
    assert (call.response.data, call.response.sealed, call.response.complete) == (b"clear", False, False)


def test_a_request_cut_by_the_snap_length_keeps_its_opnum_and_what_there_was() -> None:
    talk = bound()
    whole = request(b"0123456789", call_id=2, opnum=9)
    assert talk.client(whole[:28]) == []
    talk.association.gap(True, len(whole) - 28, "snaplen", 3, 30)
    (call,) = calls(talk.server(response(call_id=2)))
    assert call.request is not None
    assert (call.opnum, call.request.data, call.request.complete) == (9, b"0123", False)
    assert call.request.note == "the capture cut a PDU"
    assert not call.request.sealed


def test_a_sealed_request_that_is_cut_is_sealed_without_its_sec_trailer() -> None:
    talk, made = secured()
    whole = request(bytes(8), call_id=2, auth=auth(b"signature"))
    talk.client(whole[:-4])
    talk.association.gap(True, 4, "loss", 9, 0)
    (call,) = calls(talk.association.finish())
    assert call.request is not None
    assert (call.request.data, call.request.sealed, call.request.complete) == (bytes(8), True, False)
    assert made[0].pdus == []


def test_a_bind_that_is_cut_is_told() -> None:
    talk = Talk()
    talk.client(bind((0, QMCOMM, NDR))[:40])
    (control,) = talk.association.finish()
    assert isinstance(control, ControlEvent)
    assert (control.ptype, control.note) == (11, "the capture cut a PDU")


def test_open_calls_are_bounded_the_oldest_is_given() -> None:
    association = Association()
    events: list[RpcEvent] = []
    for call_id in range(MAX_CALLS + 2):
        events += association.feed(True, request(call_id=call_id), 1, 0)
    assert [call.call_id for call in calls(events)] == [0, 1]
    assert len(calls(association.finish())) == MAX_CALLS


@pytest.mark.parametrize("stub", [b"", bytes(5000)])
def test_held_bytes_are_bounded_and_every_fragment_counts(stub: bytes) -> None:
    association = Association(max_held=20_000)
    events = association.feed(True, request(b"", call_id=1), 1, 0)
    count = 0
    for frame in range(2, 400):
        flags = FIRST if frame == 2 else 0
        events += association.feed(False, response(stub, call_id=1, flags=flags), frame, 0)
        assert association.held_bytes <= 20_000
        count += 1
    events += association.finish()
    stubs = [call.response for call in calls(events) if call.response is not None]
    assert sum(one.length for one in stubs) == count * (24 + len(stub))
    assert not any(one.complete for one in stubs)
    assert association.held_bytes == 0


def test_pending_binds_are_bounded() -> None:
    association = Association()
    events = [
        event
        for call_id in range(20)
        for event in association.feed(True, bind((0, QMCOMM, NDR), call_id=call_id), 1, 0)
    ]
    assert [event.call_id for event in events if isinstance(event, BindEvent)] == [0, 1, 2, 3]
    assert len(association.finish()) == 16
    assert association.held_bytes == 0


def test_accepted_contexts_are_held_and_bounded_the_oldest_goes() -> None:
    talk = Talk()
    talk.client(bind(*((number, QMCOMM, NDR) for number in range(70))))
    talk.server(ack(*((0, 0, NDR) for _ in range(70))))
    assert talk.association.held_bytes == 64 * 400
    talk.client(bind((69, QMCOMM2, NDR), call_id=2, alter=True))
    talk.server(ack((0, 0, NDR), call_id=2, alter=True))
    assert talk.association.held_bytes == 64 * 400
    talk.client(request(call_id=3, context=5), request(call_id=4, context=6), request(call_id=5, context=69))
    assert [call.interface for call in calls(talk.association.finish())] == [None, QMCOMM, QMCOMM2]
    assert talk.association.held_bytes == 0


def test_security_contexts_are_held_and_bounded() -> None:
    association = Association(negotiator=Xor)
    for number in range(70):
        for kind in (10, 9):
            association.feed(
                True, pdu(16, bytes(4), call_id=1, auth=auth(b"t", context=number, kind=kind)), 1, 0
            )
        assert association.held_bytes == 2000 * min(64, number + 1)
    association.finish()
    assert association.held_bytes == 0


@given(st.lists(st.integers(1, 255), max_size=40))
def test_the_notes_of_hostile_pdus_are_a_few_fixed_texts(lengths: list[int]) -> None:
    talk = Talk()
    talk.server(request(call_id=1))
    for number, length in enumerate(lengths):
        whole = request(bytes(number), call_id=number)
        talk.client(whole[:10] + struct.pack("<H", 24 + number + length) + whole[12:])
        talk.client(bind(call_id=number, alter=True))
        talk.server(fault(length, call_id=number))
    assert {event.note for event in talk.events if isinstance(event, BindEvent | ControlEvent)} <= {
        "a PDU that cannot be decoded: auth-length",
        "refused with a fault",
        "",
    }


PDU_BYTES = st.one_of(
    st.builds(
        lambda make, call_id, flags, stub: make(stub, call_id=call_id, flags=flags),
        st.sampled_from([request, response]),
        st.integers(1, 3),
        st.sampled_from([WHOLE, WHOLE, FIRST, 0, LAST]),
        st.binary(max_size=12),
    ),
    st.builds(lambda call_id: fault(5, call_id=call_id), st.integers(1, 3)),
    st.builds(lambda call_id: bind((0, QMCOMM, NDR), call_id=call_id), st.integers(1, 3)),
    st.builds(lambda call_id: ack((0, 0, NDR), call_id=call_id), st.integers(1, 3)),
    st.builds(
        lambda ptype, body, call_id, token: pdu(ptype, body, call_id=call_id, auth=token),
        st.integers(0, 21),
        st.binary(max_size=40),
        st.integers(1, 3),
        st.one_of(st.just(b""), st.builds(auth, st.binary(min_size=1, max_size=5))),
    ),
    st.binary(max_size=30),
)
SAID = st.lists(st.tuples(st.booleans(), st.one_of(PDU_BYTES, st.none(), st.integers(0, 50))), max_size=15)


def run(said: list[tuple[bool, bytes | int | None]], size: int) -> list[RpcEvent]:
    association = Association(negotiator=Xor, max_held=3000)
    events: list[RpcEvent] = []
    for from_client, item in said:
        if isinstance(item, bytes):
            for at in range(0, len(item), size):
                events += association.feed(from_client, item[at : at + size], 1, 0)
        else:
            events += association.gap(from_client, item, "loss", 1, 0)
        assert association.held_bytes <= 3000 + 2 * 65535 + 16 * 8 * 200 + 15 * (400 + 2000)
    events += association.finish()
    assert association.held_bytes == 0
    return events


@given(SAID, st.integers(1, 30))
def test_any_sequence_is_taken_and_splits_change_nothing(
    said: list[tuple[bool, bytes | int | None]], size: int
) -> None:
    assert run(said, size) == run(said, 1 << 20)


def pdu_bytes(event: RpcEvent) -> int:
    if isinstance(event, CallEvent):
        return sum(stub.length for stub in (event.request, event.response) if stub is not None)
    return 0


@given(SAID)
def test_every_whole_pdu_is_counted_once(said: list[tuple[bool, bytes | int | None]]) -> None:
    whole: list[tuple[bool, bytes | int | None]] = [
        (side, item)
        for side, item in said
        if isinstance(item, bytes)
        and len(item) >= 24
        and item[2] in (0, 2)
        and item[10:12] == b"\0\0"
        and item[:2] == b"\5\0"
        and len(item) == item[8]
        and not item[3] & 0x80
    ]
    assert sum(map(pdu_bytes, run(whole, 9))) == sum(
        len(item) for _, item in whole if isinstance(item, bytes)
    )


@given(st.lists(st.binary(min_size=1, max_size=8), min_size=1, max_size=6), st.data())
def test_what_is_given_of_a_stub_is_always_where_it_begins(parts: list[bytes], draw: st.DataObject) -> None:
    whole = b"".join(parts)
    talk = bound()
    talk.client(request(call_id=2))
    harmed = False
    for number, part in enumerate(parts):
        flags = FIRST * (number == 0) | LAST * (number == len(parts) - 1)
        data = response(part, call_id=2, flags=flags)
        kept = draw.draw(st.sampled_from([len(data), len(data), len(data) - 1, 0]))
        harmed = harmed or kept < len(data)
        talk.server(data[:kept])
        talk.events += talk.association.gap(False, len(data) - kept, "loss", talk.frame, 0)
    for call in calls(talk.events + talk.association.finish()):
        if call.response is not None:
            assert whole.startswith(call.response.data)
            assert call.response.complete == (not harmed)
            assert call.response.data == whole or harmed


def test_events_are_plain_values() -> None:
    talk = bound()
    talk.client(request(b"ask", call_id=2))
    events = talk.server(response(b"answer", call_id=2))
    encode: Callable[[object], bytes] = msgspec.json.Encoder(enc_hook=str).encode
    assert encode(events)

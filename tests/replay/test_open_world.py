"""What was not captured is not known: it silences a replay, or makes it say likely."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.replay import Replayer
from msmq_wire.rpc.interfaces import INTERFACES
from msmq_wire.rpc.interfaces.remote_read import (
    CloseCursorRequest,
    CloseQueueRequest,
    CloseQueueResponse,
    ContextRequest,
    CreateCursorResponse,
    EndReceiveRequest,
    OpenQueueRequest,
    OpenQueueResponse,
    StartReceiveRequest,
    StartReceiveResponse,
    StartTransactionalReceiveRequest,
)
from msmq_wire.rpc.interfaces.shared_parameters import StatusResponse
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.section_buffer import SectionBuffer
from tests.lab.model.scene import make_packet
from tests.replay.world import SERVER, bind, call_record, deviations

_A, _B = (ContextHandle(uuid=GUID(bytes([n] * 16))) for n in (1, 2))
_QUEUE = QueueFormat.of(FormatName.parse("DIRECT=OS:host\\private$\\orders"))
_PACKET = make_packet(b"body")
_MINUTE = 60_000


def opens(begun: int = 0, handle: ContextHandle = _A, **more: Any) -> list[Record]:
    request = OpenQueueRequest(p_queue_format=_QUEUE, dw_access=1)
    response = OpenQueueResponse(pph_context=handle)
    return call_record(
        "R_OpenQueue", request, response, begun=begun, ended=begun + 1, queue="DIRECT=q", **more
    )


def receives(
    begun: int, ended: int, request_id: int = 1, handle: ContextHandle = _A, **more: Any
) -> list[Record]:
    """A receive that brings the only message there is."""
    limits = {"dw_max_body_size": 100, "dw_max_compound_message_size": 100}
    section = SectionBuffer(section_size=len(_PACKET), section_size_alloc=len(_PACKET), data=_PACKET)
    return call_record(
        "R_StartReceive",
        StartReceiveRequest(ph_context=handle, dw_request_id=request_id, **limits),
        StartReceiveResponse(p_sequence_id=7, pdw_number_of_sections=1, pp_packet_sections=(section,)),
        begun=begun,
        ended=ended,
        **{"queue": "DIRECT=q"} | more,
    )


def ends(begun: int, ended: int, ack: int, request_id: int = 1, **more: Any) -> list[Record]:
    request = EndReceiveRequest(ph_context=_A, dw_request_id=request_id, dw_ack=ack)
    return call_record("R_EndReceive", request, StatusResponse(), begun=begun, ended=ended, **more)


def closes(begun: int, ended: int) -> list[Record]:
    return call_record(
        "R_CloseQueue", CloseQueueRequest(pph_context=_A), CloseQueueResponse(), begun=begun, ended=ended
    )


def other(type_: str, ended: int, **values: Any) -> list[Record]:
    """A record that is no call."""
    first = opens()[0]
    assert first.time is not None
    return [Record(id=0, type=type_, time=first.time + ended * 1_000_000, stream=1, **values)]


def kinds(*calls: list[Record]) -> list[tuple[str, bool]]:
    return [(str(one.kind), one.certain) for one in deviations([bind(1, 7)], *calls)]


def test_a_message_that_two_readers_get_is_found() -> None:
    assert kinds(opens(), receives(10, 11), receives(20, 21, 2)) == [("twice", True)]


def test_a_return_that_was_under_way_explains_it_though_it_is_captured_later() -> None:
    assert kinds(opens(), receives(10, 11), receives(20, 26, 2), ends(25, 30, 1)) == []


def test_a_return_that_began_after_the_second_answer_explains_nothing() -> None:
    assert kinds(opens(), receives(10, 11), receives(20, 26, 2), ends(27, 30, 1)) == [("twice", True)]


def test_an_acknowledgment_under_way_is_no_return() -> None:
    assert kinds(opens(), receives(10, 11), receives(20, 26, 2), ends(25, 30, 2)) == [("twice", True)]


def test_a_close_that_was_under_way_explains_it() -> None:
    assert kinds(opens(), receives(10, 11), receives(20, 26, 2, _B), closes(25, 30)) == []


@pytest.mark.parametrize(("minutes", "found"), [(0.9, [("twice", True)]), (4, [("twice", False)]), (5.1, [])])
def test_a_server_puts_a_message_back_by_itself_after_some_minutes(
    minutes: float, found: list[tuple[str, bool]]
) -> None:
    later = int(minutes * _MINUTE)
    assert kinds(opens(), receives(10, 11), receives(later, later + 1, 2)) == found


@pytest.mark.parametrize(
    "between",
    [
        call_record("R_EndReceive", None, begun=15, ended=16, sealed=True),
        call_record("R_EndReceive", EndReceiveRequest(ph_context=_A, dw_ack=1), begun=15, ended=16),
        other("gap", 15, missing=100),
        other("tcp_stream", 15, event="rst"),
        other("tcp_stream", 15, event="fin"),
    ],
    ids=["sealed", "unanswered", "gap", "reset", "closed"],
)
def test_what_is_missing_of_its_client_silences_it(between: list[Record]) -> None:
    assert kinds(opens(), receives(10, 11), between, receives(20, 21, 2)) == []


def test_what_is_missing_of_another_client_does_not() -> None:
    sealed = call_record("R_EndReceive", None, begun=15, ended=16, client="192.0.2.99", stream=9)
    assert kinds(opens(), receives(10, 11), sealed, receives(20, 21, 2)) == [("twice", True)]


def test_a_guessed_call_is_likely_at_most() -> None:
    assert kinds(opens(), receives(10, 11), receives(20, 21, 2, guessed=True)) == [("twice", False)]


def test_the_end_of_a_receive_from_before_the_capture_is_no_deviation() -> None:
    assert kinds(ends(10, 11, 2)) == []
    assert kinds(opens(), ends(10, 11, 2)) == [("end", True)]


def test_a_capture_tells_nothing_about_the_next_one() -> None:
    first = [*opens(), *closes(5, 6)]
    second = receives(10, 11)
    renamed = [
        Record(**{name: getattr(one, name) for name in one.__struct_fields__} | {"capture": "second"})
        for one in second
    ]
    assert [one for call in (first, second) for one in kinds(call)] == []
    assert kinds(first, second) == [("handle", True)]
    assert kinds(first, renamed) == []


def test_a_handle_in_another_association_is_likely_wrong() -> None:
    makes = call_record(
        "R_CreateCursor", ContextRequest(ph_context=_A), CreateCursorResponse(ph_cursor=3),
        begun=10, ended=11, stream=2,
    )  # fmt: skip
    assert kinds([bind(2, 7)], opens(), makes) == []
    assert kinds([bind(2, 8)], opens(), makes) == [("handle", False)]
    assert kinds(opens(), makes) == []


def test_a_handle_that_a_server_has_just_given_is_known_to_it() -> None:
    refused = call_record(
        "R_CreateCursor", ContextRequest(ph_context=_A), CreateCursorResponse(status=0xC00E0007),
        begun=10, ended=20,
    )  # fmt: skip
    assert kinds(opens(), refused) == [("status", True)]
    assert kinds(opens(), refused, closes(15, 25)) == []
    assert kinds(refused) == []


def keeps(begun: int, handle: ContextHandle, **more: Any) -> list[Record]:
    """A queue that is opened to be read by nobody else."""
    request = OpenQueueRequest(p_queue_format=_QUEUE, dw_access=1, dw_share_mode=1)
    response = OpenQueueResponse(pph_context=handle)
    return call_record(
        "R_OpenQueue", request, response, begun=begun, ended=begun + 1, queue="DIRECT=q", **more
    )


_SEALED = call_record("R_CloseQueue", None, begun=15, ended=16, sealed=True)


def test_a_queue_that_another_keeps_for_itself_may_have_been_closed_unseen() -> None:
    assert kinds(keeps(0, _A), opens(20, _B)) == [("status", True)]
    assert kinds(keeps(0, _A), _SEALED, opens(20, _B)) == []
    assert kinds(keeps(0, _A), opens(20, _B), closes(15, 25)) == []
    assert kinds(keeps(0, _A), other("tcp_stream", 15, event="rst"), opens(20, _B)) == []
    assert kinds(keeps(20, _A), opens(20, _B)) == []


def makes_cursor(begun: int, cursor: int = 3) -> list[Record]:
    return call_record(
        "R_CreateCursor", ContextRequest(ph_context=_A), CreateCursorResponse(ph_cursor=cursor),
        begun=begun, ended=begun + 1,
    )  # fmt: skip


def walks(
    begun: int, ended: int, action: int, number: int = 1, priority: int = 3, timeout: int = 0
) -> list[Record]:
    """A read through the cursor, that shows a message of this number."""
    limits = {"dw_max_body_size": 100, "dw_max_compound_message_size": 100, "ul_timeout": timeout}
    packet = make_packet(b"body", message_id=number, priority=priority)
    section = SectionBuffer(section_size=len(packet), section_size_alloc=len(packet), data=packet)
    request = StartReceiveRequest(ph_context=_A, h_cursor=3, ul_action=action, dw_request_id=9, **limits)
    response = StartReceiveResponse(
        p_sequence_id=number, pdw_number_of_sections=1, pp_packet_sections=(section,)
    )
    return call_record("R_StartReceive", request, response, begun=begun, ended=ended, queue="DIRECT=q")


_SHOW, _STEP = 0x80000000, 0x80000001
_UNANSWERED = call_record(
    "R_StartReceive", StartReceiveRequest(ph_context=_A, h_cursor=3), begun=25, ended=26
)


def test_a_cursor_is_followed_only_while_all_its_reads_are_known() -> None:
    made = [opens(), makes_cursor(10)]
    assert kinds(*made, walks(30, 31, _STEP)) == [("cursor", True)]
    assert kinds(*made, _UNANSWERED, walks(30, 31, _STEP)) == []
    assert kinds(makes_cursor(10), walks(30, 31, _STEP)) == []
    # The peek may have come first, though it was answered later.
    assert kinds(*made, walks(30, 31, _STEP, 2), walks(29, 33, _SHOW, 1)) == []


def test_a_cursor_stands_where_its_last_read_left_it() -> None:
    made = [opens(), makes_cursor(10), walks(20, 21, _SHOW, 1)]
    assert kinds(*made, walks(30, 31, _SHOW, 2)) == [("lookup", True)]
    assert kinds(*made, walks(30, 31, _SHOW, 1), walks(32, 33, _STEP, 2)) == []
    assert kinds(*made, walks(30, 31, _STEP, 1)) == [("lookup", True)]
    assert kinds(*made, _UNANSWERED, walks(30, 31, _SHOW, 2)) == []
    assert kinds(*made, walks(30, 31, _SHOW, 2), walks(29, 33, _STEP, 2)) == []


def test_who_waits_at_a_cursor_gets_what_comes_wherever_it_stands() -> None:
    made = [opens(), makes_cursor(10), walks(20, 21, _SHOW, 5)]
    assert kinds(*made, walks(30, 31, _STEP, 4)) == [("lookup", False)]
    assert kinds(*made, walks(30, 31, _STEP, 6, priority=6)) == [("lookup", False)]
    assert kinds(*made, walks(30, 31, _STEP, 6, priority=6, timeout=500)) == []


def test_a_message_that_a_transaction_has_may_still_be_shown_by_a_peek_under_way() -> None:
    limits = {"dw_max_body_size": 100, "dw_max_compound_message_size": 100}
    section = SectionBuffer(section_size=len(_PACKET), section_size_alloc=len(_PACKET), data=_PACKET)
    takes = call_record(
        "R_StartTransactionalReceive",
        StartTransactionalReceiveRequest(ph_context=_A, p_transaction_id=GUID(b"one transaction."), **limits),
        StartReceiveResponse(p_sequence_id=7, pdw_number_of_sections=1, pp_packet_sections=(section,)),
        begun=10,
        ended=11,
        queue="DIRECT=q",
    )
    late = [opens(), opens(2, _B), takes, shows(12, 7), shows(20, 9)]
    assert kinds(*late, shows(40, 7)) == []


def test_a_cursor_that_is_closed_gives_its_number_free() -> None:
    shuts = call_record(
        "R_CloseCursor", CloseCursorRequest(ph_context=_A, h_cursor=3), StatusResponse(), begun=15, ended=25
    )
    assert kinds(opens(), makes_cursor(10), makes_cursor(20)) == [("cursor", True)]
    assert kinds(opens(), makes_cursor(10), makes_cursor(20), shuts) == []
    assert kinds(opens(), makes_cursor(10), _SEALED, makes_cursor(20)) == []


def shows(begun: int, sequence: int) -> list[Record]:
    """A peek without a cursor."""
    packet = _PACKET if sequence == 7 else make_packet(b"body", message_id=sequence)
    section = SectionBuffer(section_size=len(packet), section_size_alloc=len(packet), data=packet)
    request = StartReceiveRequest(ph_context=_B, ul_action=_SHOW, dw_max_body_size=100)
    response = StartReceiveResponse(
        p_sequence_id=sequence, pdw_number_of_sections=1, pp_packet_sections=(section,)
    )
    return call_record("R_StartReceive", request, response, begun=begun, ended=begun + 1, queue="DIRECT=q")


def test_an_end_that_comes_again_puts_nothing_back() -> None:
    failed = call_record(
        "R_EndReceive", EndReceiveRequest(ph_context=_A, dw_request_id=1, dw_ack=1),
        StatusResponse(status=0xC00E0006), begun=40, ended=41,
    )  # fmt: skip
    first = [opens(), opens(2, _B), receives(10, 11), ends(20, 21, 1)]
    held = [receives(30, 31, 2), failed, shows(50, 9)]
    assert kinds(*first, shows(25, 9), shows(28, 7)) == [("order", False)]
    assert kinds(*first, *held, ends(60, 61, 1, 2), shows(70, 7)) == []


_METHODS = [(one.name, method) for one in INTERFACES.values() for method in one.methods.values()]
_ODD = st.one_of(
    st.none(),
    st.integers(-1, 1 << 65),
    st.binary(max_size=4),
    st.text(max_size=4),
    st.just(_A),
    st.just(ContextHandle()),
    st.lists(st.integers(), max_size=2).map(tuple),
)


class _Odd:
    """A value with any members."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)


_NAMES = sorted(
    {name for _, method in _METHODS for side in (method.request, method.response) for name in side.names}
)


@st.composite
def _records(draw: st.DrawFn) -> Record:
    interface, method = draw(st.sampled_from(_METHODS))
    odd: st.SearchStrategy[Any] = st.dictionaries(st.sampled_from(_NAMES), _ODD, max_size=8).map(_Odd)
    packet = RpcCall(
        interface=interface,
        opnum=method.opnum,
        method=draw(st.sampled_from([method.name, "nothing", ""])),
        syntax=None,
        request=draw(st.one_of(st.none(), odd, st.just(method.request.cls()))),
        response=draw(st.one_of(st.none(), odd, st.just(method.response.cls()))),
        status=draw(st.sampled_from([None, 0, 1, 0xC00E001B, 0xC00E0007, 1 << 40])),
        fault=draw(st.booleans()),
        latency=draw(st.sampled_from([None, 0, 1 << 30, 1 << 70])),
    )
    type_ = draw(st.sampled_from(["rpc_call"] * 6 + ["message_packet", "rpc_bind", "gap", "tcp_stream"]))
    return Record(
        id=draw(st.integers(1, 6)),
        parent=draw(st.sampled_from([None, None, 1, 2])),
        type=type_,
        time=draw(st.sampled_from([None, 0, 5, 1 << 62])),
        src=draw(st.sampled_from([None, "", "x", "192.0.2.1:5", "[::1]:9"])),
        dst=draw(st.sampled_from([None, SERVER])),
        stream=draw(st.sampled_from([None, 1, 2])),
        packet=draw(st.sampled_from([packet, None, 7])),
    )


@pytest.mark.slow
@given(st.lists(_records(), max_size=25))
def test_no_record_makes_a_replay_fail(records: list[Record]) -> None:
    replayer = Replayer()
    found = [one for record in records for one in replayer.feed(record)] + replayer.finish()
    assert all(one.message and one.expected and one.came for one in found)

"""Remote reads. [MS-MQRR] 3.1.4.7"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from msmq_wire import GUID, build_message
from msmq_wire.capture.reader import read_capture
from msmq_wire.rpc.interfaces.remote_read import (
    ContextRequest,
    EndReceiveRequest,
    MoveMessageRequest,
    OpenQueueRequest,
    OpenQueueResponse,
    SetUserAcknowledgementClassRequest,
    StartReceiveRequest,
    StartReceiveResponse,
)
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.sessions import follow
from tests.sessions.tape import QUEUE, SENDER, Tape

CAPTURES = Path(__file__).parents[2] / "fixtures" / "rpc_captures"
RECEIVE, PEEK = 0x00000000, 0x80000000
HANDLE, OTHER = (ContextHandle(uuid=GUID(letter * 16)) for letter in (b"h", b"o"))


def start(tape: Tape, action: int = RECEIVE, queue: str = QUEUE, status: int = 0) -> int:
    """A queue is opened, and a message is asked for; return the frame of the answer."""
    opened = tape.call(
        "R_OpenQueue",
        request=OpenQueueRequest(dw_access=1),
        response=OpenQueueResponse(pph_context=HANDLE),
        queue=queue,
    )
    call = tape.call(
        "R_StartReceive",
        request=StartReceiveRequest(ph_context=HANDLE, ul_action=action, ul_timeout=1000, dw_request_id=4),
        response=StartReceiveResponse(p_sequence_id=99),
        status=status,
        queue=queue,
        request_id=4,
        opened_frame=opened.frames[0],
        latency=20_000,
        account="CORP\\reader",
    )
    if not status:
        packet = build_message(QUEUE, b"body", source_queue_manager=SENDER, message_id=1)
        record = tape.add("message_packet", 1, 7, packet=packet, parent=call.id)
        tape.records[-1] = msgspec.structs.replace(record, src="192.0.2.10:2103")
    return call.frames[0]


def end(tape: Tape, started: int, ack: int, method: str = "R_EndReceive", status: int = 0) -> None:
    request = EndReceiveRequest(ph_context=HANDLE, dw_ack=ack, dw_request_id=4)
    tape.call(method, request=request, status=status, request_id=4, started_frame=started)


def test_a_receive_that_the_client_acknowledges_takes_the_message(tape: Tape) -> None:
    end(tape, start(tape), 2)
    (read,) = tape.story().reads
    assert (read.removes, read.end, read.pending, read.timeout, read.waited) == (
        True,
        "ack",
        False,
        1000,
        20_000,
    )
    assert (read.account, read.queue, read.opened) == ("CORP\\reader", QUEUE, 0)
    assert read.message_id == f"{SENDER}\\1"
    life = tape.life()
    assert (life.outcome, life.received_by, life.reads) == ("received", "192.0.2.21:49738", (0,))


@pytest.mark.parametrize(
    ("ack", "method", "ended"), [(1, "R_EndReceive", "nack"), (0, "R_CancelReceive", "cancelled")]
)
def test_a_receive_that_is_given_back_receives_nothing(tape: Tape, ack: int, method: str, ended: str) -> None:
    end(tape, start(tape), ack, method)
    assert tape.story().reads[0].end == ended
    assert tape.life().received is None


def test_a_receive_without_an_end_is_pending(tape: Tape) -> None:
    start(tape)
    assert tape.story().reads[0].pending
    assert tape.life().outcome == "delivered"


def test_an_end_that_fails_takes_nothing(tape: Tape) -> None:
    end(tape, start(tape), 2, status=0xC00E0007)
    assert tape.story().reads[0].end_status == 0xC00E0007
    assert tape.life().received is None


def test_a_peek_shows_that_the_message_is_in_its_queue(tape: Tape) -> None:
    start(tape, PEEK)
    read = tape.story().reads[0]
    assert (read.removes, read.pending) == (False, False)
    assert tape.life().outcome == "delivered"
    (queue,) = tape.story().queues
    assert (queue.peeks, queue.receives, queue.access) == (1, 0, 1)


def test_a_copy_in_a_dead_letter_queue_is_told(tape: Tape) -> None:
    start(tape, PEEK, queue="DIRECT=OS:msg01\\SYSTEM$;DEADLETTER")
    assert [name for name, _ in tape.life().copies] == ["dead_letter"]


def test_a_receive_that_timed_out_brings_no_message(tape: Tape) -> None:
    start(tape, status=0xC00E001B)
    read = tape.story().reads[0]
    assert (read.status, read.message, read.pending, read.found_lookup_id) == (0xC00E001B, None, False, None)


def test_calls_of_a_capture_pair_up_with_their_ends() -> None:
    story = follow(read_capture(CAPTURES / "rpc_none_ndr.pcap", streams=True))
    assert [read.end for read in story.reads] == [None, None, "ack", "nack", None, None, "cancelled"]
    (queue,) = story.queues
    assert (queue.receives, queue.peeks, queue.closed and queue.closed.frame) == (5, 2, 33)


def test_queues_that_one_frame_opens_are_told_apart_by_their_handles(tape: Tape) -> None:
    for handle in (HANDLE, OTHER):
        tape.call("R_OpenQueue", response=OpenQueueResponse(pph_context=handle))
        tape.records[-1] = msgspec.structs.replace(tape.records[-1], frames=(9,))
    tape.call("R_PurgeQueue", request=ContextRequest(ph_context=HANDLE), opened_frame=9)
    assert [queue.purges for queue in tape.story().queues] == [1, 0]


def test_a_handle_whose_opening_was_not_captured_is_none_of_an_earlier_queue(tape: Tape) -> None:
    tape.call("R_OpenQueue", response=OpenQueueResponse(pph_context=HANDLE))
    tape.call("R_PurgeQueue", request=ContextRequest(ph_context=HANDLE))
    assert [queue.purges for queue in tape.story().queues] == [0]


def test_an_end_on_qm2qm_is_matched_by_the_handle_of_its_receive() -> None:
    story = follow(read_capture(CAPTURES / "rpc_qmcomm_qm2qm.pcap", streams=True))
    ends = {read.at.frame: (read.method, read.end) for read in story.reads}
    assert ends[42] == ("RemoteQMStartReceive", "ack")
    assert ends[46] == ("RemoteQMStartReceive2", "nack")


@pytest.mark.parametrize(
    ("method", "request_", "reported"),
    [
        ("R_MoveMessage", MoveMessageRequest(lookup_id=0xFF00_0000_0000_0063), (1, None)),
        (
            "R_SetUserAcknowledgementClass",
            SetUserAcknowledgementClassRequest(lookup_id=99, us_class=0xC004),
            (0, 0xC004),
        ),
    ],
)
def test_a_call_by_lookup_identifier_is_about_the_message_read_before(
    tape: Tape, method: str, request_: object, reported: tuple[int, int | None]
) -> None:
    start(tape)
    tape.call(method, request=request_)
    story = tape.story()
    assert story.left_out.reads == 0
    life = tape.life()
    assert (len(life.moved), life.rejected_class) == reported

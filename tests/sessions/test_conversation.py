"""The steps of a session, and what is noted of them. [MS-MQQB] 3.1.5"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from msmq_wire import GUID
from tests.sessions.tape import RECEIVER, SENDER, Tape


def kinds(tape: Tape) -> list[tuple[str, int]]:
    return [(note.kind, note.direction) for note in tape.session().notes]


def test_each_step_is_kept_with_its_frame(tape: Tape) -> None:
    tape.open()
    session = tape.session()
    steps = [session.syn, session.syn_ack, session.establish_request, session.establish_response]
    steps += [session.parameters_request, session.parameters_response]
    assert [step and step.frame for step in steps] == [1, 2, 4, 5, 6, 7]
    assert (session.state, session.reached, session.closed_by) == ("open", "open", "capture_end")
    assert (session.client_queue_manager, session.server_queue_manager) == (SENDER, RECEIVER)
    assert session.started
    assert session.notes == ()


def test_a_syn_that_a_reset_answers_is_refused(tape: Tape) -> None:
    tape.tcp("syn")
    tape.tcp("rst", 1)
    tape.tcp("closed", 1)
    session = tape.session()
    assert (session.state, session.closed_by, session.closer) == ("refused_tcp", "reset", "server")


def test_a_syn_that_is_sent_again_and_never_answered_ends_in_silence(tape: Tape) -> None:
    tape.tcp("syn")
    tape.tcp("syn_retransmission")
    session = tape.session()
    assert (session.state, session.closed_by, session.syn_retransmissions) == ("tcp_only", "silent", 1)


def test_an_icmp_message_about_a_syn_refuses_the_connection(tape: Tape) -> None:
    tape.tcp("syn")
    tape.tcp("icmp_unreachable", on=None, src="192.0.2.21:49731", dst="192.0.2.10:1801")
    assert (tape.session().state, tape.session().closed_by) == ("refused_tcp", "unreachable")


def test_cs_in_the_response_refuses_the_session(tape: Tape) -> None:
    tape.handshake()
    tape.establish()
    tape.establish(1, cs=True)
    tape.tcp("fin")
    session = tape.session()
    assert (session.state, session.reached, session.refused_by) == ("refused", "establishing", "server")
    assert session.reason == "refused"


def test_a_response_from_another_queue_manager_than_asked_for_is_noted(tape: Tape) -> None:
    tape.handshake()
    asked = GUID(b"\1" * 16)
    tape.establish(server_guid=asked)
    tape.establish(1)
    (note,) = tape.session().notes
    assert (note.kind, note.direction, note.stated, note.expected) == ("server_guid", 1, RECEIVER, asked)


def test_a_null_guid_in_the_request_matches_every_response(tape: Tape) -> None:
    tape.open()
    assert kinds(tape) == []


def test_messages_and_acks_before_the_session_is_open_are_noted_with_their_count(tape: Tape) -> None:
    tape.handshake()
    tape.message(1)
    tape.message(2)
    tape.ack(2, user_msg_sequence_number=0)
    tape.tcp("rst", 1)
    session = tape.session()
    found = [(note.kind, note.direction, note.count, note.certain) for note in session.notes]
    assert found == [("message_before_open", 0, 2, True), ("ack_before_open", 1, 1, True)]
    assert (session.reached, session.reason) == ("tcp_only", "not_open")


def test_a_capture_that_starts_late_takes_the_session_for_open_and_is_not_certain(tape: Tape) -> None:
    tape.message(1)
    session = tape.session()
    assert (session.state, session.started, session.certain) == ("open", False, False)
    assert [(note.kind, note.certain) for note in session.notes] == [("message_before_open", False)]


def test_in_midstream_the_side_of_port_1801_is_the_server(tape: Tape) -> None:
    tape.message(1, 1)
    assert tape.session().client == "192.0.2.21:49731"
    assert tape.session().directions[1].messages == 1


@pytest.mark.parametrize(
    ("steps", "noted"),
    [
        (("p0",), [("parameters_before_establish", 0)]),
        (("e1",), [("establish_unasked", 1)]),
        (("e0", "e0"), [("establish_again", 0)]),
        (("e0", "e1", "p1"), [("parameters_unasked", 1)]),
        (("e0", "e1", "p0", "p0"), [("parameters_again", 0)]),
        (("e0", "p0", "e1"), [("parameters_before_establish", 0), ("establish_after_open", 1)]),
        (("e0", "e1", "p0", "p1"), []),
    ],
)
def test_steps_out_of_order_are_noted(
    tape: Tape, steps: tuple[str, ...], noted: list[tuple[str, int]]
) -> None:
    tape.handshake()
    for step in steps:
        (tape.establish if step[0] == "e" else tape.parameters)(int(step[1]))
    assert kinds(tape) == noted


def test_a_hole_anywhere_makes_every_note_uncertain(tape: Tape) -> None:
    tape.handshake()
    tape.message(1)
    tape.gap(1)
    assert [note.certain for note in tape.session().notes] == [False]


def test_the_first_fin_by_frame_is_the_close_whatever_order_they_are_told_in(tape: Tape) -> None:
    tape.open()
    tape.tcp("fin", 1, frames=(30,))
    tape.tcp("fin", 0, frames=(20,))
    tape.tcp("closed", 1)
    session = tape.session()
    assert (session.closer, session.close and session.close.frame) == ("client", 20)
    assert (session.state, session.closed_by) == ("closed", "fin")


def test_a_session_after_another_one_names_it(tape: Tape) -> None:
    tape.open()
    tape.tcp("rst", 1)
    tape.tcp("closed", 1)
    tape.open(on=1)
    first, second = tape.story().sessions
    assert (first.number, first.previous, second.number, second.previous) == (0, None, 1, 0)


def test_connections_on_other_ports_are_no_sessions_before_a_packet_shows_it(tape: Tape) -> None:
    ends: dict[str, Any] = {"src": "192.0.2.21:49000", "dst": "192.0.2.10:5000"}
    tape.tcp("syn", **ends)
    assert tape.story().sessions == ()
    tape.add("user_message", packet=tape.message(1, on=9).packet, **ends)
    tape.records.pop(-2)
    session = tape.session()
    assert (session.server, session.started, session.syn and session.syn.frame) == (ends["dst"], True, 1)


@pytest.mark.parametrize("spoken", [Tape.establish, lambda tape: tape.message(1)])
def test_a_reset_after_packets_is_no_refusal_of_the_connection(
    tape: Tape, spoken: Callable[[Tape], object]
) -> None:
    tape.tcp("syn")
    spoken(tape)
    tape.tcp("rst", 1)
    session = tape.session()
    assert (session.state == "refused_tcp", session.closed_by) == (False, "reset")


def test_a_hole_is_the_first_of_a_session_on_the_port_of_queue_managers_only(tape: Tape) -> None:
    hole = tape.gap(on=1)
    tape.add("gap", on=2, missing=100, reason="loss", src="192.0.2.21:49000", dst="192.0.2.10:5000")
    session = tape.session()
    assert (session.stream, session.first.frame, session.certain) == (1, hole.frames[0], False)

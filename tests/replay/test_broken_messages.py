"""A server of RemoteRead that breaks a rule about messages: which comes, in what order, in what sections."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from msmq_wire.detection.rules import rpc_sec_seq, rpc_sec_size
from msmq_wire.engines.codec import decode, encode
from msmq_wire.engines.fit import fit
from msmq_wire.engines.message_builder import build_message
from msmq_wire.reassembly.sections import join_sections, split_sections
from msmq_wire.wire.headers.compound_message_header import CompoundMessageHeader
from msmq_wire.wire.headers.extension_header import ExtensionHeader
from msmq_wire.wire.headers.security_header import SecurityData, SecurityHeader
from msmq_wire.wire.headers.srmp_envelope_header import SRMPEnvelopeHeader
from msmq_wire.wire.types.section_buffer import SectionBuffer, SectionType
from tests.lab.model.scene import make_packet, put
from tests.replay.talk import END, END_TRANSACTIONAL, START, TRANSACTIONAL, Talk
from tests.replay.world import deviations

ORDERS = "DIRECT=OS:host\\private$\\orders"
_BOTH = (START, TRANSACTIONAL)
_RECEIVE, _PEEK, _NEXT = 0, 0x80000000, 0x80000001
_CURRENT, _AFTER, _BEFORE = 0x40000020, 0x40000021, 0x40000022


@pytest.mark.parametrize(
    ("rule", "method"), [("MQRR-3.1.4.7-89", START), ("MQRR-3.1.4.13-84", TRANSACTIONAL)]
)
def test_a_message_that_is_given_twice_is_found(rule: str, method: str) -> None:
    talk = Talk()
    talk.taken(method)
    first = talk.place(method)
    talk.taken(method, 2)
    assert talk.brings(talk.place(method), first) == [("twice", rule)]


@pytest.mark.parametrize("method", _BOTH)
@pytest.mark.parametrize(("rule", "how"), [("MQRR-3.1.4.9-17", "ack"), ("MQRR-3.1.4.6-5", "purge")])
def test_a_message_that_comes_after_it_was_removed_is_found(rule: str, how: str, method: str) -> None:
    talk = Talk()
    talk.arrive()
    handle = talk.opened()
    talk.ask(method, ph_context=handle, dw_request_id=1, ul_action=_RECEIVE if how == "ack" else _PEEK)
    first = talk.place(method)
    if how == "ack":
        talk.ask(END, ph_context=handle, dw_request_id=1, dw_ack=2)
    else:
        talk.purge(talk.client, handle)
    talk.wait(10)
    talk.arrive()
    talk.ask(method, ph_context=handle, dw_request_id=2)
    assert talk.brings(talk.place(method), first) == [("gone", rule)]


@pytest.mark.parametrize(
    ("rule", "start", "end"),
    [("MQRR-3.1.4.9-19", START, END), ("MQRR-3.1.4.15-21", TRANSACTIONAL, END_TRANSACTIONAL)],
)
def test_a_message_that_comes_back_after_its_queue_was_purged_is_found(
    rule: str, start: str, end: str
) -> None:
    talk = Talk()
    handle = talk.taken(start)
    first = talk.place(start)
    talk.wait(10)
    talk.purge(talk.client, handle)
    talk.wait(10)
    talk.ask(end, ph_context=handle, dw_request_id=1, dw_ack=1)
    talk.wait(10)
    talk.arrive()
    talk.ask(start, ph_context=handle, dw_request_id=2)
    assert talk.brings(talk.place(start), first) == [("gone", rule)]


@pytest.mark.parametrize(
    ("rule", "method", "how"),
    [
        ("MQRR-3.1.4.7-90", START, "no cursor"),
        ("MQRR-3.1.4.7-95", START, "receive"),
        ("MQRR-3.1.4.7-99", START, "peek"),
        ("MQRR-3.1.4.13-85", TRANSACTIONAL, "no cursor"),
        ("MQRR-3.1.4.13-90", TRANSACTIONAL, "receive"),
    ],
)
def test_a_message_that_is_passed_over_is_found(rule: str, method: str, how: str) -> None:
    talk = Talk()
    handle = talk.opened()
    low = talk.arrive(priority=1)
    talk.ask(method, ph_context=handle, dw_request_id=1, lookup_id=low, ul_action=0x40000010)
    first = talk.place(method)
    talk.arrive(priority=6)
    talk.ask(method, ph_context=handle, dw_request_id=2, ul_action=_PEEK)
    cursor: dict[str, Any] = {}
    if how != "no cursor":
        talk.make_cursor(talk.client, handle)
        talk.wait(10)
        cursor = {"h_cursor": talk.client.cursors[0][1]}
    action = _PEEK if how == "peek" else _RECEIVE
    talk.ask(method, ph_context=handle, dw_request_id=3, ul_action=action, **cursor)
    place = talk.place(method)
    if how != "peek":
        talk.ask(END, ph_context=handle, dw_request_id=3, dw_ack=1)
    talk.ask(method, ph_context=handle, dw_request_id=4, ul_action=_PEEK)
    assert talk.brings(place, first) == [("order", rule)]


@pytest.mark.parametrize(
    ("rule", "method"), [("MQRR-3.1.4.7-106", START), ("MQRR-3.1.4.13-94", TRANSACTIONAL)]
)
@pytest.mark.parametrize("action", [_CURRENT, _AFTER])
def test_a_lookup_that_brings_another_message_is_found(rule: str, method: str, action: int) -> None:
    talk = Talk()
    first = talk.arrive()
    talk.arrive()
    talk.ask(method, ph_context=talk.opened(), ul_action=action, lookup_id=first)
    low = first & ((1 << 56) - 1)
    found = talk.answered(method, p_sequence_id=low + 9 if action == _CURRENT else low)
    assert ("lookup", rule) in found


@pytest.mark.parametrize(
    ("rule", "method", "action"),
    [
        ("MQRR-3.1.4.7-68", START, 0x40000011),
        ("MQRR-3.1.4.7-71", START, 0x40000012),
        ("MQRR-3.1.4.7-79", START, _AFTER),
        ("MQRR-3.1.4.7-84", START, _BEFORE),
        ("MQRR-3.1.4.13-73", TRANSACTIONAL, _AFTER),
        ("MQRR-3.1.4.13-79", TRANSACTIONAL, _BEFORE),
    ],
)
def test_a_lookup_to_the_other_side_is_found(rule: str, method: str, action: int) -> None:
    talk = Talk()
    handle = talk.opened()
    shown = []
    lookups = [talk.arrive() for _ in range(3)]
    for number, lookup_id in enumerate(lookups):
        talk.ask(START, ph_context=handle, dw_request_id=number, ul_action=0x40000010, lookup_id=lookup_id)
        shown.append(talk.place(START))
    talk.wait(10)
    talk.ask(method, ph_context=handle, dw_request_id=7, ul_action=action, lookup_id=lookups[1])
    other = shown[0] if action in (0x40000011, _AFTER) else shown[2]
    assert talk.brings(talk.place(method), other) == [("lookup", rule)]


@pytest.mark.parametrize(
    ("rule", "method", "action"),
    [
        ("MQRR-3.1.4.7-98", START, _RECEIVE),
        ("MQRR-3.1.4.7-102", START, _PEEK),
        ("MQRR-3.1.4.7-105", START, _NEXT),
        ("MQRR-3.1.4.13-93", TRANSACTIONAL, _RECEIVE),
    ],
)
def test_a_cursor_that_gives_what_it_does_not_stand_on_is_found(rule: str, method: str, action: int) -> None:
    talk = Talk()
    handle = talk.opened()
    lookups = [talk.arrive() for _ in range(2)]
    talk.ask(START, ph_context=handle, dw_request_id=1, ul_action=0x40000010, lookup_id=lookups[1])
    second = talk.place(START)
    talk.make_cursor(talk.client, handle)
    talk.wait(10)
    cursor = talk.client.cursors[0][1]
    talk.ask(START, ph_context=handle, dw_request_id=2, ul_action=_PEEK, h_cursor=cursor)
    shown = talk.place(START)
    talk.wait(10)
    talk.ask(method, ph_context=handle, dw_request_id=3, ul_action=action, h_cursor=cursor)
    other = shown if action == _NEXT else second
    assert talk.brings(talk.place(method), other) == [("lookup", rule)]


def test_a_cursor_that_goes_on_from_nothing_is_found() -> None:
    talk = Talk()
    handle = talk.opened()
    talk.arrive()
    talk.ask(START, ph_context=handle, dw_request_id=1, ul_action=_PEEK)
    talk.make_cursor(talk.client, handle)
    talk.wait(10)
    cursor = talk.client.cursors[0][1]
    talk.ask(START, ph_context=handle, dw_request_id=2, ul_action=_NEXT, h_cursor=cursor)
    assert talk.brings(talk.place(START), talk.place(START, 0)) == [("cursor", "MQRR-3.1.4.7-104")]


@pytest.mark.parametrize(
    ("rule", "method"), [("MQRR-3.1.4.7-134", START), ("MQRR-3.1.4.13-120", TRANSACTIONAL)]
)
def test_a_sequence_identifier_of_eight_bytes_is_found(rule: str, method: str) -> None:
    talk = Talk()
    talk.taken(method)
    sequence = talk.calls()[talk.place(method)][0].packet.response.p_sequence_id
    assert talk.answered(method, p_sequence_id=sequence | 1 << 60) == [("size", rule)]


@pytest.mark.parametrize(
    ("rule", "method"), [("MQRR-3.1.4.7-132", START), ("MQRR-3.1.4.13-118", TRANSACTIONAL)]
)
def test_a_success_without_a_message_is_found(rule: str, method: str) -> None:
    talk = Talk()
    talk.taken(method)
    assert talk.answered(method, pdw_number_of_sections=0, pp_packet_sections=None)[0] == ("size", rule)


@pytest.mark.parametrize(
    ("rule", "method"), [("MQRR-3.1.4.7-136", START), ("MQRR-3.1.4.13-122", TRANSACTIONAL)]
)
def test_a_failure_with_a_message_is_found(rule: str, method: str) -> None:
    talk = Talk()
    talk.taken(method)
    assert talk.answered(method, status=0xC00E0001) == [("size", rule)]


def limited(talk: Talk, method: str, packet: bytes, limit: int, *, srmp: bool = False) -> int:
    """A peek with a limit; its place."""
    put(talk.queues[0], packet=packet, srmp=srmp)
    limits: dict[str, Any] = {"dw_max_body_size": limit, "dw_max_compound_message_size": limit}
    talk.ask(method, ph_context=talk.opened(), dw_request_id=9, ul_action=_PEEK, **limits)
    return talk.place(method)


def asked_for(talk: Talk, place: int, **changes: Any) -> list[tuple[str, str]]:
    """What is found where a call has asked for something else."""
    call = talk.calls()[place]
    asked = msgspec.structs.replace(call[0].packet.request, **changes)
    packet = msgspec.structs.replace(call[0].packet, request=asked)
    return talk.reported({place: [msgspec.structs.replace(call[0], packet=packet), *call[1:]]})


@pytest.mark.parametrize(
    ("rule", "method", "wanted"),
    [
        ("MQRR-3.1.4.7-118", START, 100),
        ("MQRR-3.1.4.7-121", START, 10),
        ("MQRR-3.1.4.7-123", START, 60),
        ("MQRR-3.1.4.13-104", TRANSACTIONAL, 100),
        ("MQRR-3.1.4.13-107", TRANSACTIONAL, 10),
        ("MQRR-3.1.4.13-109", TRANSACTIONAL, 60),
    ],
)
def test_a_message_that_is_cut_wrongly_is_found(rule: str, method: str, wanted: int) -> None:
    talk = Talk()
    sent = 100 if rule.endswith(("121", "107")) else 50
    place = limited(talk, method, make_packet(bytes(100)), sent)
    assert asked_for(talk, place, dw_max_body_size=wanted) == [("size", rule)]


@pytest.mark.parametrize(("limit", "certain"), [(50, False), (53, False), (54, True)])
def test_a_body_that_is_cut_in_its_padding_is_not_certainly_cut_wrongly(limit: int, certain: bool) -> None:
    talk = Talk()
    place = limited(talk, START, make_packet(bytes(50)), 49)
    call = talk.calls()[place]
    asked = msgspec.structs.replace(call[0].packet.request, dw_max_body_size=limit)
    packet = msgspec.structs.replace(call[0].packet, request=asked)
    (found,) = deviations([msgspec.structs.replace(call[0], packet=packet), *call[1:]])
    assert (str(found.rule), found.certain, found.contradiction) == (
        "MQRR-3.1.4.7-118",
        certain,
        "" if certain else "C13",
    )


@pytest.mark.parametrize(
    ("limit", "wanted", "rules"),
    [
        (200, 10, ["MQRR-3.1.4.7-121"]),
        # Between the sizes of the clear text and of the cipher text either is right.
        (200, 100, []),
        (100, 100, []),
        (100, 130, ["MQRR-3.1.4.7-123"]),
        (100, 200, ["MQRR-3.1.4.7-118"]),
    ],
)
def test_an_encrypted_body_is_cut_wrongly_if_it_is_by_both_sizes(
    limit: int, wanted: int, rules: list[str]
) -> None:
    whole = build_message(ORDERS, bytes(144))
    sealed = SecurityHeader(security_data=SecurityData(encryption_key=b"key!"))
    clear = fit(msgspec.structs.replace(whole, security_header=sealed.with_bits(st=0, eb=1, de=1, ai=1)))
    assert clear.message_properties_header is not None
    header = msgspec.structs.replace(clear.message_properties_header, message_size=90)
    talk = Talk()
    place = limited(
        talk, START, encode(msgspec.structs.replace(clear, message_properties_header=header)), limit
    )
    assert [rule for _, rule in asked_for(talk, place, dw_max_body_size=wanted)] == rules


@pytest.mark.parametrize(
    ("rule", "method"), [("MQRR-3.1.4.7-126", START), ("MQRR-3.1.4.13-112", TRANSACTIONAL)]
)
def test_a_second_section_of_nothing_is_found(rule: str, method: str) -> None:
    talk = Talk()
    place = limited(talk, method, make_packet(bytes(100)), 10)
    sections = talk.calls()[place][0].packet.response.pp_packet_sections[:1]
    second = SectionBuffer(section_buffer_type=SectionType.stBinarySecondSection)
    found = talk.answered(method, pdw_number_of_sections=2, pp_packet_sections=(*sections, second))
    assert found == [("size", rule)]


@pytest.mark.parametrize(
    ("rule", "method"), [("MQRR-3.1.4.7-122", START), ("MQRR-3.1.4.13-108", TRANSACTIONAL)]
)
def test_an_srmp_message_that_is_not_cut_is_found(rule: str, method: str) -> None:
    headers = {
        "srmp_envelope_header": SRMPEnvelopeHeader(),
        "compound_message_header": CompoundMessageHeader(http_body_size=10, data=bytes(10), padding=bytes(2)),
    }
    packet = encode(fit(msgspec.structs.replace(build_message(ORDERS), **headers)))
    talk = Talk()
    place = limited(talk, method, packet, 100, srmp=True)
    assert asked_for(talk, place, dw_max_compound_message_size=20) == [("size", rule)]


@pytest.mark.parametrize(("rule", "queue", "sub"), [("MQRR-3.1.4.10-12", 1, ""), ("MQRR-3.1.4.10-13", 0, "")])
def test_a_move_to_what_is_no_relation_is_found(rule: str, queue: int, sub: str) -> None:
    talk = Talk()
    target = talk.target(sub, queue)[1]
    lookup_id = talk.arrive()
    talk.ask("R_MoveMessage", ph_context_from=talk.opened(), ull_context_to=target, lookup_id=lookup_id)
    assert talk.granted("R_MoveMessage") == [("action", rule)]


def test_a_move_to_what_was_closed_is_found() -> None:
    talk = Talk()
    handle, target = talk.target()
    lookup_id = talk.arrive()
    talk.close(talk.client, handle)
    talk.wait(10)
    talk.ask("R_MoveMessage", ph_context_from=talk.opened(), ull_context_to=target, lookup_id=lookup_id)
    assert talk.granted("R_MoveMessage") == [("handle", "MQRR-3.1.4.10-7")]


@pytest.mark.parametrize(
    ("rule", "kind", "method", "ended"),
    [
        ("MQRR-3.1.4.10-15", "gone", "R_MoveMessage", True),
        ("MQRR-3.1.4.10-17", "twice", "R_MoveMessage", False),
        ("MQRR-3.1.4.14-6", "gone", "R_SetUserAcknowledgementClass", True),
    ],
)
def test_a_message_that_is_not_there_to_be_moved_is_found(
    rule: str, kind: str, method: str, ended: bool
) -> None:
    talk = Talk()
    target = talk.target()[1]
    lookup_id = talk.arrive()
    handle = talk.opened()
    talk.ask(START, ph_context=handle, dw_request_id=1)
    if ended:
        talk.ask(END, ph_context=handle, dw_request_id=1, dw_ack=2)
    talk.wait(10)
    values: dict[str, Any] = {"ph_context": handle}
    if method == "R_MoveMessage":
        values = {"ph_context_from": handle, "ull_context_to": target}
    talk.ask(method, lookup_id=lookup_id, **values)
    assert talk.granted(method) == [(kind, rule)]


def test_a_message_that_was_moved_and_comes_again_is_found() -> None:
    talk = Talk()
    handle, target = talk.opened(), talk.target()[1]
    lookup_id = talk.arrive()
    talk.ask(START, ph_context=handle, dw_request_id=1, ul_action=_PEEK)
    shown = talk.place(START)
    talk.ask("R_MoveMessage", ph_context_from=handle, ull_context_to=target, lookup_id=lookup_id)
    talk.wait(10)
    talk.arrive()
    talk.ask(START, ph_context=handle, dw_request_id=2, ul_action=_PEEK)
    assert talk.brings(talk.place(START), shown) == [("gone", "MQRR-3.1.4.10-23")]


def test_a_message_that_was_moved_there_and_back_may_come_again() -> None:
    talk = Talk()
    handle, target, back = talk.opened(), talk.target()[1], talk.target("")[1]
    lookup_id = talk.arrive()
    talk.ask(START, ph_context=handle, dw_request_id=1, ul_action=_PEEK)
    talk.ask("R_OpenQueue", p_queue_format=talk.name(0, ";sub"), dw_access=1)
    sub = talk.client.handles[-1]
    for source, to in ((handle, target), (sub, back)):
        talk.ask("R_MoveMessage", ph_context_from=source, ull_context_to=to, lookup_id=lookup_id)
        talk.wait(10)
    talk.ask(START, ph_context=handle, dw_request_id=2)
    assert [call[0].packet.status for call in talk.calls()[-3:]] == [0, 0, 0]
    assert talk.deviations() == []


def _of_two(change: dict[str, Any], which: int) -> tuple[SectionBuffer, ...]:
    packet = decode(make_packet(bytes(100)), as_="message_packet")
    whole = encode(fit(msgspec.structs.replace(packet, extension_header=ExtensionHeader())))
    sections = list(split_sections(whole, max_body_size=10, max_compound_message_size=10))
    sections[which] = msgspec.structs.replace(sections[which], **change)
    return tuple(sections)


_FULL = make_packet(bytes(100))
_WHOLE = SectionBuffer(section_size=len(_FULL), section_size_alloc=len(_FULL), data=_FULL)
_SHORT = {"data": b"12345678", "section_size": 8, "section_size_alloc": 8}


@pytest.mark.parametrize(
    "sections",
    [
        (*_of_two({}, 0), _of_two({}, 0)[1]),
        (_WHOLE, _of_two({}, 0)[1]),
        (msgspec.structs.replace(_WHOLE, section_size_alloc=len(_FULL) + 4),),
        (msgspec.structs.replace(_WHOLE, section_size=9, section_size_alloc=9),),
        (msgspec.structs.replace(_WHOLE, data=_FULL[:-8]),),
        _of_two({"section_size_alloc": 9}, 0),
        _of_two({"section_size_alloc": len(_FULL) + 60}, 0),
        _of_two({"section_size": 9}, 0),
        _of_two({}, 0)[:1],
        _of_two({"section_buffer_type": SectionType.stSrmpSecondSection}, 1),
        _of_two({"section_buffer_type": SectionType.stBinaryFirstSection}, 1),
        _of_two({"section_size_alloc": 9999}, 1),
        _of_two(_SHORT, 1),
    ],
)
def test_sections_that_contradict_themselves_are_told_as_findings(
    sections: tuple[SectionBuffer, ...],
) -> None:
    reported = {*rpc_sec_seq.RULE.codes, *rpc_sec_size.RULE.codes}
    assert join_sections(_of_two({}, 0)).problems == ()
    assert reported.intersection(problem.code for problem in join_sections(sections).problems)

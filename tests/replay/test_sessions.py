"""Sessions between honest queue managers give nothing; one that breaks a rule is told with its section.

What cannot be seen in packets, and is judged nowhere: what a receiver saves before it acknowledges
(3.1.1.6.2), which messages it drops as duplicates (3.1.5.8.1), what it puts into which queue and journal
(3.1.5.8.8, 3.1.5.5.4), whether it verifies signatures and decrypts (3.1.5.8.3), and the clocks behind its
timers (3.1.6) where nothing is sent. That an acknowledgment is missing proves nothing: it may have gone
another way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msmq_wire import encode
from msmq_wire.detection import judge
from msmq_wire.detection.conduct import CONDUCT, conduct_deviation
from msmq_wire.errors import DecodeError
from msmq_wire.records.record import FoundPacket, Record
from msmq_wire.replay import Replayer, replay, session_rules
from msmq_wire.units import SECOND
from msmq_wire.wire.headers.multi_queue_format_header import MultiQueueFormatHeader
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import GUID
from tests.effort import examples
from tests.lab.model.binary.world import ADMIN, RECEIVER, USER, Kind, World, bodies, message, receive

_KINDS: tuple[Kind, ...] = ("express", "recoverable", "transactional")
_OTHER = GUID.parse("0b5f1d7c-2f5e-4a55-9d0e-6c1f3c0a9b11")
_ESTABLISH, _PARAMETERS = "establish_connection", "connection_parameters"
Told = set[tuple[str, str]]
Break = Callable[[list[Record]], list[Record]]


@cache
def _honest() -> tuple[Record, ...]:
    """A session with messages of all kinds, all of them received, and their acknowledgments."""
    world = World(known=True)
    for number in range(36):
        wanted = ["pa", "pr"] if number >= 18 else []
        admin = ADMIN if wanted else None
        kind = _KINDS[number % 3]
        world.outgoing.send(message(kind, b"%d" % number, jp=1, acknowledge=wanted, admin_queue=admin))
        if number % 6 == 5:
            world.run(30_000)
    world.run(60_000)
    for queue in (world.orders, world.orders_tx):
        while bodies(queue):
            receive(queue)
    world.run(60_000)
    return tuple(world.records)


def _reported(records: Iterable[Record]) -> Told:
    """Kinds and sections of all that a replay tells."""
    kept = list(records)
    numbered = [msgspec.structs.replace(one, id=number) for number, one in enumerate(kept, 1)]
    found = [one for one in map(conduct_deviation, judge(numbered, CONDUCT)) if one is not None]
    found += replay(numbered)
    assert {one.interface for one in found} <= {"MQQB"}
    assert all(one.server and one.method and one.message for one in found)
    assert not any(one.certain and one.contradiction for one in found)
    return {(str(one.kind), str(one.rule)) for one in found}


def _put(value: Any, path: str, new: Any) -> Any:
    """A packet with another value at a path; ``new`` may be a function of the old one."""
    name, _, rest = path.partition(".")
    old = getattr(value, name)
    if rest:
        return msgspec.structs.replace(value, **{name: _put(old, rest, new)})
    return msgspec.structs.replace(value, **{name: new(old) if callable(new) else new})


def _change(
    type_: str, path: str, new: Any, *, server: bool, which: slice = slice(None), when: Any = None
) -> Break:
    """Change a field of some of the packets of a kind that one side sent."""

    def broken(records: list[Record]) -> list[Record]:
        places = [
            at
            for at, one in enumerate(records)
            if one.type == type_
            and (one.src or "").endswith(":1801") == server
            and (when is None or when(one.packet))
        ]
        assert places[which]
        for at in places[which]:
            packet = _put(records[at].packet, path, new)
            records[at] = msgspec.structs.replace(records[at], packet=packet)
        return records

    return broken


def _all(*breaks: Break) -> Break:
    def broken(records: list[Record]) -> list[Record]:
        for one in breaks:
            records = one(records)
        return records

    return broken


def _first(records: list[Record], type_: str, *, server: bool) -> int:
    return next(
        at
        for at, one in enumerate(records)
        if one.type == type_ and (one.src or "").endswith(":1801") == server
    )


def _parameters_early(records: list[Record]) -> list[Record]:
    """ConnectionParameters of the client come before the answer to EstablishConnection."""
    packet = records.pop(_first(records, _PARAMETERS, server=False))
    records.insert(_first(records, _ESTABLISH, server=True), packet)
    return records


def _unopened(records: list[Record]) -> list[Record]:
    return [one for one in records if one.type != _PARAMETERS]


def _order_ack_back(records: list[Record]) -> list[Record]:
    """An OrderAck for a number that is lower, in place of another express packet after it."""
    at = _first(records, "order_ack", server=True)
    after = next(
        later
        for later, one in enumerate(records)
        if later > at
        and one.type == "user_message"
        and one.src == records[at].src
        and not one.packet.user_header.bit("dm")
        and one.packet.session_header is None
    )
    packet = _ordered(records[at].packet, lambda number: number - 1)
    records[after] = msgspec.structs.replace(records[after], type="order_ack", packet=packet)
    return records


def _again(type_: str, *, server: bool) -> Break:
    def broken(records: list[Record]) -> list[Record]:
        at = _first(records, type_, server=server)
        records.insert(at + 1, records[at])
        return records

    return broken


def _behind_a_gap(records: list[Record]) -> list[Record]:
    """Number 2 is left out of every sequence: the sender calls those after it one higher."""

    def higher(number: int) -> int:
        return number + (number >= 2)

    def named(number: int) -> int:
        return number + (number >= 1)

    for at, one in enumerate(records):
        packet = one.packet
        header = getattr(packet, "transaction_header", None)
        if header is not None:
            packet = _put(packet, "transaction_header.tx_sequence_number", higher)
            packet = _put(packet, "transaction_header.previous_tx_sequence_number", named)
            records[at] = msgspec.structs.replace(one, packet=packet)
        elif one.type == "order_ack":
            records[at] = msgspec.structs.replace(one, packet=_ordered(packet, higher))
    return records


def _ordered(packet: Any, new: Callable[[int], int]) -> Any:
    """An OrderAck with another number, which is in the body of the message."""
    body = packet.message_properties_header.message_body
    number = new(int.from_bytes(body[8:12], "little"))
    changed = body[:8] + number.to_bytes(4, "little") + body[12:]
    return _put(packet, "message_properties_header.message_body", changed)


def _order_ack_ahead(records: list[Record]) -> list[Record]:
    at = _first(records, "order_ack", server=True)
    packet = _ordered(records[at].packet, lambda number: number + 500)
    records[at] = msgspec.structs.replace(records[at], packet=packet)
    return records


def _is(class_: MessageClass) -> Callable[[Any], bool]:
    return lambda packet: bool(packet.message_properties_header.message_class == class_)


_ES, _CP, _SH = "establish_connection_header", "connection_parameters_header", "session_header"
_REACHED, _RECEIVED = MessageClass.MQMSG_CLASS_ACK_REACH_QUEUE, MessageClass.MQMSG_CLASS_ACK_RECEIVE
_QUOTA = MessageClass.MQMSG_CLASS_NACK_Q_EXCEED_QUOTA
_CLASS, _WANTED = "message_properties_header.message_class", "message_properties_header.flags"
_ONE = slice(1)
_SOURCE = "user_header.source_queue_manager"
_ADDRESSED = _change("user_message", "user_header.queue_manager_address", RECEIVER, server=False)
_JOURNAL, _FA = 1 << 9, 2
_BROKEN: dict[str, tuple[Break, Told]] = {
    "the answer has another TimeStamp": (
        _change(_ESTABLISH, f"{_ES}.time_stamp", 4711, server=True),
        {("echo", "MQQB-3.1.5.3.1")},
    ),
    "the answer has another ClientGuid, and the client does not look": (
        _change(_ESTABLISH, f"{_ES}.client_guid", _OTHER, server=True),
        {("echo", "MQQB-3.1.5.3.1"), ("goeson", "MQQB-3.1.5.3.2")},
    ),
    "the answer has another SE": (
        _change(_ESTABLISH, f"{_ES}.operating_system", lambda bits: bits ^ 0x100, server=True),
        {("echo", "MQQB-3.1.5.3.1")},
    ),
    "another queue manager answers, and the client does not look": (
        _change(_ESTABLISH, f"{_ES}.server_guid", _OTHER, server=True),
        {("ses-guid", "MQQB-3.1.5.3.1"), ("goeson", "MQQB-3.1.5.3.2")},
    ),
    "the client goes on after a refusal": (
        _change(_ESTABLISH, "internal_header.flags", lambda flags: flags | 0x10, server=True),
        {("goeson", "MQQB-3.1.5.3.2"), ("ses-order", "MQQB-3.1.5.5")},
    ),
    "the answer has another AckTimeout": (
        _change(_PARAMETERS, f"{_CP}.ack_timeout", 31_000, server=True),
        {("echo", "MQQB-3.1.5.4.1")},
    ),
    "the answer has another RecoverableAckTimeout": (
        _change(_PARAMETERS, f"{_CP}.recoverable_ack_timeout", 31_000, server=True),
        {("echo", "MQQB-3.1.5.4.1")},
    ),
    "ConnectionParameters come before EstablishConnection is answered": (
        _parameters_early,
        {("ses-order", "MQQB-3.1.5.3"), ("ses-order", "MQQB-3.1.5.4")},
    ),
    "EstablishConnection comes twice": (
        _again(_ESTABLISH, server=False),
        {("ses-order", "MQQB-3.1.5.3")},
    ),
    "messages come though the session is not open": (
        _unopened,
        {("ses-naked", "MQQB-3.1.5.8"), ("ses-order", "MQQB-3.1.5.5")},
    ),
    "a SessionAck comes twice": (
        _again("session_ack", server=True),
        {("ackagain", "MQQB-3.1.6.4")},
    ),
    "a SessionAck counts more than was sent": (
        _change("session_ack", f"{_SH}.ack_sequence_number", 500, server=True, which=_ONE),
        {("ses-ackback", "MQQB-3.1.5.5.1")},
    ),
    "a SessionAck goes back": (
        _change("session_ack", f"{_SH}.ack_sequence_number", 1, server=True, which=slice(-1, None)),
        {("ses-ackback", "MQQB-3.1.5.5.1")},
    ),
    "a SessionAck counts what its side sent otherwise": (
        _change("session_ack", f"{_SH}.user_msg_sequence_number", 99, server=True, which=_ONE),
        {("ses-count", "MQQB-3.1.5.5.5")},
    ),
    "a SessionAck says that recoverable messages are stored which nobody sent": (
        _change("session_ack", f"{_SH}.recoverable_msg_ack_seq_number", 300, server=True, which=_ONE),
        {("ses-recack", "MQQB-3.1.5.5.2")},
    ),
    "the window is 1, and a second message does not wait": (
        _all(
            *(_change(_PARAMETERS, f"{_CP}.window_size", 1, server=side) for side in (False, True)),
            *(_change("session_ack", f"{_SH}.window_size", 1, server=side) for side in (False, True)),
        ),
        {("window", "MQQB-3.1.7.1")},
    ),
    "an OrderAck passes over a gap": (_behind_a_gap, {("orderack", "MQQB-3.1.5.8.6")}),
    "an OrderAck goes back": (_order_ack_back, {("orderack", "MQQB-3.1.1.6.2")}),
    "an OrderAck counts more than was sent": (_order_ack_ahead, {("txn-ack", "MQQB-3.1.1.6.2")}),
    "another queue manager orders": (
        _all(_ADDRESSED, _change("order_ack", _SOURCE, _OTHER, server=True, which=_ONE)),
        {("stranger", "MQQB-3.1.1.6.2")},
    ),
    "another queue manager says what was received": (
        _all(_ADDRESSED, _change("final_ack", _SOURCE, _OTHER, server=True, which=_ONE)),
        {("stranger", "MQQB-3.1.7.2.2")},
    ),
    "another queue manager says what has arrived": (
        _all(_ADDRESSED, _change("user_message", _SOURCE, _OTHER, server=True, when=_is(_REACHED))),
        {("stranger", "MQQB-3.1.5.8.10")},
    ),
    "the arrival of a message is acknowledged that does not want it": (
        _change("user_message", _WANTED, lambda wanted: wanted & ~1, server=False),
        {("unasked", "MQQB-3.1.5.8.10")},
    ),
    "the receipt of a message is acknowledged that does not want it": (
        _change("user_message", _WANTED, lambda wanted: wanted & ~2, server=False),
        {("unasked", "MQQB-3.1.7.2.1")},
    ),
    "a message that goes to no journal gets a FinalAck": (
        _change("user_message", "user_header.flags", lambda flags: flags & ~_JOURNAL, server=False),
        {("unasked", "MQQB-3.1.7.2.2")},
    ),
    "a message was turned away, and received": (
        _change("user_message", _CLASS, _QUOTA, server=True, which=_ONE, when=_is(_REACHED)),
        {("unasked", "MQQB-3.1.7.15"), ("outcome", "MQQB-3.1.7.2.1")},
    ),
    "a message has arrived, and was turned away": (
        _change("user_message", _CLASS, _QUOTA, server=True, which=_ONE, when=_is(_RECEIVED)),
        {("unasked", "MQQB-3.1.7.15"), ("outcome", "MQQB-3.1.7.2.1")},
    ),
}


@pytest.mark.slow
def test_honest_queue_managers_are_not_blamed_and_say_all_that_is_judged() -> None:
    records = _honest()
    assert _reported(records) == set()
    types = {record.type for record in records}
    assert types >= {_ESTABLISH, _PARAMETERS, "session_ack", *USER}


@pytest.mark.parametrize("name", _BROKEN)
def test_a_queue_manager_that_breaks_a_rule_is_told_with_the_section(name: str) -> None:
    broken, reported = _BROKEN[name]
    assert _reported(broken(list(_honest()))) == reported


@pytest.mark.parametrize(
    ("name", "contradictions"),
    [
        ("the answer has another TimeStamp", {""}),
        ("the answer has another ClientGuid, and the client does not look", {"C71"}),
        ("the answer has another SE", {"C15"}),
        ("another queue manager answers, and the client does not look", {"C3"}),
        ("the client goes on after a refusal", {""}),
        ("the answer has another AckTimeout", {""}),
        ("an OrderAck goes back", {"C6"}),
        ("the arrival of a message is acknowledged that does not want it", {"R12"}),
        ("a message that goes to no journal gets a FinalAck", {""}),
    ],
)
def test_what_documents_contradict_about_packets_is_not_certain(name: str, contradictions: set[str]) -> None:
    found = list(replay(_BROKEN[name][0](list(_honest()))))
    assert {one.contradiction for one in found} == contradictions
    assert {one.certain for one in found} == {not one for one in contradictions}


def test_who_is_blamed_is_who_sent_the_packet() -> None:
    records = list(_honest())
    (stamp,) = replay(_change(_ESTABLISH, f"{_ES}.time_stamp", 1, server=True)(list(records)))
    assert (stamp.server, stamp.method) == ("192.0.2.10", "EstablishConnection")
    assert stamp.path == f"{_ES}.time_stamp"
    (refused,) = replay(
        _change(_ESTABLISH, "internal_header.flags", lambda flags: flags | 0x10, server=True)(records)
    )
    assert (refused.server, refused.method) == ("192.0.2.21", "ConnectionParameters")


@pytest.mark.parametrize(
    ("class_", "flags"),
    [(MessageClass.MQMSG_CLASS_REPORT, 0), (_REACHED, 1 << 22)],
    ids=["report", "connector"],
)
def test_others_may_tell_of_a_message_by_a_report_or_as_its_connector(
    class_: MessageClass, flags: int
) -> None:
    when = _is(_REACHED)
    broken = _all(
        _ADDRESSED,
        _change("user_message", _SOURCE, _OTHER, server=True, when=when),
        _change("user_message", "user_header.flags", lambda old: old | flags, server=True, when=when),
        _change("user_message", _CLASS, class_, server=True, when=when),
    )
    assert _reported(broken(list(_honest()))) == set()


def _over_a_gap(late: int) -> list[Record]:
    """Number 3 without number 2, an OrderAck for it, and number 2 behind that, so many seconds later."""
    records = list(_honest())
    sent = next(one for one in records if getattr(one.packet, "transaction_header", None) is not None)
    order = records[_first(records, "order_ack", server=True)]

    def placed(number: int, time: int) -> Record:
        packet = _put(sent.packet, "transaction_header.tx_sequence_number", number)
        packet = _put(packet, "transaction_header.previous_tx_sequence_number", number - 1)
        return msgspec.structs.replace(sent, packet=packet, time=(order.time or 0) + time * SECOND)

    ahead = msgspec.structs.replace(order, packet=_ordered(order.packet, lambda _: 3))
    return [*records[:7], placed(1, -2), placed(3, -1), ahead, placed(2, late)]


@pytest.mark.parametrize(("late", "reported"), [(1, ["at most number 1"]), (-1, [])])
def test_what_fills_a_gap_by_its_time_may_stand_behind_the_order_ack(late: int, reported: list[str]) -> None:
    assert [one.expected for one in replay(_over_a_gap(late)) if one.kind == "orderack"] == reported


def test_of_too_many_order_acks_that_wait_the_oldest_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_rules, "_MOST_EARLY", 2)
    *before, ahead, _ = _over_a_gap(1)
    replayer = Replayer()
    reported = [len(replayer.feed(record)) for record in [*before, ahead, ahead, ahead]]
    assert reported[-3:] == [0, 0, 1]
    assert len(replayer.finish()) == 2


@pytest.mark.parametrize(("gaps", "reported"), [(1, 1), (60, 1), (80, 0)])
def test_a_sequence_with_more_gaps_than_are_kept_is_not_judged(gaps: int, reported: int) -> None:
    records = list(_honest())
    sent = next(one for one in records if getattr(one.packet, "transaction_header", None) is not None)
    order = records[_first(records, "order_ack", server=True)]

    def placed(number: int, previous: int) -> Record:
        packet = _put(sent.packet, "transaction_header.tx_sequence_number", number)
        packet = _put(packet, "transaction_header.previous_tx_sequence_number", previous)
        return msgspec.structs.replace(sent, packet=packet)

    # Each but the first follows a number that does not come.
    messages = [placed(1, 0), *(placed(2 * number + 1, 2 * number) for number in range(1, gaps + 1))]
    last = msgspec.structs.replace(order, packet=_ordered(order.packet, lambda _: 2 * gaps + 1))
    found = [one for one in replay([*records[:7], *messages, last]) if one.kind == "orderack"]
    assert [one.expected for one in found] == ["at most number 1"] * reported
    assert not any(one.certain for one in found)


def test_a_message_to_several_queues_has_several_ends() -> None:
    def several(records: list[Record]) -> list[Record]:
        for at, one in enumerate(records):
            if one.type == "user_message" and not (one.src or "").endswith(":1801"):
                header = MultiQueueFormatHeader()
                packet = msgspec.structs.replace(one.packet, multi_queue_format_header=header)
                records[at] = msgspec.structs.replace(one, packet=packet)
        return records

    refused, _ = _BROKEN["a message has arrived, and was turned away"]
    assert _reported(_all(several, refused)(list(_honest()))) == set()


def test_a_message_that_was_sent_twice_may_have_had_two_ends() -> None:
    refused, reported = _BROKEN["a message has arrived, and was turned away"]
    records = refused(list(_honest()))
    sent = [one for one in records if one.type == "user_message" and not (one.src or "").endswith(":1801")]
    # It came over another connection before, whose beginning was not captured.
    again = [msgspec.structs.replace(one, stream=7, src="192.0.2.21:41000") for one in sent]
    assert "outcome" in {kind for kind, _ in reported}
    assert "outcome" not in {str(one.kind) for one in replay([*again, *records])}


def test_another_window_is_news_and_the_first_one_is_none() -> None:
    twice = _again("session_ack", server=True)
    smaller = _change("session_ack", f"{_SH}.window_size", 32, server=True, which=slice(1, 2))
    assert _reported(_all(twice, smaller)(list(_honest()))) == set()


def test_an_answer_that_is_cut_or_comes_first_is_not_compared() -> None:
    records = _change(_ESTABLISH, f"{_ES}.time_stamp", 1, server=True)(list(_honest()))
    at = _first(records, _ESTABLISH, server=True)
    error = DecodeError("missing-bytes", "cut")
    cut = [*records[:at], msgspec.structs.replace(records[at], error=error), *records[at + 1 :]]
    assert [one.kind for one in replay(cut)] == []
    records[at - 1], records[at] = records[at], records[at - 1]
    assert [one.kind for one in replay(records)] == []


@pytest.mark.slow
@given(st.data())
@settings(max_examples=examples(150), deadline=None)
def test_nothing_is_raised_whatever_the_packets_hold(data: st.DataObject) -> None:
    replayer = Replayer()
    packets = [one for one in _honest() if one.type != "tcp_stream"][:40]
    for number, one in enumerate(packets, 1):
        raw = bytearray(encode(one.packet))
        for at in data.draw(st.lists(st.integers(0, len(raw) - 1), max_size=3)):
            raw[at] = data.draw(st.integers(0, 255))
        cut = bytes(raw[: data.draw(st.integers(1, len(raw)))]) if data.draw(st.booleans()) else bytes(raw)
        ends = one.src or "", one.dst or ""
        found = replayer.feed(FoundPacket(number, "", cut, (number,), number, *ends, 0, 0).record())
        assert all(deviation.record == number for deviation in found)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("connect_back", [False, True])
def test_connections_that_drop_blame_nobody(seed: int, connect_back: bool) -> None:
    world = World(seed, drops=0.05, connect_back=connect_back)
    for number in range(40):
        kind = _KINDS[number % 3]
        world.outgoing.send(message(kind, jp=number % 2, acknowledge=["pa", "pr"], admin_queue=ADMIN))
        world.run(200)
    world.drops = 0
    world.run()
    for queue in (world.orders, world.orders_tx):
        while bodies(queue):
            receive(queue)
    world.run()
    assert _reported(world.records) == set()


@pytest.mark.parametrize("name", _BROKEN)
def test_of_a_capture_that_begins_late_nothing_is_told_that_needs_the_beginning(name: str) -> None:
    """Whatever is cut off in front: no kind is told that the whole capture does not have."""
    broken, reported = _BROKEN[name]
    records = broken(list(_honest()))
    for cut in (3, 5, 7, 12, len(records) // 2):
        assert {kind for kind, _ in _reported(records[cut:])} <= {kind for kind, _ in reported}


@pytest.mark.slow
def test_nothing_is_told_of_honest_queue_managers_whatever_is_lost() -> None:
    records = list(_honest())
    for begin in range(3, len(records), 7):
        lost = records[begin : begin + 3]
        gap = [
            msgspec.structs.replace(one, type="gap", packet=None, missing=100, reason="not-captured")
            for one in lost
            if one.type != "tcp_stream"
        ]
        assert _reported([*records[:begin], *gap, *records[begin + 3 :]]) == set()

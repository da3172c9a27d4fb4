"""Two messages with one identifier are two messages."""

from __future__ import annotations

import msgspec
import pytest

from msmq_wire.records.record import Record
from msmq_wire.sessions import Leaving, MessageLife, StoryFollower, follow
from msmq_wire.sessions.followed_message import FollowedMessage, moment_of
from msmq_wire.sessions.id_collisions import IdCollisions
from msmq_wire.sessions.message_lives import LifeTracker
from tests.sessions.tape import Tape

OTHER = "192.0.2.24"


def of_other(record: Record) -> Record:
    """A record of the same connection, from or to another host."""
    ends = {"src": record.src or "", "dst": record.dst or ""}
    return msgspec.structs.replace(
        record, **{side: end.replace("192.0.2.21", OTHER) for side, end in ends.items()}
    )


def cloned(tape: Tape) -> None:
    """Two hosts open a session each, and each sends a message with number 1."""
    for on in (0, 1):
        begin = len(tape.records)
        tape.open(on)
        tape.message(1, on=on, label=f"order {on}", delivery="recoverable")
        if on:
            tape.records[begin:] = map(of_other, tape.records[begin:])


def lives(tape: Tape) -> list[MessageLife]:
    return list(follow(tape.records).lives)


def test_two_hosts_with_one_identifier_send_two_messages(tape: Tape) -> None:
    cloned(tape)
    tape.ack(1)
    reported = lives(tape)
    assert [(one.label, one.src.rpartition(":")[0], one.session, one.twin) for one in reported] == [
        ("order 0", "192.0.2.21", 0, False),
        ("order 1", OTHER, 1, True),
    ]
    assert {one.message_id for one in reported} == {reported[0].message_id}
    assert [(one.outcome, one.resends, one.route) for one in reported] == [
        ("acknowledged", 0, ()),
        ("unknown", 0, ()),
    ]


def test_each_is_sent_again_on_its_own(tape: Tape) -> None:
    cloned(tape)
    first = tape.records[7]
    tape.records += [
        msgspec.structs.replace(one, id=len(tape.records) + at, frames=(90 + at,))
        for at, one in enumerate((tape.records[-1], first, tape.records[-1]), 1)
    ]
    assert first.type == "user_message"
    assert [(one.label, one.resends) for one in lives(tape)] == [("order 0", 1), ("order 1", 2)]


def test_an_acknowledgment_is_about_the_one_that_the_host_sent_to_which_it_goes(tape: Tape) -> None:
    cloned(tape)
    tape.administration_ack(1, 0x4000)
    tape.records[-1] = of_other(tape.records[-1])
    tape.final_ack(1, 0x8004)
    first, second = (one for one in lives(tape) if one.acknowledges is None)
    assert (second.label, second.outcome) == ("order 1", "received")
    assert (first.label, first.nack_class) == ("order 0", 0x8004)


@pytest.mark.slow
def test_twins_go_as_other_messages_do_and_each_is_told_once(tape: Tape) -> None:
    tape.open()
    for number in range(60):
        tape.message(1 + number % 3, label=f"order {number % 7}", delivery="recoverable")
    for most in (1, 2, 5, 60):
        reported: list[Leaving] = []
        follower = StoryFollower(messages=most, leave=reported.append)
        for record in tape.records:
            follower.feed(record)
        reported += follower.finish().lives
        labels = [one.label for one in reported if isinstance(one, MessageLife)]
        assert set(labels) == {f"order {number}" for number in range(7)}
        assert most < 60 or len(labels) == 21


class Looked(dict[bytes | str, FollowedMessage]):
    """Counts how often somebody looks at a message."""

    times = 0

    def __getitem__(self, key: bytes | str) -> FollowedMessage:
        self.times += 1
        return super().__getitem__(key)


def test_what_names_one_of_many_looks_at_few_of_them(tape: Tape) -> None:
    tape.open()
    for number in range(50):
        tape.message(1, label=f"order {number}")
    tracker = LifeTracker()
    tracker.messages = messages = Looked()
    tracker.collisions = IdCollisions(messages)
    for record in tape.records:
        if record.type == "user_message":
            tracker.sent(record, moment_of(record), lambda _: False)
    (key, *others) = messages
    assert isinstance(key, bytes)
    messages.times = 0
    assert tracker.collisions.named(key, f"{OTHER}:1801") is messages.get(key)
    assert tracker.collisions.named(key, "192.0.2.21:1801") is messages.get(others[-1])
    assert messages.times < 5

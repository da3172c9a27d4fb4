"""Where sessions show queue managers."""

from __future__ import annotations

from msmq_wire.detection.queue_manager_hosts import queue_manager_hosts
from msmq_wire.wire.types.guid import NULL_GUID
from tests.sessions.tape import RECEIVER, SENDER, Tape


def test_a_session_shows_a_queue_manager_at_each_of_its_ends() -> None:
    tape = Tape()
    tape.open()
    hosts = queue_manager_hosts(tape.story())
    assert {one: list(places) for one, places in hosts.items()} == {
        SENDER: ["192.0.2.21"],
        RECEIVER: ["192.0.2.10"],
    }
    assert (hosts[SENDER]["192.0.2.21"].frames, hosts[RECEIVER]["192.0.2.10"].frames) == ((4,), (5,))


def test_a_queue_manager_that_is_only_asked_for_is_not_shown() -> None:
    tape = Tape()
    tape.handshake()
    tape.establish(server_guid=RECEIVER)
    assert list(queue_manager_hosts(tape.story())) == [SENDER]


def test_no_queue_manager_has_the_identifier_of_zeros() -> None:
    tape = Tape()
    tape.handshake()
    tape.establish(client_guid=NULL_GUID)
    assert queue_manager_hosts(tape.story()) == {}

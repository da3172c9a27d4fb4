"""What a session shows by what its client did."""

from __future__ import annotations

import pytest

from msmq_wire.detection.session_places import accepted, asked_again
from tests.sessions.tape import Tape


@pytest.mark.parametrize(
    ("waits", "again"),
    [((), False), ((0.5,), False), ((0.5, 0.5), False), ((1.0,), True), ((1.0, 2.0, 4.0), True)],
)
def test_a_client_that_asks_again_a_second_later_was_not_answered(
    waits: tuple[float, ...], again: bool
) -> None:
    tape = Tape()
    tape.tcp("syn")
    for seconds in waits:
        tape.wait(seconds)
        tape.tcp("syn_retransmission")
    assert asked_again(tape.session()) is again


def test_what_a_client_sends_after_its_syns_is_no_syn() -> None:
    tape = Tape()
    tape.tcp("syn")
    tape.wait(0.2)
    tape.tcp("syn_retransmission")
    tape.wait(5)
    tape.tcp("rst")
    assert not asked_again(tape.session())


def test_who_sends_a_proxy_header_was_answered() -> None:
    tape = Tape()
    tape.tcp("syn")
    assert not accepted(tape.session())
    tape.tcp("proxied")
    assert accepted(tape.session())

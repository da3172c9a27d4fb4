"""Messages and queues by their names, as lines of a digest have them."""

from __future__ import annotations

import pytest

from msmq_wire.detection.diagnosis.naming import NamedSubject, named
from tests.sessions.tape import Tape


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("192.0.2.10 orders", 'message "pay to 192.0.2.10 now" to orders'),
        ("msg01 orders", 'message "pay to 192.0.2.10 now" to msg01 orders'),
    ],
)
def test_a_host_that_is_told_already_is_left_out_of_the_queue_and_not_of_the_label(
    place: str, text: str
) -> None:
    one = NamedSubject('message "pay to 192.0.2.10 now" to', place, ())
    assert one.text(("192.0.2.21", "192.0.2.10")) == text


def test_a_record_that_sent_a_message_is_known_by_it() -> None:
    tape = Tape()
    tape.open()
    sent = tape.message(1)
    found = named(tape.story(), {sent.id, 1})
    assert found.keys() == {sent.id}
    assert found[sent.id].what.startswith("message ")

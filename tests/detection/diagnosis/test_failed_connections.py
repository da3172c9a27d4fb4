"""How connections fail, and in which layer the cause of each failure is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from msmq_wire.detection.cause import Cause
from msmq_wire.detection.diagnosis.answer import AnswerBuilder
from msmq_wire.detection.diagnosis.failed_connections import add_failed_connections
from msmq_wire.detection.folding import Fold
from tests.sessions.tape import Tape


def _cause(tape: Tape) -> Cause:
    tape.wait(100)
    tape.tcp("syn", on=99, src="198.51.100.1:1025", dst="198.51.100.2:1802")
    story = tape.story()
    builder = AnswerBuilder(story.visibility)
    add_failed_connections(story, Fold(), builder)
    (cause,) = builder.causes
    return cause


def _reset(tape: Tape) -> None:
    tape.tcp("syn")
    tape.tcp("rst", 1)


def _silent(tape: Tape) -> None:
    tape.tcp("syn")


def _establishing(tape: Tape) -> None:
    tape.handshake()
    tape.establish()


def _refused(tape: Tape) -> None:
    tape.handshake()
    tape.establish()
    tape.establish(1, cs=True)


@pytest.mark.parametrize(
    ("scene", "layer"),
    [(_reset, "host"), (_silent, "network"), (_establishing, "queue manager"), (_refused, "queue manager")],
)
def test_the_layer_of_a_failed_connection_is_that_of_who_did_not_answer(
    scene: Callable[[Tape], None], layer: str
) -> None:
    tape = Tape()
    scene(tape)
    assert _cause(tape).layer == layer

"""What is said of a host that connects to many others in vain."""

from __future__ import annotations

import msgspec
import pytest

from msmq_wire.detection.diagnosis.answer import AnswerBuilder
from msmq_wire.detection.diagnosis.port_sweeps import port_sweeps
from msmq_wire.records.record import Record
from msmq_wire.sessions import Session
from tests.sessions.tape import Tape

_ANSWERED = "2 answered (198.51.100.8 and 198.51.100.9)"


def _failure(session: Session) -> str | None:
    if session.state == "open":
        return None
    return "other" if session.server in ("198.51.100.8:1801", "198.51.100.9:1801") else "silence"


@pytest.mark.parametrize(
    ("hosts", "reported"), [(range(10, 20), "10 were silent"), (range(10), f"8 were silent and {_ANSWERED}")]
)
def test_hosts_that_answered_are_named_once_and_none_not_at_all(hosts: range, reported: str) -> None:
    tape, builder = Tape(), AnswerBuilder()
    for host in hosts:
        tape.tcp("syn", on=host, dst=f"198.51.100.{host}:1801", src="192.0.2.77:1025")
    assert port_sweeps(tape.story(), _failure, builder) == {"192.0.2.77"}
    (cause,) = builder.causes
    assert f" and opened no session with them: {reported}; a scan does this" in cause.text


def test_a_host_with_which_a_session_opened_is_none_of_those_that_were_tried_in_vain() -> None:
    tape, builder = Tape(), AnswerBuilder()
    for host in range(10, 20):
        tape.tcp("syn", on=host, dst=f"198.51.100.{host}:1801", src="192.0.2.77:1025")
    for record in _opened():
        ends = {"192.0.2.21": "192.0.2.77", "192.0.2.10": "198.51.100.19"}
        src, dst = (_renamed(end or "", ends) for end in (record.src, record.dst))
        number = len(tape.records) + 1
        tape.records.append(msgspec.structs.replace(record, id=number, src=src, dst=dst))
    assert port_sweeps(tape.story(), _failure, builder) == frozenset()
    assert builder.causes == []


def _opened() -> list[Record]:
    tape = Tape()
    tape.open(99)
    return tape.records


def _renamed(end: str, names: dict[str, str]) -> str:
    host, _, port = end.rpartition(":")
    return f"{names[host]}:{port}"

"""What is said of a host that connects to many others in vain."""

from __future__ import annotations

import pytest

from msmq_wire.findings.diagnosis.answer import Telling
from msmq_wire.findings.diagnosis.sweeps import port_sweeps
from msmq_wire.sessions import Session
from tests.sessions.tape import Tape

_ANSWERED = "2 answered (198.51.100.8 and 198.51.100.9)"


def _failure(session: Session) -> str:
    return "other" if session.server in ("198.51.100.8:1801", "198.51.100.9:1801") else "silence"


@pytest.mark.parametrize(
    ("hosts", "told"), [(range(10, 20), "10 were silent"), (range(10), f"8 were silent and {_ANSWERED}")]
)
def test_hosts_that_answered_are_named_once_and_none_not_at_all(hosts: range, told: str) -> None:
    tape, telling = Tape(), Telling()
    for host in hosts:
        tape.tcp("syn", on=host, dst=f"198.51.100.{host}:1801", src="192.0.2.77:1025")
    assert port_sweeps(tape.story(), _failure, telling) == {"192.0.2.77"}
    (cause,) = telling.causes
    assert f" and opened no session: {told}; a scan does this" in cause.text

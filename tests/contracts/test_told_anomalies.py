"""Every anomaly and every error of a packet reaches a rule, or there is a reason why not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from msmq_wire.detection import RULES, judge
from msmq_wire.errors import DecodeError
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.musts import Anomaly
from msmq_wire.wire.packets.message_packet import MessagePacket
from msmq_wire.wire.packets.user_message import UserMessage
from tests.contracts.structures import structures

_ROOT = Path(__file__).resolve().parents[2] / "msmq_wire"
_CODE = re.compile(r'"([a-z_]+\.[a-z]+(?:-[a-z]+)*)"')
_PROBLEM = re.compile(r'\b(?:problem|_problem)\(\s*"([a-z]+(?:-[a-z]+)*)"')
_BY_VALUE = {
    "user_header.hops": "FLG-RC looks at RC itself",
    "connection_parameters_header.ack-timeout": "SES-PARM looks at the time-outs of a session",
    "connection_parameters_header.recoverable-ack-timeout": "SES-PARM looks at the time-outs of a session",
    "orpc_this.flags": "a header of COM: no rule of Message Queuing is about it",
    "ndr.array-of-pointers": "the other reading of the IDL, which independent servers have",
    "ndr.opaque": "an object of COM that is not read: no rule of Message Queuing is about it",
}
"""What no rule asks for by its code, and why."""
_MUST = RULES["FRM-MUST"]


def _codes() -> set[str]:
    found = {f"{cls.stem()}.{must.code}" for cls in structures() for must in cls.MUSTS}
    for folder, stem in (("rpc", "ndr"), ("reassembly", "sections")):
        for path in (_ROOT / folder).rglob("*.py"):
            found |= {f"{stem}.{code}" for code in _PROBLEM.findall(path.read_text(encoding="utf-8"))}
    return found


def _asked() -> set[str]:
    sources = [path for path in (_ROOT / "detection" / "rules").glob("*.py") if path.stem != _MUST.stem]
    reported = {code for path in sources for code in _CODE.findall(path.read_text(encoding="utf-8"))}
    # The rule for the rest asks for what is left.
    assert reported.isdisjoint(set(_MUST.codes) - {"missing-bytes"})
    return reported.union(_MUST.codes)


def _broken(code: str, type_: str) -> Record:
    anomaly = Anomaly(
        code=code, message="no", path="x", offset=0, length=1, spec=SpecRef("MS-MQMQ", "2.2.19")
    )
    packet = MessagePacket() if type_ == "message_packet" else UserMessage()
    return Record(id=1, type=type_, anomalies=(anomaly,), packet=packet)


def test_every_anomaly_is_asked_for_by_a_rule_or_has_a_reason() -> None:
    codes = _codes()
    assert len(codes) > 160
    assert sorted(codes - _asked() - set(_BY_VALUE)) == []


def test_a_reason_is_given_only_for_what_there_is_and_no_rule_asks_for() -> None:
    assert sorted(set(_BY_VALUE) - _codes()) == []
    assert sorted(set(_BY_VALUE) & _asked()) == []


def test_what_has_no_rule_of_its_own_is_told_by_the_rule_for_the_rest() -> None:
    anomalies = [code for code in _MUST.codes if "." in code]
    assert len(anomalies) > 80
    silent = [
        code for code in anomalies if not list(judge([_broken(code, "user_message")], {"FRM-MUST": _MUST}))
    ]
    assert silent == []


@pytest.mark.parametrize("type_", ["user_message", "message_packet"])
@pytest.mark.parametrize("code", ["missing-bytes", "past-packet-size", "negative-length", "unknown-selector"])
def test_every_error_of_a_packet_reaches_a_finding(code: str, type_: str) -> None:
    packet = _broken("a.b", type_).packet
    sized = type(packet)(base_header=type(packet.base_header)(packet_size=200))
    error = DecodeError(code, "no", path="security_header.flags", offset=150)
    record = Record(id=1, type=type_, error=error, packet=sized, length=190, stream=1)
    started = Record(id=0, type="tcp_stream", stream=1, event="syn")
    assert [one.id for one in judge([started, record]) if one.severity != "info"] != []

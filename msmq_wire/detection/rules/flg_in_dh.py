"""FLG-IN-DH: bits of BaseHeader.Flags that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule, broken
from msmq_wire.detection.suricata_signature import ON_WIRE, SuricataSignature
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.headers.base_header import BaseHeader

_CODES = (
    "base_header.tracing",
    "establish_connection.no-debug-header",
    "connection_parameters.no-debug-header",
    "session_ack.no-debug-header",
)


def _check(record: Record, context: Context) -> Iterator[Detection]:
    for anomaly, place in broken(record, _CODES):
        flags = record.packet.base_header.flags
        yield Detection(message=f"BaseHeader.Flags is 0x{flags:04X}: {anomaly.message}", evidence=(place,))


_IN, _DH, _TR = 1 << 3, 1 << 5, 1 << 8


RULE = Rule(
    id="FLG-IN-DH",
    title="A contradiction in BaseHeader.Flags",
    severity="low",
    spec=(SpecRef("MS-MQMQ", "2.2.19.1"),),
    meaning="DH announces a DebugHeader. Internal packets (IN) never have one. TR asks for tracing, which "
    "needs a DebugHeader.",
    action="Find out what the sender is.",
    harmless="A program with its own, faulty implementation of the protocol.",
    codes=_CODES,
    check=_check,
    suricata=(
        SuricataSignature(
            number=240,
            on=ON_WIRE,
            packet=BaseHeader,
            match=(this.flags & _IN != 0, this.flags & _DH != 0),
            says="a DebugHeader in an internal packet",
        ),
        SuricataSignature(
            number=241,
            on=ON_WIRE,
            packet=BaseHeader,
            match=(this.flags & _TR != 0, this.flags & _DH == 0),
            says="tracing without a DebugHeader",
        ),
    ),
)

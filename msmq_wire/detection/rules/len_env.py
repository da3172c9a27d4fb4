"""LEN-ENV: the length of an SRMP envelope exceeds its packet, or overflows when it is doubled."""

from __future__ import annotations

from msmq_wire.detection.false_lengths import FRAMED, UNREADABLE, lying_lengths
from msmq_wire.detection.finding import Severity
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Rule
from msmq_wire.detection.suricata_signature import ON_WIRE, SuricataSignature
from msmq_wire.engines.field_offsets import span
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.headers.srmp_envelope_header import SRMPEnvelopeHeader
from msmq_wire.wire.musts import Anomaly
from msmq_wire.wire.packets.user_message import UserMessage

_CODES = ("srmp_envelope_header.data-length-wrap",)
_MEASURES = {"srmp_envelope_header.data": "srmp_envelope_header.data_length"}


def _explain(record: Record, anomaly: Anomaly) -> tuple[str, Severity | None]:
    length = reached(record.packet, anomaly.path)
    claim = f"it claims {length:,} characters ({length:#010x}), and their size in bytes overflows 32 bits"
    return f"{claim}: the published condition of CVE-2023-21554", None


_AH = 1 << 25
_BEFORE, _ = span(SRMPEnvelopeHeader(), "data")
_COUNT, _ = span(SRMPEnvelopeHeader(), "data_length")


RULE = Rule(
    id="LEN-ENV",
    title="SRMP envelope longer than its packet",
    severity="high",
    confidence="published",
    layer="host",
    spec=(SpecRef("MS-MQRR", "2.2.5.1.2.1"),),
    meaning="DataLength counts characters of two bytes. Doubled in 32 bits, a value of 0x80000000 or more "
    "overflows, and the receiver looks for the next header in the wrong place. A smaller value that reaches "
    "past the packet is also wrong, but does not overflow.",
    action="Find out what the sender is; check that the receiver has the fixes of April 2023. Look at what "
    "the receiver did after this packet.",
    harmless="Scanners send such a packet to see whether a host has the fix. They set only the top bit: the "
    "other bits hold the correct length.",
    cves=("CVE-2023-21554",),
    event="MSMQ 2027",
    explains=("SES-NAKED",),
    prefers=FRAMED,
    types=("user_message", "message_packet"),
    codes=(*_CODES, *UNREADABLE),
    check=lying_lengths(
        codes=_CODES,
        measures=_MEASURES,
        severity="high",
        explain=_explain,
        # AH announces the header.
        tells=("user_header.flags",),
    ),
    suricata=(
        SuricataSignature(
            number=300,
            on=ON_WIRE,
            packet=UserMessage,
            match=(
                this.user_header.flags & _AH != 0,
                # The envelope begins with it, in UTF-16; its header stands before.
                b"<\0",
                f"byte_test:4,=,0,-{_BEFORE + 2},relative,little",
                f"byte_test:4,>=,{1 << 31},-{_BEFORE - _COUNT + 2},relative,little",
            ),
            says="length of an SRMP envelope that wraps",
        ),
    ),
)

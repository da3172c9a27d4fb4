"""FRM-SIG: a packet must start here, but its signature or version is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msmq_wire.detection.packet_fields import PACKETS, begins_side, starts_like_a_packet
from msmq_wire.detection.rule import Context, Detection, Rule, broken, evidence_of
from msmq_wire.detection.suricata_signature import ON_WIRE, SuricataSignature
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.headers.base_header import SIGNATURE, VERSION_NUMBER, BaseHeader
from msmq_wire.wire.stream import counted

_VERSION, _SIGNATURE = "base_header.version-number", "base_header.signature"


_PREAMBLES = re.compile(
    rb"(?P<HTTP>(?:GET|HEAD|POST|PUT|DELETE|CONNECT|OPTIONS|TRACE|PATCH|PRI) [^\r\n]{0,256}HTTP/|HTTP/1)"
    rb"|(?P<TLS>\x16\x03[\x00-\x04]..[\x01\x02])"
    rb"|(?P<SSH>SSH-[12]\.)"
    rb"|(?P<PROXY>PROXY |\r\n\r\n\0\r\nQUIT\n)"
    rb"|(?P<RDP>\x03\0..[\x02-\x7f]\xe0)"
    rb"|(?P<SMB>....[\xfe\xff]SMB)"
    rb"|(?P<RPC>\x05\0[\x00-\x13].[\x00\x10]\0\0\0)",
    re.DOTALL,
)
"""The first bytes of other protocols that are seen on port 1801."""


def _protocol_name(data: bytes) -> str:
    """The name of the protocol that the bytes look like."""
    found = _PREAMBLES.match(data)
    return "" if found is None else f" of {found.lastgroup}"


def _check(record: Record, context: Context) -> Iterator[Detection]:
    if record.type != "gap":
        if record.anomalies:
            for anomaly, place in broken(record, (_VERSION, _SIGNATURE)):
                header = record.packet.base_header
                if anomaly.code == _VERSION:
                    message = f"VersionNumber is 0x{header.version_number:02X}, it must be 0x10"
                else:
                    message = f"Signature is 0x{header.signature:08X}, it must be 0x524F494C"
                yield Detection(message=message, evidence=(place,), needs=(), prefers=())
    elif record.reason == "no-signature":
        shown = evidence_of(record, data=record.remainder)
        if not begins_side(record) and starts_like_a_packet(record.remainder):
            signature = record.remainder[4:8].hex(" ")
            yield Detection(
                message=f"after a packet comes a BaseHeader whose signature is {signature}, "
                "not 4c 49 4f 52 (LIOR)",
                evidence=(shown,),
            )
        elif begins_side(record):
            behind = " behind its PROXY header" if record.offset else ""
            yield Detection(
                message=f"this side of the connection begins{behind} with {counted(record.length)}"
                f"{_protocol_name(record.remainder)}, not with an MSMQ packet",
                evidence=(shown,),
                severity="low",
                caveats=("nothing before them shows that this side speaks MSMQ",),
                needs=("opening", "before_here"),
            )


RULE = Rule(
    id="FRM-SIG",
    title="No packet where one must start",
    severity="medium",
    spec=(SpecRef("MS-MQQB", "3.1.5.1.2"), SpecRef("MS-MQMQ", "2.2.19.1")),
    meaning="Every packet begins with version 0x10 and the signature LIOR. A queue manager that finds "
    "something else closes the session.",
    action="Look at the bytes: they may come from another protocol on the port, a scanner, or a sender that "
    "builds packets by hand.",
    harmless="Another service uses the port. Bytes that follow a gap in the capture are not judged.",
    explains=("CNT-", "FLG-", "FRM-", "TIM-"),
    needs=("before_here",),
    prefers=("opening",),
    withheld=True,
    types=("gap", *PACKETS),
    when=(),
    check=_check,
    suricata=(
        SuricataSignature(
            number=100,
            on=ON_WIRE,
            packet=BaseHeader,
            guarded=False,
            match=(
                this.version_number == VERSION_NUMBER,
                this.signature != SIGNATURE.to_bytes(4, "little"),
                # A segment that is a packet by its PacketSize.
                "byte_math:bytes 4, offset 8, oper -, rvalue 1, result last, endian little",
                "isdataat:last",
                "byte_extract:4,8,size,little",
                "isdataat:!size",
            ),
        ),
        SuricataSignature(
            number=101,
            on=ON_WIRE,
            packet=BaseHeader,
            guarded=False,
            match=(
                this.version_number != bytes([VERSION_NUMBER]),
                this.signature == SIGNATURE,
                "byte_math:bytes 4, offset 8, oper -, rvalue 1, result last, endian little",
                "isdataat:last",
                "byte_extract:4,8,size,little",
                "isdataat:!size",
            ),
            says="a packet of another version",
        ),
    ),
)

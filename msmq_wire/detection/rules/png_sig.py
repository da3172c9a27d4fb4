"""PNG-SIG: a datagram on the ping port that is not a valid ping."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule, broken, evidence_of
from msmq_wire.detection.suricata_signature import PINGS, SuricataSignature
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.packets.ping import PING_SIGNATURE, Ping

_CODES = ("ping.signature",)
_SIZE = 24


def _check(record: Record, context: Context) -> Iterator[Detection]:
    for _, place in broken(record, _CODES):
        signature = record.packet.signature
        yield Detection(message=f"Signature is 0x{signature:04x}, not 0x5548", evidence=(place,))
    if record.length != _SIZE:
        yield Detection(
            message=f"the datagram has {record.length} bytes, a ping has {_SIZE}",
            evidence=(evidence_of(record),),
            caveats=("the capture may have cut it",) if record.length < _SIZE else (),
        )


RULE = Rule(
    id="PNG-SIG",
    title="A datagram on UDP 3527 that is not a ping",
    severity="low",
    spec=(SpecRef("MS-MQQB", "2.2.7"),),
    meaning="A ping has 24 bytes. Its third and fourth byte are 0x5548.",
    action="Find out what else uses the port. Scanners send the two bytes of the signature in reverse order.",
    harmless="Another service on this port.",
    types=("ping",),
    when=(this._.length != _SIZE,),
    check=_check,
    suricata=(
        SuricataSignature(
            number=800, on=PINGS, match=(f"dsize:!{_SIZE}",), says="a datagram on UDP 3527 of another size"
        ),
        SuricataSignature(
            number=801,
            on=PINGS,
            packet=Ping,
            guarded=False,
            match=(f"dsize:{_SIZE}", this.signature != PING_SIGNATURE.to_bytes(2, "little")),
        ),
    ),
)

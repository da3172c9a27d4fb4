"""PNG-RF: a queue manager refuses a connection in its answer to a ping."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule, evidence_of
from msmq_wire.detection.suricata_signature import PING_ANSWERS, SuricataSignature
from msmq_wire.engines.field_offsets import size
from msmq_wire.records.endpoint import AT_PING
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.packets.ping import PING_SIGNATURE, Ping

_RF = 1 << 1
_SIZE = size(Ping())


def _check(record: Record, context: Context) -> Iterator[Detection]:
    ping = record.packet
    if not isinstance(ping, Ping) or ping.signature != PING_SIGNATURE:
        return
    if not str(record.src).endswith(AT_PING) or str(record.dst).endswith(AT_PING):
        return
    if ping.bit("rf"):
        yield Detection(
            message=f"{record.src} answers that it refuses connections",
            evidence=(evidence_of(record, "flags", 0, 2, ping.flags.to_bytes(2, "little")),),
        )


RULE = Rule(
    id="PNG-RF",
    title="A ping is answered with a refusal",
    severity="info",
    spec=(SpecRef("MS-MQQB", "2.2.7"),),
    meaning="The queue manager runs and refuses this client. Messages wait until it accepts the client.",
    action="Look at the number of sessions and licences on the server.",
    harmless="A limit that was reached only for a while.",
    types=("ping",),
    when=(this.flags & _RF != 0,),
    check=_check,
    suricata=(
        SuricataSignature(
            number=805, on=PING_ANSWERS, packet=Ping, match=(f"dsize:{_SIZE}", this.flags & _RF != 0)
        ),
    ),
)

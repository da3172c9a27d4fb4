"""DSD-FORM: a packet of directory service discovery is malformed."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule, broken, evidence_of
from msmq_wire.detection.suricata_signature import DISCOVERY, SuricataSignature
from msmq_wire.engines.field_offsets import size
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.packets.topology_client_request import TopologyClientRequest
from msmq_wire.wire.types.enumerations import TopologyPacketType

_CODES = (
    "topology_client_request.version",
    "topology_client_request.type",
    "topology_client_request.reserved",
    "topology_client_request.ipx-networks",
    "ipx_networks.ipx-network-count",
    "topology_server_reply.type",
    "topology_server_reply.connected-network-count",
    "topology_server_reply.connected-network-mask",
    "topology_server_reply.directory-service-servers",
)
_TYPES = ("topology_client_request", "topology_server_reply")


def _check(record: Record, context: Context) -> Iterator[Detection]:
    found = list(broken(record, _CODES))
    if found:
        said = dict.fromkeys(f"{anomaly.path}: {anomaly.message}" for anomaly, _ in found)
        yield Detection(message="; ".join(said), evidence=tuple(place for _, place in found))
    error = record.error
    if error is not None:
        yield Detection(
            message=f"{error.path}: {error.message}",
            evidence=(evidence_of(record, error.path, error.offset or 0),),
            caveats=("the capture may have cut it",),
        )


_REQUEST = size(TopologyClientRequest())


RULE = Rule(
    id="DSD-FORM",
    title="A malformed packet of directory service discovery",
    severity="low",
    spec=(SpecRef("MS-MQSD", "2.2"), SpecRef("MS-MQSD", "3.1.5.2")),
    meaning="A client of MSMQ 1.0 or 2.0 discards a malformed reply. A server that reads past the end of a "
    "request may fail.",
    action="Find out what the sender is: no queue manager sends such a packet.",
    harmless="Another protocol on UDP 1801.",
    types=_TYPES,
    codes=(*_CODES, "missing-bytes"),
    check=_check,
    suricata=(
        SuricataSignature(
            number=820,
            on=DISCOVERY,
            packet=TopologyClientRequest,
            match=(
                this.topology_packet_header.type == TopologyPacketType.TOPOLOGY_CLIENT_REQUEST,
                f"dsize:>{_REQUEST + 3}",
            ),
            says="a request for directory servers with networks of IPX",
        ),
    ),
)

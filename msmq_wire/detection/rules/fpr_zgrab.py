"""FPR-ZGRAB: an EstablishConnection request like those of the scanner zgrab2."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.fingerprints import Fingerprint, fingerprinted
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.session_places import is_from_server
from msmq_wire.detection.suricata_signature import TO_SERVER, SuricataSignature
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.packets.establish_connection import EstablishConnection
from msmq_wire.wire.types.guid import NULL_GUID

_HEADER = "establish_connection_header"
_SWAPPED = 0x1080
"""The value of OperatingSystem with the bytes 80 10."""


_CLIENT = this.establish_connection_header.client_guid == NULL_GUID
_TIME = this.establish_connection_header.time_stamp == 0
_SYSTEM = this.establish_connection_header.operating_system == _SWAPPED


def _check(record: Record, context: Context) -> Iterator[Detection]:
    # A response repeats what was asked.
    if not is_from_server(record):
        yield from fingerprinted(record, _marks(record))


def _marks(record: Record) -> Iterator[Fingerprint]:
    # That ServerGuid and padding are zero is usual in requests.
    header = reached(record.packet, _HEADER)
    if reached(header, "client_guid") == NULL_GUID:
        yield f"{_HEADER}.client_guid", "ClientGuid is zero"
    if reached(header, "time_stamp") == 0:
        yield f"{_HEADER}.time_stamp", "TimeStamp is 0"
    if reached(header, "operating_system") == _SWAPPED:
        yield f"{_HEADER}.operating_system", "OperatingSystem is 80 10 (bytes swapped)"


RULE = Rule(
    id="FPR-ZGRAB",
    title="A request like the MSMQ module of zgrab2",
    severity="medium",
    confidence="likely",
    layer="host",
    spec=(SpecRef("MS-MQQB", "2.2.3.1"),),
    meaning="The scanner zgrab2 sends a request with zeros for GUIDs and TimeStamp, and with the two bytes "
    "of OperatingSystem swapped. Services that map the Internet use it.",
    action="Find out who scans. If the scan comes from another network, close port 1801 to it.",
    harmless="Your own scan, or another program that leaves these fields zero.",
    explains=("SES-OS", "SES-PAD"),
    types=("establish_connection",),
    when=((_CLIENT & _TIME) | (_CLIENT & _SYSTEM) | (_TIME & _SYSTEM),),
    check=_check,
    suricata=(
        SuricataSignature(
            number=855, on=TO_SERVER, packet=EstablishConnection, match=(_CLIENT, _TIME, _SYSTEM)
        ),
    ),
)

"""`Record` as `msmq_wire` gives it: without brackets, its packet is all that a packet can be, and not Any."""

from typing_extensions import TypeVar

from msmq_wire.records import record
from msmq_wire.records.composed import RecordPacket

_PacketT_co = TypeVar("_PacketT_co", covariant=True, default=RecordPacket)

class Record(record.Record[_PacketT_co], frozen=True, kw_only=True, gc=False): ...

"""BaseHeader, [MS-MQMQ] 2.2.19.1."""

from typing import Annotated, ClassVar

from construct import Int8ul, Int16ul, Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.fields import Unit, WireStruct
from msmq_wire.wire.musts import BitTable, Must, Musts

VERSION_NUMBER = 0x10
SIGNATURE = 0x524F494C
"""The bytes ``4C 49 4F 52``, "LIOR", as a little-endian number."""
MAX_PACKET_SIZE = 0x00400000
INFINITE = 0xFFFFFFFF


class BaseHeader(WireStruct, frozen=True, kw_only=True, gc=False):
    """First 16 bytes of every packet of the binary protocol."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.19.1")
    version_number: Annotated[int, Int8ul, "Version of the packet format, 0x10."] = VERSION_NUMBER
    reserved: Annotated[int, Int8ul, "Arbitrary in real traffic; ignored."] = 0
    flags: Annotated[int, Int16ul, "Priority, and which headers are present."] = 3
    signature: Annotated[int, Int32ul, 'Signature, the bytes "LIOR".'] = SIGNATURE
    packet_size: Annotated[int, Int32ul, "Bytes of the packet, padding counted."] = 0
    time_to_reach_queue: Annotated[
        int,
        Int32ul,
        Unit("seconds"),
        "Seconds after SentTime; in a remote-read packet the absolute time.",
    ] = INFINITE

    BITS: ClassVar[BitTable | None] = BitTable(
        "flags",
        pr=(0, 3, "priority", True),
        in_=(3, "internal packet"),
        sh=(4, "SessionHeader follows"),
        dh=(5, "DebugHeader follows"),
        x9=6,
        x8=7,
        tr=(8, "message is traced"),
        x6=9,
        x5=10,
        x4=11,
        x3=12,
        x2=13,
        x1=14,
        x0=15,
    )
    MUSTS: ClassVar[Musts] = (
        Must(
            "version-number",
            this.version_number == VERSION_NUMBER,
            at="version_number",
            message="VersionNumber must be 0x10",
        ),
        Must(
            "signature",
            this.signature == SIGNATURE,
            at="signature",
            message="Signature must be 0x524F494C",
        ),
        Must(
            "packet-size-maximum",
            this.packet_size <= MAX_PACKET_SIZE,
            at="packet_size",
            message="PacketSize must not exceed 0x00400000",
        ),
        Must(
            "tracing",
            (this.flags & 0x100 == 0) | (this.flags & 0x20 != 0),
            at="flags",
            message="TR requires DH",
        ),
    )

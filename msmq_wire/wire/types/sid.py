"""SID, [MS-DTYP] 2.4.2.2."""

from typing import Annotated, ClassVar

from construct import BytesInteger, Int8ul, Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.fields import Items, WireStruct
from msmq_wire.wire.musts import Must, Musts


class SID(WireStruct, frozen=True, kw_only=True, gc=False):
    """A security identifier; its authority is big-endian in an otherwise little-endian packet."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-DTYP", "2.4.2.2")
    revision: Annotated[int, Int8ul, "Version of the structure."] = 1
    sub_authority_count: Annotated[int, Int8ul, "Number of sub-authorities, at most 15."] = 0
    identifier_authority: Annotated[int, BytesInteger(6), "Who created the SID."] = 5
    sub_authority: Annotated[
        tuple[int, ...], Items(this.sub_authority_count, Int32ul), "Sub-authorities."
    ] = ()

    MUSTS: ClassVar[Musts] = (
        Must("revision", this.revision == 1, at="revision", message="Revision must be 1"),
        Must(
            "sub-authority-count",
            this.sub_authority_count <= 15,
            at="sub_authority_count",
            message="there can be at most 15 sub-authorities",
        ),
    )

    def __str__(self) -> str:
        parts = [self.revision, self.identifier_authority, *self.sub_authority]
        return "S-" + "-".join(str(part) for part in parts)

"""ExtendedAddressHeader, [MS-MQRR] 2.2.5.5."""

from typing import Annotated, ClassVar

from construct import Int16ul, Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import one_of, this
from msmq_wire.wire.fields import OWN_SIZE, Bytes, Rest, WireStruct
from msmq_wire.wire.headers.user_header import ADDRESS_LENGTH, SHOWN_ADDRESS
from msmq_wire.wire.musts import Must, Musts
from msmq_wire.wire.private import HOST
from msmq_wire.wire.types.enumerations import AddressType


class ExtendedAddressHeader(WireStruct, frozen=True, kw_only=True, gc=False):
    """The host that a message came from, whole."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQRR", "2.2.5.5")
    header_size: Annotated[int, Int32ul, OWN_SIZE, "Bytes of this header, 28."] = 28
    address_length: Annotated[int, Int16ul, "Bytes of the address."] = 0
    address_type: Annotated[int, Int16ul, AddressType, "Kind of address; 0 for no address."] = 0
    address_scope: Annotated[int, Int32ul, "IPv6 scope, else 0."] = 0
    address: Annotated[bytes, Bytes(16), SHOWN_ADDRESS, HOST, "The address."] = bytes(16)
    undeclared: Annotated[bytes, Rest(this.header_size - 28), "What HeaderSize counts beyond 28 bytes."] = b""

    MUSTS: ClassVar[Musts] = (
        Must("header-size", this.header_size == 28, at="header_size", message="HeaderSize must be 28"),
        Must(
            "address-type",
            one_of(this.address_type, 0, 1, 6),
            at="address_type",
            message="AddressType must be 0, 1 or 6",
        ),
        ADDRESS_LENGTH,
        Must(
            "address-scope",
            (this.address_scope == 0) | one_of(this.address_type, 0, 6),
            at="address_scope",
            message="AddressScope must be 0 unless the address is IPv6",
        ),
    )

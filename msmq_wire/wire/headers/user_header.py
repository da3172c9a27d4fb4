"""UserHeader, [MS-MQMQ] 2.2.19.2, and its overlay in remote read, [MS-MQRR] 2.2.5.1."""

import ipaddress
from typing import Annotated, ClassVar

from construct import Int16ul, Int32ul

from msmq_wire.arguments import unknown_name
from msmq_wire.errors import FormatNameError
from msmq_wire.spec import SpecRef
from msmq_wire.wire import names
from msmq_wire.wire.expressions import one_of, this
from msmq_wire.wire.fields import Ahead, Bytes, Choice, Node, Opt, Unit, WireStruct, fields
from msmq_wire.wire.musts import BitTable, Must, Musts
from msmq_wire.wire.private import HOST, PUBLIC
from msmq_wire.wire.shown import ShownQueue, ShownText
from msmq_wire.wire.types.direct_queue_format_name import DirectQueueFormatName
from msmq_wire.wire.types.enumerations import AddressType, DeliveryMode, QueueType
from msmq_wire.wire.types.guid import GUID, NULL_GUID, Guid
from msmq_wire.wire.types.private_queue_format_name import PrivateQueueFormatName
from msmq_wire.wire.types.private_queue_format_name_id import PrivateQueueFormatNameId
from msmq_wire.wire.types.public_queue_format_name import PublicQueueFormatName

QueueName = PrivateQueueFormatNameId | PublicQueueFormatName | PrivateQueueFormatName | DirectQueueFormatName

_PRIVATE_ID = Node(PrivateQueueFormatNameId)
_PUBLIC = Node(PublicQueueFormatName)
_PRIVATE = Node(PrivateQueueFormatName)
_DIRECT = Node(DirectQueueFormatName)


ADDRESS_LENGTH = Must(
    "address-length",
    ((this.address_type != 1) | (this.address_length == 4))
    & ((this.address_type != 6) | (this.address_length == 16)),
    at="address_length",
    message="AddressLength must be the length of the address",
)


def address_text(address_type: int, address: bytes) -> str | None:
    """An address as IP text by its type; None when it is no whole address."""
    if address_type == AddressType.IP_ADDRESS_TYPE and len(address) >= 4:
        return str(ipaddress.IPv4Address(bytes(address[:4])))
    if address_type == AddressType.IPV6_ADDRESS_TYPE and len(address) == 16:
        return str(ipaddress.IPv6Address(bytes(address)))
    return None


def _is_whole(address_type: int, address: bytes) -> bool:
    return address_type != AddressType.IP_ADDRESS_TYPE or not any(address[4:])


def address_bytes(address_type: int, text: str, size: int) -> bytes | None:
    """The ``size`` bytes of an address that `address_text` shows; None for a text of another type."""
    try:
        if address_type == AddressType.IP_ADDRESS_TYPE:
            return ipaddress.IPv4Address(text).packed.ljust(size, b"\0")
        if address_type == AddressType.IPV6_ADDRESS_TYPE and "%" not in text and size == 16:
            return ipaddress.IPv6Address(text).packed
    except ValueError:
        pass
    return None


SHOWN_ADDRESS = ShownText(address_text, by="address_type", whole=_is_whole, value=address_bytes)


class AddressOverlay(WireStruct, frozen=True, kw_only=True, gc=False):
    """The host a message came from, in the place of QueueManagerAddress."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQRR", "2.2.5.1")
    address_length: Annotated[int, Int16ul, "Bytes of the whole address; more than 8 for IPv6."] = 4
    address_type: Annotated[int, Int16ul, AddressType, "Kind of address."] = AddressType.IP_ADDRESS_TYPE
    address_scope: Annotated[int, Int32ul, "IPv6 scope, else 0."] = 0
    address: Annotated[bytes, Bytes(8), SHOWN_ADDRESS, HOST, "As much of the address as fits."] = bytes(8)

    MUSTS: ClassVar[Musts] = (
        Must(
            "address-type",
            one_of(this.address_type, 1, 6),
            at="address_type",
            message="AddressType must be 1 (IPv4) or 6 (IPv6)",
        ),
        Must(
            "address-scope",
            (this.address_scope == 0) | (this.address_type == 6),
            at="address_scope",
            message="AddressScope must be 0 unless the address is IPv6",
        ),
        ADDRESS_LENGTH,
    )


class UserHeader(WireStruct, frozen=True, kw_only=True, gc=False):
    """Where a message comes from, where it goes, where answers go, and which headers follow."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.19.2")
    CONTEXT: ClassVar = {"remote_read": 0}
    source_queue_manager: Annotated[GUID, Guid, HOST, "Queue manager that sent the message first."] = (
        NULL_GUID
    )
    _flags: ClassVar[Annotated[int, Ahead(Int32ul, 28, field="flags")]]
    queue_manager_address: Annotated[
        GUID | AddressOverlay,
        Choice(
            (this.remote_read == 1) & (this._flags >= 0) & (this._flags >> 10 & 7 == 7),
            {0: Guid, 1: Node(AddressOverlay)},
        ),
        HOST,
        "Destination queue manager; NULL with a direct name. In remote read with a direct name, the host "
        "the message came from.",
    ] = NULL_GUID
    time_to_be_received: Annotated[int, Int32ul, Unit("seconds"), "Seconds to live until received."] = (
        0xFFFFFFFF
    )
    sent_time: Annotated[int, Int32ul, Unit("unix-time"), "When the packet was sent, UTC."] = 0
    message_id: Annotated[int, Int32ul, "Number of the message at its sender."] = 0
    flags: Annotated[int, Int32ul, "Hops, delivery, journaling, queue types, and which headers follow."] = (
        0x200000
    )
    destination_queue: Annotated[
        PrivateQueueFormatNameId | PublicQueueFormatName | DirectQueueFormatName | None,
        Choice(this.flags >> 10 & 7, {0: None, 3: _PRIVATE_ID, 5: _PUBLIC, 7: _DIRECT}),
        ShownQueue("dq"),
        "Final destination.",
    ] = None
    admin_queue: Annotated[
        QueueName | None,
        Choice(
            this.flags >> 13 & 7,
            {0: None, 2: _PRIVATE_ID, 3: _PRIVATE_ID, 5: _PUBLIC, 6: _PRIVATE, 7: _DIRECT},
        ),
        ShownQueue("aq"),
        "Where administration acknowledgments go.",
    ] = None
    response_queue: Annotated[
        QueueName | None,
        Choice(
            this.flags >> 16 & 7,
            {
                0: None,
                1: None,
                2: _PRIVATE_ID,
                3: _PRIVATE_ID,
                4: _PRIVATE_ID,
                5: _PUBLIC,
                6: _PRIVATE,
                7: _DIRECT,
            },
        ),
        ShownQueue("rq"),
        "Where a receiver may answer.",
    ] = None
    connector_type: Annotated[
        GUID | None, Opt(this.flags & 0x400000 != 0, Guid), PUBLIC, "Application-defined connector."
    ] = None

    BITS: ClassVar[BitTable | None] = BitTable(
        "flags",
        rc=(0, 5, "hops"),
        dm=(5, 2, DeliveryMode, "delivery", True),
        x1=7,
        jn=(8, "journal in the dead-letter queue if it fails"),
        jp=(9, "journal at the source when sent"),
        dq=(10, 3, QueueType, "destination queue"),
        aq=(13, 3, QueueType, "administration queue"),
        rq=(16, 3, QueueType, "response queue"),
        sh=(19, "SecurityHeader follows"),
        th=(20, "TransactionHeader follows"),
        mp=(21, "MessagePropertiesHeader follows"),
        cq=(22, "ConnectorType follows"),
        mq=(23, "MultiQueueFormatHeader follows"),
        x2=24,
        ah=(25, "arrived over HTTP"),
        x3=(26, 2),
        hh=(28, "SoapHeader follows"),
        x4=(29, 3),
    )
    MUSTS: ClassVar[Musts] = (
        Must("hops", this.flags & 0x1F <= 0x1D, at="flags", message="RC must not exceed 0x1D"),
        Must("delivery-mode", this.flags & 0x40 == 0, at="flags", message="DM must be 0 or 1"),
        Must(
            "transaction-delivery",
            (this.flags & 0x100000 == 0) | (this.flags & 0x60 != 0),
            at="flags",
            message="with TH set, DM must not be 0",
        ),
        Must("message-properties", this.flags & 0x200000 != 0, at="flags", message="MP must be set"),
        Must(
            "response-queue-host",
            (this.flags >> 16 & 7 != 4) | (this.flags >> 13 & 7 != 0),
            at="flags",
            message="with RQ 4 there must be an AdminQueue, whose host has the response queue",
        ),
    )

    def format_name(self, queue: str) -> str | None:
        """The format name of ``destination_queue``, ``admin_queue`` or ``response_queue``.

        None when there is no such queue, it was not decoded, or its host cannot be known. A queue number
        takes its host from this header: the destination queue manager or the source, by the queue's type.
        Raises ValueError for any other name.
        """
        try:
            selector = self.bit(QUEUES[queue])
        except KeyError:
            raise ValueError(unknown_name("queue", queue, QUEUES)) from None
        value = getattr(self, queue)
        if queue == "response_queue" and selector == QueueType.SAME_AS_ADMIN_QUEUE:
            return self.format_name("admin_queue")
        match value:
            case DirectQueueFormatName(direct_format_name=name) if isinstance(name, bytes):
                return names.direct(name.text)
            case PublicQueueFormatName(public_queue_identifier=GUID() as guid):
                return names.public(str(guid))
            case PrivateQueueFormatName(
                source_queue_manager=GUID() as host, private_queue_identifier=int(number)
            ):
                return names.private(str(host), number)
            case PrivateQueueFormatNameId(private_queue_identifier=int(number)):
                host_guid = self._host(selector)
                return None if host_guid is None else names.private(str(host_guid), number)
        return None

    @staticmethod
    def queue_named(selector: int, format_name: str) -> QueueName | None:
        """The queue that a format name means under a type; its number alone where the type says its host.

        Raises FormatNameError for a name that is none, or none of that type.
        """
        kind, name, number = names.wire_parts(format_name)
        match selector, kind:
            case QueueType.SAME_AS_ADMIN_QUEUE, _:
                return None
            case QueueType.DIRECT, names.QueueFormatType.DIRECT:
                return DirectQueueFormatName.of(name)
            case QueueType.PUBLIC, names.QueueFormatType.PUBLIC:
                return PublicQueueFormatName(public_queue_identifier=GUID.parse(name))
            case QueueType.PRIVATE_ON_OTHER_HOST, names.QueueFormatType.PRIVATE:
                host = GUID.parse(name)
                return PrivateQueueFormatName(source_queue_manager=host, private_queue_identifier=number)
            case (
                QueueType.PRIVATE_ON_SOURCE_HOST
                | QueueType.PRIVATE_ON_DESTINATION_HOST
                | QueueType.PRIVATE_ON_ADMIN_QUEUE_HOST,
                names.QueueFormatType.PRIVATE,
            ):
                return PrivateQueueFormatNameId(private_queue_identifier=number)
        raise FormatNameError(f"a queue of type {selector} has no {kind.name} name")

    def _host(self, selector: int) -> GUID | None:
        if selector == QueueType.PRIVATE_ON_ADMIN_QUEUE_HOST:
            if isinstance(self.admin_queue, PrivateQueueFormatName):
                return self.admin_queue.source_queue_manager
            selector = self.bit("aq")
        if selector == QueueType.PRIVATE_ON_SOURCE_HOST:
            return self.source_queue_manager
        address = self.queue_manager_address
        if selector == QueueType.PRIVATE_ON_DESTINATION_HOST and isinstance(address, GUID):
            # With a direct destination the field is NULL and the host has only an address.
            return None if self.bit("dq") == QueueType.DIRECT else address
        return None


QUEUES = {field.name: field.shown.bits for field in fields(UserHeader) if isinstance(field.shown, ShownQueue)}
"""The queues of the header, and the bits that hold their types."""

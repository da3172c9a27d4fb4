"""`build_message`: a valid UserMessage from the properties of a message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from msmq_wire.buffers import as_bytes
from msmq_wire.engines import message_arguments
from msmq_wire.engines.fit import fit
from msmq_wire.engines.message_arguments import Acknowledgment, Delivery
from msmq_wire.engines.reference import find_anomalies
from msmq_wire.errors import EncodeError
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.base_header import INFINITE, BaseHeader
from msmq_wire.wire.headers.debug_header import DebugHeader
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.names import FormatName, QueueFormatType
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.direct_queue_format_name import DirectQueueFormatName
from msmq_wire.wire.types.enumerations import BodyType, QueueType, TraceQueueType
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.private_queue_format_name import PrivateQueueFormatName
from msmq_wire.wire.types.private_queue_format_name_id import PrivateQueueFormatNameId
from msmq_wire.wire.types.public_queue_format_name import PublicQueueFormatName
from msmq_wire.wire.types.wchar_text import WcharText


class Signer(Protocol):
    """Signs a message: `msmq_wire.sealing.making.MessageSigner`."""

    def sign(self, packet: UserMessage, /) -> UserMessage:
        """The message with its signature."""


class Sealer(Protocol):
    """Encrypts the body of a message: `msmq_wire.sealing.making.BodySealer`."""

    def seal(self, packet: UserMessage, /) -> UserMessage:
        """The message with its body encrypted."""


def build_message(
    queue: str | FormatName,
    body: bytes | str = b"",
    *,
    label: str = "",
    delivery: Delivery = "express",
    priority: int = 3,
    transaction: TransactionHeader | None = None,
    source_queue_manager: GUID = NULL_GUID,
    queue_manager_address: GUID | None = None,
    admin_queue: str | FormatName | None = None,
    acknowledge: Sequence[Acknowledgment] = (),
    response_queue: str | FormatName | None = None,
    connector_type: GUID | None = None,
    report_queue: GUID | None = None,
    message_id: int = 0,
    message_class: int = 0,
    correlation_id: bytes = bytes(20),
    body_type: int | None = None,
    application_tag: int = 0,
    extension: bytes = b"",
    sent_time: int = 0,
    time_to_reach_queue: int = INFINITE,
    time_to_be_received: int = INFINITE,
    sign: Signer | None = None,
    seal: Sealer | None = None,
    **headers: WireStruct | None,
) -> UserMessage:
    """Build a packet that `inspect` finds nothing wrong with.

    ``queue``, ``admin_queue`` and ``response_queue`` are format names (``DIRECT=OS:host\\private$\\q``,
    ``PRIVATE=guid\\0000000f``, ``PUBLIC=guid``). The GUID of a private destination becomes
    QueueManagerAddress; a public destination needs ``queue_manager_address``. ``body`` is bytes, or text,
    which becomes VT_LPWSTR. Times are in seconds, ``sent_time`` since 1970. ``acknowledge`` names the
    acknowledgments that ``admin_queue`` gets, by their bits in MessagePropertiesHeader.Flags: ``"pa"`` that
    it reached the queue, ``"na"`` that it did not, ``"pr"`` that it was received, ``"nr"`` that it was not.
    ``report_queue`` has the message traced: the public queue of this identifier gets the report messages.
    A transaction sets recoverable delivery and priority 0. ``headers`` are whole headers by stem
    (``security_header=...``). ``sign`` signs it, and ``seal`` then encrypts its body (`msmq_wire.sealing`).
    Raises EncodeError for what a packet cannot hold,
    FormatNameError for a name that is none, TypeError for an argument of a wrong type or name.
    """
    given = locals()
    del given["headers"]
    message_arguments.check(given, headers)
    if isinstance(body, str):
        body = WcharText.of(body)
        body_type = BodyType.VT_LPWSTR if body_type is None else body_type
    else:
        body = as_bytes(body, "body")
    destination = _format_name(queue)
    address = _destination_address(destination, queue_manager_address)
    dq, destination_queue = _encoded(destination, {address: QueueType.PRIVATE_ON_DESTINATION_HOST})
    if dq not in (QueueType.PRIVATE_ON_DESTINATION_HOST, QueueType.PUBLIC, QueueType.DIRECT):
        raise EncodeError(f"{destination} is no destination of one packet")
    hosts = {source_queue_manager: QueueType.PRIVATE_ON_SOURCE_HOST}
    if dq != QueueType.DIRECT:
        hosts.setdefault(address, QueueType.PRIVATE_ON_DESTINATION_HOST)
    aq, admin = _encoded(_format_name(admin_queue), hosts)
    if admin_queue is not None and response_queue == admin_queue:
        rq, response = int(QueueType.SAME_AS_ADMIN_QUEUE), None
    else:
        rq, response = _encoded(_format_name(response_queue), hosts)
    if transaction is not None:
        delivery, priority = "recoverable", 0
    user = UserHeader(
        source_queue_manager=source_queue_manager,
        queue_manager_address=address,
        time_to_be_received=time_to_be_received,
        sent_time=sent_time,
        message_id=message_id,
        destination_queue=destination_queue,
        admin_queue=admin,
        response_queue=response,
        connector_type=connector_type,
    ).with_bits(dm=int(delivery == "recoverable"), dq=dq, aq=aq, rq=rq, cq=int(connector_type is not None))
    properties = MessagePropertiesHeader(
        message_class=message_class,
        correlation_id=as_bytes(correlation_id),
        body_type=BodyType.VT_EMPTY if body_type is None else body_type,
        application_tag=application_tag,
        label=WcharText.of(label) if label else WcharText(),
        extension_data=as_bytes(extension, "extension"),
        message_body=body,
    )
    properties = properties.with_bits(**dict.fromkeys(acknowledge, 1))
    traced = int(report_queue is not None)
    base = BaseHeader(time_to_reach_queue=time_to_reach_queue).with_bits(pr=priority, tr=traced)
    parts: dict[str, Any] = {"transaction_header": transaction, **headers}
    if report_queue is not None:
        parts["debug_header"] = DebugHeader(queue_identifier=report_queue).with_bits(qt=TraceQueueType.PUBLIC)
    packet = fit(
        UserMessage(base_header=base, user_header=user, message_properties_header=properties, **parts)
    )
    # [MS-MQQB] 3.1.7.1: a message is signed before it is encrypted.
    if sign is not None:
        packet = fit(sign.sign(packet))
    if seal is not None:
        packet = fit(seal.seal(packet))
    message_arguments.check_size(packet, body=body, extension=properties.extension_data)
    for anomaly in find_anomalies(packet):
        raise message_arguments.refused(anomaly, given)
    return packet


def _format_name(name: str | FormatName | None) -> FormatName | None:
    return FormatName.parse(name) if isinstance(name, str) else name


def _destination_address(destination: FormatName | None, given: GUID | None) -> GUID:
    if destination is not None and destination.kind == QueueFormatType.PRIVATE:
        return GUID.parse(destination.guid)
    return given if given is not None else NULL_GUID


def _encoded(name: FormatName | None, hosts: dict[GUID, QueueType]) -> tuple[int, Any]:
    """The queue type of a format name and the structure that holds it."""
    if name is None:
        return QueueType.NONE, None
    if name.suffix and name.kind != QueueFormatType.DIRECT:
        raise EncodeError(f"a packet cannot hold the suffix of {name}")
    match name.kind:
        case QueueFormatType.DIRECT:
            return QueueType.DIRECT, DirectQueueFormatName.of(name.direct_text)
        case QueueFormatType.PUBLIC:
            return QueueType.PUBLIC, PublicQueueFormatName(public_queue_identifier=GUID.parse(name.guid))
        case QueueFormatType.PRIVATE:
            host, number = GUID.parse(name.guid), name.number
            if host in hosts:
                return hosts[host], PrivateQueueFormatNameId(private_queue_identifier=number)
            return QueueType.PRIVATE_ON_OTHER_HOST, PrivateQueueFormatName(
                source_queue_manager=host, private_queue_identifier=number
            )
    raise EncodeError(f"{name} cannot be a queue of a packet")

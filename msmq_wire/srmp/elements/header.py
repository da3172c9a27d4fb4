"""The elements of an SRMP header: WS-Routing path, properties, services, stream and receipts.

[MC-MQSRM] 2.2.4 and 2.2.5. Elements that only the examples of section 4 show are declared with its section.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from msmq_wire.spec import SpecRef
from msmq_wire.srmp.xml.fields import Child, Flag, Iso8601Date, IsoDate, Text, UnsignedLong, Uri, XmlAttribute
from msmq_wire.srmp.xml.fields import XmlStruct as _Struct
from msmq_wire.srmp.xml.writer import SOAP, SRMP
from msmq_wire.wire.private import MESSAGE_ID, URL, Private, Public

ROUTING = "http://schemas.xmlsoap.org/rp/"
"""Namespace of WS-Routing."""

_DOCUMENT = "MC-MQSRM"
MustUnderstand = Annotated[
    str | None,
    XmlAttribute("mustUnderstand", SOAP, value="1", doc="A receiver has to know the element."),
    Public(among=("1",)),
]


class Rev(_Struct, frozen=True, kw_only=True):
    """The way back: the response queue."""

    NAMESPACE: ClassVar[str] = ROUTING
    TAG: ClassVar[str] = "rev"
    SPEC: ClassVar[SpecRef] = SpecRef(_DOCUMENT, "2.2.4.4")
    via: Annotated[str | None, Uri("via", required=True, doc="Response queue; may be empty."), URL] = None


class Path(_Struct, frozen=True, kw_only=True):
    """Where the message goes and which one it is."""

    NAMESPACE: ClassVar[str] = ROUTING
    TAG: ClassVar[str] = "path"
    SPEC: ClassVar[SpecRef] = SpecRef(_DOCUMENT, "2.2.4")
    must_understand: MustUnderstand = None
    action: Annotated[
        str | None,
        Text("action", "2.2.4.1", required=True, doc="'MSMQ:' and the label of the message."),
        Private("label", "label"),
    ] = None
    to: Annotated[str | None, Uri("to", "2.2.4.2", required=True, doc="Destination queue."), URL] = None
    id: Annotated[
        str | None,
        Uri("id", "2.2.4.3", required=True, doc="uuid:<number>@<GUID of the queue manager>."),
        MESSAGE_ID,
    ] = None
    rev: Annotated[Rev | None, Child(Rev, doc="Response queue.")] = None


class Properties(_Struct, frozen=True, kw_only=True):
    """Times of the message."""

    NAMESPACE: ClassVar[str] = SRMP
    TAG: ClassVar[str] = "properties"
    SPEC: ClassVar[SpecRef] = SpecRef(_DOCUMENT, "2.2.5.1")
    must_understand: MustUnderstand = None
    expires_at: Annotated[
        IsoDate | None, Iso8601Date("expiresAt", "2.2.5.1.1", required=True, doc="Not accepted after this.")
    ] = None
    sent_at: Annotated[IsoDate | None, Iso8601Date("sentAt", "2.2.5.1.2", doc="When it was sent.")] = None
    in_reply_to: Annotated[str | None, Uri("inReplyTo", "2.2.5.1.3", doc="Ignored."), MESSAGE_ID] = None


class DeliveryReceiptRequest(_Struct, frozen=True, kw_only=True):
    """Asks for a receipt when the message is in its queue."""

    NAMESPACE: ClassVar[str] = SRMP
    TAG: ClassVar[str] = "deliveryReceiptRequest"
    SPEC: ClassVar[SpecRef] = SpecRef(_DOCUMENT, "2.2.5.2.2")
    send_to: Annotated[str | None, Uri("sendTo", required=True, doc="Administration queue."), URL] = None


class CommitmentReceiptRequest(_Struct, frozen=True, kw_only=True):
    """Asks for a receipt when the message leaves its queue."""

    NAMESPACE: ClassVar[str] = SRMP
    TAG: ClassVar[str] = "commitmentReceiptRequest"
    SPEC: ClassVar[SpecRef] = SpecRef(_DOCUMENT, "2.2.5.2.3")
    send_to: Annotated[str | None, Uri("sendTo", required=True, doc="Administration queue."), URL] = None
    positive_only: Annotated[bool, Flag("positiveOnly", doc="When an application receives it.")] = False
    negative_only: Annotated[bool, Flag("negativeOnly", doc="When it is removed without that.")] = False


class Services(_Struct, frozen=True, kw_only=True):
    """Delivery guarantees."""

    NAMESPACE: ClassVar[str] = SRMP
    TAG: ClassVar[str] = "services"
    SPEC: ClassVar[SpecRef] = SpecRef(_DOCUMENT, "2.2.5.2")
    must_understand: MustUnderstand = None
    durable: Annotated[bool, Flag("durable", "2.2.5.2.1", doc="Kept on disk at both ends.")] = False
    delivery_receipt_request: Annotated[DeliveryReceiptRequest | None, Child(DeliveryReceiptRequest)] = None
    commitment_receipt_request: Annotated[
        CommitmentReceiptRequest | None, Child(CommitmentReceiptRequest)
    ] = None


class Start(_Struct, frozen=True, kw_only=True):
    """In the first message of a stream only: where its receipts go."""

    NAMESPACE: ClassVar[str] = SRMP
    TAG: ClassVar[str] = "start"
    SPEC: ClassVar[SpecRef] = SpecRef(_DOCUMENT, "2.2.5.3.4")
    send_receipts_to: Annotated[
        str | None, Uri("sendReceiptsTo", required=True, doc="Order queue of the sender."), URL
    ] = None
    expires_at: Annotated[IsoDate | None, Iso8601Date("expiresAt", "4.4", doc="In examples only.")] = None


class Stream(_Struct, frozen=True, kw_only=True):
    """The place of the message in an exactly-once, in-order sequence."""

    NAMESPACE: ClassVar[str] = SRMP
    TAG: ClassVar[str] = "stream"
    # Section 4.4 writes it so in every stream message.
    ALIASES: ClassVar[tuple[str, ...]] = ("Stream",)
    SPEC: ClassVar[SpecRef] = SpecRef(_DOCUMENT, "2.2.5.3")
    must_understand: MustUnderstand = None
    stream_id: Annotated[
        str | None,
        Uri("streamId", "2.2.5.3.1", required=True, doc="uid:<GUID>\\<sequence>."),
        Private("host", "stream"),
    ] = None
    current: Annotated[
        int | str | None, UnsignedLong("current", "2.2.5.3.2", required=True, doc="Number; 1 is the first.")
    ] = None
    previous: Annotated[
        int | str | None, UnsignedLong("previous", "2.2.5.3.3", doc="Number of the message before it.")
    ] = None
    start: Annotated[Start | None, Child(Start)] = None
    stream_receipt_request: Annotated[bool, Flag("streamReceiptRequest", "4.4", doc="In examples only.")] = (
        False
    )
    end: Annotated[bool, Flag("end", "4.4", doc="In examples only.")] = False


class DeliveryReceipt(_Struct, frozen=True, kw_only=True):
    """The message arrived in its queue."""

    NAMESPACE: ClassVar[str] = SRMP
    TAG: ClassVar[str] = "deliveryReceipt"
    SPEC: ClassVar[SpecRef] = SpecRef(_DOCUMENT, "2.2.5.4")
    received_at: Annotated[
        IsoDate | None, Iso8601Date("receivedAt", required=True, doc="When it came into its queue.")
    ] = None
    id: Annotated[str | None, Uri("id", required=True, doc="`Path.id` of the message."), MESSAGE_ID] = None


class CommitmentReceipt(_Struct, frozen=True, kw_only=True):
    """The message left its queue."""

    NAMESPACE: ClassVar[str] = SRMP
    TAG: ClassVar[str] = "commitmentReceipt"
    SPEC: ClassVar[SpecRef] = SpecRef(_DOCUMENT, "2.2.5.5")
    decided_at: Annotated[
        IsoDate | None, Iso8601Date("decidedAt", required=True, doc="When it left its queue.")
    ] = None
    decision: Annotated[
        str | None,
        Uri("decision", required=True, doc="'positive' or 'negative'."),
        Public(among=("positive", "negative")),
    ] = None
    id: Annotated[str | None, Uri("id", required=True, doc="`Path.id` of the message."), MESSAGE_ID] = None


class StreamReceipt(_Struct, frozen=True, kw_only=True):
    """Every message of a stream up to ``last_ordinal`` was accepted."""

    NAMESPACE: ClassVar[str] = SRMP
    TAG: ClassVar[str] = "streamReceipt"
    SPEC: ClassVar[SpecRef] = SpecRef(_DOCUMENT, "2.2.5.6")
    stream_id: Annotated[
        str | None, Uri("streamId", required=True, doc="`Stream.stream_id`."), Private("host", "stream")
    ] = None
    last_ordinal: Annotated[
        int | str | None, UnsignedLong("lastOrdinal", required=True, doc="`Stream.current` of the last.")
    ] = None

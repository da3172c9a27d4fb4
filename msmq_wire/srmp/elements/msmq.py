"""The Msmq element: the message properties that SOAP and WS-Routing have no place for. [MC-MQSRM] 2.2.6."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msmq_wire.spec import SpecRef
from msmq_wire.srmp.xml.fields import (
    GUID,
    Base64,
    Child,
    Flag,
    GuidText,
    Iso8601Date,
    IsoDate,
    Names,
    Text,
    UnsignedLong,
)
from msmq_wire.srmp.xml.fields import XmlStruct as _Struct
from msmq_wire.wire.private import CORRELATION, URL, Private, Public

MSMQ = "msmq.namespace.xml"
"""Namespace of the Msmq element."""

_DOCUMENT = "MC-MQSRM"


class Eod(_Struct, frozen=True, kw_only=True):
    """The place of the message in its transaction."""

    NAMESPACE: ClassVar[str] = MSMQ
    TAG: ClassVar[str] = "Eod"
    SPEC: ClassVar[SpecRef] = SpecRef(_DOCUMENT, "2.2.6.11")
    first: Annotated[bool, Flag("First", doc="First of its transaction.")] = False
    last: Annotated[bool, Flag("Last", doc="Last of its transaction.")] = False
    connector_id: Annotated[
        str | None,
        GuidText("ConnectorId", doc="Queue manager of the connector queue."),
        Private("host", "guid"),
    ] = None


class Provider(_Struct, frozen=True, kw_only=True):
    """The cryptographic provider that signed the message."""

    NAMESPACE: ClassVar[str] = MSMQ
    TAG: ClassVar[str] = "Provider"
    SPEC: ClassVar[SpecRef] = SpecRef(_DOCUMENT, "2.2.6.12")
    type: Annotated[int | str | None, UnsignedLong("Type", required=True, doc="Its type.")] = None
    name: Annotated[str | None, Text("Name", required=True, doc="Its name.")] = None


class Msmq(_Struct, frozen=True, kw_only=True):
    """Message properties of MSMQ."""

    NAMESPACE: ClassVar[str] = MSMQ
    TAG: ClassVar[str] = "Msmq"
    SPEC: ClassVar[SpecRef] = SpecRef(_DOCUMENT, "2.2.6")
    class_: Annotated[
        int | str | None, UnsignedLong("Class", "2.2.6.1", required=True, doc="MESSAGE_CLASS_VALUES.")
    ] = None
    priority: Annotated[
        int | str | None, UnsignedLong("Priority", "2.2.6.2", required=True, most=7, doc="0 to 7.")
    ] = None
    journal: Annotated[bool, Flag("Journal", "2.2.6.3", doc="Positive source journaling.")] = False
    dead_letter: Annotated[bool, Flag("DeadLetter", "2.2.6.4", doc="Negative source journaling.")] = False
    correlation: Annotated[
        bytes | str | None,
        Base64("Correlation", "2.2.6.5", doc="20 bytes of the correlation identifier."),
        CORRELATION,
    ] = None
    trace: Annotated[bool, Flag("Trace", "2.2.6.6", doc="Report messages are wanted.")] = False
    connector_type: Annotated[
        str | None, GuidText("ConnectorType", "2.2.6.7", doc="Application of the connector."), Public(GUID)
    ] = None
    app: Annotated[int | str | None, UnsignedLong("App", "2.2.6.8", doc="Application tag.")] = None
    body_type: Annotated[
        int | str | None, UnsignedLong("BodyType", "2.2.6.9", required=True, doc="Type of the body.")
    ] = None
    hash_algorithm: Annotated[
        int | str | None, UnsignedLong("HashAlgorithm", "2.2.6.10", doc="Hash of the signature.")
    ] = None
    eod: Annotated[Eod | None, Child(Eod)] = None
    provider: Annotated[Provider | None, Child(Provider)] = None
    source_qm_guid: Annotated[
        str | None,
        GuidText("SourceQmGuid", "2.2.6.13", required=True, doc="Sending queue manager."),
        Private("host", "guid"),
    ] = None
    destination_mqf: Annotated[
        tuple[str, ...] | None, Names("DestinationMqf", "2.2.6.14", doc="All destination queues."), URL
    ] = None
    admin_mqf: Annotated[
        tuple[str, ...] | None, Names("AdminMqf", "2.2.6.15", doc="All administration queues."), URL
    ] = None
    response_mqf: Annotated[
        tuple[str, ...] | None, Names("ResponseMqf", "2.2.6.16", doc="All response queues."), URL
    ] = None
    t_trq: Annotated[
        IsoDate | None, Iso8601Date("TTrq", "2.2.6.17", required=True, doc="Not accepted after this.")
    ] = None

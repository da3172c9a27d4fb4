"""The SOAP envelope and what it holds. [MC-MQSRM] 2.2.2."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msmq_wire.spec import SpecRef
from msmq_wire.srmp.elements.header import (
    CommitmentReceipt,
    DeliveryReceipt,
    Path,
    Properties,
    Services,
    Stream,
    StreamReceipt,
)
from msmq_wire.srmp.elements.msmq import Msmq
from msmq_wire.srmp.elements.signature import Signature
from msmq_wire.srmp.xml.fields import Child
from msmq_wire.srmp.xml.fields import XmlStruct as _Struct
from msmq_wire.srmp.xml.writer import SOAP

_SPEC = SpecRef("MC-MQSRM", "2.2.2")


class SrmpHeader(_Struct, frozen=True, kw_only=True):
    """The SOAP header: everything there is in an SRMP message but its body."""

    NAMESPACE: ClassVar[str] = SOAP
    TAG: ClassVar[str] = "Header"
    SPEC: ClassVar[SpecRef] = _SPEC
    path: Annotated[Path | None, Child(Path, required=True)] = None
    properties: Annotated[Properties | None, Child(Properties, required=True)] = None
    services: Annotated[Services | None, Child(Services)] = None
    stream: Annotated[Stream | None, Child(Stream)] = None
    delivery_receipt: Annotated[DeliveryReceipt | None, Child(DeliveryReceipt)] = None
    commitment_receipt: Annotated[CommitmentReceipt | None, Child(CommitmentReceipt)] = None
    stream_receipt: Annotated[StreamReceipt | None, Child(StreamReceipt)] = None
    msmq: Annotated[Msmq | None, Child(Msmq)] = None
    signature: Annotated[Signature | None, Child(Signature)] = None


class SoapBody(_Struct, frozen=True, kw_only=True):
    """The SOAP body, which is empty: the body of the message is a part beside the envelope."""

    NAMESPACE: ClassVar[str] = SOAP
    TAG: ClassVar[str] = "Body"
    SPEC: ClassVar[SpecRef] = _SPEC


class SrmpEnvelope(_Struct, frozen=True, kw_only=True):
    """A SOAP 1.1 envelope with the elements of SRMP."""

    NAMESPACE: ClassVar[str] = SOAP
    TAG: ClassVar[str] = "Envelope"
    SPEC: ClassVar[SpecRef] = _SPEC
    header: Annotated[SrmpHeader | None, Child(SrmpHeader, required=True)] = None
    body: Annotated[SoapBody | None, Child(SoapBody, required=True)] = None

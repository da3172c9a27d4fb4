"""The XML signature of a message, listed and not verified. [MC-MQSRM] 2.2.7."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msmq_wire.spec import SpecRef
from msmq_wire.srmp.xml.fields import Base64, Child, Children, XmlAttribute
from msmq_wire.srmp.xml.fields import XmlStruct as _Struct
from msmq_wire.wire.private import Private, Public

SIGNATURE = "http://www.w3.org/2000/02/xmldsig#"
"""Namespace of the signature, an early one of XML Signature."""

_DOCUMENT = "MC-MQSRM"
_ALGORITHMS = frozenset(f"{SIGNATURE}{name}" for name in ("dsa", "md5", "sha1"))
"""Those of the document and its examples."""


class SignatureMethod(_Struct, frozen=True, kw_only=True):
    """The algorithm that signed."""

    NAMESPACE: ClassVar[str] = SIGNATURE
    TAG: ClassVar[str] = "SignatureMethod"
    SPEC: ClassVar[SpecRef] = SpecRef(_DOCUMENT, "2.2.7.1.1")
    algorithm: Annotated[
        str | None, XmlAttribute("Algorithm", doc="URI of the algorithm."), Public(among=_ALGORITHMS)
    ] = None


class DigestMethod(_Struct, frozen=True, kw_only=True):
    """The algorithm that hashed a part."""

    NAMESPACE: ClassVar[str] = SIGNATURE
    TAG: ClassVar[str] = "DigestMethod"
    SPEC: ClassVar[SpecRef] = SpecRef(_DOCUMENT, "2.2.7.1.2.1")
    algorithm: Annotated[
        str | None, XmlAttribute("Algorithm", doc="URI of the algorithm."), Public(among=_ALGORITHMS)
    ] = None


class Reference(_Struct, frozen=True, kw_only=True):
    """A part of the message that the signature covers."""

    NAMESPACE: ClassVar[str] = SIGNATURE
    TAG: ClassVar[str] = "Reference"
    SPEC: ClassVar[SpecRef] = SpecRef(_DOCUMENT, "2.2.7.1.2")
    uri: Annotated[
        str | None, XmlAttribute("URI", doc="cid: and the Content-Id of the part."), Private("host", "part")
    ] = None
    digest_method: Annotated[DigestMethod | None, Child(DigestMethod, required=True)] = None
    digest_value: Annotated[
        bytes | str | None, Base64("DigestValue", "2.2.7.1.2.2", required=True, doc="Hash of the part.")
    ] = None


class SignedInfo(_Struct, frozen=True, kw_only=True):
    """What is signed."""

    NAMESPACE: ClassVar[str] = SIGNATURE
    TAG: ClassVar[str] = "SignedInfo"
    SPEC: ClassVar[SpecRef] = SpecRef(_DOCUMENT, "2.2.7.1")
    signature_method: Annotated[SignatureMethod | None, Child(SignatureMethod, required=True)] = None
    references: Annotated[tuple[Reference, ...], Children(Reference, most=2)] = ()


class Signature(_Struct, frozen=True, kw_only=True):
    """Signature over the hashes of the message's parts."""

    NAMESPACE: ClassVar[str] = SIGNATURE
    TAG: ClassVar[str] = "Signature"
    SPEC: ClassVar[SpecRef] = SpecRef(_DOCUMENT, "2.2.7")
    signed_info: Annotated[SignedInfo | None, Child(SignedInfo, required=True)] = None
    signature_value: Annotated[
        bytes | str | None, Base64("SignatureValue", "2.2.7.2", required=True, doc="The signature.")
    ] = None

"""The Kerberos messages that set up a context, [RFC 4120] 5: declared for a strict DER decoder.

The rule kept here: an ASN.1 text is a TLV, because the decoder has no type for GeneralString; what nothing
here needs is a TLV as well, and an optional one is an implicitly tagged list, which has the same bytes.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

from cryptography.hazmat import asn1

_Anything = list[asn1.TLV] | None
_Message = TypeVar("_Message")


@asn1.sequence
class PrincipalName:
    """[RFC 4120] 5.2.2."""

    name_type: Annotated[int, asn1.Explicit(0)]
    name_string: Annotated[list[asn1.TLV], asn1.Explicit(1)]


@asn1.sequence
class EncryptedData:
    """[RFC 4120] 5.2.9."""

    etype: Annotated[int, asn1.Explicit(0)]
    kvno: Annotated[int | None, asn1.Explicit(1)]
    cipher: Annotated[bytes, asn1.Explicit(2)]


@asn1.sequence
class EncryptionKey:
    """[RFC 4120] 5.2.9."""

    keytype: Annotated[int, asn1.Explicit(0)]
    keyvalue: Annotated[bytes, asn1.Explicit(1)]


@asn1.sequence
class Ticket:
    """[RFC 4120] 5.3, without its application tag 1."""

    tkt_vno: Annotated[int, asn1.Explicit(0)]
    realm: Annotated[asn1.TLV, asn1.Explicit(1)]
    sname: Annotated[PrincipalName, asn1.Explicit(2)]
    enc_part: Annotated[EncryptedData, asn1.Explicit(3)]


@asn1.sequence
class EncTicketPart:
    """[RFC 4120] 5.3, without its application tag 3."""

    flags: Annotated[asn1.TLV, asn1.Explicit(0)]
    key: Annotated[EncryptionKey, asn1.Explicit(1)]
    crealm: Annotated[asn1.TLV, asn1.Explicit(2)]
    cname: Annotated[PrincipalName, asn1.Explicit(3)]
    transited: Annotated[asn1.TLV, asn1.Explicit(4)]
    authtime: Annotated[asn1.TLV, asn1.Explicit(5)]
    starttime: Annotated[_Anything, asn1.Implicit(6)]
    endtime: Annotated[asn1.TLV, asn1.Explicit(7)]
    renew_till: Annotated[_Anything, asn1.Implicit(8)]
    caddr: Annotated[_Anything, asn1.Implicit(9)]
    authorization_data: Annotated[_Anything, asn1.Implicit(10)]


@asn1.sequence
class ApReq:
    """[RFC 4120] 5.5.1, without its application tag 14."""

    pvno: Annotated[int, asn1.Explicit(0)]
    msg_type: Annotated[int, asn1.Explicit(1)]
    ap_options: Annotated[asn1.BitString, asn1.Explicit(2)]
    ticket: Annotated[asn1.TLV, asn1.Explicit(3)]
    authenticator: Annotated[EncryptedData, asn1.Explicit(4)]


@asn1.sequence
class Authenticator:
    """[RFC 4120] 5.5.1, without its application tag 2."""

    authenticator_vno: Annotated[int, asn1.Explicit(0)]
    crealm: Annotated[asn1.TLV, asn1.Explicit(1)]
    cname: Annotated[PrincipalName, asn1.Explicit(2)]
    cksum: Annotated[_Anything, asn1.Implicit(3)]
    cusec: Annotated[asn1.TLV, asn1.Explicit(4)]
    ctime: Annotated[asn1.TLV, asn1.Explicit(5)]
    subkey: Annotated[EncryptionKey | None, asn1.Explicit(6)]
    seq_number: Annotated[_Anything, asn1.Implicit(7)]
    authorization_data: Annotated[_Anything, asn1.Implicit(8)]


@asn1.sequence
class ApRep:
    """[RFC 4120] 5.5.2, without its application tag 15."""

    pvno: Annotated[int, asn1.Explicit(0)]
    msg_type: Annotated[int, asn1.Explicit(1)]
    enc_part: Annotated[EncryptedData, asn1.Explicit(2)]


@asn1.sequence
class EncApRepPart:
    """[RFC 4120] 5.5.2, without its application tag 27."""

    ctime: Annotated[asn1.TLV, asn1.Explicit(0)]
    cusec: Annotated[asn1.TLV, asn1.Explicit(1)]
    subkey: Annotated[EncryptionKey | None, asn1.Explicit(2)]
    seq_number: Annotated[_Anything, asn1.Implicit(3)]


@asn1.sequence
class KrbError:
    """[RFC 4120] 5.9.1, without its application tag 30."""

    pvno: Annotated[int, asn1.Explicit(0)]
    msg_type: Annotated[int, asn1.Explicit(1)]
    ctime: Annotated[_Anything, asn1.Implicit(2)]
    cusec: Annotated[_Anything, asn1.Implicit(3)]
    stime: Annotated[asn1.TLV, asn1.Explicit(4)]
    susec: Annotated[asn1.TLV, asn1.Explicit(5)]
    error_code: Annotated[int, asn1.Explicit(6)]
    crealm: Annotated[_Anything, asn1.Implicit(7)]
    cname: Annotated[_Anything, asn1.Implicit(8)]
    realm: Annotated[_Anything, asn1.Implicit(9)]
    sname: Annotated[_Anything, asn1.Implicit(10)]
    e_text: Annotated[_Anything, asn1.Implicit(11)]
    e_data: Annotated[_Anything, asn1.Implicit(12)]


# One octet each: application class, constructed, number below 31.
_TAGS: dict[type, bytes] = {
    Ticket: b"\x61",
    Authenticator: b"\x62",
    EncTicketPart: b"\x63",
    ApReq: b"\x6e",
    ApRep: b"\x6f",
    EncApRepPart: b"\x7b",
    KrbError: b"\x7e",
}


def decode_message(message: type[_Message], data: bytes | asn1.TLV) -> _Message | None:
    """Decode a message with its application tag; None for bytes that are not it."""
    try:
        element = asn1.decode_der(asn1.TLV, data) if isinstance(data, bytes) else data
        if element.tag_bytes != _TAGS[message]:
            return None
        return asn1.decode_der(message, bytes(element.data))
    except ValueError:
        return None


def principal_text(name: PrincipalName, realm: asn1.TLV) -> str:
    """Return ``HOST/server@REALM``; the texts are taken as UTF-8, as Windows writes them ([MS-KILE] 2.2)."""
    components = (bytes(component.data).decode("utf-8", "replace") for component in name.name_string)
    return f"{'/'.join(components)}@{bytes(realm.data).decode('utf-8', 'replace')}"

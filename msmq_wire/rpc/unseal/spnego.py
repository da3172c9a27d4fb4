"""SPNEGO: finds the mechanism's token in a negotiation token, [RFC 4178] 4.2 and [MS-SPNG] 2.2."""

from __future__ import annotations

from typing import Annotated

import msgspec
from cryptography.hazmat import asn1
from cryptography.x509 import ObjectIdentifier

from msmq_wire.buffers import as_bytes
from msmq_wire.rpc.unseal.gss import SPNEGO_OID, first_element, unframe

_INIT, _RESPONSE = b"\xa0", b"\xa1"
_REJECT = b"\x02"


class NegotiationToken(msgspec.Struct, frozen=True, gc=False):
    """The content of a negotiation token: object identifiers of mechanisms, the inner token, a refusal."""

    mechanisms: tuple[str, ...] = ()
    token: bytes = b""
    rejected: bool = False


# An optional element of any type cannot be declared, but an explicit tag has the bytes of an implicitly
# tagged sequence with one element.
@asn1.sequence
class _NegTokenInit:
    mech_types: Annotated[list[ObjectIdentifier] | None, asn1.Explicit(0)]
    req_flags: Annotated[list[asn1.TLV] | None, asn1.Implicit(1)]
    mech_token: Annotated[bytes | None, asn1.Explicit(2)]
    hints_or_mic: Annotated[list[asn1.TLV] | None, asn1.Implicit(3)]
    mech_list_mic: Annotated[bytes | None, asn1.Explicit(4)]


@asn1.sequence
class _NegTokenResp:
    neg_state: Annotated[list[asn1.TLV] | None, asn1.Implicit(0)]
    supported_mech: Annotated[ObjectIdentifier | None, asn1.Explicit(1)]
    response_token: Annotated[bytes | None, asn1.Explicit(2)]
    mech_list_mic: Annotated[bytes | None, asn1.Explicit(3)]


def parse_spnego(data: bytes) -> NegotiationToken | None:
    """Parse NegTokenInit, with or without a frame, or NegTokenResp; None for other bytes.

    mechListMIC is not judged.
    """
    data = as_bytes(data)
    framed = unframe(data)
    if framed is not None and framed.mechanism != SPNEGO_OID:
        return None
    bare = first_element(data if framed is None else framed.inner)
    try:
        choice = asn1.decode_der(asn1.TLV, bare)
        if choice.tag_bytes == _INIT:
            init = asn1.decode_der(_NegTokenInit, bytes(choice.data))
            names = tuple(name.dotted_string for name in init.mech_types or ())
            return NegotiationToken(names, init.mech_token or b"")
        if choice.tag_bytes == _RESPONSE:
            response = asn1.decode_der(_NegTokenResp, bytes(choice.data))
            name = response.supported_mech
            state = response.neg_state
            return NegotiationToken(
                () if name is None else (name.dotted_string,),
                response.response_token or b"",
                state is not None and [bytes(element.data) for element in state] == [_REJECT],
            )
    except ValueError:
        return None
    return None

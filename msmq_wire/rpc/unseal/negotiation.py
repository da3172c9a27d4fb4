"""The entry point: one `Negotiation` for NTLM, Kerberos and SPNEGO; the tokens show the mechanism."""

from __future__ import annotations

from msmq_wire.rpc.pdu_protection import (
    AuthenticationLevel,
    AuthenticationType,
    Negotiation,
    Negotiator,
    ProtectedPdu,
    Unwrapped,
)
from msmq_wire.rpc.unseal.gss import KERBEROS_OID, MICROSOFT_KERBEROS_OID, unframe
from msmq_wire.rpc.unseal.kerberos import AP_REP, AP_REQ, KRB_ERROR, KerberosNegotiation, kerberos_message
from msmq_wire.rpc.unseal.ntlm import NtlmNegotiation
from msmq_wire.rpc.unseal.ntlm_messages import NTLMSSP_SIGNATURE
from msmq_wire.rpc.unseal.protection import closed
from msmq_wire.rpc.unseal.secrets import Secrets
from msmq_wire.rpc.unseal.spnego import parse_spnego

_KNOWN = frozenset(
    {AuthenticationType.GSS_NEGOTIATE, AuthenticationType.WINNT, AuthenticationType.GSS_KERBEROS}
)
_KERBEROS_TAGS = (AP_REQ, AP_REP, KRB_ERROR)
_KERBEROS_NAMES = (KERBEROS_OID, MICROSOFT_KERBEROS_OID)
_NTLM_NEGOTIATE = NTLMSSP_SIGNATURE + b"\x01\0\0\0"
_NEGOEX_SIGNATURE = b"NEGOEXTS"
_MECHANISMS: dict[str, type[NtlmNegotiation] | type[KerberosNegotiation]] = {
    "NTLM": NtlmNegotiation,
    "Kerberos": KerberosNegotiation,
}


def negotiator(secrets: Secrets) -> Negotiator:
    """Return a factory of negotiations that try ``secrets`` for every client.

    It makes one for SPNEGO, NTLM and Kerberos, and returns None for every other auth_type.
    """

    def negotiate(auth_type: int) -> Negotiation | None:
        return TokenNegotiation(secrets) if auth_type in _KNOWN else None

    return negotiate


class TokenNegotiation:
    """A `Negotiation` that passes each token, bare or inside SPNEGO, to its mechanism.

    A new handshake replaces the one before, also if the server chose another mechanism.
    """

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._name = ""
        self._mechanism: NtlmNegotiation | KerberosNegotiation | None = None
        self._note = ""

    def exchange(self, from_client: bool, token: bytes) -> None:
        """Take the auth_value of a bind, alter_context, their answers or an auth3; never raises."""
        name = _mechanism_of(token)
        if not name:
            negotiation = parse_spnego(token)
            if negotiation is None:
                if token.strip(b"\0") and self._mechanism is None:
                    self._note = "SPNEGO: a token that cannot be read"
                return
            if negotiation.rejected:
                self._note = "SPNEGO: the negotiation was refused"
            token = negotiation.token
            name = _mechanism_of(token)
            if not name:
                if token and self._mechanism is None:
                    what = "NegoEx" if token.startswith(_NEGOEX_SIGNATURE) else "unknown"
                    self._note = f"SPNEGO: the first mechanism is {what}, which is not opened"
                return
        if name != self._name or self._mechanism is None or (from_client and _begins(token)):
            self._name, self._mechanism = name, _MECHANISMS[name](self._secrets)
            self._note = ""
        self._mechanism.exchange(from_client, token)

    @property
    def account(self) -> str:
        """``DOMAIN\\user`` with NTLM, ``user@REALM`` with Kerberos, empty when not known."""
        return "" if self._mechanism is None else self._mechanism.account

    @property
    def note(self) -> str:
        """Why PDUs cannot be decrypted, in one line; empty if they can."""
        return self._note or ("" if self._mechanism is None else self._mechanism.note)

    def unwrap(self, pdu: ProtectedPdu) -> Unwrapped:
        """Decrypt and verify a PDU; takes all protected PDUs in the order of sending. Never raises."""
        if self._mechanism is not None:
            return self._mechanism.unwrap(pdu)
        if pdu.level <= AuthenticationLevel.CONNECT:
            return Unwrapped(pdu.stub, None)
        return closed(pdu, self._note or "no authentication token in the capture")


def _mechanism_of(token: bytes) -> str:
    """Return the mechanism of a bare token; empty if it is unknown."""
    if token.startswith(NTLMSSP_SIGNATURE):
        return "NTLM"
    framed = unframe(token)
    kerberos = token[:1] in _KERBEROS_TAGS if framed is None else framed.mechanism in _KERBEROS_NAMES
    return "Kerberos" if kerberos else ""


def _begins(token: bytes) -> bool:
    return token.startswith(_NTLM_NEGOTIATE) or kerberos_message(token)[:1] == AP_REQ

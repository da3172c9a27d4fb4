"""Kerberos: decrypts the service ticket with a key of the service, then every PDU; [RFC 4120], [MS-KILE].

DCE style has three legs: AP-REQ, AP-REP, and an AP-REP of the client, which brings no key.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

from cryptography.hazmat import asn1

from msmq_wire.rpc.pdu_protection import AuthenticationLevel, ProtectedPdu, Unwrapped
from msmq_wire.rpc.unseal.gss import first_element, unframe
from msmq_wire.rpc.unseal.kerberos_crypto import (
    AesUsage,
    EncryptionType,
    KeyUsage,
    etype_name,
    usage_of,
)
from msmq_wire.rpc.unseal.kerberos_tokens import (
    AesToken,
    Rc4Token,
    UnwrappedToken,
    open_aes,
    open_rc4,
    parse_token,
)
from msmq_wire.rpc.unseal.keytab import KeytabEntry
from msmq_wire.rpc.unseal.protection import Readings, SequenceNumbers, closed, number_text, one_line, plural
from msmq_wire.rpc.unseal.secrets import Secrets

AP_REQ, AP_REP, KRB_ERROR = b"\x6e", b"\x6f", b"\x7e"
_USE_SESSION_KEY = 0x40
_ERROR_NAMES = {
    31: "KRB_AP_ERR_BAD_INTEGRITY",
    32: "KRB_AP_ERR_TKT_EXPIRED",
    37: "KRB_AP_ERR_SKEW",
    41: "KRB_AP_ERR_MODIFIED",
    44: "KRB_AP_ERR_BADKEYVER",
    45: "KRB_AP_ERR_NOKEY",
}

_Anything = list[asn1.TLV] | None
_Message = TypeVar("_Message")


def kerberos_message(token: bytes) -> bytes:
    """Return the bare message of a token; in a frame two bytes before it name it, [RFC 4121] 4.1."""
    framed = unframe(token)
    return first_element(token if framed is None else framed.inner[2:])


class KerberosNegotiation:
    """A `Negotiation` of Kerberos; takes its tokens with or without a frame."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self.account = ""
        """``user@REALM`` of the ticket, empty while the ticket is closed."""
        self.note = ""
        """Why nothing can be opened, empty while all is well."""
        self._session_key: EncryptionKey | None = None
        self._initiator_subkey: EncryptionKey | None = None
        self._acceptor_subkey: EncryptionKey | None = None
        self._readings = Readings()
        self._numbers: dict[bool, SequenceNumbers] = {}
        self._usages: dict[tuple[bytes, KeyUsage], AesUsage] = {}

    def exchange(self, from_client: bool, token: bytes) -> None:
        """Take a token; ignore tokens of the wrong direction."""
        message = kerberos_message(token)
        if message[:1] == AP_REQ and from_client:
            self._take_request(message)
        elif message[:1] == AP_REP:
            if not from_client:
                self._take_reply(message)
        elif message[:1] == KRB_ERROR:
            self._take_error(message)

    def unwrap(self, pdu: ProtectedPdu) -> Unwrapped:
        """Decrypt and verify a PDU; at connect level nothing is protected."""
        if pdu.level <= AuthenticationLevel.CONNECT:
            return Unwrapped(pdu.stub, None)
        if self._session_key is None:
            return closed(pdu, self.note or "Kerberos: the AP-REQ is not in the capture")
        token = parse_token(pdu.auth_value)
        sealed = pdu.level >= AuthenticationLevel.PKT_PRIVACY
        if token is None or token.wrap is not sealed:
            kind = "wrap" if sealed else "MIC"
            return Unwrapped(None if sealed else pdu.stub, False, f"Kerberos: auth_value is no {kind} token")
        keys = self._keys_for(token)
        if not keys:
            lost = "; the AP-REP brings one" if self._acceptor_subkey is None else ""
            return closed(pdu, f"Kerberos: no key for this token{lost}")
        likeliest: UnwrappedToken | None = None
        for key in keys:
            opened = self._open(token, key, pdu)
            if opened is not None and opened.parts is not None:
                self._readings.settle(opened.parts)
                bits = 64 if isinstance(token, AesToken) else 32
                numbers = self._numbers.setdefault(pdu.from_client, SequenceNumbers(None, bits))
                verified, note = numbers.judge(opened.number, "Kerberos")
                return Unwrapped(opened.stub, verified, note)
            if likeliest is None:
                likeliest = opened
        if likeliest is None:
            note = "Kerberos: the token does not fit its message"
            return Unwrapped(None if sealed else pdu.stub, False, note)
        return Unwrapped(likeliest.stub, False, "Kerberos: the signature is wrong")

    def _keys_for(self, token: AesToken | Rc4Token) -> list[EncryptionKey]:
        """Return the keys that may protect a message, the likeliest first."""
        if isinstance(token, AesToken):
            asserted = self._initiator_subkey or self._session_key
            chosen = [self._acceptor_subkey if token.acceptor_subkey else asserted]
            types: tuple[int, ...] = (EncryptionType.AES128, EncryptionType.AES256)
        else:
            chosen = [self._acceptor_subkey, self._initiator_subkey, self._session_key]
            types = (EncryptionType.RC4,)
        return [key for key in chosen if key is not None and key.keytype in types]

    def _open(
        self, token: AesToken | Rc4Token, key: EncryptionKey, pdu: ProtectedPdu
    ) -> UnwrappedToken | None:
        if isinstance(token, Rc4Token):
            return open_rc4(token, key.keyvalue, pdu, self._readings)
        if token.wrap:
            usage = KeyUsage.INITIATOR_SEAL if pdu.from_client else KeyUsage.ACCEPTOR_SEAL
        else:
            usage = KeyUsage.INITIATOR_SIGN if pdu.from_client else KeyUsage.ACCEPTOR_SIGN
        name = (key.keyvalue, usage)
        made = self._usages.get(name)
        if made is None:
            made = self._usages[name] = AesUsage(key.keyvalue, usage)
        return open_aes(token, made, pdu, self._readings)

    def _take_request(self, message: bytes) -> None:
        self._session_key = None
        request = _decode_message(ApReq, message)
        ticket = None if request is None else _decode_message(Ticket, request.ticket)
        if request is None or ticket is None:
            self.note = "Kerberos: the AP-REQ cannot be read"
            return
        options = request.ap_options.as_bytes()
        if options and options[0] & _USE_SESSION_KEY:
            self.note = "Kerberos: user-to-user, no key of a service opens the ticket"
            return
        self._session_key, self.note = self._open_ticket(ticket)
        if self._session_key is None:
            return
        plain = _decrypted(self._session_key, KeyUsage.AP_REQ_AUTHENTICATOR, request.authenticator.cipher)
        authenticator = None if plain is None else _decode_message(Authenticator, plain)
        if authenticator is None:
            self._session_key = None
            self.note = f"Kerberos: the authenticator of {self.account} does not belong to its ticket"
            return
        self._initiator_subkey = _usable(authenticator.subkey)

    def _take_reply(self, message: bytes) -> None:
        reply = _decode_message(ApRep, message)
        if reply is None:
            self.note = self.note or "Kerberos: the AP-REP cannot be read"
        elif self._session_key is not None:
            plain = _decrypted(self._session_key, KeyUsage.AP_REP, reply.enc_part.cipher)
            part = None if plain is None else _decode_message(EncApRepPart, plain)
            if part is None:
                self.note = "Kerberos: the AP-REP does not belong to the AP-REQ"
            else:
                self._acceptor_subkey = _usable(part.subkey)

    def _take_error(self, message: bytes) -> None:
        error = _decode_message(KrbError, message)
        self.note = "Kerberos: refused"
        if error is not None:
            name = _ERROR_NAMES.get(error.error_code) or number_text(error.error_code)
            self.note = f"Kerberos: refused with error {name}"

    def _open_ticket(self, ticket: Ticket) -> tuple[EncryptionKey | None, str]:
        """Return the session key, or None and the reason."""
        etype, kvno = ticket.enc_part.etype, ticket.enc_part.kvno
        service = _principal_text(ticket.sname, ticket.realm)
        version = "no kvno" if kvno is None else f"kvno {number_text(kvno)}"
        what = f"{one_line(service)} ({etype_name(etype)}, {version})"
        if etype not in list(EncryptionType):
            return None, f"Kerberos: the ticket for {what} has an encryption that is not opened"
        candidates = self._candidates(service, kvno, etype)
        if not candidates:
            where = "in the keytab" if self._secrets.keys else "given"
            return None, f"Kerberos: no key {where} for {what}"
        for key in candidates:
            service_key = EncryptionKey(keytype=etype, keyvalue=key)
            plain = _decrypted(service_key, KeyUsage.TICKET, ticket.enc_part.cipher)
            part = None if plain is None else _decode_message(EncTicketPart, plain)
            if part is None:
                continue
            self.account = one_line(_principal_text(part.cname, part.crealm))
            if _usable(part.key) is None:
                kind = etype_name(part.key.keytype)
                return None, f"Kerberos: a session key of {kind}, which is not opened"
            return part.key, ""
        return None, f"Kerberos: {plural(len(candidates), 'key')} tried and none right for {what}"

    def _candidates(self, service: str, kvno: int | None, etype: int) -> list[bytes]:
        """Return the keys of a type, those with matching service and version first; case is ignored."""

        def rank(entry: KeytabEntry) -> int:
            if entry.principal.casefold() != service.casefold():
                return 2
            return 0 if entry.kvno == kvno else 1

        entries = sorted((entry for entry in self._secrets.keys if entry.etype == etype), key=rank)
        keys = [entry.key for entry in entries]
        if etype == EncryptionType.RC4:
            keys += self._secrets.nt_hashes
        return list(dict.fromkeys(keys))


def _usable(key: EncryptionKey | None) -> EncryptionKey | None:
    return key if key is not None and usage_of(key.keytype, key.keyvalue, 0) is not None else None


def _decrypted(key: EncryptionKey, usage: KeyUsage, ciphertext: bytes) -> bytes | None:
    made = usage_of(key.keytype, key.keyvalue, usage)
    return None if made is None else made.decrypt(ciphertext)


# The messages that set up a context, for a strict DER decoder. An ASN.1 text is a TLV, because the
# decoder has no type for GeneralString. What nothing here needs is a TLV as well, and an optional one is
# an implicitly tagged list, which has the same bytes.
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


def _decode_message(message: type[_Message], data: bytes | asn1.TLV) -> _Message | None:
    """Decode a message with its application tag; None for other bytes."""
    try:
        element = asn1.decode_der(asn1.TLV, data) if isinstance(data, bytes) else data
        if element.tag_bytes != _TAGS[message]:
            return None
        return asn1.decode_der(message, bytes(element.data))
    except ValueError:
        return None


def _principal_text(name: PrincipalName, realm: asn1.TLV) -> str:
    """Return ``HOST/server@REALM``; the texts are taken as UTF-8, as Windows writes them ([MS-KILE] 2.2)."""
    components = (bytes(component.data).decode("utf-8", "replace") for component in name.name_string)
    return f"{'/'.join(components)}@{bytes(realm.data).decode('utf-8', 'replace')}"

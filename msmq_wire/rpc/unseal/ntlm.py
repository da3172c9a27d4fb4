"""NTLMSSP: checks the client response, derives keys, decrypts and verifies PDUs. [MS-NLMP] 3.3.2, 3.4

The rule kept here: a secret is used only after the NTLMv2 response proved it right, and a PDU is genuine only
when its signature is.
"""

from __future__ import annotations

import hashlib
import hmac
import struct

from Cryptodome.Cipher import ARC4

from msmq_wire.errors import DecodeError
from msmq_wire.rpc.pdu_protection import AuthenticationLevel, ProtectedPdu, Unwrapped
from msmq_wire.rpc.unseal.ntlm_messages import (
    AuthenticateMessage,
    ChallengeMessage,
    NegotiateFlags,
    parse_ntlm_message,
)
from msmq_wire.rpc.unseal.protection import Readings, SequenceNumbers, closed, one_line, plural
from msmq_wire.rpc.unseal.secrets import Secrets

_SIGNATURE_SIZE = 16
_PROOF_SIZE = 16
_V1_RESPONSE_SIZE = 24
_KEY_SIZE = 16
_MAGIC = "session key to {} {} key magic constant\0"
_DIRECTIONS = {True: "client-to-server", False: "server-to-client"}


def ntowf_v2(nt_hash: bytes, user_name: str, domain_name: str) -> bytes:
    """Return NTOWFv2 as 16 bytes, [MS-NLMP] 3.3.2; the user name is folded as Windows does, unit by unit."""
    folded = "".join(_upper(character) for character in user_name)
    return _hmac_md5(nt_hash, (folded + domain_name).encode("utf-16-le", "surrogatepass"))


def sign_key(exported_session_key: bytes, *, from_client: bool) -> bytes:
    """Return SIGNKEY of a direction with extended session security, [MS-NLMP] 3.4.5.2."""
    return _md5(exported_session_key + _MAGIC.format(_DIRECTIONS[from_client], "signing").encode())


def seal_key(exported_session_key: bytes, flags: int, *, from_client: bool) -> bytes:
    """Return SEALKEY of a direction with extended session security, [MS-NLMP] 3.4.5.3."""
    if flags & NegotiateFlags.KEY_128:
        weakened = exported_session_key
    elif flags & NegotiateFlags.KEY_56:
        weakened = exported_session_key[:7]
    else:
        weakened = exported_session_key[:5]
    return _md5(weakened + _MAGIC.format(_DIRECTIONS[from_client], "sealing").encode())


class _Direction:
    """The PDUs of one peer: one cipher stream and one series of sequence numbers."""

    def __init__(self, exported_session_key: bytes, flags: int, *, from_client: bool) -> None:
        self._signing_key = sign_key(exported_session_key, from_client=from_client)
        self._stream = ARC4.new(seal_key(exported_session_key, flags, from_client=from_client))
        self._key_exchange = bool(flags & NegotiateFlags.KEY_EXCHANGE)
        self._numbers = SequenceNumbers(0, bits=32)
        self._first = True

    def open(self, pdu: ProtectedPdu, readings: Readings) -> Unwrapped:
        """Decrypt and verify the next PDU, [MS-NLMP] 3.4.4.2; an empty stub advances the stream, too."""
        sealed = pdu.level >= AuthenticationLevel.PKT_PRIVACY
        stub = self._stream.decrypt(pdu.stub) if sealed else pdu.stub
        if len(pdu.auth_value) < _SIGNATURE_SIZE:
            self._numbers.skip()
            size = len(pdu.auth_value)
            return Unwrapped(stub, False, f"NTLM: a signature of {size} bytes, {_SIGNATURE_SIZE} are needed")
        version, checksum, number = struct.unpack_from("<I8sI", pdu.auth_value)
        if self._key_exchange:
            checksum = self._stream.decrypt(checksum)
        if self._first and number == 1:
            # SPNEGO's mechListMIC takes the first number, and gives the cipher state back: [MS-SPNG] 3.3.5.1.
            self._numbers.accept(0)
        self._first = False
        for parts in readings.candidates(pdu):
            signed = struct.pack("<I", number) + parts.message(pdu, stub)
            if hmac.compare_digest(_hmac_md5(self._signing_key, signed)[:8], checksum) and version == 1:
                readings.settle(parts)
                verified, note = self._numbers.judge(number, "NTLM")
                return Unwrapped(stub, verified, note)
        missing = self._numbers.missing(number)
        self._numbers.skip()
        note = "NTLM: the signature is wrong"
        if missing > 0:
            # The number itself is not protected by anything that was verified: it may lie.
            note += f"; by its number {plural(missing, 'protected PDU')} before this one not in the capture"
        return Unwrapped(stub, False, note)


class NtlmNegotiation:
    """A `Negotiation` of NTLMv2 with extended session security; takes bare NTLMSSP messages."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._challenge: ChallengeMessage | None = None
        self._directions: dict[bool, _Direction] = {}
        self._readings = Readings()
        self.account = ""
        """``DOMAIN\\user`` of the AUTHENTICATE_MESSAGE."""
        self.note = ""
        """Why nothing can be opened, empty while all is well."""

    def exchange(self, from_client: bool, token: bytes) -> None:
        """Take a message; ignore messages of the wrong direction."""
        try:
            message = parse_ntlm_message(token)
        except DecodeError as error:
            self.note = f"NTLM: {error}"
            return
        if isinstance(message, ChallengeMessage):
            if not from_client:
                self._challenge = message
        elif from_client and isinstance(message, AuthenticateMessage):
            self._authenticate(message)

    def unwrap(self, pdu: ProtectedPdu) -> Unwrapped:
        """Decrypt and verify a PDU; at connect level nothing is protected."""
        if pdu.level <= AuthenticationLevel.CONNECT:
            return Unwrapped(pdu.stub, None)
        if not self._directions:
            return closed(pdu, self.note or "NTLM: the handshake is not whole in the capture")
        return self._directions[pdu.from_client].open(pdu, self._readings)

    def _authenticate(self, message: AuthenticateMessage) -> None:
        self._directions = {}
        domain, user = one_line(message.domain_name), one_line(message.user_name)
        self.account = f"{domain}\\{user}" if domain else user
        key, self.note = self._key_exchange_key(message)
        if key is None:
            return
        flags = message.negotiate_flags
        if flags & NegotiateFlags.KEY_EXCHANGE:
            encrypted = message.encrypted_random_session_key
            if len(encrypted) != _KEY_SIZE:
                self.note = f"NTLM: a session key of {len(encrypted)} bytes, {_KEY_SIZE} are needed"
                return
            key = ARC4.new(key).decrypt(encrypted)
        self._directions = {
            from_client: _Direction(key, flags, from_client=from_client) for from_client in (True, False)
        }

    def _key_exchange_key(self, message: AuthenticateMessage) -> tuple[bytes | None, str]:
        """Return the key, or None and the reason."""
        response = message.nt_challenge_response
        if not message.negotiate_flags & NegotiateFlags.EXTENDED_SESSION_SECURITY:
            return None, f"NTLM: {self.account} without extended session security, which is not opened"
        if not response and not message.user_name:
            self.account = "ANONYMOUS LOGON"
            return bytes(_KEY_SIZE), ""
        if len(response) <= _V1_RESPONSE_SIZE:
            return None, f"NTLM: {self.account} answered with NTLMv1, which is not opened"
        if self._challenge is None:
            return None, f"NTLM: the challenge that {self.account} answered is not in the capture"
        if not self._secrets.nt_hashes:
            return None, f"NTLM: no password or NT hash given for {self.account}"
        proof, temp = response[:_PROOF_SIZE], response[_PROOF_SIZE:]
        for secret in self._secrets.nt_hashes:
            key = ntowf_v2(secret, message.user_name, message.domain_name)
            if hmac.compare_digest(_hmac_md5(key, self._challenge.server_challenge + temp), proof):
                return _hmac_md5(key, proof), ""
        tried = len(self._secrets.nt_hashes)
        which = "the secret is not right" if tried == 1 else f"none of the {tried} secrets is right"
        return None, f"NTLM: {which} for {self.account}"


def _upper(character: str) -> str:
    upper = character.upper()
    return upper if len(upper) == 1 and character <= "\uffff" else character


def _hmac_md5(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "md5")


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()

"""Per-message tokens of Kerberos in DCE style: AES by [RFC 4121] 4.2, RC4 by [RFC 4757] 7, [MS-KILE] 3.4.5.4.

The token is in auth_value. The message is encrypted in place, in the stub.
"""

from __future__ import annotations

import hmac
import struct

import msgspec
from Cryptodome.Cipher import ARC4

from msmq_wire.buffers import as_bytes
from msmq_wire.rpc.pdu_protection import ProtectedPdu
from msmq_wire.rpc.unseal.gss import KERBEROS_OID, unframe
from msmq_wire.rpc.unseal.kerberos_crypto import AES_CHECKSUM, BLOCK, AesUsage, md5
from msmq_wire.rpc.unseal.protection import Readings, SignedParts

_HEADER = 16
_SENT_BY_ACCEPTOR, _SEALED, _ACCEPTOR_SUBKEY = 1, 2, 4
_SIGN_HMAC = b"\x11\x00"
_SEAL_RC4 = b"\x10\x00"
# Salts of the signature, [RFC 4757] 7.2 and 7.3.
_MIC_SALT, _WRAP_SALT = struct.pack("<I", 15), struct.pack("<I", 13)
_ZERO = bytes(4)


class AesToken(msgspec.Struct, frozen=True, gc=False):
    """Token of [RFC 4121]; ``value`` is the whole auth_value. ``ec`` and ``rrc`` are 0 in a MIC token."""

    wrap: bool
    flags: int
    ec: int
    rrc: int
    number: int
    value: bytes

    @property
    def acceptor_subkey(self) -> bool:
        """Whether the key is the subkey in the AP-REP."""
        return bool(self.flags & _ACCEPTOR_SUBKEY)


class Rc4Token(msgspec.Struct, frozen=True, gc=False):
    """Token of [RFC 4757]: ``header`` is signed, ``confounder`` is empty in a MIC token."""

    wrap: bool
    header: bytes
    sequence: bytes
    checksum: bytes
    confounder: bytes


class UnwrappedToken(msgspec.Struct, frozen=True, gc=False):
    """A message and its sequence number; ``parts`` are the signed parts, None if no signature is valid."""

    stub: bytes
    number: int
    parts: SignedParts | None


def parse_token(value: bytes) -> AesToken | Rc4Token | None:
    """Parse the token of an auth_value, and ignore zeros after it; None without a whole token."""
    value = as_bytes(value, "value")
    framed = unframe(value)
    if framed is not None:
        return _parse_rc4(framed.inner) if framed.mechanism == KERBEROS_OID else None
    if len(value) < _HEADER:
        return None
    number = int.from_bytes(value[8:16], "big")
    if value[:2] == b"\x05\x04":
        ec, rrc = struct.unpack_from(">HH", value, 4)
        return AesToken(True, value[2], ec, rrc, number, value)
    if value[:2] == b"\x04\x04":
        return AesToken(False, value[2], 0, 0, number, value)
    return None


def _parse_rc4(inner: bytes) -> Rc4Token | None:
    kind = inner[:2]
    if kind not in (b"\x02\x01", b"\x01\x01") or inner[2:4] != _SIGN_HMAC:
        return None
    wrap = kind == b"\x02\x01"
    if len(inner) < (32 if wrap else 24):
        return None
    return Rc4Token(wrap, inner[:8], inner[8:16], inner[16:24], inner[24:32] if wrap else b"")


def open_aes(
    token: AesToken, usage: AesUsage, pdu: ProtectedPdu, readings: Readings
) -> UnwrappedToken | None:
    """Decrypt or verify with AES, by the key usage of the sender; None if lengths contradict each other."""
    from_acceptor = bool(token.flags & _SENT_BY_ACCEPTOR)
    if not token.wrap:
        stub, confounder, ending = pdu.stub, b"", token.value[:_HEADER]
        checksum = token.value[_HEADER : _HEADER + AES_CHECKSUM]
    else:
        size = _HEADER + BLOCK + token.ec + _HEADER + AES_CHECKSUM
        if not token.flags & _SEALED or len(token.value) < size:
            return None
        rotated = token.value[_HEADER:size] + pdu.stub
        # In DCE style, Windows rotates by EC as well, [MS-KILE] 3.4.5.4.1.
        rotation = (token.rrc + token.ec) % len(rotated)
        message = rotated[rotation:] + rotated[:rotation]
        plain, checksum = usage.open(message[:-AES_CHECKSUM]), message[-AES_CHECKSUM:]
        end = BLOCK + len(pdu.stub)
        confounder, stub, ending = plain[:BLOCK], plain[BLOCK:end], plain[end:]
        if ending[token.ec :] != token.value[:6] + b"\0\0" + token.value[8:_HEADER]:
            return UnwrappedToken(stub, token.number, None)
    if from_acceptor is not pdu.from_client:
        for parts in readings.candidates(pdu):
            signed = b"".join((confounder, parts.message(pdu, stub), ending))
            is_valid = (
                usage.is_genuine(signed, checksum)
                if token.wrap
                else hmac.compare_digest(usage.checksum(signed), checksum)
            )
            if is_valid:
                return UnwrappedToken(stub, token.number, parts)
    return UnwrappedToken(stub, token.number, None)


def open_rc4(token: Rc4Token, key: bytes, pdu: ProtectedPdu, readings: Readings) -> UnwrappedToken | None:
    """Decrypt or verify with RC4; None for a wrap token that is not sealed."""
    sequence = ARC4.new(_hmac_md5(_hmac_md5(key, _ZERO), token.checksum)).decrypt(token.sequence)
    number = int.from_bytes(sequence[:4], "big")
    stub, confounder = pdu.stub, b""
    if token.wrap:
        if token.header[4:6] != _SEAL_RC4:
            return None
        local = bytes(byte ^ 0xF0 for byte in key)
        plain = ARC4.new(_hmac_md5(_hmac_md5(local, _ZERO), sequence[:4])).decrypt(
            token.confounder + pdu.stub
        )
        confounder, stub = plain[:8], plain[8:]
    salt = _WRAP_SALT if token.wrap else _MIC_SALT
    signing_key = _hmac_md5(key, b"signaturekey\0")
    if sequence[4:] == (_ZERO if pdu.from_client else b"\xff" * 4):
        for parts in readings.candidates(pdu):
            message = parts.message(pdu, stub)
            # Some peers pad what they sign to 8 bytes, [RFC 1964] 1.2.2.3; with most PDUs that adds nothing.
            padding = -len(message) % 8
            for signed in {message, message + bytes([padding]) * padding}:
                digest = md5(b"".join((salt, token.header, confounder, signed)))
                if hmac.compare_digest(_hmac_md5(signing_key, digest)[:8], token.checksum):
                    return UnwrappedToken(stub, number, parts)
    return UnwrappedToken(stub, number, None)


def _hmac_md5(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "md5")

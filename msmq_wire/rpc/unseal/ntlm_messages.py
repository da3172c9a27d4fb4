"""The three messages of NTLMSSP, [MS-NLMP] 2.2.1, read with every length and offset checked."""

from __future__ import annotations

import struct
from enum import IntFlag

import msgspec

from msmq_wire.buffers import as_bytes
from msmq_wire.errors import DecodeError
from msmq_wire.spec import SpecRef

NTLMSSP_SIGNATURE = b"NTLMSSP\0"
_NEGOTIATE, _CHALLENGE, _AUTHENTICATE = 1, 2, 3


class NegotiateFlags(IntFlag):
    """The flags that affect keys and texts, [MS-NLMP] 2.2.2.5."""

    UNICODE = 0x00000001
    EXTENDED_SESSION_SECURITY = 0x00080000
    KEY_128 = 0x20000000
    KEY_EXCHANGE = 0x40000000
    KEY_56 = 0x80000000


class NegotiateMessage(msgspec.Struct, frozen=True, gc=False):
    """NEGOTIATE_MESSAGE, [MS-NLMP] 2.2.1.1: what the client offers."""

    negotiate_flags: int


class ChallengeMessage(msgspec.Struct, frozen=True, gc=False):
    """CHALLENGE_MESSAGE, [MS-NLMP] 2.2.1.2; ``target_name`` is text in the clear."""

    negotiate_flags: int
    server_challenge: bytes
    target_name: str


class AuthenticateMessage(msgspec.Struct, frozen=True, gc=False):
    """AUTHENTICATE_MESSAGE, [MS-NLMP] 2.2.1.3, without its MIC."""

    negotiate_flags: int
    domain_name: str
    user_name: str
    workstation: str
    lm_challenge_response: bytes
    nt_challenge_response: bytes
    encrypted_random_session_key: bytes


NtlmMessage = NegotiateMessage | ChallengeMessage | AuthenticateMessage


def parse_ntlm_message(data: bytes) -> NtlmMessage:
    """Parse one message; ignore bytes after it.

    Raises `DecodeError` for a wrong signature, an unknown type, or a field outside ``data``.
    """
    data = as_bytes(data)
    if data[:8] != NTLMSSP_SIGNATURE:
        raise DecodeError("ntlm-signature", "no message of NTLMSSP", path="signature", spec=_spec("2.2.1"))
    message_type = _number(data, 8, "message_type")
    if message_type == _NEGOTIATE:
        return NegotiateMessage(_number(data, 12, "negotiate_flags"))
    if message_type == _CHALLENGE:
        flags = _number(data, 20, "negotiate_flags")
        challenge = data[24:32]
        if len(challenge) < 8:
            raise _missing("server_challenge", 24, "2.2.1.2")
        return ChallengeMessage(flags, challenge, _text(_payload(data, 12, "target_name"), flags))
    if message_type == _AUTHENTICATE:
        flags = _number(data, 60, "negotiate_flags")
        return AuthenticateMessage(
            flags,
            _text(_payload(data, 28, "domain_name"), flags),
            _text(_payload(data, 36, "user_name"), flags),
            _text(_payload(data, 44, "workstation"), flags),
            _payload(data, 12, "lm_challenge_response"),
            _payload(data, 20, "nt_challenge_response"),
            _payload(data, 52, "encrypted_random_session_key"),
        )
    message = f"{message_type} is no message type"
    raise DecodeError("unknown-selector", message, path="message_type", offset=8, spec=_spec("2.2.1"))


def _spec(section: str) -> SpecRef:
    return SpecRef("MS-NLMP", section)


def _missing(path: str, offset: int, section: str) -> DecodeError:
    return DecodeError("missing-bytes", "the message is cut", path=path, offset=offset, spec=_spec(section))


def _number(data: bytes, offset: int, path: str) -> int:
    if offset + 4 > len(data):
        raise _missing(path, offset, "2.2.1")
    return int.from_bytes(data[offset : offset + 4], "little")


def _payload(data: bytes, offset: int, path: str) -> bytes:
    """Return the bytes that the length, maximum and offset fields at ``offset`` point to."""
    if offset + 8 > len(data):
        raise _missing(path, offset, "2.2.1")
    length, _, start = struct.unpack_from("<HHI", data, offset)
    if length and start + length > len(data):
        raise _missing(path, start, "2.2.1")
    return data[start : start + length]


def _text(data: bytes, flags: int) -> str:
    """Decode text; the wire does not name the OEM character set, so only its ASCII part is certain."""
    if flags & NegotiateFlags.UNICODE:
        return data[: len(data) & ~1].decode("utf-16-le", "surrogatepass")
    return data.decode("latin-1")

"""What the digital signature of a message is worth, asked of a record: for columns and filters.

The rule kept here: it is checked when it is asked for, and once for a record however many ask.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any

from msmq_wire.errors import MissingExtraError
from msmq_wire.records.bodies import encrypted_body
from msmq_wire.records.body_keys import opened
from msmq_wire.records.record import Record
from msmq_wire.wire.packets.message_packet import MessagePacket
from msmq_wire.wire.packets.user_message import UserMessage

if TYPE_CHECKING:
    from msmq_wire.sealing.verifying import SignatureCheck


class _Checked:
    """The check of the record that was asked about last."""

    def __init__(self, verifier: Any) -> None:
        self._verifier = verifier
        self._packet: Any = None
        self._opened: Any = None
        self._check: SignatureCheck | None = None

    def of(self, packet: Any) -> SignatureCheck | None:
        if not isinstance(packet, UserMessage | MessagePacket):
            return None
        opened = _opened(packet)
        if packet is not self._packet or opened is not self._opened:
            self._packet, self._opened = packet, opened
            self._check = self._verifier.check(packet, opened=opened)
        return self._check


def _opened(packet: Any) -> Any:
    """The body of a packet as a key in force opens it; None where there is nothing to open, or no key."""
    properties = packet.message_properties_header
    encrypted = None if properties is None else encrypted_body(packet)
    if encrypted is None or not encrypted.declared:
        return None
    data = bytes(properties.message_body)
    size = max(properties.message_size, len(data))
    return opened(encrypted.algorithm, encrypted.key, data, size, encrypted.packet_level)


_TRUSTING: ContextVar[_Checked | None] = ContextVar("certificates that are trusted", default=None)


def _checked() -> _Checked:
    return _TRUSTING.get() or _checked_alone()


@contextlib.contextmanager
def trusting(trusted: Any) -> Iterator[None]:
    """Let these `msmq_wire.sealing.certificates.TrustedCertificates` vouch for signers while this lasts."""
    token = _TRUSTING.set(None if trusted is None else _checked_with(trusted))
    try:
        yield
    finally:
        _TRUSTING.reset(token)


@cache
def _checked_alone() -> _Checked:
    return _checked_with(None)


def _checked_with(trusted: Any) -> _Checked:
    # cryptography is loaded by who asks.
    try:
        from msmq_wire.sealing.verifying import Verifier
    except ImportError:
        raise MissingExtraError.of(
            "checking signatures", "cryptography and pycryptodomex", "msmq-wire[unseal]"
        ) from None
    return _Checked(Verifier(trusted))


_ASKED: ContextVar[bool] = ContextVar("signatures are asked", default=False)


@contextlib.contextmanager
def checking_signatures(asked: bool = True) -> Iterator[None]:
    """Let findings check signatures while this lasts. Raises `MissingExtraError` without the extra."""
    if asked:
        _checked()
    token = _ASKED.set(asked)
    try:
        yield
    finally:
        _ASKED.reset(token)


def signatures_are_asked() -> bool:
    """Whether findings are to check signatures."""
    return _ASKED.get()


def checked(record: Record) -> SignatureCheck | None:
    """What its signature is worth; None for a record without one."""
    return None if record.error is not None else _checked().of(record.packet)


def checked_packet(packet: Any) -> SignatureCheck | None:
    """The same of a packet that is whole; None for what is no message."""
    return _checked().of(packet)


def signature(record: Record) -> str | None:
    """The verdict of `msmq_wire.sealing.verifying`; None for a message without a signature."""
    check = checked(record)
    return None if check is None else check.verdict


def signed_by(record: Record) -> str | None:
    """The subject of the certificate that a signature came with, whatever the signature is worth."""
    check = checked(record)
    return None if check is None or check.certificate is None else check.certificate.subject


def trusted_by(record: Record) -> str | None:
    """The subject of the trusted certificate that vouches for the one of a signature; None without one."""
    check = checked(record)
    return None if check is None else check.trusted_by or None

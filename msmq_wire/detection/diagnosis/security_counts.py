"""Counts messages that are signed or encrypted.

The rule kept here: the counts follow the declarations in packets. Signatures are verified on request only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from msmq_wire.detection.signed_messages import asked_check
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import TransferBuffer
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.sessions import Moment
from msmq_wire.sessions.followed_message import moment_of
from msmq_wire.wire.headers.security_header import SecurityHeader, security_id_text
from msmq_wire.wire.partial import reached
from msmq_wire.wire.types.enumerations import EncryptionAlgorithm, HashAlgorithm

_MOST = 256
_EB = 1 << 5

_SEQUENCE, _SET, _OBJECT_ID, _VERSION = 0x30, 0x31, 0x06, 0xA0
_NAMES = {
    b"\x55\x04\x03": "CN",
    b"\x55\x04\x06": "C",
    b"\x55\x04\x07": "L",
    b"\x55\x04\x0a": "O",
    b"\x55\x04\x0b": "OU",
    bytes.fromhex("2a864886f70d010901"): "E",
    bytes.fromhex("0992268993f22c640119"): "DC",
}
_ENCODINGS = {0x0C: "utf-8", 0x13: "ascii", 0x14: "latin-1", 0x16: "ascii", 0x1E: "utf-16-be"}
_MOST_NAME = 64


class Tally(msgspec.Struct):
    """A count, and the first moment."""

    count: int = 0
    first: Moment | None = None

    def add(self, moment: Moment, number: int) -> None:
        """Add to the count."""
        self.count += number
        self.first = self.first or moment


class Security:
    """Counts messages with a body by what protects it.

    ``encryption`` and ``hashes`` are names of algorithms, ``senders`` are SIDs and GUIDs, ``subjects`` are
    subjects of certificates, each with its `Tally`. ``verified`` counts the verdicts of the receiving queue
    manager (AS of a stored message), ``verdicts`` the own checks. At most 256 of each are kept.
    """

    def __init__(self) -> None:
        self.messages = 0
        self.clear, self.encrypted, self.signed = Tally(), Tally(), Tally()
        self.encryption: dict[str, Tally] = {}
        self.hashes: dict[str, Tally] = {}
        self.senders: dict[str, Tally] = {}
        self.subjects: dict[str, Tally] = {}
        self.signature_sizes: Counter[int] = Counter()
        self.verified: Counter[int] = Counter()
        self.verdicts: dict[str, Tally] = {}

    def feed(self, record: Record, number: int = 1) -> None:
        """Take a message from any carrier, or several with equal protection."""
        moment = moment_of(record)
        packet = record.packet
        if isinstance(packet, SrmpMessage):
            if record.parent is None:
                self._body(moment, b"", packet.body or b"", 0, None, number)
            return
        if isinstance(packet, TransferBuffer):
            properties = packet.properties
            level = properties.privacy_level or int(bool(properties.body_encrypted))
            self._body(moment, b"", properties.body or b"", level, properties.encryption_algorithm, number)
            return
        header = reached(packet, "message_properties_header")
        if reached(header, "message_size") is None:
            return
        security = reached(packet, "security_header")
        level = reached(header, "privacy_level") or 0
        algorithm = reached(header, "encryption_algorithm")
        if not isinstance(security, SecurityHeader):
            self._body(moment, b"", b"x" * bool(header.message_size), level, algorithm, number)
            return
        data = reached(security, "security_data")
        level = level or int(bool((reached(security, "flags") or 0) & _EB))
        signature = reached(data, "signature") or b""
        self._body(moment, signature, b"x" * bool(header.message_size), level, algorithm, number)
        if signature:
            self._keep(self.hashes, _name(HashAlgorithm, reached(header, "hash_algorithm")), moment, number)
            check = asked_check(record)
            if check is not None:
                self._keep(self.verdicts, check.verdict, moment, number)
        sender = security_id_text(security) if data is not None else None
        if sender:
            self._keep(self.senders, sender, moment, number)
        certificate = reached(data, "sender_cert") or b""
        if certificate:
            subject = subject_text(certificate) or "a certificate without a subject"
            self._keep(self.subjects, subject, moment, number)
        self.verified[(reached(security, "flags") or 0) >> 8 & 0xF] += number

    def _body(
        self, moment: Moment, signature: bytes, body: bytes, level: int, algorithm: Any, number: int
    ) -> None:
        self.messages += number
        if body and level:
            self.encrypted.add(moment, number)
            self._keep(self.encryption, _name(EncryptionAlgorithm, algorithm), moment, number)
        elif body:
            self.clear.add(moment, number)
        if signature:
            self.signed.add(moment, number)
            size = len(signature)
            if size in self.signature_sizes or len(self.signature_sizes) < _MOST:
                self.signature_sizes[size] += number

    @staticmethod
    def _keep(tallies: dict[str, Tally], name: str, moment: Moment, number: int) -> None:
        tally = tallies.get(name)
        if tally is None:
            if len(tallies) >= _MOST:
                return
            tally = tallies[name] = Tally()
        tally.add(moment, number)


def _name(kind: type[HashAlgorithm] | type[EncryptionAlgorithm], value: Any) -> str:
    try:
        return kind(value).name.replace("_", "-")
    except ValueError:
        return f"algorithm 0x{value:04x}" if isinstance(value, int) else "an algorithm that is not known"


def subject_text(certificate: bytes) -> str | None:
    """The subject as ``CN=orders, O=Example``; None if the bytes have none. [RFC 5280] 4.1.2.6"""
    outer = next(_elements(certificate), None)
    if outer is None or outer[0] != _SEQUENCE:
        return None
    signed = next(_elements(outer[1]), None)
    if signed is None or signed[0] != _SEQUENCE:
        return None
    fields = [data for kind, data in _elements(signed[1]) if kind != _VERSION]
    # Serial number, algorithm, issuer, validity, subject.
    return ", ".join(_attributes(fields[4])) or None if len(fields) > 4 else None


def _attributes(name: bytes) -> Iterator[str]:
    for kind, group in _elements(name):
        for inner, attribute in _elements(group) if kind == _SET else ():
            parts = list(_elements(attribute)) if inner == _SEQUENCE else []
            if len(parts) == 2 and parts[0][0] == _OBJECT_ID:
                text = parts[1][1].decode(_ENCODINGS.get(parts[1][0], "latin-1"), "replace")
                yield f"{_NAMES.get(parts[0][1], 'other')}={text[:128]}"


def _elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """DER elements with tags of one byte, up to the first invalid length."""
    at = 0
    for _ in range(_MOST_NAME):
        if at + 2 > len(data):
            return
        kind, size = data[at], data[at + 1]
        at += 2
        if size & 0x80:
            digits = size & 0x7F
            if not 0 < digits <= 4 or at + digits > len(data):
                return
            size = int.from_bytes(data[at : at + digits], "big")
            at += digits
        if at + size > len(data):
            return
        yield kind, data[at : at + size]
        at += size

"""Who signed and who encrypted: counts over the messages of a capture.

The rule kept here: what a packet declares is counted; a signature is verified where that was asked for.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from msmq_wire.findings.diagnosis.certificate import subject_text
from msmq_wire.findings.signed_messages import asked_check
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import TransferBuffer
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.sessions import Moment
from msmq_wire.sessions.message import moment_of
from msmq_wire.wire.headers.security_header import SecurityHeader, security_id_text
from msmq_wire.wire.partial import reached
from msmq_wire.wire.types.enumerations import EncryptionAlgorithm, HashAlgorithm

_MOST = 256
_EB = 1 << 5


class Tally(msgspec.Struct):
    """How often something was seen, where first."""

    count: int = 0
    first: Moment | None = None

    def add(self, moment: Moment, number: int) -> None:
        """Count so many more."""
        self.count += number
        self.first = self.first or moment


class Security:
    """Counts messages with a body by what protects it.

    ``encryption`` and ``hashes`` are names of algorithms in use, ``senders`` SIDs and GUIDs, ``subjects``
    those of certificates, each with its `Tally`; ``verified`` counts what the receiving queue manager says
    of a signature (AS of a stored message), ``verdicts`` what was checked here. At most 256 of each are
    kept.
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
        """Take a message in whatever carries it, or so many that are protected alike."""
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

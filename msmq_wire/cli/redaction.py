"""Records without what must not leave the house: bodies, labels, hosts.

The rule kept here: redacted text and bytes keep their length, so offsets and sizes stay true; what stands
for a host is the same everywhere in one run. Where a structure may repeat something redacted (SOAP and
HTTP envelopes, undeclared bytes), all of it goes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import msgspec

from msmq_wire.cli.call_redaction import CallRedactor
from msmq_wire.cli.srmp_redaction import SrmpRedactor, told_less
from msmq_wire.records.record import Record
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.security_header import SecurityData, SecurityHeader
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.packets.acknowledgment import is_order_queue
from msmq_wire.wire.packets.final_ack import FinalAck
from msmq_wire.wire.packets.order_ack import OrderAck
from msmq_wire.wire.types.enumerations import SenderIdType
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.wchar_text import WcharText

__all__ = ["Redaction", "Redactor"]


class Redaction(StrEnum):
    """What can be redacted."""

    BODIES = "bodies"
    LABELS = "labels"
    HOSTS = "hosts"


_BODIES = {
    ("message_properties_header", "message_body"),
    ("message_properties_header", "extension_data"),
}
_LABELS = {("message_properties_header", "label")}
_HOST_NAMES = {
    ("direct_queue_format_name", "direct_format_name"),
    ("mqf_direct_queue_format_name", "direct_format_name"),
    ("dead_letter_header", "dead_letter_path_name"),
    ("address_overlay", "address"),
    ("extended_address_header", "address"),
}
# Every other GUID names a queue manager.
_NO_HOSTS = {
    ("public_queue_format_name", "public_queue_identifier"),
    ("mqf_distribution_queue_format_name", "distribution_list_identifier"),
    ("debug_header", "queue_identifier"),
    ("user_header", "connector_type"),
}
# A SID of an account from its authority on: S-1-5-21; three numbers of its machine or domain follow.
_ACCOUNT = bytes.fromhex("000000000005 15000000")
_ACK_GUID = 16
"""Where the body of an acknowledgment has the GUID of a queue manager, [MS-MQQB] 2.2.5.1."""
_ANY = {
    ("srmp_envelope_header", "data"),
    ("compound_message_header", "data"),
    ("soap_header", "header"),
    ("soap_header", "body"),
}
_LEFTOVERS = ("undeclared", "undecoded")


class Redactor:
    """Redacts the records of one run."""

    def __init__(self, what: set[Redaction]) -> None:
        self.what = what
        self._hosts: dict[str, str] = {}
        self._guids: dict[bytes, GUID] = {}
        self._calls = CallRedactor(
            bodies=Redaction.BODIES in what,
            labels=Redaction.LABELS in what,
            hosts=Redaction.HOSTS in what,
            guid=self._guid,
            sender=self._sender,
            blank=_blank,
            blank_host=_blank_host,
        )
        self._srmp = SrmpRedactor(
            bodies=Redaction.BODIES in what,
            labels=Redaction.LABELS in what,
            hosts=Redaction.HOSTS in what,
            guid=self._guid,
        )

    @property
    def hides_hosts(self) -> bool:
        """Whether nothing that is printed may name a host."""
        return Redaction.HOSTS in self.what

    def record(self, record: Record) -> Record:
        """A copy of a record without what is redacted."""
        if not self.what:
            return record
        changed: dict[str, Any] = {"remainder": bytes(len(record.remainder))}
        changed["anomalies"] = tuple(told_less(one) for one in record.anomalies)
        if isinstance(record.packet, SrmpMessage):
            changed["packet"] = self._srmp.packet(record.packet)
            if record.error is not None:
                changed["error"] = told_less(record.error)
        elif isinstance(record.packet, WireStruct):
            changed["packet"] = self._structure(record.packet)
        elif isinstance(record.packet, msgspec.Struct):
            changed["packet"] = self._calls.packet(record.packet)
        if Redaction.HOSTS in self.what:
            changed["src"] = self._endpoint(record.src)
            changed["dst"] = self._endpoint(record.dst)
            changed["capture"] = re.split(r"[/\\]", record.capture)[-1]
            if record.reason is not None and record.capture:
                # A file error may name the file.
                changed["reason"] = record.reason.replace(record.capture, changed["capture"])
        return msgspec.structs.replace(record, **changed)

    def _structure(self, value: WireStruct) -> WireStruct:
        changed: dict[str, Any] = {}
        stem = value.stem()
        if isinstance(value, SecurityHeader) and Redaction.HOSTS in self.what:
            value = self._without_sender(value)
        for name in value.__struct_fields__:
            part = getattr(value, name)
            if part is None or part is msgspec.UNSET:
                continue
            change = self._change(stem, name, part)
            if change is not None and isinstance(part, bytes):
                changed[name] = change(part)
            elif isinstance(part, WireStruct):
                changed[name] = self._structure(part)
            elif isinstance(part, tuple):
                changed[name] = tuple(
                    self._structure(item) if isinstance(item, WireStruct) else item for item in part
                )
        shown = msgspec.structs.replace(value, **changed)
        return self._acknowledged(shown) if Redaction.HOSTS in self.what else shown

    def _acknowledged(self, packet: WireStruct) -> WireStruct:
        """The packet with the queue manager in the body of an acknowledgment redacted too.

        Both kinds have its GUID in the same place: FinalAck declares it, OrderAck may have it in what it
        leaves unused. One that is cut counts as a user message: then its queue tells.
        """
        header = getattr(packet, "user_header", None)
        holder = getattr(packet, "message_properties_header", None)
        if not isinstance(header, UserHeader) or not isinstance(holder, MessagePropertiesHeader):
            return packet
        body = holder.message_body
        known = isinstance(packet, OrderAck | FinalAck) or is_order_queue(header)
        if not known or not isinstance(body, bytes):
            return packet
        hidden = body[:_ACK_GUID] + self._guid(body[_ACK_GUID : _ACK_GUID + 16]) + body[_ACK_GUID + 16 :]
        holder = msgspec.structs.replace(holder, message_body=hidden)
        return msgspec.structs.replace(packet, message_properties_header=holder)

    def _change(self, stem: str, name: str, value: Any) -> Callable[[bytes], bytes] | None:
        place = (stem, name)
        if place in _ANY or name in _LEFTOVERS or (Redaction.BODIES in self.what and place in _BODIES):
            return _blank
        if Redaction.LABELS in self.what and place in _LABELS:
            return _blank
        if Redaction.HOSTS in self.what:
            if place in _HOST_NAMES:
                return _blank_host
            if isinstance(value, GUID) and place not in _NO_HOSTS:
                return self._guid
            if place == ("security_data", "sender_cert"):
                return _blank
            if place == ("message_properties_header", "correlation_id"):
                return lambda value: self._guid(value[:16]) + value[16:]
        return None

    def _guid(self, value: bytes) -> bytes:
        if len(value) != 16:
            # Cut: what is left of it still tells.
            return bytes(len(value))
        if value == NULL_GUID:
            return value
        known = self._guids.get(value)
        if known is None:
            number = len(self._guids) + 1
            known = self._guids[value] = GUID(bytes(12) + number.to_bytes(4, "big"))
        return known

    def _without_sender(self, header: SecurityHeader) -> SecurityHeader:
        """By ST: the GUID of a queue manager, or a SID with a stand-in for its machine or domain."""
        data = header.security_data
        if not isinstance(data, SecurityData) or not isinstance(data.security_id, bytes):
            return header
        sender = self._sender(data.security_id, header.bit("st"))
        return msgspec.structs.replace(
            header, security_data=msgspec.structs.replace(data, security_id=sender)
        )

    def _sender(self, sender: bytes, kind: int | None) -> bytes:
        if kind != SenderIdType.SID:
            return bytes(self._guid(sender))
        if sender[2:12] == _ACCOUNT:
            machine = self._guid(sender[12:24].ljust(16, b"\xff"))[4:]
            return sender[:12] + machine[: len(sender) - 12] + sender[24:]
        return sender

    def _endpoint(self, text: str | None) -> str | None:
        if text is None:
            return None
        address, colon, port = text.rpartition(":")
        if not colon or not port.isdigit() or (":" in address and not address.startswith("[")):
            address, colon, port = text, "", ""
        if not address:
            return text
        known = self._hosts.setdefault(address, f"host-{len(self._hosts) + 1}")
        return f"{known}{colon}{port}"


def _blank(value: bytes) -> bytes:
    """The same length: letters in a text, zeros in bytes."""
    if not isinstance(value, WcharText):
        return bytes(len(value))
    end = len(value) - 2 if value.terminated else len(value)
    return type(value)(b"x\0" * (end // 2) + bytes(end % 2) + value[end:])


def _blank_host(value: bytes) -> bytes:
    """A direct name or a path name with letters for its host; an address of zeros."""
    if not isinstance(value, WcharText):
        return bytes(len(value))
    text = bytes(value).decode("utf-16-le", "surrogatepass") if len(value) % 2 == 0 else ""
    protocol, colon, rest = text.partition(":")
    if not colon:
        protocol, rest = "", text
    slash = min(
        (at for at in (rest.lstrip("/").find("\\"), rest.lstrip("/").find("/")) if at >= 0), default=-1
    )
    if slash < 0:
        return _blank(value)
    start = len(protocol) + len(colon) + len(rest) - len(rest.lstrip("/"))
    units = bytearray(value)
    for at in range(start, start + slash):
        units[2 * at : 2 * at + 2] = b"x\0"
    return type(value)(bytes(units))

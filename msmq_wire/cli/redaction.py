"""Records without what must not leave the house: bodies, labels, hosts.

The rule kept here: text and bytes that no list names go, whatever was asked for. What goes keeps its length,
so offsets and sizes stay true; what stands for a host is the same everywhere in one run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from msmq_wire.cli.blanks import blank, blank_host
from msmq_wire.cli.call_redaction import CallRedactor
from msmq_wire.cli.problem_redaction import told_less
from msmq_wire.cli.srmp_redaction import SrmpRedactor
from msmq_wire.records.record import Record
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.security_header import SecurityHeader
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.packets.acknowledgment import is_order_queue
from msmq_wire.wire.packets.final_ack import FinalAck
from msmq_wire.wire.packets.order_ack import OrderAck
from msmq_wire.wire.types.enumerations import SenderIdType
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.multicast_id import MulticastID

__all__ = ["Redaction", "Redactor"]


class Redaction(StrEnum):
    """What can be redacted."""

    BODIES = "bodies"
    LABELS = "labels"
    HOSTS = "hosts"


# Text and bytes that stay unless this is redacted; what is in neither list goes.
_SHOWN_WITHOUT: Mapping[tuple[str, str], Redaction] = {
    ("message_properties_header", "message_body"): Redaction.BODIES,
    ("message_properties_header", "extension_data"): Redaction.BODIES,
    ("message_properties_header", "label"): Redaction.LABELS,
    ("message_properties_header", "correlation_id"): Redaction.HOSTS,
    ("direct_queue_format_name", "direct_format_name"): Redaction.HOSTS,
    ("mqf_direct_queue_format_name", "direct_format_name"): Redaction.HOSTS,
    ("dead_letter_header", "dead_letter_path_name"): Redaction.HOSTS,
    # A subqueue is called as an application likes, and no part of that is known to be no host.
    ("subqueue_header", "subqueue_name"): Redaction.HOSTS,
    ("subqueue_header", "target_subqueue_name"): Redaction.HOSTS,
    ("address_overlay", "address"): Redaction.HOSTS,
    ("extended_address_header", "address"): Redaction.HOSTS,
    ("security_data", "security_id"): Redaction.HOSTS,
    ("security_data", "sender_cert"): Redaction.HOSTS,
}
# GUIDs that name no queue manager. Every other has a stand-in where hosts are redacted.
_NO_HOSTS = {
    ("public_queue_format_name", "public_queue_identifier"),
    ("mqf_distribution_queue_format_name", "distribution_list_identifier"),
    ("debug_header", "queue_identifier"),
    ("user_header", "connector_type"),
}
_FILLER = ("establish_connection_header", "padding")
_FILLING = 0x5A
"""What fills a response: it tells nothing, and a rule counts what is something else."""
_NOTHING_BUT_FILLING = bytes(_FILLING if byte == _FILLING else 0 for byte in range(256))
# A SID of an account from its authority on: S-1-5-21; three numbers of its machine or domain follow.
_ACCOUNT = bytes.fromhex("000000000005 15000000")
_LARGEST_ACCOUNT = 28
# SIDs that are the same on every machine: S-1-0 to S-1-3 and S-1-5 with one number, and S-1-5-32 with two.
_WELL_KNOWN = re.compile(rb"\x01(?:\x01\0{5}[\x00-\x03\x05].\0{3}|\x02\0{5}\x05\x20\0{3}..\0{2})", re.DOTALL)
_ACK_GUID = 16
"""Where the body of an acknowledgment has the GUID of a queue manager, [MS-MQQB] 2.2.5.1."""


class Redactor:
    """Redacts the records of one run."""

    def __init__(self, what: set[Redaction]) -> None:
        self.what = what
        self._hosts: dict[str, str] = {}
        self._guids: dict[bytes, GUID] = {}
        # What stands for bytes of which a part may stay.
        self._instead: Mapping[tuple[str, str], Callable[[bytes], bytes]] = {
            ("message_properties_header", "correlation_id"): lambda value: (
                self._guid(value[:16]) + value[16:20]
            ),
            ("direct_queue_format_name", "direct_format_name"): blank_host,
            ("mqf_direct_queue_format_name", "direct_format_name"): blank_host,
            ("dead_letter_header", "dead_letter_path_name"): blank_host,
            _FILLER: lambda value: value.translate(_NOTHING_BUT_FILLING),
        }
        self._calls = CallRedactor(
            bodies=Redaction.BODIES in what,
            labels=Redaction.LABELS in what,
            hosts=Redaction.HOSTS in what,
            guid=self._guid,
            sender=self._sender,
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
        changed: dict[str, Any] = {
            "packet": self._packet(record.packet),
            "anomalies": tuple(told_less(one) for one in record.anomalies),
            "error": None if record.error is None else told_less(record.error),
            "remainder": bytes(len(record.remainder)),
        }
        if Redaction.HOSTS in self.what:
            changed["src"] = self._endpoint(record.src)
            changed["dst"] = self._endpoint(record.dst)
            changed["capture"] = re.split(r"[/\\]", record.capture)[-1]
            if record.reason is not None and record.capture:
                # A file error may name the file.
                changed["reason"] = record.reason.replace(record.capture, changed["capture"])
        return msgspec.structs.replace(record, **changed)

    def queue(self, text: str) -> str:
        """A format name, or a path name, as records would show it."""
        return self._calls.queue(text) if self.hides_hosts else text

    def message_id(self, text: str) -> str:
        """The identifier of a message as records would show it."""
        return self._srmp.message_id(text) if self.hides_hosts else text

    def correlation_id(self, value: bytes) -> bytes:
        """A correlation identifier as records would show it."""
        return self._guid(value[:16]) + value[16:] if self.hides_hosts else value

    def _packet(self, packet: Any) -> Any:
        if isinstance(packet, SrmpMessage):
            return self._srmp.packet(packet)
        if isinstance(packet, WireStruct):
            return self._structure(packet)
        if isinstance(packet, msgspec.Struct):
            return self._calls.packet(packet)
        return blank(packet) if isinstance(packet, bytes) else packet

    def _structure(self, value: WireStruct, parent: WireStruct | None = None) -> WireStruct:
        changed = {
            name: self._value((value.stem(), name), getattr(value, name), value, parent)
            for name in value.__struct_fields__
        }
        return self._acknowledged(msgspec.structs.replace(value, **changed), value)

    def _value(self, place: tuple[str, str], value: Any, owner: WireStruct, parent: WireStruct | None) -> Any:
        if isinstance(value, WireStruct):
            return self._structure(value, owner)
        if isinstance(value, tuple):
            return tuple(self._value(place, one, owner, parent) for one in value)
        if isinstance(value, GUID):
            return value if not self.hides_hosts or place in _NO_HOSTS else self._guid(value)
        if isinstance(value, bytes):
            return self._bytes(place, value, parent)
        if isinstance(owner, MulticastID) and self.hides_hosts and place[1] == "address":
            # A group is where messages go, as a host is.
            return 0
        return value

    def _bytes(self, place: tuple[str, str], value: bytes, parent: WireStruct | None) -> bytes:
        hidden_by = _SHOWN_WITHOUT.get(place)
        if hidden_by is not None and hidden_by not in self.what:
            return value
        if place == ("security_data", "security_id") and isinstance(parent, SecurityHeader):
            return self._sender(value, parent.bit("st") if isinstance(parent.flags, int) else None)
        return self._instead.get(place, blank)(value)

    def _acknowledged(self, shown: WireStruct, packet: WireStruct) -> WireStruct:
        """The packet with the queue manager in the body of an acknowledgment redacted too.

        Both kinds have its GUID in the same place: FinalAck declares it, OrderAck may have it in what it
        leaves unused. One that is cut counts as a user message: then its queue tells.
        """
        header = getattr(packet, "user_header", None)
        holder = getattr(shown, "message_properties_header", None)
        if not isinstance(header, UserHeader) or not isinstance(holder, MessagePropertiesHeader):
            return shown
        body = holder.message_body
        known = isinstance(packet, OrderAck | FinalAck) or is_order_queue(header)
        if not known or not isinstance(body, bytes):
            return shown
        if isinstance(packet, FinalAck):
            source = body[_ACK_GUID : _ACK_GUID + 16]
            rest = (self._guid(source) if self.hides_hosts else source) + body[_ACK_GUID + 16 :]
        else:
            rest = bytes(len(body[_ACK_GUID:]))
        holder = msgspec.structs.replace(holder, message_body=body[:_ACK_GUID] + rest)
        return msgspec.structs.replace(shown, message_properties_header=holder)

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

    def _sender(self, sender: bytes, kind: int | None) -> bytes:
        """By ST: the GUID of a queue manager, or a SID with a stand-in for its machine or domain."""
        if kind != SenderIdType.SID:
            return bytes(self._guid(sender))
        if sender[:1] == b"\1" and sender[2:12] == _ACCOUNT and len(sender) <= _LARGEST_ACCOUNT:
            machine = self._guid(sender[12:24].ljust(16, b"\xff"))[4:]
            return sender[:12] + machine[: len(sender) - 12] + sender[24:]
        return sender if _WELL_KNOWN.fullmatch(sender) else bytes(len(sender))

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

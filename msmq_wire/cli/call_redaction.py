"""Remote read calls without what must not leave the house; what each of their members may tell.

The rule kept here: what is not known to be safe goes, whatever was asked for. Numbers, handles and the
identifiers of queues, transactions and interfaces are safe, and the words that the decoder itself writes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from msmq_wire.cli.blanks import blank, blank_host, blank_text
from msmq_wire.cli.problem_redaction import NOT_SHOWN
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.rpc.types.queue_format import MulticastId, QueueFormat
from msmq_wire.spec import snake_case
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

__all__ = ["CallRedactor"]

_QUEUE_NAMES = frozenset(("arm", "lpwcs_path_name", "lplp_remote_queue_name", "lpwcs_format_name"))
"""Texts that name a queue, and so a host. ``arm`` is that of QUEUE_FORMAT; of PROPVARIANT it is not known."""
_FORMAT_NAMES = frozenset(
    (
        "queue",
        "destination_queue_format_name",
        "administration_queue_format_name",
        "response_queue_format_name",
        "transaction_status_queue_format_name",
    )
)
_SAFE_GUIDS = frozenset(
    (
        ("context_handle", "uuid"),
        ("dl_id", "m_dl_guid"),
        ("cac_transfer_buffer_v1", "pp_connector_type"),
        ("cac_transfer_buffer_v1", "p_uow"),
        ("message_properties", "connector_type_identifier"),
        ("rpc_call", "object_uuid"),
        ("com_call", "object_uuid"),
        ("com_object", "iid"),
        ("com_object", "ipid"),
        ("com_object", "clsid"),
    )
)
_SAFE_NAMES = frozenset(("p_transaction_id", "p_uow"))
_OWN_WORDS = frozenset(
    (
        "accepted",
        "com_version",
        "interface",
        "kind",
        "method",
        "oid",
        "oxid",
        "problems",
        "specified",
        "syntax",
        "transaction",
        "transfer_syntaxes",
        "truncated",
        "version",
    )
)
"""Texts that the decoder writes: names of its own, numbers and UUIDs of interfaces, sentences about them."""
_PUBLIC = 1
_GUID_TEXT = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
# A format name that has no host in it but for its GUID; what follows the semicolon of a list is a domain.
_BY_GUID = re.compile(
    rf"(PUBLIC|PRIVATE|MACHINE|CONNECTOR|DL)=({_GUID_TEXT})(\\[0-9a-f]{{1,8}})?"
    r"(;JOURNAL|;DEADLETTER|;DEADXACT|;XACTONLY)?(;.*)?",
    re.IGNORECASE | re.DOTALL,
)
_NAMES_NO_HOST = ("PUBLIC", "DL")
_CORRELATION = 20


_stem = cache(snake_case)


class CallRedactor:
    """Redacts the packets of calls; ``guid`` and ``sender`` give stand-ins for queue managers and senders.

    ``bodies``, ``labels`` and ``hosts`` say what was asked for.
    """

    def __init__(
        self,
        *,
        bodies: bool,
        labels: bool,
        hosts: bool,
        guid: Callable[[bytes], bytes],
        sender: Callable[[bytes, int | None], bytes],
    ) -> None:
        self.bodies = bodies
        self.labels = labels
        self.hosts = hosts
        self._guid = guid
        self._sender = sender

    def packet(self, packet: msgspec.Struct) -> msgspec.Struct:
        """A copy of the packet of a record of DCE/RPC without what is redacted."""
        if isinstance(packet, MulticastId) and self.hosts:
            return msgspec.structs.replace(packet, m_address=0)
        stem = _stem(type(packet).__name__)
        names = packet.__struct_fields__
        changed = {name: self._value(stem, name, getattr(packet, name), packet) for name in names}
        return msgspec.structs.replace(packet, **changed)

    def _value(self, stem: str, name: str, value: Any, owner: Any) -> Any:
        if isinstance(value, msgspec.Struct):
            return self.packet(value)
        if isinstance(value, tuple):
            # Not every tuple of structures is a plain one.
            return tuple(self._value(stem, name, one, owner) for one in value)
        if isinstance(value, str):
            return self._text(name, value)
        if isinstance(value, GUID):
            return self._identifier(stem, name, value, owner)
        if isinstance(value, bytes) and value:
            if isinstance(owner, MessageProperties):
                return self._property(name, value, owner)
            return self._wide(name, value, owner) if isinstance(value, WcharText) else blank(value)
        return value

    def _text(self, name: str, text: str) -> str:
        """A text of a record: of a queue the host goes, of what names hosts or accounts all."""
        if name in _OWN_WORDS:
            return text
        if name in _FORMAT_NAMES:
            return self.queue(text) if self.hosts else text
        if name == "note":
            return NOT_SHOWN if text and self.hosts else text
        if name == "account":
            return blank_text(text) if self.hosts else text
        if name == "bindings":
            protocol, colon, address = text.partition(":")
            shown = f"{protocol}:{blank_text(address)}" if colon else blank_text(text)
            return shown if self.hosts else text
        if name == "secondary_address":
            port = text.isdecimal() and text.isascii()
            return text if port or not self.hosts else blank_text(text)
        return blank_text(text)

    def queue(self, name: str) -> str:
        """A format name, or a path name, with a stand-in for its host."""
        found = _BY_GUID.fullmatch(name)
        if found is None:
            return blank_host(WcharText.of(name)).text
        kind, guid, number, suffix, _ = found.groups("")
        if kind.upper() not in _NAMES_NO_HOST:
            guid = str(GUID(self._guid(GUID.parse(guid))))
        return f"{kind}={guid}{number}{suffix}"

    def _wide(self, name: str, value: WcharText, owner: Any) -> WcharText:
        """A text of a call: of a queue name the host goes, of any other all."""
        if name in _QUEUE_NAMES and (name != "arm" or isinstance(owner, QueueFormat)):
            return blank_host(value) if self.hosts else value
        return blank(value)

    def _identifier(self, stem: str, name: str, value: GUID, owner: Any) -> GUID:
        if not self.hosts or (stem, name) in _SAFE_GUIDS or name in _SAFE_NAMES:
            return value
        if isinstance(owner, QueueFormat) and owner.m_qft == _PUBLIC:
            return value
        return GUID(self._guid(value))

    def _property(self, name: str, value: bytes, message: MessageProperties) -> bytes:
        """Bytes or a text of a message."""
        match name:
            case "body" | "extension":
                return blank(value) if self.bodies else value
            case "label":
                return blank(value) if self.labels else value
            case "sender_certificate":
                return blank(value) if self.hosts else value
            case "correlation_identifier" if len(value) == _CORRELATION:
                return self._guid(value[:16]) + value[16:] if self.hosts else value
            case "sender_identifier":
                return self._sender(value, message.sender_identifier_type) if self.hosts else value
        return blank(value)

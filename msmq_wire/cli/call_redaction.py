"""Remote read calls without what must not leave the house; what each of their members may tell.

The rule kept here: what is not known to be safe goes, whatever was asked for. Numbers, handles and the
identifiers of queues and transactions are safe.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from msmq_wire.records.com_packets import ComCall, ComObject
from msmq_wire.records.rpc_packets import RpcBind, RpcCall, TransferBuffer
from msmq_wire.rpc.ndr import NdrStruct
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.rpc.types.queue_format import MulticastId, QueueFormat
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

__all__ = ["CallRedactor"]

_QUEUE_NAMES = frozenset(("arm", "lpwcs_path_name", "lplp_remote_queue_name", "lpwcs_format_name"))
"""Texts that name a queue, and so a host. ``arm`` is that of QUEUE_FORMAT; of PROPVARIANT it is not known."""
_SAFE_GUIDS = frozenset(
    (
        ("context_handle", "uuid"),
        ("dl_id", "m_dl_guid"),
        ("cac_transfer_buffer_v1", "pp_connector_type"),
        ("cac_transfer_buffer_v1", "p_uow"),
    )
)
_SAFE_NAMES = frozenset(("p_transaction_id", "p_uow"))
_PUBLIC = 1
_GUID_TEXT = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_NAMES_HOST_BY_GUID = ("private=", "machine=", "connector=")
_OF_QUEUE = (
    "destination_queue_format_name",
    "administration_queue_format_name",
    "response_queue_format_name",
    "transaction_status_queue_format_name",
)
_BODY = ("body", "extension")
_HOST_BYTES = ("sender_certificate",)
_UNKNOWN_BYTES = ("signature", "leading_signature", "symmetric_key", "authentication_provider_name")


class CallRedactor:
    """Redacts the packets of calls; ``guid`` and ``sender`` give stand-ins for queue managers and senders.

    ``bodies``, ``labels`` and ``hosts`` say what was asked for; ``blank`` and ``blank_host`` keep lengths.
    """

    def __init__(
        self,
        *,
        bodies: bool,
        labels: bool,
        hosts: bool,
        guid: Callable[[bytes], bytes],
        sender: Callable[[bytes, int | None], bytes],
        blank: Callable[[bytes], bytes],
        blank_host: Callable[[bytes], bytes],
    ) -> None:
        self.bodies = bodies
        self.labels = labels
        self.hosts = hosts
        self._guid = guid
        self._sender = sender
        self._blank = blank
        self._blank_host = blank_host

    def packet(self, packet: msgspec.Struct) -> msgspec.Struct:
        """A copy of the packet of a record of DCE/RPC without what is redacted."""
        if isinstance(packet, ComCall):
            packet = self._com_call(packet)
        if isinstance(packet, RpcCall):
            return msgspec.structs.replace(
                packet,
                request=self._value("", "request", packet.request),
                response=self._value("", "response", packet.response),
                queue=self._queue(packet.queue),
                account=self._text(packet.account),
                verification_trailer=bytes(len(packet.verification_trailer)),
                note=self._note(packet.note),
            )
        if isinstance(packet, TransferBuffer):
            properties = self._properties(packet.properties)
            return TransferBuffer(queue=self._queue(packet.queue), properties=properties)
        if isinstance(packet, RpcBind):
            address = packet.secondary_address
            return msgspec.structs.replace(
                packet,
                account=self._text(packet.account),
                note=self._note(packet.note),
                secondary_address=address if address.isdigit() else self._text(address),
            )
        return packet

    def _com_call(self, call: ComCall) -> ComCall:
        """What DCOM adds to a call; the objects in it without the hosts they are on."""
        arguments = call.arguments
        if arguments is not None:
            given = self._object(arguments.transaction_object)
            arguments = msgspec.structs.replace(arguments, transaction_object=given)
        causality = call.causality
        if causality is not None and self.hosts:
            # As in ORPCTHIS: what makes it may have put its address in.
            causality = GUID(self._guid(causality))
        return msgspec.structs.replace(
            call, causality=causality, arguments=arguments, returned=self._object(call.returned)
        )

    def _object(self, found: ComObject | None) -> ComObject | None:
        if found is None:
            return None
        return msgspec.structs.replace(found, bindings=tuple(self._binding(one) for one in found.bindings))

    def _binding(self, binding: str) -> str:
        protocol, colon, address = binding.partition(":")
        return f"{protocol}{colon}{self._text(address)}"

    def _text(self, text: str) -> str:
        """Text that may name a host or an account."""
        return "x" * len(text) if self.hosts else text

    def _note(self, note: str) -> str:
        return "not shown" if note and self.hosts else note

    def _queue(self, name: str | None) -> str | None:
        """A format name, or a path name, with a stand-in for its host."""
        if name is None or not self.hosts:
            return name
        if name.lower().startswith(_NAMES_HOST_BY_GUID):
            return _GUID_TEXT.sub(lambda match: str(GUID(self._guid(GUID.parse(match[0])))), name)
        if name.lower().startswith("public="):
            return name
        if name.lower().startswith("dl="):
            # What follows is a domain.
            return name.partition(";")[0]
        blanked = self._blank_host(WcharText.of(name))
        return WcharText(blanked).text

    def _value(self, stem: str, name: str, value: Any, owner: Any = None) -> Any:
        if isinstance(value, WcharText):
            return self._wide(name, value, owner)
        if isinstance(value, GUID):
            return self._identifier(stem, name, value, owner)
        if isinstance(value, bytes):
            return self._blank(value)
        if isinstance(value, tuple):
            # Not every tuple of structures is a plain one.
            return tuple(self._value(stem, name, one, owner) for one in value)
        if isinstance(value, MulticastId) and self.hosts:
            return msgspec.structs.replace(value, m_address=0)
        if isinstance(value, NdrStruct | WireStruct):
            own = value.stem()
            names = value.__struct_fields__
            changed = {one: self._value(own, one, getattr(value, one), value) for one in names}
            return msgspec.structs.replace(value, **changed)
        return value

    def _wide(self, name: str, value: WcharText, owner: Any) -> WcharText:
        """A text: of a queue name the host goes, of any other all."""
        if name in _QUEUE_NAMES and (name != "arm" or isinstance(owner, QueueFormat)):
            return WcharText(self._blank_host(value)) if self.hosts else value
        return WcharText(self._blank(value))

    def _identifier(self, stem: str, name: str, value: GUID, owner: Any) -> GUID:
        if not self.hosts or (stem, name) in _SAFE_GUIDS or name in _SAFE_NAMES:
            return value
        if isinstance(owner, QueueFormat) and owner.m_qft == _PUBLIC:
            return value
        return GUID(self._guid(value))

    def _properties(self, message: MessageProperties) -> MessageProperties:
        changed: dict[str, Any] = {}

        def blank(*names: str) -> None:
            for name in names:
                value = getattr(message, name)
                if value is not None:
                    changed[name] = type(value)(self._blank(value))

        if self.bodies:
            blank(*_BODY)
        if self.labels:
            blank("label")
        blank(*_UNKNOWN_BYTES)
        if self.hosts:
            blank(*_HOST_BYTES)
            for name in _OF_QUEUE:
                changed[name] = self._queue(getattr(message, name))
            for name in ("identifier", "transaction_identifier"):
                changed[name] = self._value("", name, getattr(message, name))
            if message.correlation_identifier is not None:
                correlation = message.correlation_identifier
                changed["correlation_identifier"] = self._guid(correlation[:16]) + correlation[16:]
            if message.source_machine_identifier is not None:
                machine = self._guid(message.source_machine_identifier)
                changed["source_machine_identifier"] = GUID(machine)
            if message.sender_identifier is not None:
                changed["sender_identifier"] = self._sender(
                    message.sender_identifier, message.sender_identifier_type
                )
        return msgspec.structs.replace(message, **changed)

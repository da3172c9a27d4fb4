"""What a capture holds of messages and calls, in the words of a recording: `Sightings`, fed with records.

The rule kept here: what a record does not tell is not there, so nothing is compared that nobody saw. Of a
message its values and digests are kept, not its body; at most `MOST` messages and as many calls are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from msmq_wire.engines.field_offsets import span
from msmq_wire.lab.recordings.compare_readings import FIELDS
from msmq_wire.lab.recordings.compare_values import Comparable, RecordLocation, location_of
from msmq_wire.records.message import message_view
from msmq_wire.records.message_body import message_body
from msmq_wire.records.record import Record, is_read
from msmq_wire.records.rpc_packets import RpcCall, TransferBuffer
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.rpc.interfaces.role import OPENS, READS, Role
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.base_header import INFINITE
from msmq_wire.wire.partial import reached

MOST = 1 << 14
"""Messages, and calls, that are kept; of more nothing is compared."""

WireAction: TypeAlias = Literal["open", "read", "purge", "move", "other"]
_WIRE_ACTIONS: Mapping[Role | None, WireAction] = {
    **dict.fromkeys(READS, "read"),
    **dict.fromkeys(OPENS, "open"),
    Role.PURGE: "purge",
    Role.MOVE: "move",
}
_SHARED = ("label", "message_class", "body_type", "body_size", "priority", "delivery", "message_id", "queue")


class WireMessage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message as the capture has it: ``values`` by the names of `RecordedMessage`, and ``queue``.

    ``via`` is ``tcp``, ``http`` or ``rpc``; ``parent`` the id of the call that carried it. ``cut`` says that
    bytes of it are missing, ``spans`` where values of a whole packet begin.
    """

    location: RecordLocation
    parent: int | None
    via: str
    message_id: str | None
    values: Mapping[str, Comparable]
    offsets: Mapping[str, int]
    cut: bool

    @property
    def acknowledges(self) -> bool:
        """Whether it is no message of an application."""
        return bool(self.values.get("message_class"))


class WireCall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A call that opens, reads, purges or moves, or another one of these interfaces.

    ``begun`` is the time of its request (ns since 1970). ``lookup_id`` is the one that it asks for,
    ``arrived_time`` when the message arrived that it brought (seconds since 1970).
    """

    location: RecordLocation
    action: WireAction
    interface: str
    method: str
    queue: str | None
    status: int | None
    sealed: bool
    begun: int | None
    lookup_id: int | None
    arrived_time: int | None


class Sightings:
    """Takes records in order; ``messages`` and ``calls`` are what is compared, ``left_out`` counts the rest.

    ``carried`` finds the message that a call brought by the id of the call's record.
    """

    def __init__(self) -> None:
        self.messages: list[WireMessage] = []
        self.calls: list[WireCall] = []
        self.carried: dict[int, WireMessage] = {}
        self.object_calls = 0
        self.left_out = 0

    def feed(self, record: Record) -> None:
        """Take the next record."""
        if record.type == "com_call":
            self.object_calls += 1
        elif isinstance(record.packet, RpcCall):
            self._keep(self.calls, _call(record, record.packet))
        else:
            message = _message(record)
            if message is not None and message.via == "rpc":
                if message.parent is not None and len(self.carried) < MOST:
                    self.carried.setdefault(message.parent, message)
            elif message is not None:
                self._keep(self.messages, message)

    def _keep(self, kept: list[Any], one: WireMessage | WireCall) -> None:
        if len(kept) < MOST:
            kept.append(one)
        else:
            self.left_out += 1


def _call(record: Record, call: RpcCall) -> WireCall:
    begun = None
    if record.time is not None:
        begun = record.time - (call.latency or 0)
    lookup_id = getattr(call.request, "lookup_id", None)
    arrived = getattr(call.response, "pdw_arrive_time", None)
    return WireCall(
        location=location_of(record),
        action=_WIRE_ACTIONS.get(call.role, "other"),
        interface=call.interface,
        method=call.method or "",
        queue=call.queue,
        status=call.status,
        sealed=call.sealed,
        begun=begun,
        lookup_id=lookup_id if isinstance(lookup_id, int) else None,
        arrived_time=arrived if isinstance(arrived, int) and not call.status else None,
    )


def _message(record: Record) -> WireMessage | None:
    """The message in a record; None where it holds none, or the same once more."""
    row = message_view(record)
    if row is None:
        return None
    packet = record.packet
    values: dict[str, Comparable] = {name: row[name] for name in _SHARED if row[name] is not None}
    if row["sent_time"] is not None:
        values["sent_time"] = row["sent_time"]
    if isinstance(packet, TransferBuffer):
        values |= _of_buffer(packet)
    elif isinstance(packet, SrmpMessage):
        values |= _of_srmp(packet)
    else:
        values |= _of_packet(record)
    cut = record.error is not None or (isinstance(packet, SrmpMessage) and not packet.complete)
    body = message_body(record)
    if body is None:
        if values.get("body_size") == 0:
            values["body_sha256"] = _digest(b"")
    elif body.cut:
        cut = True
    else:
        values["body_sha256"] = _digest(body.data)
    whole = isinstance(packet, WireStruct) and record.error is None
    return WireMessage(
        location=location_of(record),
        parent=record.parent,
        via=row["via"],
        message_id=row["message_id"],
        values={name: value for name, value in values.items() if value is not None},
        offsets=_offsets(packet) if whole else {},
        cut=cut,
    )


def _of_packet(record: Record) -> dict[str, Comparable]:
    packet = record.packet
    user, properties = reached(packet, "user_header"), reached(packet, "message_properties_header")
    security = reached(packet, "security_header")
    values: dict[str, Comparable] = {
        "time_to_reach_queue": _seconds_left(record),
        "time_to_be_received": reached(user, "time_to_be_received"),
        "acknowledge": reached(properties, "flags"),
        "app_specific": reached(properties, "application_tag"),
        "extension_size": reached(properties, "extension_size"),
    }
    correlation, extension = reached(properties, "correlation_id"), reached(properties, "extension_data")
    if correlation is not None:
        values["correlation_id"] = correlation.hex()
    if extension is not None:
        values["extension_sha256"] = _digest(extension)
    if reached(user, "flags") is not None:
        values["journal"], values["dead_letter"] = bool(user.bit("jp")), bool(user.bit("jn"))
        for name in ("admin_queue", "response_queue"):
            values[name] = _queue(record, user, name)
    if security is None:
        if record.error is None:
            values["authenticated"] = values["encrypted"] = False
    elif reached(security, "flags") is not None:
        values["encrypted"] = bool(security.bit("eb"))
        checked = bool(security.bit("au") or security.bit("as"))
        values["authenticated"] = checked if is_read(record) else bool(reached(security, "signature_size"))
    return values


def _queue(record: Record, user: Any, name: str) -> str | None:
    """The format name of a queue, empty where the message names none."""
    if record.error is not None and reached(user, name) is None:
        return None
    return user.format_name(name) or ""


def _seconds_left(record: Record) -> int | None:
    """TimeToReachQueue in seconds: a packet of RemoteRead has the end of them. [MS-MQRR] 2.2.5.1"""
    seconds = reached(reached(record.packet, "base_header"), "time_to_reach_queue")
    sent = reached(reached(record.packet, "user_header"), "sent_time")
    if record.type != "message_packet" or seconds in (None, INFINITE):
        return seconds if isinstance(seconds, int) else None
    return None if sent is None else seconds - sent


def _of_buffer(buffer: TransferBuffer) -> dict[str, Comparable]:
    message = buffer.properties
    correlation = message.correlation_identifier
    return {
        "app_specific": message.application_tag,
        "acknowledge": message.acknowledgements_requested,
        "correlation_id": None if correlation is None else correlation.hex(),
        "extension_size": None if message.extension is None else len(message.extension),
        "extension_sha256": None if message.extension is None else _digest(message.extension),
        "admin_queue": message.administration_queue_format_name,
        "response_queue": message.response_queue_format_name,
        "time_to_reach_queue": message.time_to_reach_queue,
        "time_to_be_received": message.time_to_be_received,
        "journal": message.positive_journaling_requested,
        "dead_letter": message.negative_journaling_requested,
        "encrypted": message.body_encrypted,
        "arrived_time": message.arrival_time,
    }


def _of_srmp(message: SrmpMessage) -> dict[str, Comparable]:
    msmq = reached(reached(message.envelope, "header"), "msmq")
    correlation, app = reached(msmq, "correlation"), reached(msmq, "app")
    # Without a part for it there is none.
    size = 0 if message.complete else None
    return {
        "app_specific": app if isinstance(app, int) else None,
        "correlation_id": correlation.hex() if isinstance(correlation, bytes) else None,
        "extension_size": size if message.extension is None else len(message.extension),
        "extension_sha256": None if message.extension is None else _digest(message.extension),
        "journal": None if msmq is None else bool(msmq.journal),
        "dead_letter": None if msmq is None else bool(msmq.dead_letter),
    }


def _offsets(packet: Any) -> dict[str, int]:
    """Where the fields of a whole packet begin, by the names of a recording."""
    found = {}
    for name, field in FIELDS.items():
        header, _, member = field.path.partition(".")
        if member and reached(packet, header) is not None:
            found[name] = span(packet, field.path)[0]
    return found


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()

"""Records with a marker in every text and in all bytes, made by walking classes and not from a list."""

from __future__ import annotations

import functools
import types
import typing
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

from msmq_wire.errors import DecodeError
from msmq_wire.records.com_packets import ComCall
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcBind, RpcCall, RpcFault, TransferBuffer
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.rpc.com.queue_interfaces import COM_INTERFACES
from msmq_wire.rpc.interfaces import INTERFACES, Interface, Method
from msmq_wire.rpc.ndr import NdrStruct, NullPointee, Union, members
from msmq_wire.rpc.ndr.arrays import Array
from msmq_wire.rpc.ndr.pointers import Pointer
from msmq_wire.rpc.ndr.scalars import Octets16
from msmq_wire.rpc.ndr.structures import Fields
from msmq_wire.rpc.ndr.types import size_evaluator
from msmq_wire.spec import SpecRef, snake_case
from msmq_wire.wire.fields import Bytes, WireStruct, fields
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.musts import Anomaly
from msmq_wire.wire.registry import PACKETS
from msmq_wire.wire.types.direct_queue_format_name import DirectQueueFormatName
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.private_queue_format_name import PrivateQueueFormatName
from msmq_wire.wire.types.private_queue_format_name_id import PrivateQueueFormatNameId
from msmq_wire.wire.types.public_queue_format_name import PublicQueueFormatName
from msmq_wire.wire.types.wchar_text import FixedWcharText, WcharText

__all__ = ["Place", "classes", "leaves", "planted_records"]

Place = tuple[str, str]
"""The stem of a class and the name of a field."""

_DEEPEST = 9
_WIDE = 64
_QUEUE_TYPES: dict[type, int] = {
    DirectQueueFormatName: 7,
    PrivateQueueFormatName: 6,
    PublicQueueFormatName: 5,
    PrivateQueueFormatNameId: 3,
}


def planted_records(marker: str, *, rounds: int, unplanted: Collection[Place] = ()) -> Iterator[Record]:
    """Records of every type, each ``rounds`` times with other members of its unions.

    Texts and bytes in the places ``unplanted`` are empty or always the same.
    """
    planter = _Planter(marker, unplanted)
    number = 0
    for _ in range(rounds):
        for type_, packet in planter.packets():
            number += 1
            yield planter.record(number, type_, packet)


def leaves(value: Any, place: Place = ("", "")) -> Iterator[tuple[Place, str | bytes]]:
    """Every text and all bytes in a value, however deep, with the field they are in."""
    if isinstance(value, str | bytes):
        yield place, value
    elif isinstance(value, tuple):
        for one in value:
            yield from leaves(one, place)
    elif isinstance(value, DecodeError):
        for name in ("code", "message", "path", "args", "partial"):
            yield from leaves(getattr(value, name), ("error", name))
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from leaves(getattr(value, name), (_stem(type(value)), name))


def classes(value: Any) -> Iterator[type[msgspec.Struct]]:
    """The classes of all structures in a value, however deep."""
    if isinstance(value, tuple):
        for one in value:
            yield from classes(one)
    elif isinstance(value, msgspec.Struct):
        yield type(value)
        for name in value.__struct_fields__:
            yield from classes(getattr(value, name))


@functools.cache
def _stem(cls: type) -> str:
    return snake_case(cls.__name__)


class _Planter:
    def __init__(self, marker: str, unplanted: Collection[Place]) -> None:
        self.text = marker
        # As long as a correlation identifier, the longest bytes of which a part may stay.
        self.data = (marker.encode() * _WIDE)[:20]
        self.guid = self.data[:16]
        self.unplanted = unplanted
        self.turns: Counter[Place] = Counter()

    def packets(self) -> Iterator[tuple[str, Any]]:
        """A packet of every type of record."""
        for stem, cls in PACKETS.items():
            yield stem, self.packet(cls)
        seen: set[tuple[Any, ...]] = set()
        for interface in (*INTERFACES.values(), *COM_INTERFACES.values()):
            for method in interface.methods.values():
                # The methods of a queue object are alike but for one.
                classes = (method.request.cls, method.response.cls)
                if classes not in seen:
                    seen.add(classes)
                    yield self.call(interface, method, *classes)
        for other in (RpcBind, RpcFault, TransferBuffer):
            yield _stem(other), self.struct(other)
        yield "srmp_message", self.struct(SrmpMessage)
        yield "srmp_receipt", self.struct(SrmpMessage)
        yield from (("gap", None), ("error", None), ("tcp_stream", None), ("unknown_packet", self.data))

    def call(self, interface: Interface, method: Method, request: Any, response: Any) -> tuple[str, RpcCall]:
        """A call, with the names that stay where they are not planted."""
        call: RpcCall = self.struct(ComCall if interface.uuid in COM_INTERFACES else RpcCall)
        stem = _stem(type(call))
        names = {"interface": interface.name, "method": method.name, "opnum": method.opnum}
        kept: dict[str, Any] = {name: one for name, one in names.items() if (stem, name) in self.unplanted}
        sides = {"request": self.struct(request), "response": self.struct(response)}
        return stem, msgspec.structs.replace(call, **sides, **kept)

    def packet(self, cls: type[WireStruct]) -> WireStruct:
        packet: WireStruct = self.struct(cls)
        header = getattr(packet, "user_header", None)
        if header is not None and not cls.remote_read:  # type: ignore[attr-defined]  # every packet with such a header has it
            # Only what is read remotely has an address there.
            kept = ("user_header", "queue_manager_address") in self.unplanted
            address = self.same(GUID) if kept else GUID(self.guid)
            header = msgspec.structs.replace(header, queue_manager_address=address)
            packet = msgspec.structs.replace(packet, user_header=header)
        return packet

    def record(self, number: int, type_: str, packet: Any) -> Record:
        spec = SpecRef("MS-MQMQ", "2.2")
        anomaly = self.struct(Anomaly, spec=spec, code="no.such", offset=0, length=1)
        error = DecodeError("no-such", self.text, path=self.text, offset=0, partial=packet)
        values: dict[str, Any] = {
            "id": number,
            "type": type_,
            "frames": (number,),
            "time": 1_700_000_000_000_000_000 + number,
            "stream": number,
            "src": f"{self.text}:1025",
            "dst": f"{self.text}-2:1801",
            "capture": f"/home/{self.text}/made.pcap",
            "packet": packet,
            "length": 100,
            "anomalies": (anomaly,),
            "remainder": self.data,
            "error": error if type_ not in ("gap", "error", "tcp_stream") else None,
        }
        own = (name for name in ("reason", "event") if ("record", name) not in self.unplanted)
        values |= dict.fromkeys(own, self.text)
        kept = dict.fromkeys(name for name in ("src", "dst", "capture") if ("record", name) in self.unplanted)
        return Record(**values | kept | ({"capture": ""} if "capture" in kept else {}))

    def struct(self, cls: Any, depth: int = 0, **given: Any) -> Any:
        values: dict[str, Any] = {}
        hints = _hints(cls)
        sizes = _sizes(cls)
        ndr = {one.name: one.type for one in members(cls)} if issubclass(cls, NdrStruct) else {}
        defaults = _defaults(cls)
        for name in cls.__struct_fields__:
            if name in given:
                continue
            place = (_stem(cls), name)
            default = defaults[name]
            hint = hints[name]
            if place in self.unplanted and hint is not Any and _only_leaf(hint):
                values[name] = self.same(hint) if default is msgspec.NODEFAULT else default
            elif isinstance(ndr.get(name), Union):
                values |= self.arm(cls, ndr[name], place, depth)
            elif hint is Any and name in ndr:
                values[name] = self.ndr(ndr[name], place, depth)
            else:
                values[name] = self.value(hint, place, depth, default, sizes.get(name))
        if issubclass(cls, UserHeader):
            return _announced(cls(**values, **given))
        return cls(**values, **given)

    def value(self, hint: Any, place: Place, depth: int, default: Any = None, size: int | None = None) -> Any:
        kind: Any
        options = [one for one in _options(hint) if one not in (type(None), NullPointee)]
        if len(options) > 1:
            self.turns[place] += 1
        kind = options[self.turns[place] % len(options)] if options else None
        if get_origin(kind) is tuple:
            one = self.value(get_args(kind)[0], place, depth)
            return () if one is None else (one,)
        if kind is Any or not isinstance(kind, type):
            return None
        if issubclass(kind, msgspec.Struct):
            return None if depth > _DEEPEST else self.struct(kind, depth + 1)
        if place in self.unplanted and issubclass(kind, str | bytes):
            return self.same(kind)
        if issubclass(kind, FixedWcharText):
            return kind.padded(self.text, size or _WIDE)
        if issubclass(kind, WcharText):
            return kind.of(self.text)
        if issubclass(kind, bytes):
            length = 16 if issubclass(kind, GUID) else size
            return kind(self.data if length is None else (self.data * _WIDE)[:length])
        if issubclass(kind, str):
            return self.text
        if default not in (None, msgspec.NODEFAULT):
            return default
        return 0 if kind is int else kind()

    def arm(self, cls: type[NdrStruct], union: Union, place: Place, depth: int) -> dict[str, Any]:
        """The next member of a union, and the value that selects it."""
        self.turns[place] += 1
        keys = list(union.arms)
        key = keys[self.turns[place] % len(keys)]
        arm = union.arms[key]
        chosen = {} if arm.type is None or depth > _DEEPEST else {place[1]: self.ndr(arm.type, place, depth)}
        names = dict.fromkeys((one.name for one in members(cls)), 0)
        selected = size_evaluator(union.selector)
        selector = next(name for name in names if selected({**names, name: int(key)}) == int(key))
        return {selector: int(key) if chosen or arm.type is None else 0, place[1]: None, **chosen}

    def ndr(self, type_: Any, place: Place, depth: int) -> Any:
        if isinstance(type_, Pointer):
            return self.ndr(type_.target, place, depth)
        if isinstance(type_, Fields):
            if depth > _DEEPEST:
                return None
            named = {one.name: one.type for one in members(type_.cls)}
            other = {
                name: self.ndr(one, (_stem(type_.cls), name), depth + 1)
                for name, one in zip(type_.names, type_.types, strict=True)
                if named.get(name) is not one
            }
            return self.struct(type_.cls, depth + 1, **other)
        if isinstance(type_, Array):
            if type_.kind is not None:
                kept = place in self.unplanted
                return self.same(type_.kind) if kept else self.value(type_.kind, place, depth)
            return (self.ndr(type_.element, place, depth + 1),)
        if isinstance(type_, Octets16):
            return self.same(GUID) if place in self.unplanted else GUID(self.guid)
        return 1

    def same(self, hint: Any) -> Any:
        """A value that is the same whatever the marker is."""
        kind = next(one for one in _options(hint) if one is not type(None))
        if get_origin(kind) is tuple:
            return ()
        return GUID(bytes(range(1, 17))) if issubclass(kind, GUID) else kind()


_hints = functools.cache(get_type_hints)


def _options(hint: Any) -> list[Any]:
    return list(get_args(hint)) if get_origin(hint) in (typing.Union, types.UnionType) else [hint]


def _only_leaf(hint: Any) -> bool:
    """Whether a field holds a text or bytes, or several of them, and nothing else."""
    kinds = [get_args(one)[0] if get_origin(one) is tuple else one for one in _options(hint)]
    return all(
        isinstance(kind, type) and issubclass(kind, str | bytes | type(None) | NullPointee) for kind in kinds
    )


@functools.cache
def _defaults(cls: type[msgspec.Struct]) -> dict[str, Any]:
    return {one.name: one.default for one in msgspec.structs.fields(cls)}


@functools.cache
def _sizes(cls: type) -> dict[str, int]:
    """The bytes of the fields of fixed size."""
    if not issubclass(cls, WireStruct) or issubclass(cls, NdrStruct):
        return {}
    found = {one.name: one.subcon for one in fields(cls) if isinstance(one.subcon, Bytes)}
    return {name: subcon.length for name, subcon in found.items() if isinstance(subcon.length, int)}


def _announced(header: UserHeader) -> UserHeader:
    """The header with the types of its queues in its flags."""
    queues = {"dq": header.destination_queue, "aq": header.admin_queue, "rq": header.response_queue}
    return header.with_bits(**{bit: _QUEUE_TYPES[type(queue)] for bit, queue in queues.items()})

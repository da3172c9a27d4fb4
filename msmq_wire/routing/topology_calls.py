"""Makes topologies from calls to the directory: dscomm describes an enterprise. [MS-MQDS] 3.1.4.21.8.1

The rule kept here: each object keeps the frames that describe it, and the last description counts. Objects
without an identifier, and references to unknown objects, are left out with a note.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from struct import Struct
from typing import Any, TypeAlias

import msgspec

from msmq_wire.records.joined_capture import located_frame
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.routing.directory import ConnectedNetwork, DirectoryObject, QueueManager, RoutingLink, Site
from msmq_wire.routing.topology import COSTS, Entries, Topology, topology_of
from msmq_wire.routing.topology_names import listed
from msmq_wire.rpc.constants import DirectoryObjectType
from msmq_wire.rpc.interfaces.role import Role
from msmq_wire.rpc.properties import PropertyKind, find_property
from msmq_wire.rpc.types.propvariant import Blob, CountedArray, PropVariant
from msmq_wire.wire.partial import reached, reached_at
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

Properties: TypeAlias = dict[int, Any]
_Object: TypeAlias = tuple[PropertyKind, GUID | str]

_KINDS: Mapping[PropertyKind, type[DirectoryObject]] = {
    PropertyKind.MACHINE: QueueManager,
    PropertyKind.SITE: Site,
    PropertyKind.CONNECTED_NETWORK: ConnectedNetwork,
    PropertyKind.ROUTING_LINK: RoutingLink,
}
_WORDS: Mapping[PropertyKind, str] = {
    PropertyKind.MACHINE: "queue managers",
    PropertyKind.SITE: "sites",
    PropertyKind.CONNECTED_NETWORK: "connected networks",
    PropertyKind.ROUTING_LINK: "routing links",
}
_OF_TYPE: Mapping[int | None, PropertyKind] = {
    DirectoryObjectType.MQDS_MACHINE: PropertyKind.MACHINE,
    DirectoryObjectType.MQDS_SITE: PropertyKind.SITE,
    DirectoryObjectType.MQDS_CN: PropertyKind.CONNECTED_NETWORK,
    DirectoryObjectType.MQDS_ROUTINGLINK: PropertyKind.ROUTING_LINK,
}
_IDENTIFIERS: Mapping[PropertyKind, int] = {
    PropertyKind.MACHINE: 202,
    PropertyKind.SITE: 302,
    PropertyKind.CONNECTED_NETWORK: 503,
    PropertyKind.ROUTING_LINK: 806,
}
_NAMES: Mapping[PropertyKind, int] = {
    PropertyKind.MACHINE: 203,
    PropertyKind.SITE: 301,
    PropertyKind.CONNECTED_NETWORK: 502,
}
_ROUTING_SERVER = 0x01
_FOREIGN_COST = COSTS[-1]
_MOST_OBJECTS = 1 << 17
_MOST_FRAMES = 16
_TA_ADDRESS = Struct("<HH")
_IP_TYPES = (1, 2)


class DirectoryCalls:
    """Takes the records of captures, and makes a topology from the directory calls among them.

    ``calls`` counts the calls that describe objects. At most 131,072 objects are kept, each with its values
    and the frames of its first sixteen descriptions; a note counts the others.
    """

    def __init__(self) -> None:
        self.calls = 0
        self._reported: dict[_Object, Properties] = {}
        self._frames: dict[_Object, list[tuple[str, int]]] = {}
        self._left_out = 0

    def take(self, record: Record) -> None:
        """Take the next record."""
        call = record.packet
        if not isinstance(call, RpcCall):
            return
        found = list(_objects(call))
        for kind, values, named in found:
            self._learn(kind, values, named, record)
        self.calls += bool(found)

    def _learn(self, kind: PropertyKind, values: Properties, named: Any, record: Record) -> None:
        identifier = values.get(_IDENTIFIERS[kind], named)
        if isinstance(identifier, str):
            identifier = identifier.casefold()
        elif not isinstance(identifier, GUID):
            identifier = values.get(_NAMES.get(kind, 0))
            if not isinstance(identifier, str):
                return
            identifier = identifier.casefold()
        key = kind, identifier
        if key not in self._reported and len(self._reported) >= _MOST_OBJECTS:
            self._left_out += 1
            return
        self._reported.setdefault(key, {}).update(values)
        frames = self._frames.setdefault(key, [])
        place = located_frame(record.capture, record.frames[-1] if record.frames else 0)
        if len(frames) < _MOST_FRAMES and place not in frames:
            frames.append(place)

    def topology(self) -> tuple[Topology, dict[tuple[type[DirectoryObject], GUID], str]]:
        """The topology so far, and for each object its frames: ``frames 12, 19``. Raises TopologyError."""
        notes: list[str] = []
        objects = self._joined(notes)
        known = {kind: {identifier for of, identifier in objects if of is kind} for kind in _KINDS}
        made: dict[PropertyKind, list[Any]] = {kind: [] for kind in _KINDS}
        for (kind, identifier), values in objects.items():
            one = _MAKERS[kind](identifier, values, known, notes, objects)
            if one is not None:
                made[kind].append(one)
        self._drop_foreign_gates(made, notes)
        places = {
            (_KINDS[kind], identifier): _place(self._frames_of(kind, identifier, values))
            for (kind, identifier), values in objects.items()
        }
        labels: Entries = {key: f"{key[0].__name__} {key[1]} ({place})" for key, place in places.items()}
        topology = topology_of(
            made[PropertyKind.MACHINE],
            made[PropertyKind.SITE],
            made[PropertyKind.ROUTING_LINK],
            made[PropertyKind.CONNECTED_NETWORK],
            entries=labels,
        )
        if self._left_out:
            notes.append(f"objects that there was no room for were told of {self._left_out:,} times")
        return msgspec.structs.replace(topology, notes=(*notes, *topology.notes)), places

    def _joined(self, notes: list[str]) -> dict[tuple[PropertyKind, GUID], Properties]:
        """The objects by identifier; descriptions under a name belong to the object with that name."""
        found: dict[tuple[PropertyKind, GUID], Properties] = {}
        names: dict[_Object, GUID] = {}
        for (kind, identifier), values in self._reported.items():
            if isinstance(identifier, GUID):
                found[kind, identifier] = dict(values)
                name = values.get(_NAMES.get(kind, 0))
                if isinstance(name, str):
                    names[kind, name.casefold()] = identifier
        for kind in _KINDS:
            lost = []
            for of, name in self._reported:
                if of is not kind or isinstance(name, GUID):
                    continue
                owner = names.get((kind, name))
                if owner is None:
                    lost.append(name)
                else:
                    found[kind, owner] = self._reported[kind, name] | found[kind, owner]
            if lost:
                notes.append(f"{_WORDS[kind]} of which no identifier was told: {listed(lost)}")
        return found

    def _frames_of(self, kind: PropertyKind, identifier: GUID, values: Properties) -> list[tuple[str, int]]:
        name = values.get(_NAMES.get(kind, 0))
        by_name = self._frames.get((kind, name.casefold()), []) if isinstance(name, str) else []
        return [*self._frames.get((kind, identifier), []), *by_name]

    @staticmethod
    def _drop_foreign_gates(made: dict[PropertyKind, list[Any]], notes: list[str]) -> None:
        """Remove the gates of sites that are not known to belong to them."""
        sites_of = {one.identifier: one.site_identifier_list for one in made[PropertyKind.MACHINE]}
        odd = []
        for place, site in enumerate(made[PropertyKind.SITE]):
            gates = site.site_gate_collection
            inside = tuple(gate for gate in gates if site.identifier in sites_of[gate])
            if inside != gates:
                odd.append(site.name)
                made[PropertyKind.SITE][place] = msgspec.structs.replace(site, site_gate_collection=inside)
        if odd:
            notes.append(f"sites with gates that are not known to be in them: {listed(odd)}")


def _objects(call: RpcCall) -> Iterator[tuple[PropertyKind, Properties, GUID | str | None]]:
    """The objects that a call describes: their properties, and their names in the call."""
    if call.status or call.response is None or call.guessed:
        return
    members = call.members
    match call.role:
        case Role.LOOK_UP:
            columns, values = call.columns, reached(call.response, members.values)
            named = None
        case Role.ASK_DIRECTORY:
            columns = reached_at(call.request, members.properties)
            values = reached(call.response, members.values)
            named = _name(reached(call.request, members.object))
        case Role.CHANGE_DIRECTORY:
            columns = reached_at(call.request, members.properties)
            values = reached(call.request, members.values)
            named = _name(reached(call.request, members.object))
            given = reached(call.response, members.gives) if members.gives else None
            named = given if isinstance(given, GUID) else named
        case _:
            return
    if not (isinstance(columns, tuple) and columns and isinstance(values, tuple)):
        return
    kind = _OF_TYPE.get(call.asked(members.object_type)) if members.object_type else _kind(columns)
    if kind is None:
        return
    for start in range(0, len(values) - len(columns) + 1, len(columns)):
        row = values[start : start + len(columns)]
        found = {
            number: value
            for number, one in zip(columns, row, strict=True)
            if (value := _plain(one)) is not None
        }
        if found:
            yield kind, found, named


def _kind(columns: tuple[int, ...]) -> PropertyKind | None:
    """The kind of object that has the properties of a lookup; None if it is not exactly one known kind."""
    kinds = {found.kind for one in columns if (found := find_property(one)) is not None}
    kind = kinds.pop() if len(kinds) == 1 else None
    return kind if kind in _KINDS else None


def _name(value: Any) -> GUID | str | None:
    if isinstance(value, WcharText):
        return value.text
    return value if isinstance(value, GUID) else None


def _plain(value: Any) -> Any:
    """The value in a variant: a number, a text, an identifier, bytes or a tuple of them; None without one."""
    arm = value.arm if isinstance(value, PropVariant) else None
    match arm:
        case WcharText():
            return arm.text
        case GUID() | int():
            return arm
        case Blob():
            return arm.p_blob_data if isinstance(arm.p_blob_data, bytes) else b""
        case CountedArray():
            elements = arm.p_elems if isinstance(arm.p_elems, tuple) else ()
            return tuple(one.text if isinstance(one, WcharText) else one for one in elements)
    return None


def _guids(values: Properties, number: int) -> tuple[GUID, ...]:
    found = values.get(number)
    return tuple(one for one in found if isinstance(one, GUID)) if isinstance(found, tuple) else ()


def _text(values: Properties, number: int, otherwise: str = "") -> str:
    found = values.get(number)
    return found if isinstance(found, str) and found else otherwise


def _number(values: Properties, number: int) -> int:
    found = values.get(number)
    return found if isinstance(found, int) else 0


def _there(
    identifiers: tuple[GUID, ...], known: set[GUID], name: str, what: str, notes: list[str]
) -> tuple[GUID, ...]:
    """The known ones, each once."""
    found = tuple(dict.fromkeys(one for one in identifiers if one in known))
    if not known.issuperset(identifiers):
        notes.append(f"{name} names {what} that nobody told of")
    return found


def _addresses(blob: Any) -> tuple[str, ...]:
    """The IP addresses in a packed array of TA_ADDRESS. [MS-MQMQ] 2.2.4"""
    found = []
    data = blob if isinstance(blob, bytes) else b""
    place = 0
    while place + _TA_ADDRESS.size <= len(data):
        length, kind = _TA_ADDRESS.unpack_from(data, place)
        place += _TA_ADDRESS.size
        if kind in _IP_TYPES and length == 4 and place + 4 <= len(data):
            found.append(str(ipaddress.IPv4Address(data[place : place + 4])))
        place += length
    return tuple(dict.fromkeys(found))


_Known: TypeAlias = Mapping[PropertyKind, set[GUID]]
_Objects: TypeAlias = Mapping[tuple[PropertyKind, GUID], Properties]


def _site(identifier: GUID, values: Properties, known: _Known, notes: list[str], objects: _Objects) -> Site:
    name = _text(values, 301, str(identifier))
    gates = _guids(values, 303)
    return Site(
        identifier=identifier,
        name=name,
        full_path=_text(values, 309),
        foreign_site=bool(_number(values, 311)),
        site_gate_collection=_there(gates, known[PropertyKind.MACHINE], f"site {name}", "gates", notes),
    )


def _queue_manager(
    identifier: GUID, values: Properties, known: _Known, notes: list[str], objects: _Objects
) -> QueueManager:
    name = _text(values, 203, str(identifier))
    called = f"queue manager {name}"
    sites = _guids(values, 222)
    one = values.get(201)
    if not sites and isinstance(one, GUID):
        sites = (one,)
    managers = known[PropertyKind.MACHINE]
    return QueueManager(
        identifier=identifier,
        computer_name=name,
        qualified_computer_name=_text(values, 233),
        full_path=_text(values, 221),
        site_identifier_list=_there(sites, known[PropertyKind.SITE], called, "sites", notes),
        connected_network_identifier_list=_there(
            _guids(values, 207), known[PropertyKind.CONNECTED_NETWORK], called, "connected networks", notes
        ),
        out_routing_server_identifier_list=_there(
            _guids(values, 208), managers, called, "out routing servers", notes
        ),
        in_routing_server_identifier_list=_there(
            _guids(values, 209), managers, called, "in routing servers", notes
        ),
        routing_server=bool(_number(values, 227) or _number(values, 210) & _ROUTING_SERVER),
        foreign_system=bool(_number(values, 219)),
        addresses=_addresses(values.get(206)),
    )


def _routing_link(
    identifier: GUID, values: Properties, known: _Known, notes: list[str], objects: _Objects
) -> RoutingLink | None:
    sites = values.get(801), values.get(802)
    if not all(site in known[PropertyKind.SITE] for site in sites):
        notes.append(f"routing link {identifier} is left out: nobody told of its sites")
        return None
    cost = _number(values, 812)
    if not cost:
        # PROPID_L_COST counts each foreign site at an end.
        foreign = sum(bool(_number(objects[PropertyKind.SITE, site], 311)) for site in sites if site)
        cost = _number(values, 803) - foreign * _FOREIGN_COST
    if cost not in COSTS:
        notes.append(f"routing link {identifier} is left out: nobody told what it costs")
        return None
    gates = _guids(values, 813)
    return RoutingLink(
        identifier=identifier,
        description=_text(values, 810),
        full_path=_text(values, 811),
        actual_cost=cost,
        site1_identifier=sites[0],  # type: ignore[arg-type]  # they are known
        site2_identifier=sites[1],  # type: ignore[arg-type]
        site_gate_identifier_list=_there(
            gates, known[PropertyKind.MACHINE], f"routing link {identifier}", "gates", notes
        ),
    )


def _network(
    identifier: GUID, values: Properties, known: _Known, notes: list[str], objects: _Objects
) -> ConnectedNetwork:
    return ConnectedNetwork(identifier=identifier, name=_text(values, 502, str(identifier)))


_MAKERS: Mapping[PropertyKind, Any] = {
    PropertyKind.MACHINE: _queue_manager,
    PropertyKind.SITE: _site,
    PropertyKind.CONNECTED_NETWORK: _network,
    PropertyKind.ROUTING_LINK: _routing_link,
}


def _place(frames: list[tuple[str, int]]) -> str:
    """Frames in words, by capture if there are several."""
    by_capture: dict[str, list[int]] = {}
    for capture, frame in frames:
        by_capture.setdefault(capture, []).append(frame)
    parts = []
    for capture, numbers in by_capture.items():
        numbers = sorted(set(numbers))
        text = f"{'frame' if len(numbers) == 1 else 'frames'} {', '.join(map(str, numbers))}"
        parts.append(f"{text} of {capture}" if capture else text)
    return "; ".join(parts)

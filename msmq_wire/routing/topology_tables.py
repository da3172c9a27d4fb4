"""Topologies from tables, as TOML and JSON give them: keys are the fields of the values in `directory`.

The rule kept here: every error names the entry, by its table and its number in it, and the key.
"""

from __future__ import annotations

import ipaddress
import types
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from msmq_wire.errors import TopologyError
from msmq_wire.routing.directory import ConnectedNetwork, DirectoryObject, QueueManager, RoutingLink, Site
from msmq_wire.routing.topology import Topology, topology_of
from msmq_wire.routing.topology_names import NameBook, guid_of, nearest, shown
from msmq_wire.wire.types.guid import GUID

TABLES: Mapping[str, type[DirectoryObject]] = types.MappingProxyType(
    {
        "site": Site,
        "queue_manager": QueueManager,
        "routing_link": RoutingLink,
        "connected_network": ConnectedNetwork,
    }
)
"""The tables of a topology and what an entry of each becomes."""
NAMES: Mapping[str, tuple[str, ...]] = types.MappingProxyType(
    {
        "site": ("name",),
        "queue_manager": ("computer_name", "qualified_computer_name"),
        "connected_network": ("name",),
    }
)
"""The keys by which an entry of a table can be referred to; the first one it must have."""
REFERENCES: Mapping[str, str] = types.MappingProxyType(
    {
        "site_identifier_list": "site",
        "site1_identifier": "site",
        "site2_identifier": "site",
        "connected_network_identifier_list": "connected_network",
        "out_routing_server_identifier_list": "queue_manager",
        "in_routing_server_identifier_list": "queue_manager",
        "site_gate_collection": "queue_manager",
        "site_gate_identifier_list": "queue_manager",
    }
)
"""The keys that hold identifiers or names of entries, and of which table."""

_FIELDS = {table: {one.name: one for one in msgspec.structs.fields(kind)} for table, kind in TABLES.items()}
_NAMESPACE = uuid.UUID("5a0c7d0e-2f43-5b8c-9d0a-6f1b1c7e4d92")

Names: TypeAlias = Mapping[str, NameBook]


class JsonObject(dict[str, Any]):
    """An object of JSON that tells which of its keys is there ``twice``."""

    twice = ""


class _Entry(msgspec.Struct):
    """An entry on its way: what messages call it, its keys, and its identifier as soon as it is known."""

    table: str
    label: str
    keys: Mapping[str, Any]
    identifier: GUID | None = None


def topology_of_tables(document: Mapping[str, Any]) -> Topology:
    """Make a topology of a document: arrays of tables by the names of `TABLES`.

    A reference is an identifier or a name. An entry without ``identifier`` gets one of its kind and its name
    (UUID version 5), so it is the same in every run. Raises TopologyError.
    """
    _refuse_unknown("the topology", document, TABLES, "table")
    entries = {table: _entries(table, document.get(table, [])) for table in TABLES}
    names = {table: NameBook(table.replace("_", " ")) for table in NAMES}
    for table, book in names.items():
        for entry in entries[table]:
            _enter(entry, book)
    for link in entries["routing_link"]:
        link.label += _ends(link, names["site"])
    made: dict[str, list[Any]] = {
        table: [_made(entry, names) for entry in entries[table]] for table in TABLES
    }
    _refuse_twins(entries)
    labels = {
        (TABLES[table], entry.identifier): entry.label
        for table in TABLES
        for entry in entries[table]
        if entry.identifier is not None
    }
    return topology_of(
        made["queue_manager"],
        made["site"],
        made["routing_link"],
        made["connected_network"],
        entries=labels,
    )


def _refuse_unknown(entry: str, keys: Mapping[str, Any], known: Mapping[str, Any], what: str) -> None:
    twice = keys.twice if isinstance(keys, JsonObject) else ""
    if twice:
        raise TopologyError(f"{entry}: {what} {shown(twice)} is there twice")
    for key in keys:
        if key not in known:
            raise TopologyError(f"{entry}: {what} {shown(key)} is unknown{nearest(key, known)}")


def _entries(table: str, rows: Any) -> list[_Entry]:
    if not isinstance(rows, list):
        raise TopologyError(f"{table}: this is {_kind(rows)}, not an array of tables ([[{table}]])")
    entries = []
    for number, keys in enumerate(rows, 1):
        label = f"{table} {number}"
        if not isinstance(keys, dict):
            raise TopologyError(f"{label}: this is {_kind(keys)}, not a table")
        name = keys.get(NAMES[table][0]) if table in NAMES else None
        if isinstance(name, str) and name:
            label += f" ({shown(name)})"
        _refuse_unknown(label, keys, _FIELDS[table], "key")
        for key, field in _FIELDS[table].items():
            if field.required and key != "identifier" and key not in keys:
                raise TopologyError(f"{label}: {key} is missing")
        entries.append(_Entry(table, label, keys))
    return entries


def _enter(entry: _Entry, book: NameBook) -> None:
    """Find the identifier of an entry that has a name, and enter it into the book."""
    names = [_text(entry, key, entry.keys.get(key, "")) for key in NAMES[entry.table]]
    if not names[0]:
        raise TopologyError(f"{entry.label}: {NAMES[entry.table][0]} is empty")
    entry.identifier = _identifier(entry, names[0].casefold())
    book.add(entry.identifier, *names)


def _identifier(entry: _Entry, name: str) -> GUID:
    if "identifier" not in entry.keys:
        return GUID(uuid.uuid5(_NAMESPACE, f"{entry.table}\n{name}").bytes_le)
    given = _text(entry, "identifier", entry.keys["identifier"])
    identifier = guid_of(given)
    if identifier is None:
        raise TopologyError(f"{entry.label}: identifier {shown(given)} is no GUID")
    return identifier


def _ends(link: _Entry, sites: NameBook) -> str:
    """The names of the sites at the ends of a link, for its label."""
    ends = [link.keys["site1_identifier"], link.keys["site2_identifier"]]
    for number, end in enumerate(ends):
        if not isinstance(end, str):
            return ""
        identifier = guid_of(end)
        if identifier is not None:
            ends[number] = sites.name(identifier) or end
    return f" ({shown(ends[0])} to {shown(ends[1])})"


def _refuse_twins(entries: Mapping[str, Sequence[_Entry]]) -> None:
    """Two entries without identifiers and with the same name cannot be told apart."""
    for table, those in entries.items():
        derived = set()
        for entry in those:
            if "identifier" not in entry.keys:
                if entry.identifier in derived:
                    raise TopologyError(f"{entry.label}: {_TWINS[table]}")
                derived.add(entry.identifier)


_TWINS = {
    "site": "another site has the same name",
    "queue_manager": "another one has the same computer_name; give both an identifier",
    "routing_link": "another one joins the same sites; give both a description or an identifier",
    "connected_network": "another one has the same name; give both an identifier",
}


def _made(entry: _Entry, names: Names) -> DirectoryObject:
    values: dict[str, Any] = {}
    for key, value in entry.keys.items():
        if key != "identifier":
            values[key] = _value(entry, key, value, names)
    if entry.identifier is None:
        ends = sorted((str(values["site1_identifier"]), str(values["site2_identifier"])))
        entry.identifier = _identifier(entry, "\n".join((*ends, values.get("description", ""))).casefold())
    return TABLES[entry.table](identifier=entry.identifier, **values)


def _value(entry: _Entry, key: str, value: Any, names: Names) -> Any:
    wanted = _FIELDS[entry.table][key].type
    if key in REFERENCES:
        book = names[REFERENCES[key]]
        if wanted is GUID:
            return _reference(entry, key, value, book)
        return tuple(_reference(entry, key, one, book) for one in _list(entry, key, value))
    if key == "addresses":
        return tuple(_address(entry, one) for one in _list(entry, key, value))
    if wanted is str:
        return _text(entry, key, value)
    # True is an int, too.
    if type(value) is not wanted:
        raise TopologyError(f"{entry.label}: {key} is {_kind(value)}, not {_KINDS[wanted]}")
    return value


def _list(entry: _Entry, key: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TopologyError(f"{entry.label}: {key} is {_kind(value)}, not an array of texts")
    return value


def _text(entry: _Entry, key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TopologyError(f"{entry.label}: {key} is {_kind(value)}, not a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        # JSON can write half a character: "\ud800".
        raise TopologyError(f"{entry.label}: {key} {shown(value)} has a surrogate in it") from None
    return value


def _reference(entry: _Entry, key: str, value: Any, book: NameBook) -> GUID:
    if not isinstance(value, str):
        raise TopologyError(f"{entry.label}: {key} has {_kind(value)}, not a name or an identifier")
    try:
        return book.find(value)
    except TopologyError as error:
        raise TopologyError(f"{entry.label}: {key} {error}") from None


def _address(entry: _Entry, value: Any) -> str:
    if not isinstance(value, str):
        raise TopologyError(f"{entry.label}: addresses has {_kind(value)}, not a text")
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        raise TopologyError(f"{entry.label}: {shown(value)} in addresses is no IP address") from None
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            raise TopologyError(f"{entry.label}: {shown(value)} in addresses has a zone, which no packet has")
        # A mapped address is the IPv4 address that is on the wire.
        return str(address.ipv4_mapped or address)
    return str(address)


_KINDS: dict[Any, str] = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a decimal number",
    list: "an array",
    dict: "a table",
    JsonObject: "a table",
    type(None): "null",
}


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "a date or a time")

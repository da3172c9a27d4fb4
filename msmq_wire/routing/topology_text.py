"""`topology_text`: a topology as TOML, to be read and edited.

The rule kept here: what is written is read back as the same topology.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from msmq_wire.routing.directory import DirectoryObject
from msmq_wire.routing.topology import Entries, Topology
from msmq_wire.routing.topology_names import NameBook
from msmq_wire.routing.topology_tables import NAMES, REFERENCES, TABLES
from msmq_wire.wire.types.guid import GUID

_WIDTH = 110
_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\"})

# A stable sort: what an entry is called comes first, the rest has the order of the values.
_FIELDS = {
    table: sorted(msgspec.structs.fields(kind), key=lambda field: field.name not in NAMES.get(table, ()))
    for table, kind in TABLES.items()
}


def topology_text(topology: Topology, comments: Entries | None = None) -> str:
    """Write a topology as TOML, which `parse_topology` reads back.

    ``comments`` are lines that stand before objects.

    References are names where a name stands for one entry alone, and identifiers elsewhere. Fields with
    their default value are left out. Notes that came of reading an LDIF export are not written.
    """
    objects: dict[str, Mapping[GUID, DirectoryObject]] = {
        "site": topology.sites,
        "queue_manager": topology.queue_managers,
        "routing_link": topology.routing_links,
        "connected_network": topology.connected_networks,
    }
    books = {}
    for table in NAMES:
        books[table] = NameBook(table)
        for one in objects[table].values():
            books[table].add(one.identifier, *_names(table, one))

    def reference(key: str, identifier: GUID) -> str:
        table = REFERENCES[key]
        return books[table].reference(identifier, *_names(table, objects[table][identifier]))

    def value(key: str, given: Any) -> Any:
        if key not in REFERENCES:
            return given
        return reference(key, given) if isinstance(given, GUID) else [reference(key, one) for one in given]

    lines: list[str] = []
    for table, those in objects.items():
        for one in those.values():
            comment = (comments or {}).get((type(one), one.identifier))
            if comment:
                lines.append(f"# {''.join(each if each.isprintable() else '?' for each in comment)}")
            lines.append(f"[[{table}]]")
            lines += (_line(key, value(key, given)) for key, given in _reported(table, one))
            lines.append("")
    return "\n".join(lines)


def _names(table: str, one: DirectoryObject) -> tuple[str, ...]:
    return tuple(getattr(one, key) for key in NAMES[table])


def _reported(table: str, one: DirectoryObject) -> Iterator[tuple[str, Any]]:
    """The fields of an entry that do not have their default value; what it is called comes first."""
    for field in _FIELDS[table]:
        value = getattr(one, field.name)
        if field.required or value != field.default:
            yield field.name, value


def _line(key: str, value: Any) -> str:
    if not isinstance(value, list | tuple):
        return f"{key} = {_literal(value)}"
    texts = [_literal(one) for one in value]
    line = f"{key} = [{', '.join(texts)}]"
    if len(line) <= _WIDTH:
        return line
    return "\n".join((f"{key} = [", *(f"    {text}," for text in texts), "]"))


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    text = str(value).translate(_ESCAPES)
    return f'"{text if text.isprintable() else "".join(map(_printable, text))}"'


def _printable(one: str) -> str:
    """A character, or its number where it cannot be seen; TOML has none for half a pair."""
    if one.isprintable():
        return one
    code = ord(one)
    if 0xD800 <= code < 0xE000:
        return "\ufffd"
    return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"

"""Bodies that tell a queue manager that its object in the directory changed: [MS-MQCN] 2.2.4 to 2.2.6.

The rule kept here: what is read is what the document allows, to the last byte but the one that senders add;
anything else is no notification. A property whose type no document gives ends what can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct

from msmq_wire.records.bodies.body import Body, BodyKinds, shortened
from msmq_wire.rpc.properties import PropertyKind, find_property, property_name
from msmq_wire.wire.types.enumerations import BodyType
from msmq_wire.wire.types.guid import GUID

KINDS = (
    BodyKinds(
        ("change_notification",),
        "all of a Change Notification Message ([MS-MQCN] 2.2.4), of either version",
        "what happened to which object; its properties, or where they can be read",
    ),
)

_OF_DIRECTORY, _OF_QUEUE_MANAGER = b"\1", b"\2\1<\0"
BEGINS = (_OF_DIRECTORY, _OF_QUEUE_MANAGER)
"""What version 1 begins with, and version 2, which goes on as a text in UTF-16."""
_LISTED = 64
_MOST_VALUES = 8
_EVENTS = {
    "1": "a queue was created",
    "2": "a queue was changed",
    "3": "a queue was deleted",
    "4": "a queue manager was changed",
}
_COMMANDS = {0: "created", 1: "changed", 2: "deleted"}
_OBJECTS = {PropertyKind.QUEUE: "a queue", PropertyKind.MACHINE: "a queue manager"}
_DELETED = 2
_RESERVED = 24
_OBJECT_TYPES = {"1": "a queue", "2": "a queue manager"}


def change_notification_body(data: bytes) -> Body | None:
    """The body as a notification, of a directory server (version 1) or a queue manager (2); None for others.

    The details have ``version``, and of version 2 ``event``, ``object`` and ``domain_controller``; of version
    1 for each update ``update``, ``object``, ``server`` and the properties by their names.
    """
    if data.startswith(_OF_QUEUE_MANAGER):
        return _of_queue_manager(data)
    return _of_directory(data) if data.startswith(_OF_DIRECTORY) and data[1:2] > b"\0" else None


def _of_queue_manager(data: bytes) -> Body | None:
    """Version 2: one Notification Body, a text."""
    # One byte more than the message has, which says nothing; the text may have an end of its own.
    try:
        text = data[2 : len(data) & ~1].decode("utf-16-le").rstrip("\0")
    except UnicodeDecodeError:
        return None
    inside = _element(text, "Notification")
    if inside is None or inside[1]:
        return None
    rest, values = inside[0], []
    for name in ("Event", "ObjectGuid", "DomainController"):
        found = _element(rest, name)
        if found is None:
            return None
        values.append(found[0])
        rest = found[1]
    event, identifier, server = values
    if rest or event not in _EVENTS or not _is_guid(identifier) or not 0 < len(server) <= 256:
        return None
    # VCHAR, %x21-7E: what has another character in the name of a server is near to the grammar only.
    visible = server.isascii() and server.isprintable() and " " not in server
    return Body(
        kind="change_notification",
        confidence="certain" if visible else "likely",
        title=f"change notification: {_EVENTS[event]}",
        text=text,
        encoding="UTF-16",
        details=(
            ("version", "2, by a queue manager"),
            ("event", _EVENTS[event]),
            ("object", identifier),
            ("domain_controller", server),
        ),
        extension="xml",
    )


def _element(text: str, name: str) -> tuple[str, str] | None:
    """What is in the element that a text begins with, and what is behind it; None where it has another."""
    begin = f"<{name}>"
    if not text.startswith(begin):
        return None
    # The grammar has a space in the end of one of them.
    for end in (f"</{name}>", f"</{name} >"):
        value, found, rest = text[len(begin) :].partition(end)
        if found:
            return value, rest
    return None


def _is_guid(text: str) -> bool:
    try:
        return str(GUID.parse(text)) == text.lower()
    except ValueError:
        return False


def _of_directory(data: bytes) -> Body | None:
    """Version 1: as many Notification Updates as it says."""
    updates = _Updates(data)
    try:
        for number in range(1, data[1] + 1):
            updates.read(number)
    except _NoUpdate:
        return None
    if len(data) - updates.at > 1:
        return None
    count = "1 update" if data[1] == 1 else f"{data[1]} updates"
    rows = [("version", "1, by a directory server"), *updates.rows]
    if updates.left_out:
        rows.append(("more", f"{updates.left_out} more values"))
    return Body(
        kind="change_notification",
        confidence="certain",
        title=f"change notification: {updates.first if data[1] == 1 else count}",
        details=tuple(rows),
    )


class _NoUpdate(Exception):
    """The bytes are no Notification Update."""


class _Updates:
    """Reads Notification Updates one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 2
        self.rows: list[tuple[str, str]] = []
        self.left_out = 0
        self.first = ""

    def row(self, name: str, value: str) -> None:
        if len(self.rows) < _LISTED:
            self.rows.append((name, shortened(value)))
        else:
            self.left_out += 1

    def read(self, number: int) -> None:
        command, by_guid = self.take(2)
        if command not in _COMMANDS or by_guid > 1:
            raise _NoUpdate("neither a command nor a way to name an object")
        name = str(GUID(self.take(16))) if by_guid else self.text()
        server = str(GUID(self.take(16)))
        self.take(_RESERVED)
        count = self.take(1)[0]
        numbers = [_UI4.unpack(self.take(4))[0] for _ in range(count)]
        values = []
        for one in numbers:
            found = find_property(one)
            if found is None or found.vt not in _VALUES:
                raise _NoUpdate(f"no document gives the type of property {one}")
            values.append(_VALUES[found.vt](self))
        what = self.what(command, numbers, values)
        self.first = self.first or what
        self.row("update", f"{number}: {what}")
        self.row("object", name)
        self.row("server", server)
        for one, value in zip(numbers, values, strict=True):
            self.row(property_name(one), value)

    def what(self, command: int, numbers: list[int], values: list[str]) -> str:
        """What happened to what kind of object. [MS-MQCN] 3.2.5.1"""
        if command == _DELETED:
            object_ = _OBJECT_TYPES.get(values[1]) if len(values) > 1 else None
        else:
            first = find_property(numbers[0]) if numbers else None
            object_ = None if first is None else _OBJECTS.get(first.kind)
        return f"{object_ or 'an object'} was {_COMMANDS[command]}"

    def text(self) -> str:
        end = self.at
        while (end := self.data.find(b"\0\0", end)) >= 0 and (end - self.at) % 2:
            end += 1
        if end < 0:
            raise _NoUpdate("a text without its end")
        raw = self.take(end - self.at)
        self.take(2)
        try:
            return raw.decode("utf-16-le")
        except UnicodeDecodeError:
            raise _NoUpdate("a text that is no UTF-16") from None

    def several(self, one: Callable[[_Updates], str]) -> str:
        count = _UI4.unpack(self.take(4))[0]
        # Each takes a byte at least: a count is believed as far as there are bytes.
        if count > len(self.data) - self.at:
            raise _NoUpdate("more values than bytes")
        values = [one(self) for _ in range(count)]
        more = f" and {count - _MOST_VALUES} more" if count > _MOST_VALUES else ""
        return ", ".join(values[:_MOST_VALUES]) + more

    def number(self, layout: Struct) -> str:
        return str(layout.unpack(self.take(layout.size))[0])

    def blob(self) -> str:
        size = _UI4.unpack(self.take(4))[0]
        self.take(size)
        return "1 byte" if size == 1 else f"{size} bytes"

    def guid(self) -> str:
        return str(GUID(self.take(16)))

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise _NoUpdate("the bytes end inside of an update")
        self.at += size
        return self.data[self.at - size : self.at]


_UI4 = Struct("<I")
_VECTOR = int(BodyType.VT_VECTOR)


def _numbers(letter: str) -> Callable[[_Updates], str]:
    layout = Struct(f"<{letter}")
    return lambda updates: updates.number(layout)


_VALUES: Mapping[int | None, Callable[[_Updates], str]] = {
    BodyType.VT_I2: _numbers("h"),
    BodyType.VT_I4: _numbers("i"),
    BodyType.VT_BOOL: _numbers("H"),
    BodyType.VT_I1: _numbers("b"),
    BodyType.VT_UI1: _numbers("B"),
    BodyType.VT_UI2: _numbers("H"),
    BodyType.VT_UI4: _numbers("I"),
    BodyType.VT_I8: _numbers("q"),
    BodyType.VT_UI8: _numbers("Q"),
    BodyType.VT_LPWSTR: _Updates.text,
    BodyType.VT_BLOB: _Updates.blob,
    BodyType.VT_CLSID: _Updates.guid,
    _VECTOR | BodyType.VT_UI1: _Updates.blob,
    _VECTOR | BodyType.VT_UI4: lambda updates: updates.several(_numbers("I")),
    _VECTOR | BodyType.VT_CLSID: lambda updates: updates.several(_Updates.guid),
    _VECTOR | BodyType.VT_LPWSTR: lambda updates: updates.several(_Updates.text),
}
"""VARTYPE -> how a value of it is read, [MS-MQCN] 2.2.3."""

"""What a call means, in a few words for who runs the servers: "opens the queue to receive from it".

The rule kept here: the words say what the client does and how it ends; they come from the values of the call,
and what is not there is not said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from msmq_wire.records.com_packets import ComCall
from msmq_wire.records.com_story import com_words, finds_nothing
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.rpc.constants import (
    AccessMode,
    DirectoryObjectType,
    MgmtObjectType,
    ReceiveAction,
    RegistryQueryType,
    RemoteReadAck,
    ShareMode,
)
from msmq_wire.rpc.hresults import describe
from msmq_wire.rpc.interfaces import Role
from msmq_wire.rpc.properties import PropertyKind, find_property
from msmq_wire.rpc.transfer_properties import message_properties
from msmq_wire.rpc.types.cac_transfer_buffer import CACTransferBufferV2
from msmq_wire.wire.partial import reached, reached_at
from msmq_wire.wire.types.wchar_text import WcharText

Story = Callable[[RpcCall, "CarriedMessage | None"], str]

_INFINITE = 0xFFFFFFFF
_LONGEST_LABEL = 40
_SEALED = "sealed"


class CarriedMessage(msgspec.Struct, frozen=True):
    """What is told of the message that a call carried: bytes of its body, and its label."""

    size: int | None = None
    label: str | None = None

    def __str__(self) -> str:
        parts = [] if self.size is None else [size_text(self.size)]
        if self.label:
            cut = len(self.label) > _LONGEST_LABEL
            label = f"{self.label[: _LONGEST_LABEL - 3]}..." if cut else self.label
            parts.append(f"label '{label}'")
        return ", ".join(parts)


def size_text(size: int) -> str:
    """A number of bytes in words: ``936 bytes``, ``4.1 KB``, ``1.2 MB`` (of 1024 each)."""
    if size < 1024:
        return "1 byte" if size == 1 else f"{size} bytes"
    for unit, factor in (("KB", 1 << 10), ("MB", 1 << 20), ("GB", 1 << 30)):
        if size < 1000 * factor or unit == "GB":
            break
    return f"{size / factor:.1f} {unit}".replace(".0 ", " ")


def carries_packet(call: RpcCall) -> bool:
    """Whether the packet of a message follows the record of a call: it came in sections, or whole."""
    carried = reached_at(call.response, call.members.message)
    return isinstance(carried, tuple | bytes) and bool(carried)


def is_answered(call: RpcCall) -> bool:
    """Whether a response or a fault was seen; one that could not be read shows in its latency."""
    return call.fault or call.response is not None or call.latency is not None


def is_cut(call: RpcCall) -> bool:
    """Whether a call was answered, but the answer was not read as far as its status."""
    if not is_answered(call) or call.fault or call.status is not None:
        return False
    if call.response is None:
        return not call.sealed and (call.method is not None or not call.complete)
    if isinstance(call, ComCall) and not call.complete:
        return True
    members = msgspec.structs.astuple(call.response) if isinstance(call.response, msgspec.Struct) else ()
    return msgspec.UNSET in members


def call_story(call: RpcCall, message: CarriedMessage | None = None) -> str:
    """Say in plain words what a call did; ``message`` is what the packet that it carried tells.

    A call whose stubs are sealed is "sealed". Nothing is raised, whatever the call lacks.
    """
    if call.sealed and (call.request is None or call.response is None):
        return _SEALED
    if isinstance(call, ComCall):
        words = com_words(call)
        return f"{words}: there is none" if finds_nothing(call) else _reported(words, call)
    known = _of_directory if call.does else STORIES.get(call.role) if call.role is not None else None
    if known is None:
        return "a call that is not known" if call.interface == "unknown" else f"a call of {call.interface}"
    story = known(call, message)
    if call.verified is False:
        story += "; its signature is wrong"
    return story


_ENDS: Mapping[int, str] = {
    0x00000005: "access denied",
    0x80070005: "access denied",
    0xC0000022: "access denied",
    0xC00E0025: "access denied",
    0xC00E0003: "there is no such queue",
    0xC00E0005: "there is one already",
    0xC00E0007: "the handle is not valid",
    0xC0000008: "the handle is not valid",
    0x1C00001A: "the handle is not valid",
    0xC00E0008: "cancelled",
    0xC00E0009: "somebody else has it open",
    0xC0000043: "somebody else has it open",
    0xC00E001A: "more than there is room for",
    0xC00E001B: "none came",
    0xC00E001D: "somebody else received it",
    0xC00E0056: "the handle is no longer valid",
    0xC00E005A: "the queue was deleted",
    0xC00E0088: "there is none",
    0xC00E009C: "a transaction holds it",
    0xC0000225: "there is none",
    0xC00E0064: "the server does not do that",
    0xC00E006A: "the server does not do that",
    0x1C010002: "the server does not do that",
    0x1C010003: "the server does not know the interface",
}
_FAILED = 0x80000000


def _value(part: Any, name: str) -> Any:
    return getattr(part, name, None)


def _ended(call: RpcCall) -> str:
    """How a call ended, empty where it went well."""
    status = call.status
    if call.fault:
        return _ENDS.get(status or 0) or describe(status or 0).meaning or "refused"
    if status is not None and status:
        return _ENDS.get(status) or describe(status).meaning or ("fails" if status & _FAILED else "")
    if is_cut(call):
        return "the answer cannot be read" if call.complete else "the rest of the answer is missing"
    if call.response is None and not call.sealed:
        return "given up" if call.orphaned else "cancelled" if call.cancelled else "no answer"
    return ""


def _reported(text: str, call: RpcCall, result: str = "") -> str:
    """What is done, and how it ended or what came of it."""
    end = _ended(call) or result
    return f"{text}: {end}" if end else text


def _plain(text: str) -> Story:
    return lambda call, message: _reported(text, call)


def _access(access: int | None, share: int | None) -> str:
    purposes = []
    if access is not None:
        if access & AccessMode.MQ_RECEIVE_ACCESS:
            purposes.append("to receive from it")
        if access & AccessMode.MQ_SEND_ACCESS:
            purposes.append("to send to it")
        if access & AccessMode.MQ_MOVE_ACCESS:
            purposes.append("to move messages to it")
        if access & AccessMode.MQ_PEEK_ACCESS:
            purposes.append("to peek into it")
    text = f" {' and '.join(purposes)}" if purposes else ""
    if access is not None and access & AccessMode.MQ_ADMIN_ACCESS:
        text += " while its messages wait to be sent"
    return f"{text}, alone" if share == ShareMode.MQ_DENY_RECEIVE_SHARE else text


def _open(call: RpcCall, message: CarriedMessage | None, words: str = "opens the queue") -> str:
    access = call.asked(call.members.access)
    return _reported(words + _access(access, call.asked("dw_share_mode")), call)


def _open_remote(call: RpcCall, message: CarriedMessage | None) -> str:
    return _open(call, message, "opens the queue for another computer")


def _port(call: RpcCall, message: CarriedMessage | None) -> str:
    port = call.number_at("return_value")
    return _reported("asks for the port", call, "none" if port == 0 else str(port or ""))


def _version(call: RpcCall, message: CarriedMessage | None) -> str:
    parts = [call.number_at(name) for name in ("p_major", "p_minor", "p_build_number")]
    version = "" if None in parts else ".".join(map(str, parts))
    return _reported("asks for the server's version", call, version)


def _cursor(call: RpcCall, message: CarriedMessage | None) -> str:
    return _reported("makes a cursor to step through the queue", call)


def _waiting(milliseconds: int) -> str:
    if milliseconds == _INFINITE:
        return "waits for a message"
    if milliseconds < 1000:
        return f"waits up to {milliseconds} ms for a message"
    seconds = milliseconds / 1000
    return f"waits up to {seconds:.1f} s for a message".replace(".0 s", " s")


_SELECTED: Mapping[int, str] = {
    ReceiveAction.MQ_ACTION_RECEIVE: "receives {the} message",
    ReceiveAction.MQ_ACTION_PEEK_CURRENT: "peeks at {the} message",
    ReceiveAction.MQ_ACTION_PEEK_NEXT: "peeks at the next message",
    ReceiveAction.MQ_LOOKUP_PEEK_CURRENT: "peeks at message {id}",
    ReceiveAction.MQ_LOOKUP_PEEK_NEXT: "peeks at the message after {id}",
    ReceiveAction.MQ_LOOKUP_PEEK_PREV: "peeks at the message before {id}",
    ReceiveAction.MQ_LOOKUP_RECEIVE_CURRENT: "receives message {id}",
    ReceiveAction.MQ_LOOKUP_RECEIVE_NEXT: "receives the message after {id}",
    ReceiveAction.MQ_LOOKUP_RECEIVE_PREV: "receives the message before {id}",
}
_FIRST_AND_LAST: Mapping[tuple[int, int], str] = {
    (ReceiveAction.MQ_LOOKUP_PEEK_NEXT, 0): "peeks at the first message",
    (ReceiveAction.MQ_LOOKUP_RECEIVE_NEXT, 0): "receives the first message",
    (ReceiveAction.MQ_LOOKUP_PEEK_PREV, (1 << 64) - 1): "peeks at the last message",
    (ReceiveAction.MQ_LOOKUP_RECEIVE_PREV, (1 << 64) - 1): "receives the last message",
}


def _reads(call: RpcCall, message: CarriedMessage | None) -> str:
    """A receive or a peek: what it got, or that it waited."""
    members = call.members
    action, timeout = call.asked(members.action), call.asked(members.timeout)
    cursor, lookup_id = call.asked(members.cursor), call.asked(members.lookup_id)
    end = _ended(call)
    lookup = action is not None and bool(action & 0x40000000)
    if end in ("none came", "cancelled", "no answer", "given up") and timeout and not lookup:
        return f"{_waiting(timeout)}: {end}"
    text = _SELECTED.get(action if action is not None else -1, "reads a message")
    text = _FIRST_AND_LAST.get((action or 0, lookup_id if lookup_id is not None else -1), text)
    text = text.format(the="the cursor's" if cursor else "the first", id=lookup_id or 0)
    if end == "none came":
        end = "there is none"
    transaction = _value(call.request, members.transaction)
    if isinstance(transaction, bytes) and any(transaction):
        text += " in a transaction"
    return f"{text}: {end or message}" if end or (message is not None and str(message)) else text


def _in_buffer(value: Any) -> CarriedMessage | None:
    """The message in the transfer buffer of a request or a response."""
    buffer = _value(value, "ptb")
    if not isinstance(buffer, CACTransferBufferV2):
        return None
    properties = message_properties(buffer)
    label = None if properties.label is None else properties.label.text
    return CarriedMessage(properties.body_length, label)


def _receive(call: RpcCall, message: CarriedMessage | None) -> str:
    return _reads(call, message or (None if call.status else _in_buffer(call.response)))


def _send(call: RpcCall, message: CarriedMessage | None) -> str:
    carried = message or _in_buffer(call.request)
    if carried is None or carried.size is None:
        return _reported("sends a message", call)
    text = f"sends a message of {size_text(carried.size)}"
    end = _ended(call)
    # Where there is little room, the end counts.
    return f"{text}: {end}" if end else f"sends a message of {carried}"


def _end(call: RpcCall, message: CarriedMessage | None) -> str:
    match call.asked("dw_ack"):
        case RemoteReadAck.RR_ACK:
            return _reported("takes the message off the queue (ACK)", call)
        case RemoteReadAck.RR_NACK:
            return _reported("puts the message back (NACK)", call)
    return _reported("ends the receive", call)


def _move(call: RpcCall, message: CarriedMessage | None) -> str:
    lookup_id = call.asked(call.members.lookup_id)
    which = "a message" if lookup_id is None else f"message {lookup_id}"
    return _reported(f"moves {which} to another queue", call)


def _properties(words: str) -> Story:
    def story(call: RpcCall, message: CarriedMessage | None) -> str:
        count = call.asked("cp")
        noun = "property" if count == 1 else "properties"
        return _reported(words.format(noun if count is None else f"{count} {noun}"), call)

    return story


_SETTINGS: Mapping[int, str] = {
    RegistryQueryType.DIRECTORY_SERVER_LIST: "its directory servers",
    RegistryQueryType.DEFAULT_TIME_TO_REACH_QUEUE: "the default time to reach a queue",
    RegistryQueryType.FOREST_GUID: "its forest",
    RegistryQueryType.SERVER_VERSION: "its version",
    RegistryQueryType.QUEUE_MANAGER_GUID: "its identifier",
}


def _setting(call: RpcCall, message: CarriedMessage | None) -> str:
    query = call.asked("dw_query_type")
    what = _SETTINGS.get(query if query is not None else -1, "a setting")
    return _reported(f"asks the server for {what}", call)


_MANAGED: Mapping[int | None, str] = {
    MgmtObjectType.MGMT_MACHINE: "the computer",
    MgmtObjectType.MGMT_QUEUE: "the queue",
}


def _managed(call: RpcCall) -> str:
    return _MANAGED.get(call.asked(f"{call.members.queue}.type"), "what there is not")


def _state(call: RpcCall, message: CarriedMessage | None) -> str:
    return _properties(f"asks for {{}} of {_managed(call)}")(call, message)


def _manage(call: RpcCall, message: CarriedMessage | None) -> str:
    action = _value(call.request, "lpwsz_action")
    text = f" to {action.text}" if isinstance(action, WcharText) else ""
    return _reported(f"tells {_managed(call)}{text}", call)


_OBJECTS: Mapping[int | None, str] = {
    DirectoryObjectType.MQDS_QUEUE: "queue",
    DirectoryObjectType.MQDS_MACHINE: "queue manager",
    DirectoryObjectType.MQDS_SITE: "site",
    DirectoryObjectType.MQDS_DELETEDOBJECT: "deleted object",
    DirectoryObjectType.MQDS_CN: "connected network",
    DirectoryObjectType.MQDS_ENTERPRISE: "enterprise",
    DirectoryObjectType.MQDS_USER: "user",
    DirectoryObjectType.MQDS_ROUTINGLINK: "routing link",
}
_LONGEST_OBJECT = 28
_LOOKED_UP: Mapping[PropertyKind, str] = {
    PropertyKind.QUEUE: "queues",
    PropertyKind.MACHINE: "queue managers",
    PropertyKind.SITE: "sites",
    PropertyKind.CONNECTED_NETWORK: "connected networks",
    PropertyKind.ENTERPRISE: "enterprises",
    PropertyKind.USER: "users",
    PropertyKind.ROUTING_LINK: "routing links",
}


def _object(call: RpcCall) -> str:
    """An object of the directory, by its kind and its path name or identifier."""
    members = call.members
    kind = _OBJECTS.get(call.asked(members.object_type), "object") if members.object_type else ""
    found = reached(call.request, members.object) if members.object else None
    name = found.text if isinstance(found, WcharText) else "" if found is None else str(found)
    if len(name) > _LONGEST_OBJECT:
        # Identifiers differ at their beginning.
        name = f"{name[: _LONGEST_OBJECT - 3]}..."
    return f"{kind} {name}".strip() or "an object"


def _properties_of(call: RpcCall) -> Any:
    return reached_at(call.request, call.members.properties) if call.members.properties else None


def _objects(call: RpcCall) -> str:
    """What kind of objects has the properties that are asked for."""
    properties = _properties_of(call)
    first = find_property(properties[0]) if isinstance(properties, tuple) and properties else None
    return "objects" if first is None else _LOOKED_UP.get(first.kind, "objects")


def _counted(call: RpcCall) -> str:
    properties = _properties_of(call)
    if not isinstance(properties, tuple):
        return "properties"
    return "1 property" if len(properties) == 1 else f"{len(properties)} properties"


def _of_directory(call: RpcCall, message: CarriedMessage | None) -> str:
    """What a method does that has words of its own, and how many values it brought."""
    result = ""
    if call.role is Role.LOOK_UP:
        values = reached(call.response, call.members.values)
        if isinstance(values, tuple):
            result = "1 value" if len(values) == 1 else f"{len(values)} values" if values else "no more"
    words = call.does.format(object=_object(call), objects=_objects(call), properties=_counted(call))
    return _reported(words, call, result)


STORIES: Mapping[Role, Story] = {
    Role.OPEN: _open,
    Role.OPEN_FOR_MOVE: _open,
    Role.OPEN_FOR_ANOTHER: _open_remote,
    Role.BEGIN_READING: _plain("begins to read the opened queue"),
    Role.CLOSE: _plain("closes the queue"),
    Role.CLOSE_FOR_ANOTHER: _plain("closes the queue for the other computer"),
    Role.CREATE_CURSOR: _cursor,
    Role.CREATE_CURSOR_FOR_ANOTHER: _plain("makes a cursor for another computer"),
    Role.TIE_CURSOR: _plain("ties the cursor to that of the other computer"),
    Role.CLOSE_CURSOR: _plain("closes the cursor"),
    Role.START: _reads,
    Role.RECEIVE: _receive,
    Role.CANCEL: _plain("gives up waiting"),
    Role.END: _end,
    Role.CLASSIFY: _plain("sets how the message is acknowledged"),
    Role.SEND: _send,
    Role.MOVE: _move,
    Role.PURGE: _plain("purges the queue"),
    Role.ENLIST: _plain("brings the server into a transaction"),
    Role.BEGIN: _plain("begins a transaction of the server"),
    Role.COMMIT: _plain("commits the transaction"),
    Role.ABORT: _plain("aborts the transaction"),
    Role.CREATE_QUEUE: _plain("creates the queue"),
    Role.DELETE_QUEUE: _plain("deletes the queue"),
    Role.GET_SECURITY: _plain("asks who may use the queue"),
    Role.SET_SECURITY: _plain("changes who may use the queue"),
    Role.GET_PROPERTIES: _properties("reads {} of the queue"),
    Role.SET_PROPERTIES: _properties("changes {} of the queue"),
    Role.ASK_FORMAT_NAME: _plain("asks for the format name of the queue"),
    Role.ASK_OPEN_NAME: _plain("asks for the format name of the open queue"),
    Role.ASK_OTHER_NAME: _plain("asks where the queue is"),
    Role.ASK_COORDINATOR: _plain("asks where the transaction coordinator is"),
    Role.ASK_SETTING: _setting,
    Role.ASK_PORT: _port,
    Role.ASK_VERSION: _version,
    Role.ASK_STATE: _state,
    Role.MANAGE: _manage,
}
"""Role -> its words; a method of any other role has words of its own."""

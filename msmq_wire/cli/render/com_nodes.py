"""What DCOM adds to a call, in words: the object, the causality, the arguments, the pointers in it."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.cli.render.node import Node
from msmq_wire.cli.render.values import count_text, duration_text
from msmq_wire.records.com_packets import ComCall, ComObject, ReceiveArguments

_INFINITE = 0xFFFFFFFF
_DEFAULT = "default: not specified"


def com_nodes(call: ComCall) -> Iterator[Node]:
    """The nodes of what DCOM adds to a call."""
    if call.object_uuid is not None:
        given = "" if call.opened_frame is None else f"given in frame {call.opened_frame}"
        yield Node("object_uuid", str(call.object_uuid), given, path="object_uuid")
    if call.causality is not None:
        version = "" if call.com_version is None else f"DCOM {call.com_version}"
        yield Node("causality", str(call.causality), version, path="causality")
    if call.arguments is not None:
        yield _arguments(call.arguments)
    if call.returned is not None:
        yield _object("returned", call.returned, "returned")


def _arguments(arguments: ReceiveArguments) -> Node:
    node = Node("arguments", note=str(arguments.SPEC), kind="structure", path="arguments")
    for name in ("transaction", "want_destination_queue", "want_body", "receive_timeout"):
        value = getattr(arguments, name)
        path = f"arguments.{name}"
        if value is None:
            continue
        note = "" if name in arguments.specified else _DEFAULT
        if isinstance(value, bool):
            node.children.append(Node(name, "yes" if value else "no", note, path=path))
        elif isinstance(value, int):
            text = "no limit" if value == _INFINITE else f"{value} ms"
            known = duration_text(value // 1000) if 1000 <= value != _INFINITE else ""
            node.children.append(Node(name, text, note or known, path=path))
        else:
            node.children.append(Node(name, value, note, path=path))
    if arguments.transaction_object is not None:
        path = "arguments.transaction_object"
        node.children.append(_object("transaction_object", arguments.transaction_object, path))
    node.children += [Node("problem", one, path="arguments.problems") for one in arguments.problems]
    return node


def _object(name: str, value: ComObject, path: str) -> Node:
    """An interface pointer; what it says of references and of authentication is in the JSON view."""
    node = Node(name, value.interface or str(value.iid), f"{value.kind} OBJREF", path=path)
    for member in ("ipid", "oid", "oxid", "clsid"):
        found = getattr(value, member)
        if found is not None:
            node.children.append(Node(member, str(found), path=f"{path}.{member}"))
    if value.bindings:
        shown = ", ".join(value.bindings[:4])
        more = len(value.bindings) - 4
        note = count_text(more, "more") if more > 0 else ""
        node.children.append(Node("bindings", shown, note, path=f"{path}.bindings"))
    return node

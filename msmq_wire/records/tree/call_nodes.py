"""A remote read call as a tree of named values, in the words of its IDL.

The rule kept here: it reads values and changes none. NULL and members that are not used are left out; room in
a client's memory is no message.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from msmq_wire.records.com_packets import ComCall, ComObject, ReceiveArguments
from msmq_wire.records.registered_queues import with_queue_names
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.records.tree.call_values import call_number_text, enumerated_text, status_text
from msmq_wire.records.tree.tree_node import Block, NodeOptions, TreeNode
from msmq_wire.records.tree.value_text import INLINE_BYTES, bytes_text, count_text, duration_text
from msmq_wire.rpc.com.queue_interfaces import COM_INTERFACES
from msmq_wire.rpc.com.variant import Variant, variant_type_name
from msmq_wire.rpc.constants import TransferType
from msmq_wire.rpc.interfaces import INTERFACES
from msmq_wire.rpc.management_properties import read_value
from msmq_wire.rpc.ndr import NdrStruct, NullPointee, Union, members
from msmq_wire.rpc.ndr.structures import Member
from msmq_wire.rpc.pdu_protection import AuthenticationLevel
from msmq_wire.rpc.properties import PropertyKind, property_name
from msmq_wire.rpc.types.cac_transfer_buffer import CACTransferBufferV1
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.directory_query import SortSet
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.rpc.types.queue_format import ObjectId, QueueFormat
from msmq_wire.rpc.types.sequence_info import SequenceInfo
from msmq_wire.spec import SpecRef
from msmq_wire.units import MILLISECOND
from msmq_wire.wire.names.queue_format_types import QueueFormatType
from msmq_wire.wire.types.enumerations import BodyType
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.section_buffer import SectionBuffer, SectionType
from msmq_wire.wire.types.wchar_text import WcharText

SEALED = "not readable without the password, NT hash or keytab (--nt-password, --nt-hash, --keytab)"
_LISTED = 100
_OF_PROPERTIES = ("a_prop", "ap_var", "a_col", "pb_buffer")
_LONGEST_TEXT = 128
_VERIFIED = {True: "signatures are right", False: "a signature is wrong", None: "signatures not checked"}

_INFINITE = 0xFFFFFFFF
_DEFAULT = "default: not specified"


def call_nodes(call: RpcCall, options: NodeOptions, marked: set[str]) -> Iterator[TreeNode]:
    """The nodes of a call; ``marked`` are paths where something is wrong."""
    method = _declared(call)
    opnum = "not known" if call.opnum is None else str(call.opnum)
    where = f"{call.interface}, opnum {opnum}"
    yield TreeNode("method", call.method or "not known", where, path="method")
    if call.guessed:
        yield TreeNode("guessed", "yes", "the bind is not in the capture: told by the shape", path="guessed")
    if call.queue is not None:
        opened = "" if call.opened_frame is None else f"opened in frame {call.opened_frame}"
        yield TreeNode("queue", call.queue, opened, path="queue")
    if call.started_frame is not None:
        yield TreeNode(
            "started_frame", str(call.started_frame), "where the receive began", path="started_frame"
        )
    if call.latency is not None:
        yield TreeNode("latency", f"{call.latency / MILLISECOND:.3f} ms", path="latency")
    if call.auth_level > AuthenticationLevel.NONE or call.sealed:
        level = enumerated_text(AuthenticationLevel, call.auth_level)[1]
        yield TreeNode(
            "auth_level", f"{call.auth_level} {level}", _VERIFIED[call.verified], path="auth_level"
        )
    if call.note:
        yield TreeNode("note", call.note, path="note")
    if not call.complete:
        yield TreeNode("complete", "no", "fragments are not in the capture", path="complete")
    for name, text in (("cancelled", "by the client"), ("orphaned", "given up by the client")):
        if getattr(call, name):
            yield TreeNode(name, "yes", text, path=name)
    if call.sealed:
        yield TreeNode("sealed", SEALED, path="sealed")
    if isinstance(call, ComCall):
        yield from _com_nodes(call)
    builder = _Builder(options, marked, call)
    for side in ("request", "response"):
        value = getattr(call, side)
        if isinstance(value, NdrStruct):
            yield builder.side(value, side, "" if method is None else str(method))
        elif not call.sealed and not (side == "response" and call.fault):
            yield TreeNode(side, "not captured" if value is None else str(value), path=side)
    if call.fault and call.status is not None:
        yield TreeNode("fault", *status_text(call.status), path="status")


def _declared(call: RpcCall) -> SpecRef | None:
    """The section that describes the method of a call."""
    for interface in (*INTERFACES.values(), *COM_INTERFACES.values()):
        if interface.name == call.interface and call.opnum is not None:
            method = interface.method(call.opnum, callback=call.callback)
            return None if method is None else method.spec
    return None


class _Builder:
    def __init__(self, options: NodeOptions, marked: set[str], call: RpcCall) -> None:
        self.options = options
        self.marked = marked
        self.call = call
        self.in_room = False

    def side(self, value: NdrStruct, side: str, spec: str) -> TreeNode:
        node = TreeNode(side, note=spec, kind="structure", path=side)
        node.children = list(self.children(value, side))
        if not node.children:
            node.value = "no parameters"
        return node

    def children(self, value: NdrStruct, path: str) -> Iterator[TreeNode]:
        for member in members(type(value)):
            name, field = member.name, getattr(value, member.name)
            if isinstance(member.type, Union) and field is not msgspec.UNSET:
                arm = member.type.arm(value)[1]
                name = arm.name if arm is not None and arm.name else name
            yield from self.member(value, member, name, field, f"{path}.{name}")

    def member(self, owner: Any, member: Member, name: str, value: Any, path: str) -> Iterator[TreeNode]:
        if value is msgspec.UNSET or value is None or isinstance(value, NullPointee):
            return
        if self.left_out(member, value, path):
            return
        if name in _OF_PROPERTIES and isinstance(value, tuple) and not isinstance(owner, SortSet):
            yield self.properties(name, value, path)
        else:
            yield self.node(owner, member, name, value, path)

    def left_out(self, member: Member, value: Any, path: str) -> bool:
        """Whether a member says nothing: reserved, or not used, and 0."""
        if self.options.everything or path in self.marked:
            return False
        unused = "reserved" in member.name or member.doc == "Not used."
        return unused and (not value or value == CACTransferBufferV1())

    def node(self, owner: Any, member: Member, name: str, value: Any, path: str) -> TreeNode:
        doc = _note(member.doc)
        match value:
            case ContextHandle():
                return self.handle(name, value, path, doc)
            case QueueFormat():
                return self.queue(name, value, path)
            case ObjectId():
                return TreeNode(name, f"{value.lineage}\\{value.uniquifier}", doc, path=path)
            case PropVariant():
                return self.variant(name, value, path)
            case Variant():
                return self.argument(name, value, path)
            case NdrStruct():
                return self.structure(name, value, path)
            case tuple():
                return self.items(owner, member, name, value, path)
            case GUID():
                return TreeNode(name, str(value), "none" if value == NULL_GUID else doc, path=path)
            case WcharText():
                return self.text(name, value, path, doc)
            case bytes():
                return self.binary(name, value, path, doc)
            case int() if name in ("prop", "prop_column"):
                return TreeNode(name, str(value), property_name(value), path=path)
            case int():
                text, note = call_number_text(name, value, member.names, self.options.zone)
                return TreeNode(name, text, note or doc, path=path)
        return TreeNode(name, str(value), path=path)

    def handle(self, name: str, value: ContextHandle, path: str, doc: str) -> TreeNode:
        if not isinstance(value.uuid, GUID):
            return TreeNode(name, "cut", doc, path=path)
        if value.null:
            return TreeNode(name, "NULL", doc, path=path)
        return TreeNode(name, str(value.uuid), doc, path=path)

    def queue(self, name: str, value: QueueFormat, path: str) -> TreeNode:
        """A queue by its format name; its parts where they make none, or are asked for."""
        shown = value.shown_name
        kind = enumerated_text(QueueFormatType, value.m_qft)[1] if isinstance(value.m_qft, int) else ""
        node = TreeNode(
            name, with_queue_names(shown) if shown is not None else "no format name", kind, path=path
        )
        refused = shown is None or value.format_name is None
        if refused or self.options.everything or any(p.startswith(f"{path}.") for p in self.marked):
            node.children = list(self.children(value, path))
        return node

    def structure(self, name: str, value: NdrStruct, path: str) -> TreeNode:
        # [MS-MQMP] 2.2.3.2: in a request to receive the buffers are the client's memory.
        room = (
            isinstance(value, CACTransferBufferV1)
            and path.startswith("request")
            and value.u_transfer_type != TransferType.CACTB_SEND
        )
        self.in_room = self.in_room or room
        node = TreeNode(name, note=str(value.SPEC), kind="structure", path=path)
        node.children = list(self.children(value, path))
        if room:
            self.in_room = False
        return node

    def items(self, owner: Any, member: Member, name: str, values: tuple[Any, ...], path: str) -> TreeNode:
        node = TreeNode(name, count_text(len(values), "element"), path=path)
        for place, value in enumerate(values[:_LISTED]):
            at = f"{path}[{place}]"
            if isinstance(value, SectionBuffer):
                node.children.append(self.section(value, f"[{place}]", at))
            elif value is None or isinstance(value, NullPointee):
                node.children.append(TreeNode(f"[{place}]", "NULL", path=at))
            else:
                node.children.append(self.node(owner, member, f"[{place}]", value, at))
        if len(values) > _LISTED:
            node.children.append(TreeNode("...", f"{len(values) - _LISTED} more elements"))
        return node

    def section(self, value: SectionBuffer, name: str, path: str) -> TreeNode:
        kind = value.section_buffer_type
        known = enumerated_text(SectionType, kind)[1] if isinstance(kind, int) else ""
        size, allocated = value.section_size, value.section_size_alloc
        text = count_text(size, "byte") if isinstance(size, int) else "cut"
        if isinstance(size, int) and isinstance(allocated, int) and size != allocated:
            text = f"{size} of {count_text(allocated, 'byte')}"
        node = TreeNode(name, text, known, path=path)
        if isinstance(value.data, bytes) and value.data:
            node.block = Block(bytes(value.data), 0)
        return node

    def properties(self, name: str, values: tuple[Any, ...], path: str) -> TreeNode:
        """Identifiers of properties by name; values under the names that the request gives them."""
        asked = self.call.columns or getattr(self.call.request, "a_prop", None)
        kind: PropertyKind | None = getattr(self.call.request, "property_kind", None)
        numbers = asked if isinstance(asked, tuple) else ()
        node = TreeNode(name, count_text(len(values), "element"), path=path)
        for place, value in enumerate(values[:_LISTED]):
            at = f"{path}[{place}]"
            if isinstance(value, PropVariant):
                # A lookup brings the values of several objects, one after the other.
                at_most = len(self.call.columns) * len(values) or len(numbers)
                number = numbers[place % len(numbers)] if numbers and place < at_most else None
                called = f"[{place}]" if number is None else property_name(number, kind)
                node.children.append(self.variant(called, value, at))
                reported = None if number is None or kind is None else read_value(value, number, kind)
                if isinstance(reported, SequenceInfo):
                    node.children[-1] = TreeNode(called, str(reported), "SEQUENCE_INFO", path=at)
            elif isinstance(value, int):
                node.children.append(TreeNode(f"[{place}]", str(value), property_name(value, kind), path=at))
        if len(values) > _LISTED:
            node.children.append(TreeNode("...", f"{len(values) - _LISTED} more elements"))
        return node

    def variant(self, name: str, value: PropVariant, path: str) -> TreeNode:
        kind = _variant_type(value.vt)
        if value.arm is None or value.arm is msgspec.UNSET:
            return TreeNode(name, "no value", kind, path=path)
        arm = next(member for member in members(PropVariant) if member.name == "arm")
        node = self.node(value, Member("arm", arm.type), name, value.arm, path)
        node.note = kind
        return node

    def argument(self, name: str, value: Variant, path: str) -> TreeNode:
        """A VARIANT by its type; its parts where bytes are asked for or something is wrong with them."""
        kind = variant_type_name(value.vt) if isinstance(value.vt, int) else ""
        node = TreeNode(name, kind, path=path)
        marked = any(one.startswith(f"{path}.") for one in self.marked)
        if self.options.everything or marked or not isinstance(value.arm, int):
            node.children = list(self.children(value, path))
        elif kind:
            node.value = f"{kind} {value.arm}" if abs(value.arm) < 1 << 16 else f"{kind} {value.arm:#x}"
        return node

    def text(self, name: str, value: WcharText, path: str, doc: str) -> TreeNode:
        text = value.text.partition("\0")[0]
        if self.in_room:
            return TreeNode(name, count_text(len(value) // 2, "character"), "room for it", path=path)
        if len(text) <= _LONGEST_TEXT:
            return TreeNode(name, f'"{text}"', doc, path=path)
        node = TreeNode(name, count_text(len(value), "byte"), "UTF-16 text", path=path)
        node.block = Block(bytes(value), 0, text)
        return node

    def binary(self, name: str, value: bytes, path: str, doc: str) -> TreeNode:
        size = count_text(len(value), "byte")
        if self.in_room and not self.options.everything:
            return TreeNode(name, size, "room for it", path=path)
        if len(value) <= INLINE_BYTES or not any(value):
            return TreeNode(name, bytes_text(value) if value else size, doc, path=path)
        node = TreeNode(name, size, doc, path=path)
        node.block = Block(value, 0)
        return node


def _note(doc: str) -> str:
    """What the declaration says of a member, as a part of a line."""
    text = doc.removesuffix(".")
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def _variant_type(vt: Any) -> str:
    if not isinstance(vt, int):
        return ""
    known = {int(one): one.name for one in BodyType}
    element = vt & ~BodyType.VT_VECTOR
    if vt & BodyType.VT_VECTOR and element in known:
        return f"VT_VECTOR | {known[element]}"
    return known.get(vt, f"{vt:#06x}")


def _com_nodes(call: ComCall) -> Iterator[TreeNode]:
    """The nodes of what DCOM adds to a call."""
    if call.object_uuid is not None:
        given = "" if call.opened_frame is None else f"given in frame {call.opened_frame}"
        yield TreeNode("object_uuid", str(call.object_uuid), given, path="object_uuid")
    if call.causality is not None:
        version = "" if call.com_version is None else f"DCOM {call.com_version}"
        yield TreeNode("causality", str(call.causality), version, path="causality")
    if call.arguments is not None:
        yield _arguments(call.arguments)
    if call.returned is not None:
        yield _object("returned", call.returned, "returned")


def _arguments(arguments: ReceiveArguments) -> TreeNode:
    node = TreeNode("arguments", note=str(arguments.SPEC), kind="structure", path="arguments")
    for name in ("transaction", "want_destination_queue", "want_body", "receive_timeout"):
        value = getattr(arguments, name)
        path = f"arguments.{name}"
        if value is None:
            continue
        note = "" if name in arguments.specified else _DEFAULT
        if isinstance(value, bool):
            node.children.append(TreeNode(name, "yes" if value else "no", note, path=path))
        elif isinstance(value, int):
            text = "no limit" if value == _INFINITE else f"{value} ms"
            known = duration_text(value // 1000) if 1000 <= value != _INFINITE else ""
            node.children.append(TreeNode(name, text, note or known, path=path))
        else:
            node.children.append(TreeNode(name, value, note, path=path))
    if arguments.transaction_object is not None:
        path = "arguments.transaction_object"
        node.children.append(_object("transaction_object", arguments.transaction_object, path))
    node.children += [TreeNode("problem", one, path="arguments.problems") for one in arguments.problems]
    return node


def _object(name: str, value: ComObject, path: str) -> TreeNode:
    """An interface pointer; what it says of references and of authentication is in the JSON view."""
    node = TreeNode(name, value.interface or str(value.iid), f"{value.kind} OBJREF", path=path)
    for member in ("ipid", "oid", "oxid", "clsid"):
        found = getattr(value, member)
        if found is not None:
            node.children.append(TreeNode(member, str(found), path=f"{path}.{member}"))
    if value.bindings:
        shown = ", ".join(value.bindings[:4])
        more = len(value.bindings) - 4
        note = count_text(more, "more") if more > 0 else ""
        node.children.append(TreeNode("bindings", shown, note, path=f"{path}.bindings"))
    return node

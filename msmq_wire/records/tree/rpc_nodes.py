"""What records of DCE/RPC hold as nodes of a tree: binds, calls, faults, messages in transfer buffers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msmq_wire.errors import DecodeError
from msmq_wire.records.message_body import transfer_body
from msmq_wire.records.rpc_packets import RpcBind, RpcBindContext, RpcCall, RpcFault, TransferBuffer
from msmq_wire.records.tree.body_nodes import body_node, extension_node
from msmq_wire.records.tree.call_nodes import call_nodes
from msmq_wire.records.tree.call_values import call_number_text, enumerated_text, status_text
from msmq_wire.records.tree.packet_nodes import place_marks
from msmq_wire.records.tree.tree_node import Block, NodeOptions, TreeNode
from msmq_wire.records.tree.value_text import INLINE_BYTES, bytes_text, count_text, identifier_text
from msmq_wire.rpc.pdu_protection import AuthenticationLevel, AuthenticationType
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.rpc.types.queue_format import ObjectId
from msmq_wire.wire.musts import Anomaly
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.wchar_text import WcharText

_LISTED = 100
_RESULTS = {0: "accepted", 1: "refused by the server", 2: "refused", 3: "no interface: features agreed on"}
_REFUSALS = {
    1: "the server does not have the interface",
    2: "the server takes none of the transfer syntaxes",
    3: "a limit is reached",
}
_FEATURES = 3
_NAK_REASONS = {
    0: "no reason given",
    1: "the server is busy",
    2: "a limit is reached",
    4: "the version of the protocol is not supported",
    8: "the security provider is not known",
    9: "a checksum is wrong",
}
_LEVELS: Mapping[int, str] = {
    AuthenticationLevel.NONE: "not protected",
    AuthenticationLevel.CONNECT: "the client is known, calls are not protected",
    AuthenticationLevel.CALL: "the client is known, calls are not protected",
    AuthenticationLevel.PKT: "calls have a sequence number",
    AuthenticationLevel.PKT_INTEGRITY: "calls are signed",
    AuthenticationLevel.PKT_PRIVACY: "calls are signed and sealed",
}
_PROVIDERS: Mapping[int, str] = {
    AuthenticationType.NONE: "none",
    AuthenticationType.GSS_NEGOTIATE: "SPNEGO",
    AuthenticationType.WINNT: "NTLM",
    AuthenticationType.GSS_KERBEROS: "Kerberos",
}
_DID_NOT_EXECUTE = 0x20


def is_rpc_packet(packet: Any) -> bool:
    """Whether a packet is that of a record of DCE/RPC."""
    return isinstance(packet, RpcBind | RpcCall | RpcFault | TransferBuffer)


def rpc_nodes(
    packet: Any,
    options: NodeOptions,
    *,
    anomalies: Sequence[Anomaly] = (),
    error: DecodeError | None = None,
) -> list[TreeNode]:
    """The nodes of the packet of a record of DCE/RPC, with what is wrong in the place where it is wrong."""
    nodes: list[TreeNode] = []
    match packet:
        case RpcBind():
            nodes += _bind(packet, options)
        case RpcCall():
            nodes += call_nodes(packet, options, {anomaly.path for anomaly in anomalies})
        case RpcFault():
            nodes += _fault(packet)
        case TransferBuffer():
            nodes += _message(packet, options)
    place_marks(nodes, anomalies, error)
    return nodes


def _bind(bind: RpcBind, options: NodeOptions) -> Iterator[TreeNode]:
    for place, context in enumerate(bind.contexts[:_LISTED]):
        yield _context(context, place, bind)
    if len(bind.contexts) > _LISTED:
        yield TreeNode("...", f"{len(bind.contexts) - _LISTED} more interfaces")
    if bind.nak_reason is not None:
        reason = _NAK_REASONS.get(bind.nak_reason, f"reason {bind.nak_reason}")
        yield TreeNode("nak_reason", str(bind.nak_reason), f"refused: {reason}", path="nak_reason")
    elif not bind.answered:
        yield TreeNode("answered", "no", "no answer in the capture", path="answered")
    provider = _PROVIDERS.get(bind.auth_type)
    if provider is None:
        provider = enumerated_text(AuthenticationType, bind.auth_type)[1]
    yield TreeNode("auth_type", str(bind.auth_type), provider, path="auth_type")
    level = _LEVELS.get(bind.auth_level, "unknown value")
    name = enumerated_text(AuthenticationLevel, bind.auth_level)[1]
    yield TreeNode("auth_level", str(bind.auth_level), f"{name}: {level}", path="auth_level")
    if bind.account:
        yield TreeNode("account", bind.account, "whom the client says it is", path="account")
    if bind.note:
        yield TreeNode("note", bind.note, path="note")
    if bind.header_signing:
        yield TreeNode("header_signing", "yes", "signatures cover the headers", path="header_signing")
    if bind.secondary_address:
        yield TreeNode("secondary_address", bind.secondary_address, path="secondary_address")
    if options.everything:
        for name in ("max_xmit_frag", "max_recv_frag", "association_group", "call_id"):
            yield TreeNode(name, str(getattr(bind, name)), path=name)


def _context(context: RpcBindContext, place: int, bind: RpcBind) -> TreeNode:
    if context.result == _FEATURES:
        text = _RESULTS[_FEATURES]
    elif context.result is None:
        text = "no answer" if bind.nak_reason is None else "refused"
    else:
        text = _RESULTS.get(context.result, f"result {context.result}")
        if context.accepted and not context.result:
            text += f" in {context.accepted}"
        elif context.result and context.reason in _REFUSALS:
            text += f": {_REFUSALS[context.reason]}"
    offered = ", ".join(context.transfer_syntaxes[:8])
    value = f"{context.interface} {context.version} in {offered}"
    return TreeNode("alter_context" if bind.alter_context else "bind", value, text, path=f"contexts[{place}]")


def _fault(fault: RpcFault) -> Iterator[TreeNode]:
    yield TreeNode("status", *status_text(fault.status), path="status")
    text = "the call was not carried out" if fault.flags & _DID_NOT_EXECUTE else ""
    yield TreeNode("flags", f"0x{fault.flags:02x}", text, path="flags")
    if fault.cancel_count:
        yield TreeNode("cancel_count", str(fault.cancel_count), path="cancel_count")


def _message(buffer: TransferBuffer, options: NodeOptions) -> Iterator[TreeNode]:
    if buffer.queue is not None:
        yield TreeNode("queue", buffer.queue, "of the call", path="queue")
    message = buffer.properties
    for name in message.__struct_fields__:
        value = getattr(message, name)
        if value is None or value == ():
            continue
        path = f"properties.{name}"
        if name == "truncated":
            yield TreeNode(name, ", ".join(value), "only a part is there", path=path)
        elif name == "problems":
            yield from (TreeNode("problem", one, path=path) for one in value)
        else:
            yield _property(message, name, value, path, options)


def _property(message: MessageProperties, name: str, value: Any, path: str, options: NodeOptions) -> TreeNode:
    match value:
        case WcharText():
            return TreeNode(name, f'"{value.text}"', path=path)
        case GUID():
            return TreeNode(name, str(value), "none" if value == NULL_GUID else "", path=path)
        case ObjectId():
            return TreeNode(name, f"{value.lineage}\\{value.uniquifier}", path=path)
        case bytes() if name == "body":
            return body_node(name, transfer_body(message), options, path=path)
        case bytes() if name == "extension":
            return extension_node(name, transfer_body(message), options, path=path)
        case bytes() if name == "correlation_identifier":
            return TreeNode(name, identifier_text(value) or bytes_text(value), path=path)
        case bytes():
            if len(value) <= INLINE_BYTES or not any(value):
                return TreeNode(name, bytes_text(value), path=path)
            return TreeNode(name, count_text(len(value), "byte"), path=path, block=Block(value, 0))
        case int():
            return TreeNode(name, *call_number_text(name, value, None, options.zone), path=path)
    return TreeNode(name, str(value), path=path)

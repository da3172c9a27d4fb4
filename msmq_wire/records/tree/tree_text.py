"""`tree`: a record, a packet or a header as the text that ``decode`` writes of it."""

from __future__ import annotations

from typing import Any, TypeAlias

from msmq_wire.arguments import wrong_type
from msmq_wire.engines.codec import encode, inspect
from msmq_wire.errors import EncodeError
from msmq_wire.records.message import message_of
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcBind, RpcCall, RpcFault, TransferBuffer
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.records.tree.heading import Heading
from msmq_wire.records.tree.packet_nodes import packet_nodes
from msmq_wire.records.tree.tree import Tree, TreeOptions, print_packet, print_record
from msmq_wire.records.tree.tree_node import NodeOptions
from msmq_wire.records.tree.tree_screen import TextScreen, TreeScreen
from msmq_wire.spec import snake_case
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.registry import PACKETS, STRUCTURES

ComposedPacket: TypeAlias = RpcBind | RpcCall | RpcFault | TransferBuffer | SrmpMessage
"""A packet of a record that is no structure of the registry."""
_OPTIONS = TreeOptions()
_SCALARS = tuple(one for one in STRUCTURES.values() if not issubclass(one, WireStruct))


def tree(value: Record | ComposedPacket | WireStruct | bytes) -> str:
    """A record, a packet or a header as a tree: offset, name, value and meaning of each field.

    It is the text that ``msmq-wire decode`` writes of a record to a file, and ``msmq-wire packet`` of a
    packet. What breaks a rule stands right where it is. A body is cut after 512 bytes. Nothing that a sender
    wrote can control a terminal. Raises TypeError for anything else.
    """
    screen = TextScreen()
    if isinstance(value, Record):
        message = message_of(value, acknowledgments=True)
        print_record(screen, value, _OPTIONS, via="" if message is None else message["via"])
    elif type(value) in PACKETS.values():
        _print_packet(screen, value)
    elif isinstance(value, ComposedPacket):
        print_packet(screen, Heading(type=snake_case(type(value).__name__)), value, _OPTIONS)
    elif isinstance(value, (WireStruct, *_SCALARS)):
        Tree(screen, _OPTIONS).nodes(packet_nodes(value, NodeOptions()))
    else:
        hint = next((f"tree(value.{name})" for name in ("record", "packet") if hasattr(value, name)), "")
        raise TypeError(wrong_type("value", "a record, a packet or a header", value, hint))
    return screen.text.rstrip("\n")


def _print_packet(screen: TreeScreen, packet: Any) -> None:
    kind = packet.stem()
    try:
        data = encode(packet)
    except EncodeError:
        # A part of a packet, or one that contradicts itself, is shown as it is.
        print_packet(screen, Heading(type=kind), packet, _OPTIONS)
        return
    heading = Heading(type=kind, size=len(data))
    print_packet(screen, heading, packet, _OPTIONS, anomalies=inspect(data, as_=kind).anomalies)

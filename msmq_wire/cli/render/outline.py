"""A packet in a few lines: its headers, and the fields that something is wrong with."""

from __future__ import annotations

import msgspec

from msmq_wire.cli.render.screen import Screen
from msmq_wire.records.record import Record
from msmq_wire.records.tree.heading import record_heading
from msmq_wire.records.tree.packet_nodes import packet_nodes
from msmq_wire.records.tree.tree import Tree, TreeOptions
from msmq_wire.records.tree.tree_node import Kind, NodeOptions, TreeNode
from msmq_wire.records.tree.value_text import count_text


def print_outline(screen: Screen, record: Record, options: TreeOptions) -> None:
    """Print a packet as `tree.print_record` does, of its fields only those where decoding failed, or else
    those that break a rule."""
    nodes = packet_nodes(
        record.packet, NodeOptions(zone=options.zone), anomalies=record.anomalies, error=record.error
    )
    tree = Tree(screen, options)
    tree.heading(record_heading(record, ""), record.packet)
    failed = any(_has(node, "error") for node in nodes)
    tree.nodes([_outlined(node, "error" if failed else "anomaly") for node in nodes])


def _outlined(node: TreeNode, kind: Kind) -> TreeNode:
    """A header with the fields below which there are marks, where one of them is of this kind."""
    wanted = _has(node, kind)
    kept = [child for child in node.children if wanted and (_has(child, "error") or _has(child, "anomaly"))]
    left_out = sum(child.kind == "field" for child in node.children if child not in kept)
    more = count_text(left_out, "more field" if kept else "field")
    shown = [mark for field in kept for mark in (field.children if _failed(field) else (field,))]
    return msgspec.structs.replace(node, note=f"{node.note}, {more}", children=shown)


def _failed(field: TreeNode) -> bool:
    """Whether decoding stopped in a field: then the error says it all, and the value is cut."""
    return any(child.kind == "error" for child in field.children)


def _has(node: TreeNode, kind: Kind) -> bool:
    return node.kind == kind or any(_has(child, kind) for child in node.children)

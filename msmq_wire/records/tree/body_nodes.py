"""Message bodies and their extensions as nodes of a tree: what they are, what was found, their text or bytes.

The rule kept here: what the sender chose is only ever a value, and what stands somewhere is not said twice.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from msmq_wire.records.bodies import Body, caption, layout, open_body
from msmq_wire.records.bodies.conventions import envelope_members, extension_headers
from msmq_wire.records.bodies.queued_components import EXTENSION, NAME
from msmq_wire.records.message_body import MessageBody
from msmq_wire.records.tree.tree_node import Block, NodeOptions, TreeNode
from msmq_wire.records.tree.value_text import INLINE_BYTES, bytes_text, count_text
from msmq_wire.wire.stream import Span

_DETAILS = 40

# What the text below, or the size, says as well.
_SAID = {"xml": ("root",), "json": ("members", "elements"), "encrypted": ("size",)}


def body_node(
    name: str, body: MessageBody, options: NodeOptions, *, path: str = "", span: Span | None = None
) -> TreeNode:
    """The node of a message body: its size and kind, what was found in it, then its text or its bytes.

    Below one that is encrypted stands what a key in force made of it.
    """
    reported = body.under_keys
    opened = reported is not body and not reported.not_opened
    if not opened:
        body = reported
    size = count_text(len(body.data), "byte")
    if body.cut:
        size = f"{len(body.data)} of {count_text(body.size, 'byte')}"
    content = body.content
    kind = caption(content)
    own = len(content.details) - _headers(body)
    for _, value in content.details[:own]:
        kind = kind.removesuffix(f" {value}")
    words = [kind, content.convention]
    if content.confidence == "guess" and content.kind != "binary":
        words.append("a guess")
    node = TreeNode(name, size, ", ".join(word for word in words if word), path=path, span=span)
    node.children = list(_details(content, own, options))
    block = _body_block(body, options, 0 if span is None else span.offset)
    if opened:
        # Its bytes are in no frame, and have no place there.
        node.children.append(body_node("opened", reported, options))
    if not node.children:
        node.block = block
    elif block is not None:
        node.children.append(TreeNode("bytes" if block.text is None else "text", block=block))
    return node


def extension_node(
    name: str, body: MessageBody, options: NodeOptions, *, path: str = "", span: Span | None = None
) -> TreeNode:
    """The node of ExtensionData: what it holds, then text or bytes, unless the body shows its headers."""
    data = body.extension
    if len(data) <= INLINE_BYTES or not any(data):
        return TreeNode(name, bytes_text(data), NAME if data == EXTENSION else "", path=path, span=span)
    library, _ = extension_headers(data)
    content = open_body(data, None)
    note = f"headers of {library}" if library else caption(content)
    node = TreeNode(name, count_text(len(data), "byte"), note, path=path, span=span)
    if options.everything or not library or not body.data:
        shown = msgspec.structs.replace(
            body, data=data, size=len(data), body_type=0, extension=b"", encrypted=None
        )
        node.block = _body_block(shown, options, 0 if span is None else span.offset)
    return node


def _details(content: Body, own: int, options: NodeOptions) -> Iterator[TreeNode]:
    """What was found in a body; behind the first ``own`` details are headers of a library."""
    rows = [
        TreeNode(name, value)
        for name, value in content.details[:own]
        # A body that was read by its type has it in the header.
        if options.everything
        or not (name in _SAID.get(content.kind, ()) or (name == "body_type" and "," not in value))
    ]
    # A name that the sender chose is a value, which is folded where it is long.
    rows += [TreeNode("header", f"{name}: {value}") for name, value in content.details[own:]]
    listed = len(rows) if options.everything else _DETAILS
    yield from rows[:listed]
    if len(rows) > listed:
        yield TreeNode("...", f"{len(rows) - listed} more; --hex shows all")


def _headers(body: MessageBody) -> int:
    """How many of the details are headers of a messaging library; they are the last ones."""
    content = body.content
    if not content.convention:
        return 0
    envelope = envelope_members(content.text or "") if content.kind == "json" else ()
    return len(extension_headers(body.extension)[1]) + len(envelope)


def _body_block(body: MessageBody, options: NodeOptions, offset: int) -> Block | None:
    """What stands below a body: its text or its bytes; of a cipher text nothing, unless bytes are shown."""
    content = body.content
    if options.everything:
        return Block(body.data, offset)
    if content.kind == "encrypted" or not body.data:
        return None
    if content.text is None or content.scalar:
        return Block(body.data, offset)
    text = layout(content) or content.text
    if text == content.text:
        return Block(body.data, offset, text)
    return Block(text.encode("utf-8", "surrogatepass"), offset, text)

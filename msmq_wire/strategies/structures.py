"""Strategies for the declared structures, packets and acknowledgments."""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import Any

from hypothesis import strategies as st

from msmq_wire.corpus.bases import DIRECT_NAMES
from msmq_wire.corpus.valid import FINAL_CLASSES, acknowledgment, encodable, sent_by, valid
from msmq_wire.engines import reference
from msmq_wire.wire import registry
from msmq_wire.wire.fields import (
    Align,
    Bytes,
    Choice,
    Field,
    Fill,
    Items,
    Node,
    Opt,
    Rest,
    WireStruct,
    ZeroTerminated,
    fields,
)
from msmq_wire.wire.headers.security_header import SecurityHeader
from msmq_wire.wire.packets.final_ack import FinalAck
from msmq_wire.wire.packets.order_ack import OrderAck
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.registry import PACKETS, Packet
from msmq_wire.wire.types.wchar_text import FixedWcharText, WcharText

_MAX_BYTES = 64
_MAX_ITEMS = 4


def structure(stem: str) -> st.SearchStrategy[WireStruct | bytes]:
    """Valid values of a structure: ``decode(encode(value), stem) == value`` and no anomalies.

    Raises ArgumentError for a stem that is none, as `edge` does, and `mutated` when it draws.
    """
    cls = registry.structure(stem)
    if not issubclass(cls, WireStruct):
        return _scalar(cls)
    if issubclass(cls, OrderAck | FinalAck):
        return _acknowledgments(cls)
    return _structs(cls).map(valid)


def edge(stem: str) -> st.SearchStrategy[WireStruct | bytes]:
    """Values that encode, with numbers at the ends of their ranges; MUSTs may be broken."""
    cls = registry.structure(stem)
    if not issubclass(cls, WireStruct):
        return _scalar(cls)
    return _structs(cls, extreme=True).map(encodable)


_BY_NAME = {"message_packet", "topology_client_request", "topology_server_reply"}
"""Packets that are read where somebody says what they are: a call, or a port."""


def packets() -> st.SearchStrategy[Packet]:
    """Valid packets of every kind that is recognised by its bytes (a ``message_packet`` is not)."""
    found: st.SearchStrategy[Any] = st.sampled_from(sorted(set(PACKETS) - _BY_NAME)).flatmap(structure)
    return found


def acknowledgments() -> st.SearchStrategy[UserMessage]:
    """Valid acknowledgment messages: an OrderAck or a FinalAck."""
    return _acknowledgments(OrderAck) | _acknowledgments(FinalAck)


@st.composite
def mutated(draw: st.DrawFn, stem: str) -> bytes:
    """Bytes of a structure after a few changes: bits, lengths, cuts, repetitions."""
    data = bytearray(reference.build(draw(structure(stem) | edge(stem))))
    for _ in range(draw(st.integers(1, 4))):
        if not data:
            break
        at = draw(st.integers(0, len(data) - 1))
        match draw(st.integers(0, 4)):
            case 0:
                data[at] ^= 1 << draw(st.integers(0, 7))
            case 1:
                lie = draw(
                    st.sampled_from((b"\0\0\0\0", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80"))
                )
                data[at : at + 4] = lie[: len(data) - at]
            case 2:
                del data[at:]
            case 3:
                data[at:at] = data[at : at + draw(st.integers(1, 32))]
            case _:
                data[at:at] = draw(st.binary(max_size=16))
    return bytes(data)


@st.composite
def _acknowledgments(draw: st.DrawFn, cls: type[UserMessage]) -> UserMessage:
    return acknowledgment(
        cls,
        reference.build(draw(structure(next(iter(cls.INSIDE))))),
        direct=draw(st.booleans()),
        message_class=draw(st.sampled_from(FINAL_CLASSES)),
        message_id=draw(st.integers(0, 0xFFFFFFFF)),
        reserved=draw(st.integers(0, 255)),
    )


@cache
def _structs(cls: type[WireStruct], *, extreme: bool = False) -> st.SearchStrategy[Any]:
    drawn = {
        field.name: _field(field, field.subcon, extreme, getattr(cls(), field.name))
        for field in fields(cls)
        if not field.position
    }
    built = st.builds(cls, **drawn)
    return built.map(sent_by) if cls is SecurityHeader else built


def _scalar(kind: type[bytes]) -> st.SearchStrategy[Any]:
    if issubclass(kind, FixedWcharText):
        return st.text(st.characters(codec="utf-16-le", exclude_characters="\0"), max_size=15).map(
            lambda text: kind.padded(text, 64)
        )
    if issubclass(kind, WcharText):
        return _text().map(kind.of)
    return st.binary(min_size=16, max_size=16).map(kind)


def _text() -> st.SearchStrategy[str]:
    # Lone surrogates are legal in labels.
    return st.text(st.characters(max_codepoint=0xFFFF, exclude_characters="\0"), max_size=20)


def _field(field: Field, subcon: Any, extreme: bool, default: Any = 0) -> st.SearchStrategy[Any]:
    match subcon:
        case Opt():
            return st.none() | _field(field, subcon.subcon, extreme)
        case Choice():
            cases = {id(case): case for case in subcon.cases.values()}.values()
            return st.one_of(*(st.none() if case is None else _field(field, case, extreme) for case in cases))
        case Items():
            return st.lists(_field(field, subcon.subcon, extreme), max_size=_MAX_ITEMS).map(tuple)
        case Node():
            return _structs(subcon.cls, extreme=extreme)
        case Rest():
            return st.just(b"")
        case Fill() | Align():
            return st.binary(max_size=3)
        case ZeroTerminated():
            return _direct_name().map(WcharText.of)
        case Bytes(kind=kind, length=length):
            return _bytes(field, kind, length)
    return _number(field, subcon, extreme, default)


def _direct_name() -> st.SearchStrategy[str]:
    return st.sampled_from(DIRECT_NAMES)


def _bytes(field: Field, kind: type[bytes], length: Any) -> st.SearchStrategy[Any]:
    if kind is FixedWcharText:
        return _scalar(kind)
    if field.name == "direct_format_name":
        return _direct_name().map(WcharText.of)
    if issubclass(kind, WcharText):
        return st.just(kind()) | _text().map(WcharText.of)
    if callable(length):
        return st.binary(max_size=_MAX_BYTES).map(kind)
    if length > _MAX_BYTES:
        # Many bytes that are drawn one by one are all that a test of several packets can draw.
        return st.binary(min_size=1, max_size=_MAX_BYTES).map(lambda piece: kind((piece * length)[:length]))
    return st.binary(min_size=length, max_size=length).map(kind)


def _number(field: Field, subcon: Any, extreme: bool, default: int) -> st.SearchStrategy[int]:
    top = (1 << 8 * subcon.sizeof()) - 1
    ends = st.sampled_from((0, 1, top >> 1, (top >> 1) + 1, top - 1, top))
    if extreme:
        return ends
    names: type[IntEnum] | None = field.names
    usual = st.just(default) | st.integers(0, top) | ends
    return usual if names is None else st.sampled_from([int(member) for member in names]) | usual

"""Hypothesis strategies for every structure, derived from its declaration (extra ``fuzz``).

``structure(stem)`` draws values that encode, decode to themselves and break no MUST; ``edge(stem)`` draws
values at the ends of their fields' ranges; ``mutated(stem)`` draws bytes that were such a structure once.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import Any

import msgspec
from hypothesis import strategies as st

from msmq_wire.engines import reference
from msmq_wire.engines.fit import fit
from msmq_wire.errors import DecodeError, EncodeError
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
from msmq_wire.wire.headers.base_header import BaseHeader
from msmq_wire.wire.headers.compound_message_header import CompoundMessageHeader
from msmq_wire.wire.headers.extended_address_header import ExtendedAddressHeader
from msmq_wire.wire.headers.extension_header import ExtensionHeader
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.security_header import SecurityHeader
from msmq_wire.wire.headers.srmp_envelope_header import SRMPEnvelopeHeader
from msmq_wire.wire.headers.subqueue_header import SubqueueHeader
from msmq_wire.wire.headers.user_header import AddressOverlay, UserHeader
from msmq_wire.wire.packets.acknowledgment import ACK_LABEL, ORDER_QUEUE, ORDER_QUEUE_NUMBER
from msmq_wire.wire.packets.final_ack import FinalAck
from msmq_wire.wire.packets.message_packet import TRAILERS, MessagePacket
from msmq_wire.wire.packets.order_ack import OrderAck
from msmq_wire.wire.packets.user_message import MessageHeaders, UserMessage
from msmq_wire.wire.registry import PACKETS
from msmq_wire.wire.types.direct_queue_format_name import DirectQueueFormatName
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.private_queue_format_name_id import PrivateQueueFormatNameId
from msmq_wire.wire.types.sid import SID
from msmq_wire.wire.types.wchar_text import FixedWcharText, WcharText

_DIRECT_NAMES = (
    r"OS:host\private$\orders",
    r"OS:a\q",
    r"TCP:192.0.2.1\public",
    r"TCP:2001:db8::1\private$\q",
    r"HTTP://example.com/msmq/private$/q",
    r"HTTPS://example.com:8443/msmq/q",
)
_MAX_BYTES = 64
_MAX_ITEMS = 4


def structure(stem: str) -> st.SearchStrategy[Any]:
    """Valid values of a structure: ``decode(encode(value), stem) == value`` and no anomalies.

    Raises ValueError for a stem that is none, as `edge` does, and `mutated` when it draws.
    """
    cls = registry.structure(stem)
    if not issubclass(cls, WireStruct):
        return _scalar(cls)
    if issubclass(cls, OrderAck | FinalAck):
        return _acknowledgments(cls)
    return _structs(cls).map(_valid)


def edge(stem: str) -> st.SearchStrategy[Any]:
    """Values that encode, with numbers at the ends of their ranges; MUSTs may be broken."""
    cls = registry.structure(stem)
    if not issubclass(cls, WireStruct):
        return _scalar(cls)
    return _structs(cls, extreme=True).map(_encodable)


_BY_NAME = {"message_packet", "topology_client_request", "topology_server_reply"}
"""Packets that are read where somebody says what they are: a call, or a port."""


def packets() -> st.SearchStrategy[Any]:
    """Valid packets of every kind that is recognised by its bytes (a ``message_packet`` is not)."""
    return st.sampled_from(sorted(set(PACKETS) - _BY_NAME)).flatmap(structure)


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


def _valid(value: WireStruct) -> WireStruct:
    """The value with everything that breaks a MUST set back to its default."""
    # First the fields that are wrong, then, where that did not help, the structures around them.
    for outer in (0, 0, 1, 1, 2):
        value = _encodable(_reconciled(value) if isinstance(value, MessageHeaders) else value)
        anomalies = reference.find_anomalies(value)
        if not anomalies:
            return value
        for anomaly in anomalies:
            path = anomaly.path.split(".")
            value = _reset(value, path[: max(1, len(path) - outer)])
    return fit(type(value)())


def _encodable(value: WireStruct) -> WireStruct:
    """The value with sizes that fit, and as it decodes: random bytes can look like a part."""
    try:
        return reference.parse(type(value), reference.build(fit(value)))[0]  # type: ignore[no-any-return]  # registry values
    except (EncodeError, DecodeError):
        return fit(type(value)())


def _reset(value: WireStruct, path: list[str]) -> WireStruct:
    name, _, index = path[0].partition("[")
    part = getattr(value, name)
    if len(path) > 1 and isinstance(part, WireStruct):
        return msgspec.structs.replace(value, **{name: _reset(part, path[1:])})
    if index:
        return msgspec.structs.replace(value, **{name: ()})
    return msgspec.structs.replace(value, **{name: getattr(type(value)(), name)})


def _reconciled(packet: MessageHeaders) -> MessageHeaders:
    """The packet with those parts and bits that MUSTs tie to each other."""
    user, properties = packet.user_header, packet.message_properties_header or MessagePropertiesHeader()
    direct = isinstance(user.destination_queue, DirectQueueFormatName)
    parts: dict[str, Any] = {}
    if isinstance(packet, MessagePacket):
        if packet.session_header is not None:
            parts["trailing_session_header"] = None
        if any(getattr(packet, name) is not None for name in TRAILERS):
            parts["extension_header"] = ExtensionHeader()
            parts["subqueue_header"] = packet.subqueue_header or SubqueueHeader()
            parts["extended_address_header"] = packet.extended_address_header or ExtendedAddressHeader()
        if packet.srmp_envelope_header is not None or packet.compound_message_header is not None:
            parts["srmp_envelope_header"] = packet.srmp_envelope_header or SRMPEnvelopeHeader()
            parts["compound_message_header"] = packet.compound_message_header or CompoundMessageHeader()
        overlay = isinstance(user.queue_manager_address, AddressOverlay)
        address = (
            user.queue_manager_address if direct == overlay else AddressOverlay() if direct else NULL_GUID
        )
    else:
        parts = {"srmp_envelope_header": None, "compound_message_header": None}
        address = NULL_GUID if direct else user.queue_manager_address
        address = address if isinstance(address, GUID) else NULL_GUID
    transactional = int(packet.transaction_header is not None)
    base = packet.base_header.with_bits(in_=0)
    return msgspec.structs.replace(
        packet,
        base_header=base.with_bits(pr=0) if transactional else base,
        user_header=msgspec.structs.replace(user, queue_manager_address=address).with_bits(
            dm=transactional or user.bit("dm") & 1, rc=user.bit("rc") % 0x1E
        ),
        message_properties_header=properties.with_bits(pa=1)
        if user.admin_queue is not None
        else properties.with_bits(pa=0, pr=0, na=0, nr=0),
        **parts,
    )


@st.composite
def _acknowledgments(draw: st.DrawFn, cls: type[UserMessage]) -> UserMessage:
    name = next(iter(cls.INSIDE))
    body = reference.build(draw(structure(name)))
    number: Any = PrivateQueueFormatNameId(private_queue_identifier=ORDER_QUEUE_NUMBER)
    direct = DirectQueueFormatName.of(f"TCP:192.0.2.7{ORDER_QUEUE.upper()}")
    queue, dq = draw(st.sampled_from(((number, 3), (direct, 7))))
    final = cls is FinalAck
    message_class = (
        draw(st.sampled_from([int(c) for c in MessageClass if c >= 0x4000]))
        if final
        else MessageClass.MQMSG_CLASS_ORDER_ACK
    )
    user = UserHeader(destination_queue=queue, message_id=draw(st.integers(0, 0xFFFFFFFF)))
    return fit(
        cls(
            base_header=BaseHeader(flags=0, reserved=draw(st.integers(0, 255))),
            user_header=user.with_bits(dq=dq, dm=int(final)),
            message_properties_header=MessagePropertiesHeader(
                message_class=int(message_class), label=WcharText.of(ACK_LABEL), message_body=body
            ),
        )
    )


@cache
def _structs(cls: type[WireStruct], *, extreme: bool = False) -> st.SearchStrategy[Any]:
    drawn = {
        field.name: _field(field, field.subcon, extreme, getattr(cls(), field.name))
        for field in fields(cls)
        if not field.position
    }
    built = st.builds(cls, **drawn)
    return built.map(_sent_by) if cls is SecurityHeader else built


def _sent_by(header: Any) -> SecurityHeader:
    """The header with a sender of the kind that ST says, and a provider where DE is clear."""
    data = header.security_data
    sid = SID(sub_authority_count=2, sub_authority=(32, len(data.security_id)))
    senders = {0: b"", 1: reference.build(sid), 2: data.security_id.ljust(16, b"\0")[:16]}
    sender = header.bit("st") % 3
    if not any((sender, data.encryption_key, data.signature, data.sender_cert, data.provider_info)):
        sender = 2
    secured: SecurityHeader = msgspec.structs.replace(
        header.with_bits(
            st=sender,
            de=int(data.provider_info is None),
            eb=int(bool(data.encryption_key)),
            au=0,
            as_=0,
        ),
        security_data=msgspec.structs.replace(data, security_id=senders[sender]),
    )
    return secured


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
    return st.sampled_from(_DIRECT_NAMES)


def _bytes(field: Field, kind: type[bytes], length: Any) -> st.SearchStrategy[Any]:
    if kind is FixedWcharText:
        return _scalar(kind)
    if field.name == "direct_format_name":
        return _direct_name().map(WcharText.of)
    if issubclass(kind, WcharText):
        return st.just(kind()) | _text().map(WcharText.of)
    if callable(length):
        return st.binary(max_size=_MAX_BYTES).map(kind)
    return st.binary(min_size=length, max_size=length).map(kind)


def _number(field: Field, subcon: Any, extreme: bool, default: int) -> st.SearchStrategy[int]:
    top = (1 << 8 * subcon.sizeof()) - 1
    ends = st.sampled_from((0, 1, top >> 1, (top >> 1) + 1, top - 1, top))
    if extreme:
        return ends
    names: type[IntEnum] | None = field.names
    usual = st.just(default) | st.integers(0, top) | ends
    return usual if names is None else st.sampled_from([int(member) for member in names]) | usual

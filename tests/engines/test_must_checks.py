"""MUSTs compiled: the same anomalies as the reference engine finds, and where they are."""

from __future__ import annotations

import ast
from typing import Annotated, Any, ClassVar

import msgspec
import pytest
from construct import Int16ul

from msmq_wire.engines import must_checks, reference
from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.engines.fit import fit
from msmq_wire.engines.message_builder import build_message
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.fields import Node, WireStruct
from msmq_wire.wire.headers.mqf_address_header import MQFAddressHeader
from msmq_wire.wire.headers.multi_queue_format_header import MultiQueueFormatHeader
from msmq_wire.wire.headers.order_ack_body import OrderAckBody
from msmq_wire.wire.musts import CodedMust, Must, Musts, View
from msmq_wire.wire.packets.order_ack import OrderAck
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.registry import STRUCTURES
from msmq_wire.wire.types.mqf_direct_queue_format_name import MQFDirectQueueFormatName
from msmq_wire.wire.types.mqf_format_name_element import MQFFormatNameElement
from msmq_wire.wire.types.wchar_text import WcharText

_STRUCTS = {stem: cls for stem, cls in STRUCTURES.items() if issubclass(cls, WireStruct)}


@pytest.mark.parametrize("stem", sorted(_STRUCTS))
def test_the_source_of_a_judge_is_marked_and_asks_for_every_must_of_its_own(stem: str) -> None:
    source = must_checks.source(_STRUCTS[stem])
    assert source.startswith("# Generated from the MUSTs of ")
    (judge,) = ast.parse(source).body
    assert isinstance(judge, ast.FunctionDef)
    asked = source.count("_broken.append((")
    # A rule about a parent that a structure alone does not have cannot be broken.
    assert asked >= sum("['_']" not in repr(must) for must in _STRUCTS[stem].MUSTS)


def _both(packet: Any) -> list[tuple[str, str, int, int]]:
    found = must_checks.find_anomalies(packet)
    assert found == reference.find_anomalies(packet)
    return [(anomaly.code, anomaly.path, anomaly.offset, anomaly.length) for anomaly in found]


def test_anomalies_come_in_wire_order_with_their_places() -> None:
    packet = build_message("DIRECT=OS:host\\q", b"body", label="label")
    user = msgspec.structs.replace(packet.user_header, flags=packet.user_header.flags | 0x1F)
    header: Any = packet.message_properties_header
    properties = msgspec.structs.replace(
        header, privacy_level=2, label=WcharText(bytes(12)), body_type=0x7777
    )
    packet = msgspec.structs.replace(packet, user_header=user, message_properties_header=properties)
    assert _both(packet) == [
        ("user_header.hops", "user_header.flags", 60, 4),
        ("message_properties_header.label", "message_properties_header.label", 144, 12),
        ("message_properties_header.body-type", "message_properties_header.body_type", 112, 4),
        ("message_properties_header.privacy-level", "message_properties_header.privacy_level", 128, 4),
    ]


def test_a_structure_inside_a_body_is_judged_where_it_lies() -> None:
    body = encode(OrderAckBody(tx_sequence_number=0, tx_previous_sequence_number=0))
    message = build_message("DIRECT=OS:host\\private$\\order_queue$", body, label="QM Ordering Ack")
    header: Any = message.message_properties_header
    properties = msgspec.structs.replace(header, message_class=0xFF)
    base = msgspec.structs.replace(message.base_header, flags=0)
    data = encode(msgspec.structs.replace(message, base_header=base, message_properties_header=properties))
    packet = decode(data)
    assert type(packet) is OrderAck
    at = data.rindex(body)
    broken = [anomaly for anomaly in _both(packet) if anomaly[0].startswith("order_ack_body.")]
    assert broken == [
        ("order_ack_body.tx-sequence-number", "order_ack_body.tx_sequence_number", at + 8, 4),
        (
            "order_ack_body.tx-previous-sequence-number",
            "order_ack_body.tx_previous_sequence_number",
            at + 12,
            4,
        ),
    ]
    short = msgspec.structs.replace(
        packet, message_properties_header=msgspec.structs.replace(properties, message_body=body[:-1])
    )
    assert not any(code.startswith("order_ack_body.") for code, *_ in _both(short))


@pytest.mark.parametrize("count", [1, 99, 100, 101, 3000])
def test_a_hostile_list_has_a_bounded_number_of_anomalies(count: int) -> None:
    element = MQFFormatNameElement(format_name=MQFDirectQueueFormatName(direct_format_name=WcharText.of("x")))
    header = MultiQueueFormatHeader(destination=MQFAddressHeader(format_name_list=(element,) * count))
    packet = fit(UserMessage(multi_queue_format_header=header))
    found = _both(packet)
    assert len(found) == min(count, reference.MAX_ANOMALIES)
    assert found[-1][1].endswith(f"format_name_list[{len(found) - 1}].format_name.direct_format_name")


class _Inner(WireStruct, frozen=True, kw_only=True, gc=False):
    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2")
    number: Annotated[int, Int16ul] = 0
    MUSTS: ClassVar[Musts] = (
        Must("outer", this.number < this._.limit, at="number", message="m"),
        CodedMust("both", lambda number: number != 7, "number", at="number", message="m"),
    )


def _looks_at_all(view: View) -> bool:
    return bool(view["limit"] != 3)


class _Holder(WireStruct, frozen=True, kw_only=True, gc=False):
    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2")
    limit: Annotated[int, Int16ul] = 9
    inner: Annotated[_Inner, Node(_Inner)] = _Inner()
    MUSTS: ClassVar[Musts] = (CodedMust("all", _looks_at_all, at="limit", message="m"),)


@pytest.mark.parametrize(
    ("limit", "number", "codes"),
    [(9, 1, []), (9, 9, ["_inner.outer"]), (9, 7, ["_inner.both"]), (3, 3, ["_holder.all", "_inner.outer"])],
)
def test_a_rule_may_look_at_the_structure_around_it_and_a_function_at_all_of_it(
    limit: int, number: int, codes: list[str]
) -> None:
    holder = _Holder(limit=limit, inner=_Inner(number=number))
    assert [code for code, *_ in _both(holder)] == codes
    # Alone, a structure has nothing around it: what cannot be known holds.
    assert "_inner.outer" not in [code for code, *_ in _both(_Inner(number=number))]


def test_partial_values_and_missing_ranges_are_judged_by_the_reference_engine() -> None:
    data = encode(build_message("DIRECT=OS:host\\q", bytes(100), label="label"))
    for cut in range(16, len(data), 9):
        result = inspect(data[:cut], "user_message")
        assert result.error is not None
        assert result.anomalies == reference.find_anomalies(result.packet, (), result.error)
    assert must_checks.find_anomalies(b"no structure") == ()

"""The registry: one list of everything that is declared."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

import pytest

from msmq_wire import decode, inspect, strategies
from msmq_wire.engines import arrow, columns
from msmq_wire.spec import snake_case
from msmq_wire.wire.registry import (
    ENUMERATIONS,
    HEADERS,
    PACKETS,
    STRUCTURES,
    TYPES,
    structure,
    structure_with_fields,
)


def test_a_stem_is_in_one_group_only() -> None:
    assert len(STRUCTURES) == len(TYPES) + len(HEADERS) + len(PACKETS)


@pytest.mark.parametrize("stem", sorted(STRUCTURES))
def test_a_stem_is_the_name_of_its_class_in_snake_case(stem: str) -> None:
    name = STRUCTURES[stem].__name__
    assert snake_case(name) == stem or name in {"XACTUOW", "GUID", "SID"}


@pytest.mark.parametrize("name", sorted(ENUMERATIONS))
def test_an_enumeration_has_distinct_values_and_a_section(name: str) -> None:
    enumeration = ENUMERATIONS[name]
    assert issubclass(enumeration, IntEnum)
    assert enumeration.__name__ == name
    values = [member.value for member in enumeration]
    assert len(values) == len(set(values)) == len(enumeration.__members__)
    assert enumeration.__doc__ is not None
    assert "[MS-MQ" in enumeration.__doc__


# From the tables of [MS-MQMQ] 2.2.18.1.6, 2.2.12 and 2.2.19.3.
@pytest.mark.parametrize(
    ("name", "member", "value"),
    [
        ("MessageClass", "MQMSG_CLASS_ORDER_ACK", 0x00FF),
        ("MessageClass", "MQMSG_CLASS_ACK_RECEIVE", 0x4000),
        ("MessageClass", "MQMSG_CLASS_NACK_HOP_COUNT_EXCEEDED", 0x8005),
        ("MessageClass", "MQMSG_CLASS_NACK_RECEIVE_REJECTED", 0xC004),
        ("BodyType", "VT_LPWSTR", 31),
        ("BodyType", "VT_BLOB", 65),
        ("BodyType", "VT_CLSID", 72),
        ("PrivacyLevel", "BITS_128", 3),
        ("HashAlgorithm", "SHA_512", 0x800E),
        ("EncryptionAlgorithm", "AES_256", 0x6610),
        ("MQFHeaderId", "RESPONSE", 0x012C),
        ("AddressType", "IPV6_ADDRESS_TYPE", 6),
        ("SectionType", "stSrmpSecondSection", 4),
    ],
)
def test_a_value_is_that_of_the_document(name: str, member: str, value: int) -> None:
    assert ENUMERATIONS[name][member] == value


def test_the_undefined_message_classes_have_no_name() -> None:
    values = {member.value for member in ENUMERATIONS["MessageClass"]}
    assert values.isdisjoint({0x8008, 0xC003})
    assert len(values) == 20


@pytest.mark.parametrize(
    ("stem", "text"),
    [
        ("usermessage", "no structure is called 'usermessage': did you mean 'user_message'?"),
        ("UserMessage", "no structure is called 'UserMessage': did you mean 'user_message'?"),
        ("user-header", "no structure is called 'user-header': did you mean 'user_header'?"),
        ("tcp", "no structure is called 'tcp'"),
        (["ping"], "no structure is called ['ping']"),
    ],
)
@pytest.mark.parametrize(
    "ask",
    [
        structure,
        lambda stem: decode(b"", stem),
        lambda stem: inspect(b"", as_=stem),
        strategies.structure,
        strategies.edge,
    ],
    ids=["registry", "decode", "inspect", "strategies.structure", "strategies.edge"],
)
def test_a_mistyped_stem_gets_the_nearest_one(ask: Callable[[Any], object], stem: Any, text: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the whole text is compared)
        ask(stem)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("stem", "text"),
    [
        ("ping", ""),
        ("pin", "no structure with fields is called 'pin': did you mean 'ping'?"),
        ("guid", "no structure with fields is called 'guid'"),
    ],
)
@pytest.mark.parametrize(
    "ask",
    [structure_with_fields, arrow.schema, lambda stem: columns.decode(b"", [0], as_=stem)],
    ids=["registry", "arrow", "columns"],
)
def test_where_fields_are_needed_only_structures_with_fields_are_known(
    ask: Callable[[str], object], stem: str, text: str
) -> None:
    if not text:
        ask(stem)
        return
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the whole text is compared)
        ask(stem)
    assert str(caught.value) == text

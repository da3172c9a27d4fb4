"""Structures: annotations are the schema, and an error carries what was decoded before it."""

from __future__ import annotations

import pickle
from typing import Any

import msgspec
import pytest

from msmq_wire.engines import reference
from msmq_wire.engines.codec import decode, encode
from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.wire import registry
from msmq_wire.wire.expressions import ABSENT, UNDETERMINED
from msmq_wire.wire.fields import OWN_SIZE, WireStruct, fields, known
from msmq_wire.wire.headers.base_header import BaseHeader
from msmq_wire.wire.headers.dead_letter_header import DeadLetterHeader
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.sid import SID

_STRUCTS = [cls for cls in registry.STRUCTURES.values() if issubclass(cls, WireStruct)]


def test_the_fields_are_the_annotations_in_wire_order() -> None:
    found = fields(BaseHeader)
    assert [field.name for field in found] == [
        "version_number",
        "reserved",
        "flags",
        "signature",
        "packet_size",
        "time_to_reach_queue",
    ]
    assert found[5].unit == "seconds"
    assert not any(field.position for field in found)


def test_a_field_knows_its_names_its_unit_and_whether_it_is_its_own_size() -> None:
    by_name = {field.name: field for field in fields(MessagePropertiesHeader)}
    assert by_name["message_class"].names is MessageClass
    size = fields(DeadLetterHeader)[0]
    assert (size.own_size, size.doc != OWN_SIZE) == (True, True)


def test_positions_are_fields_without_a_value() -> None:
    positions = [field.name for field in fields(UserHeader) if field.position]
    assert positions == ["_flags"]
    assert "_flags" not in UserHeader.__struct_fields__


@pytest.mark.parametrize("cls", _STRUCTS, ids=lambda cls: cls.stem())
def test_every_field_is_documented_and_has_a_default(cls: type[WireStruct]) -> None:
    named = [field for field in fields(cls) if not field.position]
    assert [field.name for field in named] == list(cls.__struct_fields__)
    assert [field.name for field in named if not field.doc] == []
    assert cls.schema() is cls.schema()


@pytest.mark.parametrize("cls", _STRUCTS, ids=lambda cls: cls.stem())
def test_a_bare_structure_is_frozen_hashable_and_survives_pickle_and_the_wire(cls: type[WireStruct]) -> None:
    value = cls()
    assert pickle.loads(pickle.dumps(value)) == value
    assert hash(value) == hash(cls())
    assert decode(encode(value), cls.stem()) == value
    with pytest.raises(AttributeError):
        setattr(value, cls.__struct_fields__[0], 0)


def test_expressions_see_absent_parts_and_unreached_fields_apart() -> None:
    assert known(None) is ABSENT
    assert known(msgspec.UNSET) is UNDETERMINED
    assert known(0) == 0
    assert UserMessage()["transaction_header"] is ABSENT


def test_bits_are_read_and_changed_by_name() -> None:
    header = BaseHeader(flags=0).with_bits(pr=3, in_=1)
    assert (header.flags, header.bit("pr"), header.bit("in")) == (0x0B, 3, 1)


@pytest.mark.parametrize(
    ("stem", "bits", "error", "text"),
    [
        (
            "base_header",
            {"foo": 1},
            ValueError,
            "flags has no bit 'foo': it has pr, in, sh, dh, x9, x8, tr, x6, x5, x4, x3, x2, x1, x0",
        ),
        ("base_header", {"pr": 8}, ValueError, "pr is 8: it is 0 to 7"),
        ("base_header", {"in_": -1}, ValueError, "in is -1: it is 0 to 1"),
        ("base_header", {"pr": "3"}, TypeError, "pr must be an integer, not str"),
        ("sid", {"pr": 1}, ValueError, "sid has no bits"),
        ("sid", {}, ValueError, "sid has no bits"),
    ],
)
def test_a_bit_that_cannot_be_set_is_told(
    stem: str, bits: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as caught:
        registry.STRUCTURES[stem]().with_bits(**bits)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("stem", "name", "text"),
    [
        ("ping", "foo", "flags has no bit 'foo': it has rc, rf, x"),
        ("sid", "pr", "sid has no bits"),
    ],
)
def test_a_bit_that_is_none_is_told(stem: str, name: str, text: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the whole text is compared)
        registry.STRUCTURES[stem]().bit(name)
    assert str(caught.value) == text


def test_a_partial_value_ends_in_unset_fields() -> None:
    with pytest.raises(DecodeError) as caught:
        decode(bytes.fromhex("10 00 0300 4c494f52 78"), "base_header")
    partial: Any = caught.value.partial
    assert (partial.version_number, partial.signature) == (0x10, 0x524F494C)
    assert partial.packet_size is msgspec.UNSET
    assert partial.time_to_reach_queue is msgspec.UNSET


def test_a_partial_value_nests() -> None:
    whole = encode(UserMessage())
    with pytest.raises(DecodeError) as caught:
        decode(whole[:50], "user_message")
    error = caught.value
    partial: Any = error.partial
    assert (error.path, error.offset) == ("user_header.time_to_be_received", 48)
    assert partial.base_header.packet_size == 120
    assert partial.user_header.time_to_be_received is msgspec.UNSET
    assert partial.message_properties_header is msgspec.UNSET


def test_nothing_decoded_is_no_partial_value() -> None:
    with pytest.raises(DecodeError) as caught:
        decode(b"", "base_header")
    assert caught.value.partial is None


def test_a_partial_value_is_not_written() -> None:
    with pytest.raises(DecodeError) as caught:
        decode(encode(UserMessage())[:50], "user_message")
    with pytest.raises(EncodeError, match="not decoded"):
        encode(caught.value.partial)


def test_the_field_that_was_not_reached_is_named() -> None:
    with pytest.raises(DecodeError) as caught:
        decode(encode(UserMessage())[:50], "user_message")
    with pytest.raises(EncodeError) as refused:
        encode(caught.value.partial)
    assert refused.value.path == "user_header.time_to_be_received"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            UserMessage(base_header=BaseHeader(packet_size=120, flags=1 << 16)),
            "65536 is not in 0 to 65535 at base_header.flags",
        ),
        (
            msgspec.structs.replace(UserMessage(), user_header=BaseHeader()),
            "a BaseHeader where a UserHeader belongs at user_header",
        ),
        (
            msgspec.structs.replace(UserMessage(), base_header=None),
            "a NoneType where a BaseHeader belongs at base_header",
        ),
        (BaseHeader(flags="3"), "a str where a number belongs at flags"),  # type: ignore[arg-type]  # a caller's mistake
        (BaseHeader(flags=None), "a NoneType where a number belongs at flags"),  # type: ignore[arg-type]  # a caller's mistake
        (SID(identifier_authority=-1), "-1 is not in 0 to 281474976710655 at identifier_authority"),
        (
            SID(sub_authority_count=1, sub_authority=(1 << 32,)),
            "4294967296 is not in 0 to 4294967295 at sub_authority[0]",
        ),
    ],
)
def test_a_value_that_does_not_fit_names_its_field(value: Any, text: str) -> None:
    with pytest.raises(EncodeError) as caught:
        encode(value)
    assert str(caught.value) == text


def test_the_layout_names_every_field_by_its_path() -> None:
    spans = reference.layout(UserMessage())
    assert (spans["base_header"].offset, spans["base_header"].length) == (0, 16)
    assert (spans["user_header.flags"].offset, spans["user_header.flags"].length) == (60, 4)
    assert (spans["message_properties_header"].offset, spans["undeclared"].offset) == (64, 120)

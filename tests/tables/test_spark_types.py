"""Values as Arrow arrays of the types that Spark reads."""

from __future__ import annotations

import uuid
from typing import Annotated, Any, Literal

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pytest

from msmq_wire.tables.call_columns import call_schema
from msmq_wire.tables.message_columns import message_schema
from msmq_wire.tables.packet_columns import PACKET_SCHEMA
from msmq_wire.tables.spark_types import TIME, array_of, conform, field, spark_type, struct_type
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

QUEUE_MANAGER = GUID(uuid.UUID("7c0e5d1a-93b4-4f26-8a57-e1d2c3b4a596").bytes_le)


class Part(msgspec.Struct, frozen=True):
    number: int
    text: str | None = None


class Whole(msgspec.Struct, frozen=True):
    flag: bool
    ratio: float
    kind: Literal["one", "two"]
    data: bytes
    manager: GUID
    label: WcharText
    key: int | GUID
    parts: tuple[Part, ...]
    pair: tuple[str, int] | None
    part: Part | None
    numbers: Annotated[tuple[int, ...], "some"]


WHOLE = Whole(
    flag=True,
    ratio=0.5,
    kind="two",
    data=b"\0\xff",
    manager=QUEUE_MANAGER,
    label=WcharText("label\0".encode("utf-16-le")),
    key=7,
    parts=(Part(1), Part(2, "second")),
    pair=("a", 1),
    part=Part(3),
    numbers=(1, 2),
)


def test_a_struct_has_a_column_for_every_field() -> None:
    text, number = pa.string(), pa.int64()
    part = pa.struct([("number", number), ("text", text)])
    assert struct_type(Whole) == pa.struct(
        [
            ("flag", pa.bool_()),
            ("ratio", pa.float64()),
            ("kind", text),
            ("data", pa.binary()),
            ("manager", text),
            ("label", text),
            ("key", text),
            ("parts", pa.list_(part)),
            ("pair", pa.struct([("_1", text), ("_2", number)])),
            ("part", part),
            ("numbers", pa.list_(number)),
        ]
    )
    assert struct_type(Whole, ("parts", "pair")).names == [
        one.name for one in struct_type(Whole) if one.name not in ("parts", "pair")
    ]


def test_values_come_back_as_they_were() -> None:
    bare = msgspec.structs.replace(WHOLE, key=QUEUE_MANAGER, parts=(), pair=None, part=None, numbers=())
    one, other, none = array_of([WHOLE, bare, None], struct_type(Whole)).to_pylist()
    assert one == {
        "flag": True,
        "ratio": 0.5,
        "kind": "two",
        "data": b"\0\xff",
        "manager": "7c0e5d1a-93b4-4f26-8a57-e1d2c3b4a596",
        "label": "label",
        "key": "7",
        "parts": [{"number": 1, "text": None}, {"number": 2, "text": "second"}],
        "pair": {"_1": "a", "_2": 1},
        "part": {"number": 3, "text": None},
        "numbers": [1, 2],
    }
    changed: dict[str, Any] = {
        "key": str(QUEUE_MANAGER),
        "parts": [],
        "pair": None,
        "part": None,
        "numbers": [],
    }
    assert other == one | changed
    assert none is None


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (pa.binary(16), pa.binary()),
        (pa.binary_view(), pa.binary()),
        (pa.timestamp("ns", "UTC"), TIME),
        (pa.int64(), pa.int64()),
        (pa.list_(pa.binary(4)), pa.list_(pa.binary())),
        (
            pa.struct([pa.field("x", pa.binary(3), nullable=False)]),
            pa.struct([pa.field("x", pa.binary(), nullable=True)]),
        ),
    ],
)
def test_types_are_those_that_spark_reads(kind: Any, expected: Any) -> None:
    assert spark_type(kind) == expected


def test_members_are_found_by_name_and_those_that_are_missing_are_null() -> None:
    narrow = pa.array([{"b": b"xy", "a": 1}, None], pa.struct([("b", pa.binary(2)), ("a", pa.int32())]))
    kind = pa.struct([("a", pa.int64()), ("missing", pa.list_(pa.string())), ("b", pa.binary())])
    made = conform(narrow, kind)
    made.validate(full=True)
    assert made.type == kind
    assert made.to_pylist() == [{"a": 1, "missing": None, "b": b"xy"}, None]


def test_structs_in_lists_are_changed_as_well() -> None:
    narrow = pa.array([[{"a": 1}], None, [], [{"a": None}, None]], pa.list_(pa.struct([("a", pa.int32())])))
    kind = pa.list_(pa.struct([("z", pa.string()), ("a", pa.int64())]))
    made = conform(narrow, kind)
    made.validate(full=True)
    assert made.type == kind
    assert made.to_pylist() == [[{"z": None, "a": 1}], None, [], [{"z": None, "a": None}, None]]


def test_what_has_the_type_already_stays() -> None:
    array = pa.array([1, None])
    assert conform(array, pa.int64()) is array


def test_a_column_says_what_it_means() -> None:
    one = field("name", pa.int64(), "What it is.", nullable=False)
    assert (one.name, one.type, one.nullable, one.metadata) == (
        "name",
        pa.int64(),
        False,
        {b"doc": b"What it is."},
    )


@pytest.mark.needs("pyspark")
@pytest.mark.parametrize(
    "schema", [PACKET_SCHEMA, message_schema(), call_schema()], ids=["packets", "messages", "calls"]
)
def test_tables_have_schemas_of_spark_with_comments(schema: Any) -> None:
    from msmq_wire.spark.spark_schema import spark_schema

    found = spark_schema(schema)
    assert found.names == schema.names
    assert [one.nullable for one in found] == [one.nullable for one in schema]
    assert all(one.metadata["comment"] for one in found)
    # Where a name stands twice, SQL cannot tell which is meant; case does not matter there.
    assert len({name.lower() for name in found.names}) == len(found.names)

"""Streams of the BinaryFormatter: what they name, and how they end."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.records.bodies import Body, layout, open_body
from tests.hex_files import hex_bytes

_FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "bodies"
HEADER = bytes.fromhex("00 01000000 ffffffff 01000000 00000000")
END = b"\x0b"


def example(name: str) -> bytes:
    return hex_bytes(_FIXTURES / f"{name}.hex")


def number(value: int) -> bytes:
    return value.to_bytes(4, "little", signed=True)


def text(value: str) -> bytes:
    data = value.encode()
    return bytes((len(data),)) + data


def opened(*records: bytes) -> Body:
    body = open_body(HEADER + b"".join(records), 0x300)
    assert body.kind == "binary_formatter"
    return body


def rows(body: Body, name: str) -> list[str]:
    return [value for key, value in body.details if key == name]


# SystemClassWithMembersAndTypes: a pair of an INT32 and an object, as class 1.
PAIR = b"\x04" + number(1) + text("Pair") + number(2) + text("key") + text("value") + b"\0\x02\x08"


def test_the_published_call_is_read_to_its_end() -> None:
    body = open_body(example("binary_formatter_call"), 0x300)
    assert (body.kind, body.confidence, body.extension) == ("binary_formatter", "certain", "nrbf")
    assert rows(body, "method") == ["DOJRemotingMetadata.MyServer.SendAddress"]
    assert rows(body, "library") == [
        "DOJRemotingMetadata, Version=1.0.2622.31326, Culture=neutral, PublicKeyToken=null"
    ]
    assert rows(body, "class") == [
        "DOJRemotingMetadata.Address { Street: String, City: String, State: String, Zip: String }"
    ]
    assert rows(body, "string") == ["One Microsoft Way", "Redmond", "WA", "98054"]
    assert body.outside_section


def test_the_published_return_is_read_to_its_end() -> None:
    body = open_body(example("binary_formatter_return"), 0)
    assert body.confidence == "certain"
    assert rows(body, "returned") == ["Address received"]


def test_a_stream_is_found_whatever_the_type_says() -> None:
    assert open_body(example("binary_formatter_call"), 0).kind == "binary_formatter"


def test_members_of_a_class_are_read_by_their_types() -> None:
    body = opened(PAIR, number(7), b"\x06" + number(2) + text("seven"), END)
    assert body.confidence == "certain"
    assert rows(body, "root") == ["Pair"]
    assert rows(body, "class") == ["Pair { key: Int32, value: Object }"]
    assert rows(body, "string") == ["seven"]


def test_a_second_object_of_a_class_uses_its_description() -> None:
    second = b"\x01" + number(3) + number(1) + number(8) + b"\x0a"
    assert opened(PAIR, number(7), second, END).confidence == "certain"


def test_arrays_of_every_kind_are_walked() -> None:
    body = opened(
        b"\x11" + number(1) + number(4) + b"\x06" + number(2) + text("a") + b"\x0d\x03",
        b"\x10" + number(3) + number(2) + b"\x08\x08" + number(5) + b"\x09" + number(1),
        b"\x0f" + number(4) + number(3) + b"\x02abc",
        b"\x0f" + number(5) + number(2) + b"\x12" + text("x") + text("y"),
        b"\x07" + number(6) + b"\x02" + number(2) + number(2) + number(3) + b"\0\x08" + bytes(24),
        b"\x07" + number(7) + b"\x03" + number(1) + number(1) + number(5) + b"\x03" + text("Row") + b"\x0a",
        b"\x11" + number(8) + number(1000) + b"\x0e" + number(1000),
        END,
    )
    assert body.confidence == "certain", layout(body)
    assert rows(body, "array") == [
        "String[4]",
        "Object[2]",
        "Byte[3]",
        "String[2]",
        "Int32[6]",
        "Row[1]",
        "String[1000]",
    ]


@pytest.mark.parametrize(
    ("records", "why"),
    [
        (b"", "end inside of a record"),
        (b"\x63", "no record type 99"),
        (b"\x01" + number(2) + number(9), "class 9 was not described"),
        (
            b"\x02" + number(1) + text("C") + number(1) + text("m"),
            "the types of the members of C are not sent",
        ),
        (b"\x0f" + number(1) + number(0x7FFFFFFF) + b"\x08", "end inside of a record"),
        (b"\x0f" + number(1) + number(-1) + b"\x08", "-1 is no length"),
        (b"\x07" + number(1) + b"\0" + number(0x7FFFFFFF), "end inside of a record"),
        (b"\x04" + number(1) + text("C") + number(0x7FFFFFFF), "end inside of a record"),
        (b"\x06" + number(1) + b"\xff\xff\xff\xff\x0f", "end inside of a record"),
        (b"\x06" + number(1) + b"\xff\xff\xff\xff\xff\x0f", "more than five bytes"),
        (b"\x0f" + number(1) + number(0x7FFFFFFF) + b"\x11" + b"\x63", "no record type 99"),
    ],
)
def test_a_stream_that_lies_keeps_what_came_before(records: bytes, why: str) -> None:
    body = opened(b"\x0c" + number(9) + text("Library"), records)
    assert body.confidence == "likely"
    assert rows(body, "library") == ["Library"]
    assert why in rows(body, "stopped")[0]


@pytest.mark.slow
def test_the_number_of_values_is_bounded() -> None:
    body = opened(b"\x0a" * 300_000, END)
    assert "more than 200000 values" in rows(body, "stopped")[0]


def test_only_some_strings_are_listed() -> None:
    body = opened(*(b"\x06" + number(at) + text("s" * 100) for at in range(500)), END)
    assert body.confidence == "certain"
    assert len(rows(body, "string")) == 64


@given(st.data())
def test_a_cut_or_bent_stream_still_opens(data: st.DataObject) -> None:
    whole = example("binary_formatter_call")
    at = data.draw(st.integers(17, len(whole) - 1))
    byte = data.draw(st.integers(0, 255))
    assert open_body(whole[:at], 0).kind == "binary_formatter"
    assert open_body(whole[:at] + bytes((byte,)) + whole[at + 1 :], 0).kind == "binary_formatter"


def test_members_that_are_no_records_follow_each_one_that_is() -> None:
    # ClassWithMembersAndTypes: three objects, and an INT32 behind each.
    members = ("array", "a", "boxed", "b", "again", "c")
    class_ = b"\x04" + number(1) + text("Six") + number(6) + b"".join(map(text, members))
    body = opened(
        class_ + b"\x02\x00" * 3 + b"\x08" * 3,
        b"\x0f" + number(2) + number(3) + b"\x03" + "aé€".encode() + number(1),
        b"\x08\x12" + text("boxed") + number(2),
        b"\x09" + number(2) + number(3),
        b"\x06" + number(3) + text("behind"),
        END,
    )
    assert body.confidence == "certain", layout(body)
    assert rows(body, "array") == ["Char[3]"]
    assert rows(body, "string") == ["boxed", "behind"]


def test_a_call_tells_its_context_and_its_arguments() -> None:
    # MessageFlags 2.2.1.1: ArgsInline 0x02, ContextInline 0x20.
    call = b"\x15" + number(0x22) + b"".join(b"\x12" + text(one) for one in ("Add", "Sums, Library", "ctx"))
    body = opened(call + number(2) + b"\x08" + number(5) + b"\x12" + text("six"), END)
    assert body.confidence == "certain", layout(body)
    assert [rows(body, name) for name in ("method", "call_id", "argument")] == [
        ["Sums.Add"],
        ["ctx"],
        ["5", "six"],
    ]


@pytest.mark.slow
def test_as_many_values_as_the_bound_are_read() -> None:
    # With the end of the message there are 200,000 records.
    assert opened(b"\x0a" * 199_999, END).confidence == "certain"
    assert opened(b"\x0a" * 200_000, END).confidence == "likely"

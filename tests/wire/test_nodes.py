"""The nodes: none loses a bit, none hides an error."""

from __future__ import annotations

from typing import Any

import pytest
from construct import Int16ul, Int32ul
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.wire.expressions import UNDETERMINED, this
from msmq_wire.wire.nodes import (
    Ahead,
    Align,
    Bytes,
    Choice,
    Fill,
    Items,
    Limit,
    Opt,
    Tell,
    ZeroTerminated,
    named,
)
from msmq_wire.wire.stream import WireReader, WireWriter


class _Text(bytes):
    """A kind of bytes."""


def _parse(node: Any, data: bytes, at: int = 0, **scope: Any) -> tuple[Any, int]:
    reader = WireReader(data)
    reader.take(at)
    return node._parse(reader, scope, ""), reader.tell() - at


def _build(node: Any, value: Any, at: int = 0, **scope: Any) -> bytes:
    writer = WireWriter()
    writer.write(bytes(at))
    node._build(value, writer, scope, "")
    return writer.getvalue()[at:]


@pytest.mark.parametrize(
    ("node", "at", "scope", "data", "value", "consumed"),
    [
        pytest.param(Bytes(2), 0, {}, b"abc", b"ab", 2, id="fixed bytes"),
        pytest.param(Bytes(this.n * 2, _Text), 0, {"n": 1}, b"abc", _Text(b"ab"), 2, id="bytes of a kind"),
        pytest.param(Bytes(this.n), 0, {"n": 0}, b"abc", b"", 0, id="no bytes"),
        pytest.param(Fill(-this.n & 3), 0, {"n": 5}, b"\xa5\x5a\0\0", b"\xa5\x5a\0", 3, id="dirty padding"),
        pytest.param(Align(4), 3, {}, b"...\xa5next", b"\xa5", 1, id="an alignment that is there"),
        pytest.param(Align(4), 3, {}, b"...", b"", 0, id="an alignment that is not there"),
        pytest.param(Align(4), 4, {}, b"....next", b"", 0, id="already aligned"),
        pytest.param(
            ZeroTerminated(_Text), 0, {}, b"a\0\0\0b\0", _Text(b"a\0\0\0"), 4, id="a terminated text"
        ),
        pytest.param(Opt(this.n & 2 != 0, Int16ul), 0, {"n": 2}, b"\1\2", 0x201, 2, id="present"),
        pytest.param(Opt(this.n & 2 != 0, Int16ul), 0, {"n": 1}, b"\1\2", None, 0, id="absent"),
        pytest.param(Choice(this.n, {0: None, 1: Bytes(1)}), 0, {"n": 1}, b"ab", b"a", 1, id="chosen"),
        pytest.param(
            Choice(this.n, {0: None, 1: Bytes(1)}), 0, {"n": 0}, b"ab", None, 0, id="nothing chosen"
        ),
        pytest.param(Items(this.n, Int16ul), 0, {"n": 2}, b"\1\0\2\0\3\0", (1, 2), 4, id="a list"),
        pytest.param(
            Items(this.n, Int16ul, known=(1, 2)), 0, {"n": 9}, b"\1\0\2\0\3\0", (1, 2), 4, id="stopped"
        ),
    ],
)
def test_what_is_read_is_written_back(
    node: Any, at: int, scope: dict[str, int], data: bytes, value: Any, consumed: int
) -> None:
    found, length = _parse(node, data, at, **scope)
    assert (found, type(found), length) == (value, type(value), consumed)
    assert _build(node, value, at, **scope) == data[at : at + consumed]


@pytest.mark.parametrize(
    ("node", "scope", "data", "code", "partial"),
    [
        pytest.param(Bytes(4), {}, b"abc", "missing-bytes", None, id="half a fixed field is nothing"),
        pytest.param(
            Bytes(this.n, _Text), {"n": 4}, b"abc", "missing-bytes", _Text(b"abc"), id="half a text"
        ),
        pytest.param(Bytes(this.n), {"n": -1}, b"abc", "negative-length", None, id="a negative length"),
        pytest.param(Bytes(this.n), {"n": 1 << 33}, b"a", "missing-bytes", b"a", id="an enormous length"),
        pytest.param(ZeroTerminated(_Text), {}, b"a\0b\0", "missing-bytes", None, id="no terminator"),
        pytest.param(ZeroTerminated(_Text), {}, b"a\0\0", "missing-bytes", None, id="half a terminator"),
        pytest.param(
            Choice(this.n, {1: Bytes(1)}), {"n": 2}, b"a", "unknown-selector", None, id="no such case"
        ),
        pytest.param(
            Items(this.n, Int16ul), {"n": 3}, b"\1\0\2\0\3", "missing-bytes", (1, 2), id="a cut list"
        ),
        pytest.param(
            Items(this.n, Int16ul),
            {"n": 0xFFFFFFFF},
            b"\1\0",
            "missing-bytes",
            (1,),
            id="a count that explodes",
        ),
    ],
)
def test_what_is_not_there_is_refused_with_what_was(
    node: Any, scope: dict[str, int], data: bytes, code: str, partial: Any
) -> None:
    with pytest.raises(DecodeError) as caught:
        _parse(node, data, **scope)
    assert (caught.value.code, caught.value.partial) == (code, partial)


@pytest.mark.parametrize(
    ("node", "scope", "value"),
    [
        pytest.param(Bytes(this.n), {"n": 3}, b"ab", id="too few bytes"),
        pytest.param(Bytes(this.n), {"n": 1}, b"ab", id="too many bytes"),
        pytest.param(Bytes(2), {}, "ab", id="no bytes at all"),
        pytest.param(Fill(-this.n & 3), {"n": 4}, b"a", id="padding where none belongs"),
        pytest.param(Align(4), {}, b"ab", id="an alignment of the wrong length"),
        pytest.param(ZeroTerminated(_Text), {}, b"a\0", id="a text without terminator"),
        pytest.param(ZeroTerminated(_Text), {}, b"\0\0a\0\0\0", id="a terminator inside"),
        pytest.param(ZeroTerminated(_Text), {}, b"a\0\0", id="half a character"),
        pytest.param(Opt(this.n != 0, Int16ul), {"n": 1}, None, id="absent, but announced"),
        pytest.param(Opt(this.n != 0, Int16ul), {"n": 0}, 7, id="present, but not announced"),
        pytest.param(Choice(this.n, {0: None, 1: Bytes(1)}), {"n": 0}, b"a", id="a value for nothing"),
        pytest.param(Choice(this.n, {0: None, 1: Bytes(1)}), {"n": 1}, None, id="nothing for a value"),
        pytest.param(Choice(this.n, {0: None, 1: Bytes(1)}), {"n": 2}, b"a", id="no such case"),
        pytest.param(Items(this.n, Int16ul), {"n": 1}, (1, 2), id="too many elements"),
        pytest.param(Items(this.n, Int16ul), {"n": 3}, (1, 2), id="too few elements"),
        pytest.param(Items(this.n, Int16ul), {"n": 1}, (1 << 16,), id="an element out of range"),
    ],
)
def test_a_contradiction_is_not_written(node: Any, scope: dict[str, int], value: Any) -> None:
    with pytest.raises(EncodeError):
        _build(node, value, **scope)


def test_a_case_is_chosen_by_its_value_while_the_selector_is_not_known() -> None:
    node = Choice(this.n, {0: Bytes(1, _Text), 1: Bytes(2)})
    assert _build(node, b"ab", n=UNDETERMINED) == b"ab"
    assert _build(node, _Text(b"a"), n=UNDETERMINED) == b"a"


def test_a_look_ahead_sees_what_follows_and_minus_one_at_the_end() -> None:
    assert _parse(Ahead(Int32ul, 2), bytes.fromhex("0000 01020304")) == (0x04030201, 0)
    assert _parse(Ahead(Int32ul, 2), bytes(5)) == (-1, 0)
    assert Ahead(Int32ul, 0)._build(None, WireWriter(), {}, "") is UNDETERMINED
    assert Ahead(Int32ul, 0, field="n")._build(None, WireWriter(), {"n": 7}, "") == 7


def test_a_limit_ends_reading_and_can_be_lifted() -> None:
    reader = WireReader(bytes(8))
    Limit(this.n)._parse(reader, {"n": 4}, "")
    with pytest.raises(DecodeError, match="PacketSize"):
        reader.take(5)
    Limit(this.n, unless=this.n == 4)._parse(reader, {"n": 4}, "")
    assert reader.take(5) == bytes(5)
    Limit(None)._parse(reader, {}, "")
    assert reader.remaining == 3


def test_a_position_is_the_packet_offset() -> None:
    assert _parse(Tell(), b"abcdef", 4) == (4, 0)


def test_a_path_grows_from_the_inside() -> None:
    error = named(named(EncodeError("wrong", path="size"), "[3]"), "list")
    assert (error.path, str(error)) == ("list[3].size", "wrong at list[3].size")


@given(st.binary(max_size=60), st.integers(0, 70))
def test_any_bytes_are_a_value_or_a_decode_error(data: bytes, count: int) -> None:
    for node in (
        Bytes(this.n),
        Fill(-this.n & 3),
        Align(8),
        ZeroTerminated(_Text),
        Items(this.n, Int32ul),
        Items(this.n, Int16ul, known=(0, 1, 2)),
    ):
        try:
            value, length = _parse(node, data, n=count)
        except DecodeError:
            continue
        assert _build(node, value, n=count) == data[:length]

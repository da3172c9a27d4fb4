"""DirectQueueFormatName, [MS-MQMQ] 2.2.18.1.5.2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.errors import DecodeError
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.types.direct_queue_format_name import DirectQueueFormatName
from msmq_wire.wire.types.wchar_text import WcharText

Judge = Callable[[str, bytes, Mapping[int, str]], list[tuple[str, str, int, int]]]
Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "10 00 "  # Count
    "4f 00 53 00 3a 00 68 00 31 00 5c 00 71 00 00 00 "  # DirectFormatName "OS:h1\q"
    "a5 5a "  # padding
)
_VALUE = DirectQueueFormatName(count=16, direct_format_name=WcharText.of("OS:h1\\q"), padding=b"\xa5\x5a")

_BROKEN = [
    ({0: "0f"}, [("count-even", "count", 0, 2), ("terminated", "direct_format_name", 2, 15)]),
    ({16: "4100"}, [("terminated", "direct_format_name", 2, 16)]),
    ({2: "58"}, [("direct-format-name", "direct_format_name", 2, 16)]),
]


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "direct_queue_format_name") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(
    ("patch", "field", "value"),
    [({18: "0000"}, "padding", b"\x00\x00"), ({18: "ffff"}, "padding", b"\xff\xff")],
)
def test_bytes_without_a_meaning_are_kept_and_not_judged(
    patch: dict[int, str], field: str, value: int | bytes, judge: Judge, bent: Callable[[bytes, Any], bytes]
) -> None:
    assert getattr(decode(bent(_DATA, patch), "direct_queue_format_name"), field) == value
    assert judge("direct_queue_format_name", _DATA, patch) == []


@pytest.mark.parametrize(("patch", "spots"), _BROKEN, ids=[spots[0][0] for _, spots in _BROKEN])
def test_a_broken_must_is_named_where_it_lies(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], judge: Judge
) -> None:
    expected = [
        (f"direct_queue_format_name.{code}", path, offset, length) for code, path, offset, length in spots
    ]
    assert judge("direct_queue_format_name", _DATA, patch) == expected


def test_every_must_is_broken_once_and_held_once(judge: Judge) -> None:
    assert [spots[0][0] for _, spots in _BROKEN] == [must.code for must in DirectQueueFormatName.MUSTS]
    assert judge("direct_queue_format_name", _DATA, {}) == []


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [
        ({}, 1, ("missing-bytes", "count", 0)),
        ({}, 17, ("missing-bytes", "direct_format_name", 2)),
        ({}, 19, ("missing-bytes", "padding", 18)),
        ({0: "ffff"}, None, ("missing-bytes", "direct_format_name", 2)),
    ],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("direct_queue_format_name", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"count": 14}, "direct_format_name"),
        ({"padding": b""}, "padding"),
        ({"direct_format_name": WcharText()}, "direct_format_name"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path


@pytest.mark.parametrize(
    "name",
    [
        r"OS:host\q",
        r"OS:.\private$\q",
        r"TCP:192.0.2.1\PRIVATE$\order_queue$",
        r"TCP:2001:db8::1\q",
        r"SPX:00000001.00a0c9123456\PRIVATE$\order_queue$",
        r"HTTP://host/msmq/private$/q",
        "OS:h\u00f6st\\Schl\u00e4nge",
    ],
)
def test_names_of_real_traffic_are_no_anomaly(name: str) -> None:
    value = DirectQueueFormatName.of(name)
    assert inspect(encode(value), "direct_queue_format_name").anomalies == ()


@pytest.mark.parametrize(("text", "size"), [("OS:h\\q", 16), ("OS:h1\\q", 20), ("OS:a04bm02\\q", 28)])
def test_the_size_is_a_multiple_of_four(text: str, size: int) -> None:
    assert len(encode(DirectQueueFormatName.of(text))) == size


def test_a_cut_name_keeps_the_bytes_that_are_there() -> None:
    with pytest.raises(DecodeError) as caught:
        decode(_DATA[:8], "direct_queue_format_name")
    assert caught.value.partial.direct_format_name == WcharText("OS:".encode("utf-16-le"))

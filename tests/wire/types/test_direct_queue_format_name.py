"""DirectQueueFormatName, [MS-MQMQ] 2.2.18.1.5.2."""

from __future__ import annotations

from typing import Any, cast

import pytest

from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.errors import DecodeError
from msmq_wire.wire.types.direct_queue_format_name import DirectQueueFormatName, is_direct_name
from msmq_wire.wire.types.wchar_text import WcharText
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "10 00 "  # Count
        "4f 00 53 00 3a 00 68 00 31 00 5c 00 71 00 00 00 "  # DirectFormatName "OS:h1\q"
        "a5 5a "  # padding
    ),
    value=DirectQueueFormatName(count=16, direct_format_name=WcharText.of("OS:h1\\q"), padding=b"\xa5\x5a"),
    kept=[({18: "0000"}, "padding", b"\x00\x00"), ({18: "ffff"}, "padding", b"\xff\xff")],
    broken=[
        ({0: "0f"}, [("count-even", "count", 0, 2), ("terminated", "direct_format_name", 2, 15)]),
        ({16: "4100"}, [("terminated", "direct_format_name", 2, 16)]),
        ({2: "58"}, [("direct-format-name", "direct_format_name", 2, 16)]),
    ],
    refused=[
        ({}, 1, ("missing-bytes", "count", 0)),
        ({}, 17, ("missing-bytes", "direct_format_name", 2)),
        ({}, 19, ("missing-bytes", "padding", 18)),
        ({0: "ffff"}, None, ("missing-bytes", "direct_format_name", 2)),
    ],
    contradictions=[
        ({"count": 14}, "direct_format_name"),
        ({"padding": b""}, "padding"),
        ({"direct_format_name": WcharText()}, "direct_format_name"),
    ],
)


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


@pytest.mark.parametrize("queue", ["q" * 123, "q" * 124])
def test_the_directory_of_a_web_server_is_no_part_of_the_queue(queue: str) -> None:
    assert is_direct_name(WcharText.of(f"http://h/msmq/{queue}"))
    assert is_direct_name(WcharText.of(f"http://h/d/{queue}"))
    assert not is_direct_name(WcharText.of(f"http://h/d/{queue}qq"))
    assert is_direct_name(WcharText.of("OS:a\\http://b/q")) == is_direct_name(
        WcharText.of("OS:a\\http://b/c/q")
    )


@pytest.mark.parametrize(("text", "size"), [("OS:h\\q", 16), ("OS:h1\\q", 20), ("OS:a04bm02\\q", 28)])
def test_the_size_is_a_multiple_of_four(text: str, size: int) -> None:
    assert len(encode(DirectQueueFormatName.of(text))) == size


def test_a_cut_name_keeps_the_bytes_that_are_there() -> None:
    with pytest.raises(DecodeError) as caught:
        decode(CASES.data[:8], "direct_queue_format_name")
    assert cast(Any, caught.value.partial).direct_format_name == WcharText("OS:".encode("utf-16-le"))

"""Lists of offsets, as other programs print them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.capture.carve.offsets import read_offsets
from msmq_wire.errors import MsmqWireError


@pytest.mark.parametrize(
    "text",
    [
        "64\n1024\n",
        "0x40\n0X400\n",
        "64:LIOR\n1024:LIOR\n64:LIOR",
        "Volatility 3\n\nOffset\tRule\tComponent\tValue\n\n0x400\tmsmq\t$p1\t10\n0x40\tmsmq\t$p2\t10\n",
        "TreeDepth,Offset,Rule,Component,Value\n0,0x40,msmq,$p,10\n0,0x400,msmq,$p,10\n",
        '{"Component": "$p1", "Offset": 64, "Rule": "msmq", "__children": []}\n{"Offset": 1024}\n',
        '[\n{"Offset": 64},\n{"Offset": 1024}\n]\n',
    ],
)
def test_an_offset_is_the_column_of_that_name_or_the_first_one(text: str) -> None:
    assert read_offsets(text.splitlines()) == [64, 1024]


@pytest.mark.parametrize("text", ["", "no offsets here\n", '{"Offset": "x"}', "{[", "-1"])
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(MsmqWireError, match="no line of it"):
        read_offsets(text.splitlines())


@given(st.text(max_size=200))
def test_any_text_is_a_list_or_refused(text: str) -> None:
    with contextlib.suppress(MsmqWireError):
        assert all(0 <= one < 1 << 67 for one in read_offsets(text.splitlines()))

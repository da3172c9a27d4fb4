"""Short names of captures: what tells them apart, and never one name for two."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.records.capture_names import short_names


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["/traces/one.pcap"], ["one.pcap"]),
        (["traces/monday.pcap", "traces/tuesday.pcap"], ["monday", "tuesday"]),
        (["host-a/trace.pcap", "host-b/trace.pcap"], ["a", "b"]),
        (["ring_00001_20261120.pcap", "ring_00002_20261120.pcap"], ["00001", "00002"]),
        (["C:\\traces\\a.pcap", "C:\\traces\\b.pcapng"], ["a.pcap", "b.pcapng"]),
        (["a.pcap", "a.pcap.gz"], ["a.pcap", "a.pcap.gz"]),
        (["-", "a.pcap"], ["-", "a.pcap"]),
        (["x", "x"], ["x"]),
        ([], []),
    ],
)
def test_what_all_have_goes(names: list[str], short: list[str]) -> None:
    assert list(short_names(names).values()) == short


@given(names=st.lists(st.text("ab/\\_.-", min_size=1, max_size=8), max_size=5))
def test_a_short_name_is_a_part_of_one_name_alone(names: list[str]) -> None:
    short = short_names(names)
    assert set(short) == set(names)
    assert len(set(short.values())) == len(short)
    assert all(part and part in name for name, part in short.items())

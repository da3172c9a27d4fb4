"""The points of a joint capture as values."""

from __future__ import annotations

import pytest

from msmq_wire.capture.vantage.points import VantagePoint
from msmq_wire.units import SECOND

_AT = 1_700_000_000 * SECOND


@pytest.mark.parametrize(
    ("time", "corrected"),
    [
        (_AT, _AT + 3_200_000),
        (_AT + 1000 * SECOND, _AT + 1000 * SECOND + 3_200_000 + 50_000_000),
        (_AT - 1000 * SECOND, _AT - 1000 * SECOND + 3_200_000 - 50_000_000),
        # Half a second of a drift of 50 µs a second.
        (_AT + SECOND // 2, _AT + SECOND // 2 + 3_200_000 + 25_000),
        (0, 0),
    ],
)
def test_a_time_is_corrected_by_offset_and_drift(time: int, corrected: int) -> None:
    point = VantagePoint(files=("b.pcap",), offset=3_200_000, drift=50_000, at=_AT, uncertainty=200_000)
    assert point.corrected(time) == corrected


def test_a_corrected_time_is_never_no_time() -> None:
    assert VantagePoint(files=("b.pcap",), offset=-5 * SECOND).corrected(SECOND) == 1

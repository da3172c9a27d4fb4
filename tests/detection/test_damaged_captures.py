"""Whatever bytes of a capture are damaged, the follower, the replay and every rule go on."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire import read_capture
from msmq_wire.capture.batches import read_batches
from msmq_wire.detection import Judge
from msmq_wire.errors import MsmqWireError
from msmq_wire.records.view import view

pytestmark = pytest.mark.usefixtures("few_are_worth_columns")

_CAPTURES = Path(__file__).resolve().parents[2] / "fixtures" / "captures"
_HEADER = 24
"""Bytes of the header of a pcap file."""


def _damaged(data: st.DataObject, whole: bytes) -> bytes:
    """A capture with some bytes changed, cut out or put in, most of them inside frames."""
    damaged = bytearray(whole)
    # Where bytes are cut out or put in, the frames behind them are lost.
    grows = data.draw(st.integers(0, 9)) == 0
    for _ in range(data.draw(st.integers(1, 12))):
        at = data.draw(st.integers(_HEADER, max(_HEADER, len(damaged) - 1)))
        new = data.draw(
            st.one_of(
                st.binary(min_size=1, max_size=1),
                st.sampled_from((b"\0\0\0\0", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"<", b">", b"")),
                st.binary(max_size=16),
            )
        )
        damaged[at : at + (data.draw(st.integers(0, 24)) if grows else len(new))] = new
    return bytes(damaged)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "com_receive_current",
        "lab_remote_read",
        "lab_sessions",
        "lab_srmp",
        "path_srmp_receipts",
        "routed_mixed",
    ],
)
@given(data=st.data())
def test_a_damaged_capture_is_judged(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"damaged_{name}.pcap"
    path.write_bytes(_damaged(data, (_CAPTURES / f"{name}.pcap").read_bytes()))
    judge, found = Judge(), []
    by_column, taken = Judge(), []
    try:
        for record in read_capture(path, streams=True):
            found += judge.feed(record)
    except MsmqWireError:
        # Its own header, or that of a frame, may be what is damaged.
        pass
    found += judge.finish()
    for finding in found:
        assert view(finding)["id"] == finding.id
    try:
        for batch in read_batches(path, streams=True):
            taken += by_column.take(batch)
    except MsmqWireError:
        pass
    assert taken + by_column.finish() == found

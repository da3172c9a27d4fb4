"""Lists of queues by column: what the reference engine says of every packet, and the codec is not asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from msmq_wire import decode, encode
from msmq_wire.engines import codec, columns
from msmq_wire.engines.codec import inspect
from tests.list_packets import changed_lists, to_queues


def _table(packets: list[bytes], stem: str = "user_message", as_: str | None = None) -> Any:
    ends = np.cumsum([0, *map(len, packets)])
    return columns.decode(b"".join(packets), ends, as_=as_).tables[stem]


@pytest.mark.slow
@given(st.lists(changed_lists(), min_size=1, max_size=8))
def test_messages_to_many_queues_are_what_the_reference_engine_says(packets: list[bytes]) -> None:
    ends = np.cumsum([0, *map(len, packets)])
    batch = columns.decode(b"".join(packets), ends)
    for table in batch.tables.values():
        for place, row in enumerate(table.rows.tolist()):
            expected = inspect(packets[row], engine="reference")
            error = table.errors.get(place)
            assert table.packet(place) == expected.packet
            assert table.consumed[place] == expected.consumed
            assert table.anomalies.get(place, ()) == expected.anomalies
            assert (error is None) == (expected.error is None)
            event("by column" if place not in table.irregular else "by the codec")


def test_the_codec_is_not_asked_about_lists_that_are_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    packets = [to_queues(1, 2, 3), to_queues(), to_queues(*range(4), answers=5), to_queues(20)]
    expected = [decode(data, engine="reference") for data in packets]
    monkeypatch.setattr(codec, "inspect", None)
    table = _table(packets)
    assert [table.packet(place) for place in range(len(packets))] == expected
    assert not table.irregular


def test_a_list_that_is_longer_than_the_others_goes_to_the_codec() -> None:
    long = to_queues(*range(100))
    table = _table([to_queues(1, 2), long, to_queues(3)])
    assert list(table.irregular) == [1]
    assert table.packet(1) == decode(long, engine="reference")


def test_a_list_of_numbers_is_read_by_column() -> None:
    rows = [bytes((1, count, 0, 0, 0, 0, 0, 5)) + bytes(range(4 * count)) for count in (0, 1, 3, 3)]
    table = _table(rows, "sid", "sid")
    assert not table.irregular
    assert [table.packet(place) for place in range(4)] == [decode(row, as_="sid") for row in rows]
    assert encode(table.packet(3)) == rows[3]


@pytest.mark.slow
def test_a_name_without_terminator_ends_in_an_error_wherever_its_search_ends() -> None:
    whole = to_queues(39)
    start = whole.index("OS:server39".encode("utf-16-le"))
    for size in range(start, len(whole) - 2):
        table = _table([whole[:size], whole])
        assert list(table.errors) == [0]
        assert table.packet(1) == decode(whole, engine="reference")

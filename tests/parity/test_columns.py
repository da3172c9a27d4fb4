"""The columns engine and the reference engine: the same values, anomalies and errors, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from msmq_wire import strategies
from msmq_wire.engines import columns
from msmq_wire.engines.codec import Engine, InspectResult, encode, inspect
from msmq_wire.errors import DecodeError
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.registry import PACKETS, STRUCTURES
from tests.effort import cuts
from tests.hex_files import hex_bytes

_STEMS = sorted(stem for stem, cls in STRUCTURES.items() if issubclass(cls, WireStruct))
_PACKETS = Path(__file__).resolve().parents[2] / "fixtures" / "packets"


def _error(error: DecodeError | None) -> Any:
    return None if error is None else (error.code, error.message, error.path, error.offset, error.spec)


def _compare(rows: Sequence[bytes], stem: str | None, engine: Engine = "reference") -> list[InspectResult]:
    """Decode rows in one batch; every one is what another engine says of it alone."""
    batch = columns.decode(b"".join(rows), [0, *accumulate(map(len, rows))], as_=stem)
    expected = [inspect(data, stem, engine=engine) for data in rows]
    seen = 0
    for table in batch.tables.values():
        for place, row in enumerate(table.rows.tolist()):
            want = expected[row]
            assert table.stem == (want.type or columns.UNRECOGNISED)
            assert table.packet(place) == want.packet
            assert type(table.packet(place)) is type(want.packet)
            assert table.anomalies.get(place, ()) == want.anomalies
            assert _error(table.errors.get(place)) == _error(want.error)
            assert table.consumed[place] == want.consumed
            if want.error is None:
                assert encode(table.packet(place)) == rows[row][: want.consumed]
            seen += 1
    assert seen == len(rows)
    return expected


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.parametrize("stem", _STEMS)
def test_every_truncation_of_every_fixture_is_the_same_in_one_batch(stem: str) -> None:
    whole = [hex_bytes(path) for path in sorted((_PACKETS / stem).glob("*.hex"))]
    # Of truncations test_rows.py tells that the rows engine says what the reference engine says.
    found = _compare([data[:size] for data in whole for size in (*cuts(len(data)), len(data))], stem, "rows")
    assert any(result.error is None for result in found)


def test_all_fixtures_of_packets_are_the_same_in_one_batch() -> None:
    rows = [hex_bytes(path) for stem in PACKETS for path in sorted((_PACKETS / stem).glob("*.hex"))]
    types = {result.type for result in _compare(rows, None)}
    assert types >= set(PACKETS) - {"message_packet", "topology_client_request", "topology_server_reply"}


@st.composite
def _batches(draw: st.DrawFn) -> tuple[str, list[bytes]]:
    """A stem, and rows that are such a structure, or were once."""
    stem = draw(st.sampled_from(_STEMS))
    event(stem)
    row = st.one_of(
        strategies.structure(stem).map(encode),
        strategies.edge(stem).map(encode),
        strategies.mutated(stem),
    )
    return stem, draw(st.lists(row, min_size=1, max_size=4))


@given(_batches())
def test_a_batch_of_valid_and_changed_rows_is_the_same(drawn: tuple[str, list[bytes]]) -> None:
    stem, rows = drawn
    for result in _compare(rows, stem):
        event("a value" if result.error is None else result.error.code)
    if stem in PACKETS:
        _compare(rows, None)


@given(st.lists(st.binary(max_size=120), min_size=1, max_size=5))
def test_a_batch_of_any_bytes_is_the_same(rows: list[bytes]) -> None:
    _compare(rows, None)

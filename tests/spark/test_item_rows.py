"""Records that travel between tasks come out as they went in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pytest

from msmq_wire.capture.capture_reading import CaptureReading
from msmq_wire.capture.listing import captures_of, list_files
from msmq_wire.records.record import Record
from msmq_wire.spark.item_rows import ITEM_FIELDS, item_columns, items_of, run_of
from tests.effort import in_batches
from tests.whole_repr import whole_repr

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
CAPTURES = sorted(FIXTURES.rglob("*.pcap*"))


def values(record: Record) -> dict[str, Any]:
    """What a record holds; errors compare by what they hold."""
    found = {name: getattr(record, name) for name in record.__struct_fields__}
    if record.error is not None:
        found["error"] = {**vars(record.error), "partial": whole_repr(record.error.partial)}
    return found


@pytest.mark.slow
@in_batches(CAPTURES)
def test_records_come_out_as_they_went_in(path: Path) -> None:
    (capture,) = captures_of(list_files([str(path)]).files, "file")
    reading = CaptureReading(capture, chunk_bytes=2000, streams=True)
    count = 0
    for batch in reading:
        rows = pa.RecordBatch.from_arrays(
            [item_columns(batch)[one.name] for one in ITEM_FIELDS], schema=pa.schema(ITEM_FIELDS)
        )
        assert len(rows) == len(batch) + len(batch.others)
        # As they are sorted on their way, and cut into other batches.
        order = rows.column("id").to_numpy().argsort()
        rows = rows.take(pa.array(order))
        half = len(rows) // 2
        found: list[Record] = []
        for part in (rows[:half], rows[half:], rows[:0]):
            run = run_of(part, capture.name)
            found += items_of(part, run)
            assert [values(one) for one in run.records()] == [
                values(one) for one in found[-len(part) :][: len(part)]
            ]
        assert [values(one) for one in found] == [values(one) for one in batch.records()]
        count += len(found)
    assert count == reading.finder.next_id - 1

"""Tables as files: what a row group of Parquet holds, and what is left of a file that breaks off."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs
import pytest

from msmq_wire.tables import table_file
from msmq_wire.tables.table_file import TableFile, TableFormat

_SCHEMA = pa.schema([("n", pa.int64())])


def _batch(*numbers: int) -> Any:
    return pa.RecordBatch.from_arrays([pa.array(numbers, pa.int64())], schema=_SCHEMA)


def _read(file: io.BytesIO, format_: TableFormat) -> Any:
    file.seek(0)
    return pq.read_table(file) if format_ == "parquet" else pa.ipc.open_file(file).read_all()


@pytest.mark.parametrize("format_", ["parquet", "arrow"])
@pytest.mark.parametrize("batches", [[], [(1, 2)], [(1, 2), (3,), (4, 5, 6)]])
def test_a_file_has_all_rows_in_order(format_: TableFormat, batches: list[tuple[int, ...]]) -> None:
    file = io.BytesIO()
    with TableFile(file, format_, _SCHEMA) as table:
        for one in batches:
            table.write(_batch(*one))
    read = _read(file, format_)
    assert read.schema == _SCHEMA
    assert read.column("n").to_pylist() == [number for one in batches for number in one]
    assert table.rows == read.num_rows


def test_a_row_group_is_written_when_it_has_enough_rows_or_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    def groups() -> list[int]:
        file = io.BytesIO()
        with TableFile(file, "parquet", _SCHEMA) as table:
            for number in range(5):
                table.write(_batch(number, number))
        metadata = pq.ParquetFile(file).metadata
        return [metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)]

    assert groups() == [10]
    monkeypatch.setattr(table_file, "_ROWS", 4)
    assert groups() == [4, 4, 2]
    monkeypatch.setattr(table_file, "_BYTES", 16)
    assert groups() == [2, 2, 2, 2, 2]


@pytest.mark.parametrize("format_", ["parquet", "arrow"])
def test_an_error_in_the_block_is_the_one_that_is_raised(format_: TableFormat) -> None:
    def break_off() -> None:
        with TableFile(io.BytesIO(), format_, _SCHEMA) as table:
            table.write(_batch(1))
            raise KeyError("gone")

    with pytest.raises(KeyError, match="gone"):
        break_off()

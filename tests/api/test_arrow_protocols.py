"""The protocols name members that objects of pyarrow have."""

from __future__ import annotations

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pytest

from msmq_wire.api.arrow_protocols import ArrowField, ArrowReader, ArrowRows, ArrowSchema


@pytest.mark.parametrize(
    ("protocol", "classes"),
    [
        (ArrowField, [pa.Field]),
        (ArrowSchema, [pa.Schema]),
        (ArrowRows, [pa.RecordBatch, pa.Table]),
        (ArrowReader, [pa.RecordBatchReader]),
    ],
)
def test_pyarrow_has_every_member_of_a_protocol(protocol: type, classes: list[type]) -> None:
    members = [name for name in vars(protocol) if not name.startswith("_") or "arrow_c" in name]
    assert len(members) >= 3
    for cls in classes:
        assert [name for name in members if not hasattr(cls, name)] == []

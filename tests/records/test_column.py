"""The columns of records and calls: each value is of the kind that its column says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from msmq_wire import read_capture
from msmq_wire.records.call import CALL_COLUMNS, Call, Calls
from msmq_wire.records.column import RECORD_COLUMNS, Column
from msmq_wire.records.look import Kind

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_CALLS = _FIXTURES / "rpc_captures" / "rpc_none_ndr.pcap"
_CAPTURES = (
    _CALLS,
    *(
        _FIXTURES / "captures" / f"{name}.pcap"
        for name in ("demo", "path_damaged_record", "path_cut_file", "com_sealed", "clean_srmp")
    ),
)
_TYPES: Mapping[Kind, type] = {
    "number": int,
    "duration": int,
    "flag": bool,
    "time": str,
    "text": str,
    "endpoint": str,
    "numbers": list,
    "texts": list,
}


def _is_right(column: Column, value: Any) -> bool:
    if value is None:
        return column.optional
    kind = _TYPES[column.kind]
    # A truth is no number.
    return isinstance(value, kind) and isinstance(value, bool) == (kind is bool)


@pytest.mark.parametrize("path", _CAPTURES, ids=lambda path: path.stem)
def test_a_value_is_of_the_kind_of_its_column(path: Path) -> None:
    for record in read_capture(str(path), streams=True):
        assert [one.name for one in RECORD_COLUMNS if not _is_right(one, one.json(record))] == []
    for call in _calls(path):
        assert [one.name for one in CALL_COLUMNS if not _is_right(one, one.json(call))] == []


def test_a_call_waits_for_the_message_that_it_brought() -> None:
    told = [call["what"] for call in _calls(_CALLS)]
    assert "receives the first message: 4 bytes" in told
    alone = [Call(call.record)["what"] for call in _calls(_CALLS)]
    assert "receives the first message" in alone
    assert len(told) == len(alone) == 15


def _calls(path: Path) -> list[Call]:
    calls = Calls()
    found = [call for record in read_capture(str(path)) for call in calls.take(record)]
    return [*found, *calls.finish()]

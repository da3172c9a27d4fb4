"""The columns of records and calls: each value is of the kind that its column says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from msmq_wire import read_capture
from msmq_wire.records.call import CALL_COLUMNS, CallFinder, CallValues
from msmq_wire.records.column import RECORD_COLUMNS, Column
from msmq_wire.records.display import Kind
from msmq_wire.spec import SpecRef
from msmq_wire.wire.types.guid import GUID

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
    "address": str,
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


_SENDER = "62d88e60-4d50-4ac5-a4cb-b4558b208691"
_SECTION = SpecRef("MS-MQMQ", "2.2.19.1")


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        ("guid", GUID.parse(_SENDER), _SENDER),
        ("guids", (GUID.parse(_SENDER),), [_SENDER]),
        ("section", _SECTION, "[MS-MQMQ] 2.2.19.1"),
        ("sections", (_SECTION,), ["[MS-MQMQ] 2.2.19.1"]),
        ("bytes", b"LIOR", "TElPUg=="),
    ],
)
def test_what_is_no_type_of_json_is_a_text_there(kind: Kind, value: Any, shown: Any) -> None:
    column = Column("it", kind, "")
    assert column.json(SimpleNamespace(it=value)) == shown
    assert column.json(SimpleNamespace(it=None)) is None


def test_each_object_of_a_column_is_a_row_of_its_own_columns() -> None:
    own = (Column("name", "text", ""), Column("seen", "time", "", "time"))
    column = Column("places", "objects", "", columns=own)
    places = (SimpleNamespace(name="a", time=7), SimpleNamespace(name="b", time=None))
    assert column.json(SimpleNamespace(places=places)) == [
        {"name": "a", "seen": "1970-01-01T00:00:00.000000007Z"},
        {"name": "b", "seen": None},
    ]


def test_a_call_waits_for_the_message_that_it_brought() -> None:
    reported = [call["what"] for call in _calls(_CALLS)]
    assert "receives the first message: 4 bytes" in reported
    alone = [CallValues(call.record)["what"] for call in _calls(_CALLS)]
    assert "receives the first message" in alone
    assert len(reported) == len(alone) == 15


def test_a_row_as_json_has_the_named_columns_in_the_order_of_their_names() -> None:
    call = next(one for one in _calls(_CALLS) if one["method"] == "R_OpenQueue")
    shown = call.as_json(("method", "frames", "opnum"))
    assert [*shown.items()] == [("method", "R_OpenQueue"), ("frames", [*call["frames"]]), ("opnum", 2)]
    with pytest.raises(KeyError):
        call.as_json(("request.ul_timeout",))


def _calls(path: Path) -> list[CallValues]:
    calls = CallFinder()
    found = [call for record in read_capture(str(path)) for call in calls.take(record)]
    return [*found, *calls.finish()]

"""What a query asks the directory for; bytes by hand from [MS-MQDS] 2.2.11 to 2.2.15."""

from __future__ import annotations

from msmq_wire.rpc.interfaces.dscomm import INTERFACE
from msmq_wire.rpc.ndr import NDR, StubValue, encode_stub, inspect_stub
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.directory_query import (
    ColumnSet,
    PropertyRestriction,
    Restriction,
    SortKey,
    SortSet,
)
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.wire.types.guid import GUID

_BEGIN = INTERFACE.methods[6]
# No place to begin; the restriction, whose structure is aligned to 8, as its value is: one, PREQ on
# PROPID_Q_QUOTA, VT_UI4 5; two columns; one key, descending.
_STUB = bytes.fromhex(
    "00000000"
    "00000200 01000000 04000200 01000000 00000000 04000000 69000000 1300 00 00 00000000 1300 0000 05000000"
    "02000000 08000200 02000000 65000000 67000000"
    "0c000200 01000000 10000200 01000000 67000000 01000000"
    "00000000 000102030405060708090a0b0c0d0e0f"
)
_VALUE = _BEGIN.request.cls(
    p_restriction=Restriction(
        c_res=1, pa_prop_res=(PropertyRestriction(rel=4, prop=105, prval=PropVariant(vt=19, arm=5)),)
    ),
    p_columns=ColumnSet(c_col=2, a_col=(101, 103)),
    p_sort=SortSet(c_col=1, a_col=(SortKey(prop_column=103, dw_order=1),)),
    ph_server_auth=ContextHandle(uuid=GUID(bytes(range(16)))),
)


def test_a_query_is_read_and_comes_back() -> None:
    read = inspect_stub(_BEGIN.request, _STUB, NDR)
    assert (read.error, read.anomalies, read.remainder) == (None, (), b"")
    assert read.value == _VALUE
    assert encode_stub(_BEGIN.request, StubValue(_VALUE), NDR) == _STUB


def test_more_conditions_than_the_definition_allows_are_told() -> None:
    count = 129
    value = _BEGIN.request.cls(p_columns=ColumnSet(c_col=count, a_col=(101,) * count))
    read = inspect_stub(_BEGIN.request, encode_stub(_BEGIN.request, StubValue(value), NDR), NDR)
    assert [(one.code, one.path) for one in read.anomalies] == [("ndr.range", "p_columns.c_col")]


def test_a_count_that_nothing_stands_behind_is_not_believed() -> None:
    stub = bytes.fromhex("00000000 00000000 80000000 00000200 ffffffff 65000000")
    read = inspect_stub(_BEGIN.request, stub, NDR)
    assert read.error is not None
    assert read.error.path.startswith("p_columns.a_col")

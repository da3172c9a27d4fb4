"""Management properties: plain values and variants. [MS-MQMQ] 2.3.11, 2.3.12"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.rpc.management_properties import (
    NO_VALUE,
    ConnectionAttempt,
    TransferSource,
    read_value,
    write_value,
)
from msmq_wire.rpc.properties import PROPERTIES, PropertyKind
from msmq_wire.rpc.types.propvariant import Blob, CountedArray, PropVariant
from msmq_wire.rpc.types.sequence_info import SequenceInfo
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

_MACHINE, _QUEUE = PropertyKind.MANAGEMENT_MACHINE, PropertyKind.MANAGEMENT_QUEUE
_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
_U32, _I32 = st.integers(0, 2**32 - 1), st.integers(-(2**31), 2**31 - 1)
_TEXTS = st.lists(_TEXT, max_size=3).map(tuple)
_SOURCES = st.lists(
    st.builds(
        TransferSource,
        format_name=_TEXT,
        sender_identifier=st.binary(min_size=16, max_size=16).map(GUID),
        sequence_identifier=st.integers(0, 2**64 - 1),
        sequence_number=_U32,
        last_access_time=_I32,
        reject_count=_U32,
    ),
    max_size=3,
).map(tuple)
_ATTEMPTS = st.lists(
    st.builds(ConnectionAttempt, status=_U32, time=_I32, error=_U32, addresses=_TEXTS), max_size=3
).map(tuple)
_BY_TYPE: dict[int, Any] = {
    0x001F: _TEXT,
    0x101F: _TEXTS,
    0x0003: _I32,
    0x0013: _U32,
    0x0014: st.integers(-(2**63), 2**63 - 1),
    0x0041: st.builds(SequenceInfo, seq_id=st.integers(-(2**63), 2**63 - 1), seq_no=_U32, prev_no=_U32),
}


def _properties() -> list[tuple[PropertyKind, int]]:
    return [(kind, propid) for kind in (_MACHINE, _QUEUE) for propid in PROPERTIES[kind]]


@pytest.mark.parametrize(("kind", "propid"), _properties())
@given(data=st.data())
def test_a_value_is_read_as_it_was_written(kind: PropertyKind, propid: int, data: st.DataObject) -> None:
    vt = PROPERTIES[kind][propid].vt
    assert vt is not None
    values = {24: _SOURCES, 25: _ATTEMPTS}.get(propid) if vt == 0x100C else _BY_TYPE[vt]
    assert values is not None
    value = data.draw(values)
    variant = write_value(value, propid, kind)
    assert variant.vt == vt
    assert read_value(variant, propid, kind) == value
    assert read_value(msgspec.structs.replace(variant, vt=1), propid, kind) is None
    assert read_value(msgspec.structs.replace(variant, arm=msgspec.UNSET), propid, kind) is None


def test_no_value_is_vt_null_and_reads_as_none() -> None:
    assert write_value(None, 7, _QUEUE) == NO_VALUE == PropVariant(vt=1)
    assert read_value(NO_VALUE, 7, _QUEUE) is None
    assert read_value(PropVariant(vt=19, arm=5), 99, _QUEUE) is None
    with pytest.raises(LookupError):
        write_value(5, 99, _QUEUE)


def test_what_a_vector_cannot_be_is_none() -> None:
    texts = PropVariant(vt=0x101F, arm=CountedArray(c_elems=1, p_elems=(WcharText.of("x"),)))
    shorter = write_value((TransferSource(format_name="x"),), 24, _QUEUE).arm
    uneven = CountedArray(c_elems=6, p_elems=(PropVariant(vt=0x101F), *shorter.p_elems[1:]))
    for arm in (
        None,
        CountedArray(c_elems=1, p_elems=(texts,)),
        uneven,
        CountedArray(c_elems=1, p_elems=b"x"),
    ):
        assert read_value(PropVariant(vt=0x100C, arm=arm), 24, _QUEUE) is None
    assert read_value(PropVariant(vt=0x41, arm=Blob(cb_size=3, p_blob_data=b"abc")), 13, _QUEUE) is None
    assert read_value(PropVariant(vt=0x41, arm=Blob()), 13, _QUEUE) is None

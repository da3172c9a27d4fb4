"""XACTUOW, [MS-MQMQ] 2.2.18.1.8."""

from __future__ import annotations

import pytest

from msmq_wire.engines.codec import decode, encode
from msmq_wire.errors import DecodeError
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.xactuow import XACTUOW

_DATA = bytes(range(16))


def test_sixteen_bytes_hold_a_guid() -> None:
    value = decode(_DATA, "xactuow")
    assert type(value) is XACTUOW
    assert str(value) == "03020100-0504-0706-0809-0a0b0c0d0e0f"
    assert repr(value) == "XACTUOW.parse('03020100-0504-0706-0809-0a0b0c0d0e0f')"
    assert encode(value) == _DATA


def test_it_is_a_guid_with_a_section_of_its_own() -> None:
    assert issubclass(XACTUOW, GUID)
    assert (XACTUOW.stem(), str(XACTUOW.SPEC)) == ("xactuow", "[MS-MQMQ] 2.2.18.1.8")


@pytest.mark.parametrize("cut", [0, 8, 15])
def test_fewer_bytes_are_refused(cut: int) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(_DATA[:cut], "xactuow")
    assert (caught.value.code, caught.value.offset) == ("missing-bytes", 0)

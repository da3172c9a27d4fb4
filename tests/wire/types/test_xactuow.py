"""XACTUOW, [MS-MQMQ] 2.2.18.1.8."""

from __future__ import annotations

from msmq_wire.engines.codec import decode
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.xactuow import XACTUOW
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes(range(16)),
    value=XACTUOW.parse("03020100-0504-0706-0809-0a0b0c0d0e0f"),
    refused=[({}, cut, ("missing-bytes", "", 0)) for cut in (0, 8, 15)],
)


def test_sixteen_bytes_hold_a_guid() -> None:
    value = decode(CASES.data, "xactuow")
    assert type(value) is XACTUOW
    assert str(value) == "03020100-0504-0706-0809-0a0b0c0d0e0f"
    assert repr(value) == "XACTUOW.parse('03020100-0504-0706-0809-0a0b0c0d0e0f')"


def test_it_is_a_guid_with_a_section_of_its_own() -> None:
    assert issubclass(XACTUOW, GUID)
    assert (XACTUOW.stem(), str(XACTUOW.SPEC)) == ("xactuow", "[MS-MQMQ] 2.2.18.1.8")

"""Context handles, [C706] 14.2.15: twenty bytes."""

from __future__ import annotations

import pytest

from msmq_wire.rpc.ndr import NDR, NDR64, NDR_BIG_ENDIAN, StubValue, Syntax, decode_stub, encode_stub
from msmq_wire.rpc.types.context_handle import CONTEXT_HANDLE, ContextHandle
from msmq_wire.wire.types.guid import GUID

_HANDLE = ContextHandle(attributes=1, uuid=GUID.parse("00112233-4455-6677-8899-aabbccddeeff"))


@pytest.mark.parametrize(
    ("syntax", "digits"),
    [
        (NDR, "01000000 33221100554477668899aabbccddeeff"),
        (NDR64, "01000000 33221100554477668899aabbccddeeff"),
        (NDR_BIG_ENDIAN, "00000001 00112233445566778899aabbccddeeff"),
    ],
)
def test_a_handle_is_attributes_and_a_uuid(syntax: Syntax, digits: str) -> None:
    stub = bytes.fromhex(digits)
    assert decode_stub(CONTEXT_HANDLE, stub, syntax) == StubValue(_HANDLE)
    assert encode_stub(CONTEXT_HANDLE, StubValue(_HANDLE), syntax) == stub
    assert CONTEXT_HANDLE.alignment(syntax) == 4


def test_only_twenty_zeros_are_null() -> None:
    assert decode_stub(CONTEXT_HANDLE, bytes(20)).value.null
    assert ContextHandle().null
    assert not _HANDLE.null
    assert not ContextHandle(attributes=1).null

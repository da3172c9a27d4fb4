"""SEQUENCE_INFO, [MS-MQMQ] 2.2.5.1."""

from __future__ import annotations

import pytest

from msmq_wire.rpc.types.sequence_info import SequenceInfo

_BYTES = bytes.fromhex("0807060504030281 05000000 04000000")


def test_a_sequence_is_signed_and_its_numbers_are_not() -> None:
    info = SequenceInfo(seq_id=-0x7EFDFCFBFAF9F8F8, seq_no=5, prev_no=4)
    assert SequenceInfo.parse(_BYTES) == info
    assert info.to_bytes() == _BYTES
    assert str(SequenceInfo(seq_id=7, seq_no=5, prev_no=4)) == "5 after 4 in sequence 7"


@pytest.mark.parametrize("data", [b"", _BYTES[:-1], _BYTES + b"\0"])
def test_other_lengths_are_none(data: bytes) -> None:
    assert SequenceInfo.parse(data) is None

"""What stands for texts and bytes is as long as they are."""

from __future__ import annotations

import pytest

from msmq_wire.report.redaction.stand_ins import blank
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import FixedWcharText, WcharText


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (b"abc", bytes(3)),
        (WcharText.of("abc"), WcharText.of("xxx")),
        (WcharText(b"a\0b"), WcharText(b"x\0\0")),
        (FixedWcharText(b"a\0\0\0b\0"), FixedWcharText(b"x\0\0\0\0\0")),
        (GUID(b"0123456789abcdef"), GUID(bytes(16))),
    ],
)
def test_a_text_becomes_letters_and_bytes_become_zeros_of_their_type(value: bytes, shown: bytes) -> None:
    assert blank(value) == shown
    assert type(blank(value)) is type(shown)

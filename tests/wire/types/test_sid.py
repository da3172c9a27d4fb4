"""SID, [MS-DTYP] 2.4.2.2."""

from __future__ import annotations

from typing import Any, cast

import pytest

from msmq_wire.engines.codec import decode
from msmq_wire.errors import DecodeError
from msmq_wire.wire.types.sid import SID
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "01 "  # Revision
        "02 "  # SubAuthorityCount
        "00 00 00 00 00 05 "  # IdentifierAuthority, big-endian
        "20 00 00 00 20 02 00 00 "  # SubAuthority, little-endian
    ),
    value=SID(revision=1, sub_authority_count=2, identifier_authority=5, sub_authority=(32, 544)),
    broken=[
        ({0: "02"}, [("revision", "revision", 0, 1)]),
        ({1: "10", 16: "00" * 56}, [("sub-authority-count", "sub_authority_count", 1, 1)]),
    ],
    borders=[{1: "0f", 16: "00" * 52}, {1: "00"}],
    refused=[
        ({}, 1, ("missing-bytes", "sub_authority_count", 1)),
        ({}, 7, ("missing-bytes", "identifier_authority", 2)),
        ({1: "ff"}, None, ("missing-bytes", "sub_authority[2]", 16)),
    ],
    contradictions=[
        ({"sub_authority_count": 3}, "sub_authority"),
        ({"sub_authority": (32, 1 << 32)}, "sub_authority[1]"),
        ({"identifier_authority": 1 << 48}, "identifier_authority"),
    ],
)


def test_the_text_is_the_usual_one() -> None:
    assert str(CASES.value) == "S-1-5-32-544"


def test_a_cut_keeps_the_sub_authorities_before_it() -> None:
    with pytest.raises(DecodeError) as caught:
        decode(CASES.data[:15], "sid")
    assert cast(Any, caught.value.partial).sub_authority == (32,)

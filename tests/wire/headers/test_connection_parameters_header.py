"""ConnectionParametersHeader, [MS-MQQB] 2.2.2.1."""

from __future__ import annotations

import pytest

from msmq_wire.wire.headers.connection_parameters_header import ConnectionParametersHeader
from tests.wire.cases import Cases, bent, judge

CASES = Cases(
    data=bytes.fromhex(
        "d8 05 00 00 "  # RecoverableAckTimeout
        "c0 d4 01 00 "  # AckTimeout
        "00 00 "  # Reserved
        "40 00 "  # WindowSize
    ),
    value=ConnectionParametersHeader(
        recoverable_ack_timeout=0x5D8, ack_timeout=0x1D4C0, reserved=0, window_size=0x40
    ),
    broken=[
        ({0: "f3010000"}, [("recoverable-ack-timeout", "recoverable_ack_timeout", 0, 4)]),
        ({4: "1f4e0000"}, [("ack-timeout", "ack_timeout", 4, 4)]),
        ({8: "0100"}, [("reserved", "reserved", 8, 2)]),
    ],
    borders=[{0: "f4010000"}, {0: "c0d40100"}, {4: "204e0000"}, {10: "0000"}, {10: "ffff"}],
    refused=[
        ({}, 3, ("missing-bytes", "recoverable_ack_timeout", 0)),
        ({}, 11, ("missing-bytes", "window_size", 10)),
    ],
    contradictions=[
        ({"reserved": -1}, "reserved"),
    ],
)


@pytest.mark.parametrize("patch", [{0: "c1d40100"}, {4: "c1d40100"}])
def test_a_time_out_above_two_minutes_is_an_anomaly(patch: dict[int, str]) -> None:
    assert len(judge("connection_parameters_header", bent(CASES.data, patch))) == 1

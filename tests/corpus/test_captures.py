"""Samples of captures: the records of each are those of its connections."""

from __future__ import annotations

from typing import Any

import pytest

from msmq_wire.corpus.captures import CAPTURES, capture_samples

SESSION = [
    "establish_connection",
    "establish_connection",
    "connection_parameters",
    "connection_parameters",
    "user_message",
    "user_message",
    "session_ack",
]
RECORDS = {
    "binary": SESSION,
    "call": ["rpc_bind", "rpc_call"],
    "srmp": ["srmp_message"],
    "all": [*SESSION, "rpc_bind", "rpc_call", "srmp_message"],
}


@pytest.mark.parametrize("name", CAPTURES)
def test_a_capture_has_the_records_of_its_connections(name: str) -> None:
    first = next(iter(capture_samples(name)))
    found: Any = first.expected.detail["records"]
    assert first.kind == "valid"
    assert [one["type"] for one in found] == RECORDS[name]


def test_a_capture_that_ends_inside_a_frame_is_damaged() -> None:
    inside = [one for one in capture_samples("binary") if one.changed and one.changed.offset == 24 + 17]
    assert [one.expected.error.code for one in inside if one.expected.error] == ["damaged-capture"]

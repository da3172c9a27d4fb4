"""CNT-LOOPBACK in messages: every queue that a message names, and what stays on one computer."""

from __future__ import annotations

import pytest

from msmq_wire.detection import RULES, judge
from msmq_wire.engines.message_builder import build_message
from msmq_wire.records.record import Record

_RULE = {"CNT-LOOPBACK": RULES["CNT-LOOPBACK"]}
_ORDERS = "DIRECT=OS:msg01\\private$\\orders"


def _paths(
    destination: str = _ORDERS,
    admin_queue: str | None = None,
    response_queue: str | None = None,
    src: str = "192.0.2.21:50001",
    parent: int | None = None,
) -> list[str]:
    packet = build_message(
        destination,
        admin_queue=admin_queue,
        response_queue=response_queue,
        acknowledge=("na",) if admin_queue else (),
    )
    record = Record(id=2, type="user_message", src=src, dst="192.0.2.10:1801", parent=parent, packet=packet)
    return [place.path for found in judge([record], _RULE) for place in found.evidence]


@pytest.mark.parametrize(
    "name",
    [
        "DIRECT=TCP:127.0.0.1\\private$\\q",
        "DIRECT=OS:localhost\\private$\\q",
        "DIRECT=TCP:::1\\q",
        "DIRECT=HTTP://127.0.0.1/msmq/private$/q",
        "DIRECT=HTTPS://localhost:8443/msmq/q",
    ],
)
def test_each_queue_of_a_message_is_looked_at_in_each_form_of_direct_name(name: str) -> None:
    path = "user_header.{}.direct_format_name"
    assert _paths(destination=name) == [path.format("destination_queue")]
    assert _paths(admin_queue=name) == [path.format("admin_queue")]
    assert _paths(response_queue=name) == [path.format("response_queue")]


def test_a_host_that_speaks_to_itself_may_use_it() -> None:
    name = "DIRECT=TCP:127.0.0.1\\private$\\q"
    assert _paths(destination=name, src="127.0.0.1:50001") == []
    assert _paths(destination=name, parent=1) == []
    assert _paths() == []

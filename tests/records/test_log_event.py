"""What the name of a queue says of the computer that logs it."""

from __future__ import annotations

import pytest

from msmq_wire.records.log_event import LogEvent, names_computer
from msmq_wire.wire.types.guid import GUID


@pytest.mark.parametrize(
    ("queue", "names"),
    [
        ("msg01\\private$\\orders", True),
        ("MSG01.corp.example\\private$\\orders", True),
        ("DIRECT=OS:msg01\\private$\\orders", True),
        ("DIRECT=OS:.\\private$\\orders", True),
        (".\\private$\\orders", True),
        ("private$\\orders", True),
        ("DIRECT=HTTP://msg01.corp.example:8080/msmq/private$/orders", True),
        ("DIRECT=OS:msg02\\private$\\orders", False),
        ("msg0\\orders", False),
        ("DIRECT=TCP:192.0.2.10\\private$\\orders", None),
        ("DIRECT=OS:[2001:db8::1]\\private$\\orders", None),
        ("192.0.2.10\\private$\\orders", None),
        ("PRIVATE=c277e190-3d6a-4c4b-8d05-f21b9ac83e44\\0000000a", None),
        ("PUBLIC=c277e190-3d6a-4c4b-8d05-f21b9ac83e44", None),
        ("orders", None),
        ("", None),
    ],
)
def test_a_queue_names_this_computer_another_one_or_none(queue: str, names: bool | None) -> None:
    assert names_computer(queue, "MSG01.corp.example") is names


def test_nothing_names_a_computer_without_a_name() -> None:
    assert names_computer("msg01\\private$\\orders", "") is None


def test_a_message_is_called_as_in_other_places() -> None:
    guid = "a1d30c5b-247e-4f45-9a31-c5d20e6f7788"
    put = LogEvent(computer="", event_id=1, queue_manager=GUID.parse(guid), number=7)
    assert put.message_id == f"{guid}\\7"
    assert LogEvent(computer="", event_id=2).message_id is None

"""Ping: what is answered, and what counts as an answer. [MS-MQQB] 3.1.7.6 to 3.1.7.9"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire import GUID
from msmq_wire.model.binary.pings import Pinger, answer_ping
from msmq_wire.model.data.elements import QueueManager
from msmq_wire.model.data.timers import Timers
from tests.model.binary.world import RECEIVER, SENDER, frame, queue_manager


def manager(identifier: GUID = RECEIVER) -> QueueManager:
    return queue_manager("receiver", identifier, Timers())


def test_the_published_request_is_answered_as_there() -> None:
    one = manager(GUID.parse("43cd8907-394c-8f11-4445-9078909ea0fc"))
    answer = answer_ping(one, frame("ping/frame_1_request"))
    assert answer is not None
    # RC is that of the request; the bits above RF are arbitrary there, and zero here.
    assert answer[:2] == b"\x01\x00"
    assert answer[2:] == frame("ping/frame_2_response")[2:]


def test_who_accepts_nobody_says_so() -> None:
    assert answer_ping(manager(), bytes.fromhex("0000485507000000") + bytes(16), accepting=False) == (
        bytes.fromhex("0200485507000000") + bytes(RECEIVER)
    )


@pytest.mark.parametrize(
    "data", [b"", frame("ping/wrong_signature"), frame("ping/cut_in_qm_guid"), bytes(25)]
)
def test_what_is_no_ping_is_not_answered(data: bytes) -> None:
    assert answer_ping(manager(), data) is None


@given(st.binary(max_size=40))
def test_any_datagram_is_answered_with_a_ping_or_not_at_all(data: bytes) -> None:
    answer = answer_ping(manager(), data)
    assert answer is None or (len(answer) == 24 and data[2:8] == answer[2:8])


def test_a_request_has_the_next_cookie_and_waits_for_its_answer() -> None:
    one = manager(SENDER)
    seen: list[bool] = []
    pinger = Pinger(one)
    assert pinger.request(seen.append) == bytes.fromhex("0000485501000000") + bytes(SENDER)
    wrong = bytes.fromhex("0000485502000000") + bytes(RECEIVER)
    pinger.feed(wrong)
    pinger.feed(b"")
    assert seen == []
    right = bytes.fromhex("0000485501000000") + bytes(RECEIVER)
    pinger.feed(right)
    pinger.feed(right)
    one.timers.advance(5000)
    assert seen == [True]


def test_an_answer_that_refuses_or_does_not_come_is_no() -> None:
    one = manager(SENDER)
    seen: list[bool] = []
    pinger = Pinger(one, server_class=False)
    assert pinger.request(seen.append)[:2] == b"\x01\x00"
    pinger.feed(bytes.fromhex("0200485501000000") + bytes(RECEIVER))
    assert seen == [False]
    pinger.request(seen.append)
    one.timers.advance(999)
    assert seen == [False]
    one.timers.advance(1000)
    assert seen == [False, False]
    pinger.request(seen.append)
    pinger.request(seen.append)
    assert seen == [False, False, False]
    assert pinger.cookie == 4

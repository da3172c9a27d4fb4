"""Ping: what is answered, and what counts as an answer. [MS-MQQB] 3.1.7.6 to 3.1.7.9"""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire import GUID
from msmq_wire.lab.model.binary.pings import Pinger, PingResponder
from msmq_wire.lab.model.data.elements import ModelQueueManager
from msmq_wire.lab.model.data.timers import Timers
from tests.lab.model.binary.world import RECEIVER, SENDER, frame, queue_manager

SOURCE = ("192.0.2.7", 3527)
"""A queue manager may ask from the port on which it answers."""


def ping(cookie: int, flags: int = 0, source: GUID = SENDER) -> bytes:
    return flags.to_bytes(2, "little") + b"HU" + cookie.to_bytes(4, "little") + bytes(source)


def manager(identifier: GUID = RECEIVER) -> ModelQueueManager:
    return queue_manager("receiver", identifier, Timers())


@pytest.mark.rule("MQQB-3.1.7.7-2", "MQQB-3.1.7.7-3", "MQQB-3.1.7.7-4")
def test_the_published_request_is_answered_as_there() -> None:
    one = manager(GUID.parse("43cd8907-394c-8f11-4445-9078909ea0fc"))
    answer = PingResponder(one).answer(frame("ping/frame_1_request"), SOURCE)
    assert answer is not None
    # RC is that of the request; the bits above RF are arbitrary there, and zero here.
    assert answer[:2] == b"\x01\x00"
    assert answer[2:] == frame("ping/frame_2_response")[2:]


@pytest.mark.rule("MQQB-3.1.7.7-2")
def test_who_accepts_nobody_says_so() -> None:
    assert PingResponder(manager()).answer(ping(7), SOURCE, accepting=False) == (
        bytes.fromhex("0200485507000000") + bytes(RECEIVER)
    )


@pytest.mark.rule("MQQB-3.1.5.1.1-7", "MQQB-3.1.7.7-1")
@pytest.mark.parametrize(
    "data", [b"", frame("ping/wrong_signature"), frame("ping/cut_in_qm_guid"), bytes(25)]
)
def test_what_is_no_ping_is_not_answered(data: bytes) -> None:
    assert PingResponder(manager()).answer(data, SOURCE) is None


@given(st.binary(max_size=40))
def test_any_datagram_is_answered_with_a_ping_or_not_at_all(data: bytes) -> None:
    answer = PingResponder(manager()).answer(data, SOURCE)
    assert answer is None or (len(answer) == 24 and data[2:8] == answer[2:8])


@pytest.mark.rule("MQQB-3.1.7.7-4")
def test_an_answer_is_not_answered() -> None:
    responder = PingResponder(manager())
    assert responder.answer(ping(7, source=RECEIVER), SOURCE) is None
    assert responder.answer(ping(8, flags=2), SOURCE) is None
    assert responder.answer(ping(9), SOURCE) is not None


@pytest.mark.parametrize("first", [ping(7, source=GUID(b"x" * 16)), ping(7), ping(7, source=RECEIVER)])
def test_two_that_answer_each_other_soon_stop(first: bytes) -> None:
    responders = PingResponder(manager()), PingResponder(manager(SENDER))
    said: list[bytes] = []
    datagram: bytes | None = first
    while datagram is not None and len(said) < 100:
        datagram = responders[len(said) % 2].answer(datagram, SOURCE)
        said += [] if datagram is None else [datagram]
    assert len(said) < 5


def test_many_loops_at_once_stop_as_one_does() -> None:
    responders = PingResponder(manager()), PingResponder(manager(SENDER))
    datagrams = [ping(cookie, source=GUID(b"x" * 16)) for cookie in range(5000)]
    rounds = 0
    while datagrams and rounds < 100:
        answers = [responders[rounds % 2].answer(one, SOURCE) for one in datagrams]
        datagrams = [one for one in answers if one is not None]
        rounds += 1
    assert rounds < 6


def test_a_source_is_answered_a_hundred_times_in_a_second_and_then_again_in_the_next() -> None:
    one = manager()
    responder = PingResponder(one)

    def answers(first: int, source: tuple[str, int]) -> int:
        return [responder.answer(ping(first + add), source) is None for add in range(150)].count(False)

    assert answers(0, SOURCE) == 100
    assert answers(0, ("192.0.2.7", 40_000)) == 100
    one.timers.advance(1000)
    assert answers(1000, SOURCE) == 100


@pytest.mark.slow
def test_what_is_remembered_of_pings_is_bounded() -> None:
    one = manager()
    responder = PingResponder(one)
    tracemalloc.start()
    try:
        for number in range(5000):
            assert responder.answer(ping(number), ("192.0.2.7", number)) is not None
        sources = tracemalloc.get_traced_memory()[0]
        for number in range(50_000):
            if number % 100 == 0:
                one.timers.advance(one.timers.now + 1000)
            assert responder.answer(ping(number), SOURCE) is not None
        assert tracemalloc.get_traced_memory()[0] < sources + 200_000
    finally:
        tracemalloc.stop()
    assert sources < 2_000_000


@pytest.mark.rule(
    "MQQB-3.1.5.2.2-2",
    "MQQB-3.1.7.6-1",
    "MQQB-3.1.7.6-2",
    "MQQB-3.1.7.6-3",
    "MQQB-3.1.7.6-5",
    "MQQB-3.1.7.8-1",
    "MQQB-3.1.7.8-2",
    "MQQB-3.1.7.8-3",
    "MQQB-3.1.7.8-4",
    "MQQB-3.1.7.9-1",
)
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


@pytest.mark.rule("MQQB-3.1.6.8-1", "MQQB-3.1.7.6-4", "MQQB-3.1.7.6-5")
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


@pytest.mark.rule("MQQB-3.1.6.8-1", "MQQB-3.1.7.6-3", "MQQB-3.1.7.6-4", "MQQB-3.1.7.8-2", "MQQB-3.1.7.9-1")
@pytest.mark.parametrize(
    ("answered", "expected"),
    [
        (None, [("first", False, 1000), ("second", False, 1500)]),
        # The cookie of the first request is PingCookie no more.
        (1, [("first", False, 1000), ("second", False, 1500)]),
        (2, [("second", True, 600), ("first", False, 1000)]),
    ],
)
def test_each_of_two_requests_waits_for_its_own_second(
    answered: int | None, expected: list[tuple[str, bool, int]]
) -> None:
    one = manager(SENDER)
    seen: list[tuple[str, bool, int]] = []
    pinger = Pinger(one)
    pinger.request(lambda accepted: seen.append(("first", accepted, one.timers.now)))
    one.timers.advance(500)
    pinger.request(lambda accepted: seen.append(("second", accepted, one.timers.now)))
    assert (seen, pinger.cookie) == ([], 2)
    one.timers.advance(600)
    if answered is not None:
        pinger.feed(ping(answered, source=RECEIVER))
    one.timers.advance(5000)
    assert seen == expected

"""Which faults of the network TCP and ICMP show, from how much on, and when a capture cannot show them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from msmq_wire.detection.network_faults import (
    NetworkFault,
    delay_fault,
    faults_of,
    final_fault,
    is_unacknowledged,
    share_resent,
    shown_fault,
)
from msmq_wire.records.visibility import Visibility
from msmq_wire.sessions import (
    ConnectionReset,
    Moment,
    NetworkEvidence,
    PacketTooBig,
    SentEvidence,
    Session,
    SessionDirection,
)
from tests.detection.network_scene import MINUTE, evidence, full, lost, moment
from tests.sessions.tape import SECOND, Tape

_RESET = ConnectionReset(
    at=moment(12), direction=1, idle=SECOND, hop_limit=64, usual_hop_limit=128, forged_by="hop_limit"
)
_TOO_BIG = PacketTooBig(
    direction=0, router="203.0.113.1", mtu=1400, count=1, first=moment(9), last=moment(9, 1)
)


def session(network: NetworkEvidence | None, **more: Any) -> Session:
    tape = Tape()
    tape.open()
    return msgspec.structs.replace(tape.session(), network=network, **more)


def kinds(network: NetworkEvidence | None) -> list[tuple[str, int]]:
    return [(one.kind, one.side) for one in faults_of(session(network))]


def resent(times: int, first: float, last: float, recovered: int = 0) -> SentEvidence:
    return SentEvidence(
        retransmissions=times,
        recovered=recovered,
        first_retransmission=moment(8, first),
        last_retransmission=moment(8, last),
    )


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        (None, []),
        (evidence(), []),
        # Sent again twice over a second, and nothing came back.
        (evidence(lost(2, 1.0)), [("unanswered", 0)]),
        (evidence(lost(1, 3.0)), []),
        (evidence(lost(3, 0.9)), []),
        (evidence(None, lost(2, 1.0)), [("unanswered", 1)]),
        # The other side had been silent for a minute.
        (evidence(lost(idle=60)), [("idle", 0)]),
        (evidence(lost(idle=59.9)), [("unanswered", 0)]),
        # A sender asks again whether a window has opened: that is no loss.
        (evidence(lost(), full(0, closed=True)), [("window", 0)]),
        (evidence(server=full(1)), [("window", 0)]),
        (evidence(server=full(0.9)), []),
        (evidence(full(30)), [("window", 1)]),
        # The capture lost frames of the connection.
        (evidence(lost(), full(30), certain=False, reset=_RESET, too_big=(_TOO_BIG,)), []),
        (evidence(reset=_RESET), [("reset", 0)]),
        (evidence(reset=msgspec.structs.replace(_RESET, forged_by=None)), []),
        (evidence(reset=msgspec.structs.replace(_RESET, direction=0)), [("reset", 1)]),
        (evidence(reset=msgspec.structs.replace(_RESET, idle=4 * MINUTE)), [("idle", 0)]),
        # One message, which the sender heeds, and one that it does not.
        (evidence(too_big=(_TOO_BIG,)), []),
        (evidence(too_big=(msgspec.structs.replace(_TOO_BIG, count=3),)), [("mtu", 0)]),
        (evidence(lost(), too_big=(_TOO_BIG,)), [("mtu", 0)]),
        (evidence(None, lost(), too_big=(_TOO_BIG,)), [("unanswered", 1)]),
        # Ten segments, and one of fifty.
        (evidence(resent(10, 1, 2)), [("resent", 0)]),
        (evidence(resent(4, 1, 2, recovered=6)), [("resent", 0)]),
        (evidence(resent(9, 1, 2)), []),
        # What explains most comes first.
        (evidence(lost(), reset=_RESET), [("unanswered", 0), ("reset", 0)]),
    ],
)
def test_a_fault_is_told_from_so_much_on(
    network: NetworkEvidence | None, expected: list[tuple[str, int]]
) -> None:
    assert kinds(network) == expected


def test_few_segments_of_many_are_no_fault() -> None:
    many = session(
        evidence(resent(10, 1, 2)), directions=(SessionDirection(messages=1000), SessionDirection())
    )
    assert faults_of(many) == ()
    # 10 of 1,012; with 1,460,000 bytes at least 1,000 segments were sent.
    assert share_resent(many, 0) == pytest.approx(10 / 1012)
    big = session(
        evidence(resent(10, 1, 2)),
        directions=(SessionDirection(messages=1, bytes=1_460_000), SessionDirection()),
    )
    assert share_resent(big, 0) == pytest.approx(10 / 1010)


@pytest.mark.parametrize(
    ("network", "final"),
    [
        (evidence(lost()), "unanswered"),
        (evidence(server=full(90, closed=True)), "window"),
        # It opened again, so that what waited went on.
        (evidence(server=full(90)), None),
        (evidence(resent(40, 1, 2)), None),
        (evidence(too_big=(msgspec.structs.replace(_TOO_BIG, count=3),)), None),
        (evidence(lost(), too_big=(_TOO_BIG,)), "mtu"),
        (evidence(reset=_RESET), "reset"),
    ],
)
def test_after_a_final_fault_nothing_can_be_acknowledged(network: NetworkEvidence, final: str | None) -> None:
    found = final_fault(session(network))
    assert (None if found is None else found.kind) == final


@pytest.mark.parametrize(
    ("network", "kind"),
    [
        (evidence(), None),
        # The message waited from second 10 to second 70.
        (evidence(server=full(50, at=12)), "window"),
        (evidence(server=full(2, at=12)), None),
        (evidence(server=full(50, at=80)), None),
        (evidence(resent(6, 10.3, 60)), "resent"),
        (evidence(None, resent(6, 10.3, 60)), "resent"),
        # Once is no reason, and neither are two far apart, or those of another time.
        (evidence(resent(1, 10.3, 10.3)), None),
        (evidence(resent(2, 0, 300)), None),
        (evidence(resent(6, 80, 90)), None),
        (evidence(resent(6, 10.3, 60), certain=False), None),
    ],
)
def test_a_wait_has_a_fault_where_it_filled_most_of_the_wait(
    network: NetworkEvidence, kind: str | None
) -> None:
    found: NetworkFault | None = delay_fault(session(network), moment(8, 10), 60 * SECOND)
    assert (None if found is None else found.kind) == kind


def test_a_wait_of_unknown_length_has_none() -> None:
    assert delay_fault(session(evidence(server=full(50))), None, None) is None


def test_what_tcp_did_not_acknowledge_is_no_silence_of_a_queue_manager() -> None:
    assert is_unacknowledged(session(evidence(SentEvidence(unacknowledged=1))), 0)
    assert is_unacknowledged(session(evidence(SentEvidence(unanswered=1))), 0)
    assert not is_unacknowledged(session(evidence(SentEvidence(unacknowledged=1))), 1)
    assert not is_unacknowledged(session(evidence(SentEvidence(unacknowledged=1), certain=False)), 0)
    assert not is_unacknowledged(session(None), 0)


def test_a_capture_that_dropped_frames_shows_no_silence_but_a_forged_reset() -> None:
    dropping = Visibility()
    dropping.dropped = 1
    assert shown_fault(session(evidence(lost())), dropping) is None
    assert shown_fault(session(evidence(lost())), Visibility()) is not None
    assert shown_fault(session(evidence(reset=_RESET)), dropping) is not None
    assert shown_fault(None, dropping) is None


@pytest.mark.parametrize(
    ("pause", "after", "silent", "found"),
    [
        # Message 2 is sent after a pause, and a reset comes so many seconds later.
        (310, 0.02, None, ("idle", 310)),
        (310, 0.02, 311, ("idle", 310)),
        (59, 0.02, None, None),
        (310, 3.5, None, None),
        # TCP heard of the other side in between, as by keep-alives.
        (310, 0.02, 20, None),
    ],
)
def test_a_reset_that_answers_a_message_after_a_silence_shows_that_the_other_end_is_gone(
    pause: float, after: float, silent: float | None, found: tuple[str, int] | None
) -> None:
    tape = Tape()
    tape.open()
    tape.message(1)
    tape.ack(1)
    tape.wait(pause)
    tape.message(2)
    tape.wait(after)
    tape.tcp("rst", 1)
    at = Moment(len(tape.records), len(tape.records), tape.time)
    reset = ConnectionReset(at=at, direction=1, silent=None if silent is None else int(silent * SECOND))
    faults = faults_of(msgspec.structs.replace(tape.session(), network=evidence(reset=reset)))
    assert [(one.kind, one.idle // SECOND, one.side) for one in faults] == ([(*found, 0)] if found else [])

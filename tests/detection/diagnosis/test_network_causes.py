"""What is said where TCP or ICMP shows that no queue manager is to blame, and where it must not be said."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec
import pytest

from msmq_wire.detection.diagnosis import Diagnosis
from msmq_wire.detection.diagnosis.phrases import Phrases
from msmq_wire.detection.diagnosis.why import why
from msmq_wire.records.record import Record
from msmq_wire.sessions import ConnectionReset, NetworkEvidence, PacketTooBig, SentEvidence
from tests.detection.network_scene import diagnosed, evidence, full, lost, moment, seen, text_of
from tests.detection.test_folding import finding
from tests.sessions.tape import SECOND, SENDER, Tape

_FORGED = ConnectionReset(
    at=moment(12, 21), direction=1, idle=SECOND, hop_limit=64, usual_hop_limit=128, forged_by="hop_limit"
)
_TOO_BIG = PacketTooBig(direction=0, router="203.0.113.1", mtu=1400, count=1, first=moment(9), last=moment(9))
_BLAME = ("it says nothing", "said nothing", "Look at the queue manager", "Look into the outgoing queue")
"""What is said of a queue manager that does not answer."""


def _end(tape: Tape) -> Tape:
    """Go on for long enough that nothing may still come."""
    tape.wait(200)
    tape.tcp("syn", on=99, src="198.51.100.1:1025", dst="198.51.100.2:1802")
    return tape


def _establishing() -> Tape:
    tape = Tape()
    tape.handshake()
    tape.establish()
    return _end(tape)


def _unexchanged() -> Tape:
    tape = Tape()
    tape.handshake()
    tape.establish()
    tape.establish(1)
    return _end(tape)


def _unacknowledged(idle: float = 0, reset: int | None = None, after: float = 21) -> Tape:
    """Message 1 is acknowledged, and behind a pause messages 2 and 3 are not."""
    tape = Tape()
    tape.open()
    tape.message(1)
    tape.ack(1)
    tape.wait(idle)
    tape.message(2)
    tape.message(3)
    if reset is not None:
        tape.wait(after)
        tape.tcp("rst", reset)
    return _end(tape)


def _slow() -> Tape:
    """A message waits a minute for its acknowledgment."""
    tape = Tape()
    tape.handshake()
    tape.establish()
    tape.establish(1)
    tape.parameters(0, ack_timeout=20_000)
    tape.parameters(1, ack_timeout=20_000)
    tape.message(1)
    tape.wait(60)
    tape.ack(1)
    return _end(tape)


def _unordered() -> Tape:
    """Two transactional messages are taken, and no OrderAck comes."""
    tape = Tape()
    tape.open()
    tape.message(1, tx=(1, 0))
    tape.message(2, tx=(2, 1))
    tape.ack(2)
    return _end(tape)


class Scene(NamedTuple):
    """A tape with its evidence: the start of the only line, and what has to be said and must not be said."""

    tape: Callable[[], Tape]
    network: NetworkEvidence
    mark: str
    said: tuple[str, ...]
    unsaid: tuple[str, ...] = _BLAME


_NOTHING_MORE = "TCP of 192.0.2.10 acknowledged nothing more of what 192.0.2.21 sent"
SCENES = {
    "EstablishConnection is lost": Scene(
        _establishing,
        evidence(lost(5, 12.4)),
        "[medium, likely, network] TCP of 192.0.2.10 acknowledged nothing more of what 192.0.2.21 sent, sent "
        "again 5 times in 12.40 s",
        (
            "also 192.0.2.21 got no session with 192.0.2.10:1801.",
            "NET-LOSS",
            "nothing answered EstablishConnection in frame 4: TCP of 192.0.2.10 acknowledged",
            "the queue manager was never asked",
            "Capture at 192.0.2.10, too",
        ),
    ),
    "the answer to EstablishConnection is lost": Scene(
        _unexchanged,
        evidence(None, lost()),
        "[medium, likely, network] TCP of 192.0.2.21 acknowledged nothing more of what 192.0.2.10 sent",
        ("also 192.0.2.21 got no session", "Capture at 192.0.2.21, too"),
        (*_BLAME, "look at the queue managers"),
    ),
    "EstablishConnection is not acknowledged, and not sent again": Scene(
        _establishing,
        evidence(SentEvidence(unacknowledged=568)),
        "[medium, likely, network] 192.0.2.21 got no session with 192.0.2.10:1801: TCP was accepted, but "
        "what opens the session got no acknowledgment from TCP either",
        ("TCP did not acknowledge it either",),
    ),
    "the server closed its window before the session": Scene(
        _establishing,
        evidence(server=full(90, closed=True)),
        "[medium, certain, host] 192.0.2.10 took no bytes from 192.0.2.21 for 1 min 30 s: its TCP receive "
        "window was 0, and still was at the end",
        ("also 192.0.2.21 got no session", "Look at the load, the memory and the disk of 192.0.2.10"),
    ),
    "a device resets the opening": Scene(
        _establishing,
        evidence(reset=_FORGED),
        "[medium, likely, network] The reset in frame 12 bears the address of 192.0.2.10, and a device "
        "between it and 192.0.2.21 seems to have sent it",
        ("its hop limit is 64, and that of 192.0.2.10 is 128", "also 192.0.2.21 got no session"),
    ),
    "messages are lost, and the sender gives up": Scene(
        lambda: _unacknowledged(reset=0),
        evidence(lost()),
        f"[medium, likely, network] {_NOTHING_MORE}, sent again 5 times in 12.40 s: the network dropped it "
        "or the answers, or 192.0.2.10 is down; also 2 messages from 192.0.2.21 were not acknowledged",
        ("No queue manager is to blame for a1d30c5b…\\2 (frame 10) and a1d30c5b…\\3 (frame 11): TCP of",),
    ),
    "messages are lost, and the connection stays": Scene(
        _unacknowledged,
        evidence(lost()),
        f"[medium, likely, network] {_NOTHING_MORE}",
        ("also 2 messages from 192.0.2.21 were not acknowledged",),
        (*_BLAME, "the connection stayed open"),
    ),
    "the acknowledgments are lost": Scene(
        _unacknowledged,
        evidence(None, lost()),
        "[medium, likely, network] TCP of 192.0.2.21 acknowledged nothing more of what 192.0.2.10 sent",
        ("also 2 messages from 192.0.2.21 were not acknowledged",),
    ),
    "a firewall forgot the connection, and drops what comes": Scene(
        lambda: _unacknowledged(310),
        evidence(lost(idle=310)),
        "[medium, likely, network] The connection between 192.0.2.21 and 192.0.2.10 was dropped while it was "
        "idle: after 5 min 10 s without traffic 192.0.2.21 got no answer (sent again 5 times in 12.40 s)",
        ("NET-IDLE", "also 2 messages", "Raise the idle time-out", "4 to 60 min are usual"),
    ),
    "a firewall forgot the connection, and resets it": Scene(
        lambda: _unacknowledged(310, reset=1),
        evidence(reset=msgspec.structs.replace(_FORGED, idle=310 * SECOND)),
        "[medium, likely, network] The connection between 192.0.2.21 and 192.0.2.10 was dropped while it was "
        "idle: after 5 min 10 s without traffic 192.0.2.21 got a reset that a device between them seems to "
        "have sent (its hop limit is 64, and that of 192.0.2.10 is 128); also 2 messages",
        ("NET-IDLE",),
        (*_BLAME, "192.0.2.10 reset the connection"),
    ),
    "the other end of an idle connection is gone": Scene(
        lambda: _unacknowledged(310, reset=1, after=0),
        evidence(reset=msgspec.structs.replace(_FORGED, at=moment(12, 310.02), forged_by=None)),
        "[medium, likely, network] The connection between 192.0.2.21 and 192.0.2.10 was dropped while it was "
        "idle: after 5 min 10 s without traffic 192.0.2.21 got a reset; also 2 messages",
        ("NET-IDLE",),
        (*_BLAME, "192.0.2.10 reset the connection", "device"),
    ),
    "a device resets the connection": Scene(
        lambda: _unacknowledged(reset=1),
        evidence(reset=_FORGED),
        "[medium, likely, network] The reset in frame 12 bears the address of 192.0.2.10, and a device",
        ("NET-RESET", "also 2 messages", "Look for a firewall, load balancer or intrusion prevention"),
        (*_BLAME, "192.0.2.10 reset the connection"),
    ),
    "a reset has a number that does not fit": Scene(
        lambda: _unacknowledged(reset=1),
        evidence(reset=msgspec.structs.replace(_FORGED, forged_by="sequence_number")),
        "[medium, a guess, network] The reset in frame 12",
        ("its sequence number is not one of this connection",),
    ),
    "the server resets the connection": Scene(
        lambda: _unacknowledged(reset=1),
        evidence(reset=msgspec.structs.replace(_FORGED, forged_by=None)),
        "[medium, likely, queue manager] 2 messages",
        ("192.0.2.10 reset the connection",),
        ("network]", "device", "NET-"),
    ),
    "the server resets the connection long after a pause": Scene(
        lambda: _unacknowledged(310, reset=1),
        evidence(reset=msgspec.structs.replace(_FORGED, at=moment(12, 331.02), forged_by=None)),
        "[medium, likely, queue manager] 2 messages",
        ("192.0.2.10 reset the connection",),
        ("network]", "device", "NET-"),
    ),
    "the window is closed at the end": Scene(
        _unacknowledged,
        evidence(server=full(90, closed=True)),
        "[medium, certain, host] 192.0.2.10 took no bytes from 192.0.2.21 for 1 min 30 s: its TCP receive "
        "window was 0, and still was at the end; 2 messages still waited behind it; also 2 messages",
        ("NET-WINDOW", "diagnose --question 17"),
    ),
    "packets are too big for the path": Scene(
        _unacknowledged,
        evidence(lost(), too_big=(_TOO_BIG,)),
        "[medium, likely, network] 203.0.113.1 says (ICMP) that its next link has an MTU of 1,400 bytes: "
        "what 192.0.2.21 sends to 192.0.2.10 is too big for it; also 2 messages",
        ("NET-MTU", "Let ICMP reach 192.0.2.21, or lower its MTU."),
    ),
    "a router does not say for which MTU": Scene(
        _unacknowledged,
        evidence(lost(), too_big=(msgspec.structs.replace(_TOO_BIG, mtu=None),)),
        "[medium, likely, network] 203.0.113.1 says (ICMP) that its next link has a smaller MTU: what",
        (),
    ),
    "the address of a router is not to be shown": Scene(
        _unacknowledged,
        evidence(lost(), too_big=(msgspec.structs.replace(_TOO_BIG, router="0.0.0.0"),)),
        "[medium, likely, network] A router says (ICMP) that its next link has an MTU of 1,400 bytes: what",
        (),
        (*_BLAME, "0.0.0.0"),
    ),
    "the sender heeds the router": Scene(
        _unacknowledged,
        evidence(too_big=(_TOO_BIG,)),
        "[medium, likely, queue manager] 2 messages",
        ("the connection stayed open",),
        ("network]", "MTU", "NET-"),
    ),
    "a wait behind a closed window": Scene(
        _slow,
        evidence(server=full(50)),
        "[low, certain, host] 192.0.2.10 took no bytes from 192.0.2.21 for 50.00 s: its TCP receive window "
        "was 0; the message in frame 8 waited 1 min behind it; also messages of 192.0.2.21 waited up to 1 "
        "min",
        (),
    ),
    "a wait in which segments were sent again": Scene(
        _slow,
        evidence(
            SentEvidence(
                retransmissions=7, first_retransmission=moment(8, 0.3), last_retransmission=moment(8, 55)
            )
        ),
        "[low, likely, network] The network slows 192.0.2.21 down on the way to 192.0.2.10",
        ("TCP of 192.0.2.21 sent 7 segments again meanwhile", "Look for a full link"),
        ("192.0.2.10 slows", "memory"),
    ),
    "a wait in which very many were": Scene(
        _slow,
        evidence(
            SentEvidence(
                retransmissions=40, first_retransmission=moment(8, 0.3), last_retransmission=moment(8, 55)
            )
        ),
        "[low, likely, network] 192.0.2.21 sent 40 segments to 192.0.2.10 again, about 93 % of its segments",
        ("also messages of 192.0.2.21 waited up to 1 min",),
        ("192.0.2.10 slows", "memory"),
    ),
    "the OrderAck is lost": Scene(
        _unordered,
        evidence(None, lost()),
        "[low, likely, network] TCP of 192.0.2.21 acknowledged nothing more of what 192.0.2.10 sent",
        ("also 2 messages from 192.0.2.21 not covered by an OrderAck",),
        (*_BLAME, "Look at 192.0.2.10"),
    ),
    "no OrderAck is sent": Scene(
        _unordered,
        evidence(),
        "[low, likely, queue manager] 2 transactional messages from 192.0.2.21 to",
        ("Look at 192.0.2.10, and into the outgoing queue of 192.0.2.21.",),
        ("network]", "NET-"),
    ),
    "a slow receiver": Scene(
        _slow,
        evidence(),
        "[low, likely, host] 192.0.2.10 slows 192.0.2.21 down",
        ("Look at the memory, the disk and the load of 192.0.2.10",),
        ("network]", "NET-"),
    ),
}


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES.keys())
def test_the_cause_is_told_where_it_is_and_nowhere_else(scene: Scene) -> None:
    digest, answers = diagnosed(scene.tape(), scene.network)
    (line,) = digest.causes
    assert str(line).startswith(scene.mark)
    text = text_of(digest, answers)
    assert [one for one in scene.said if one not in text] == []
    assert [one for one in scene.unsaid if one in text] == []


@pytest.mark.parametrize(
    ("wait", "said"),
    [
        pytest.param(2, "was accepted: only the one before it was dead.", id="soon"),
        pytest.param(300, "was accepted.", id="later, when the host may have been started again"),
    ],
)
def test_the_next_connection_that_opens_is_told_behind_a_dead_one(wait: float, said: str) -> None:
    tape = Tape()
    tape.open()
    tape.message(1)
    tape.ack(1)
    tape.wait(310)
    tape.message(2)
    tape.wait(21)
    tape.tcp("rst")
    tape.wait(wait)
    tape.open(on=1)
    _, answers = diagnosed(_end(tape), evidence(lost(idle=310)))
    (found,) = [one for one in answers[2].sentences if "dropped while it was idle" in one]
    assert "The next connection between them, begun in frame " in found
    assert found.endswith(said)


def test_a_short_window_does_not_explain_a_long_wait() -> None:
    digest, _ = diagnosed(_slow(), evidence(server=full(2)))
    assert [(one.layer, one.rule) for one in digest.causes] == [("host", "NET-WINDOW"), ("host", "SES-SLOW")]


def test_what_waited_too_long_before_the_fault_is_not_its_effect() -> None:
    # Nothing acknowledged the messages for five minutes before the network failed.
    digest, _ = diagnosed(_unacknowledged(), evidence(lost(idle=310)))
    assert [one.rule for one in digest.causes] == ["MSG-UNACKED", "NET-IDLE"]


@pytest.mark.parametrize("tape", [_establishing, _unacknowledged, _slow])
@pytest.mark.parametrize(
    "network",
    [
        evidence(lost(), certain=False),
        evidence(None, lost(), certain=False),
        evidence(server=full(90, closed=True), certain=False),
        evidence(reset=_FORGED, too_big=(_TOO_BIG,), certain=False),
    ],
)
def test_nothing_accuses_the_network_where_the_capture_lost_frames_of_the_connection(
    tape: Callable[[], Tape], network: NetworkEvidence
) -> None:
    digest, answers = diagnosed(tape(), network)
    assert {one.layer for one in digest.causes} <= {"queue manager", "host"}
    assert "NET-" not in text_of(digest, answers)
    assert "TCP of" not in text_of(digest, answers)


@pytest.mark.parametrize("network", [evidence(lost()), evidence(lost(idle=310))])
def test_nothing_accuses_the_network_where_the_file_says_that_frames_were_dropped(
    network: NetworkEvidence,
) -> None:
    tape = _unacknowledged()
    tape.records.append(
        Record(
            id=len(tape.records) + 1,
            type="gap",
            frames_missing=3,
            reason="capture",
            src=None,
            dst=None,
            frames=(),
            time=tape.time,
        )
    )
    digest, answers = diagnosed(tape, network)
    assert digest.causes == ()
    assert "TCP of" not in text_of(digest, answers)
    assert any("dropped frames" in caveat for caveat in answers[2].caveats)


def test_connections_with_one_fault_are_one_cause() -> None:
    tape = Tape()
    for on in range(5):
        tape.handshake(on)
        tape.establish(0, on)
    _end(tape)
    digest, answers = diagnosed(tape, *(evidence(lost(5, 12.4 + on)) for on in range(5)))
    (line,) = digest.causes
    assert "sent in 5 connections, sent again 5 times in 16.40 s" in line.text
    assert "also 192.0.2.21 got no session with 192.0.2.10:1801 in 5 connections" in line.text
    (fact,) = answers[2].facts["network"]
    assert fact == {
        "fault": "unanswered",
        "sender": "192.0.2.21",
        "receiver": "192.0.2.10",
        "connections": 5,
        "segments": 25,
        "longest": int(16.4 * SECOND),
        "idle": None,
    }


@pytest.mark.parametrize(
    ("clients", "servers", "said", "who"),
    [
        (
            range(1, 6),
            [10],
            "TCP of 192.0.2.10 acknowledged nothing more of what 198.51.100.1, 198.51.100.2, 198.51.100.3 "
            "and 2 more sent in 5 connections",
            5 + 1,
        ),
        (
            [1],
            range(10, 15),
            "TCP of 192.0.2.10, 192.0.2.11, 192.0.2.12 and 2 more acknowledged nothing more of what "
            "198.51.100.1 sent in 5 connections",
            1 + 5,
        ),
    ],
)
def test_what_one_host_has_with_many_is_one_cause(
    clients: Iterable[int], servers: Iterable[int], said: str, who: int
) -> None:
    tape = Tape()
    pairs = [(client, server) for client in clients for server in servers]
    for on, (client, server) in enumerate(pairs):
        at = len(tape.records)
        tape.handshake(on)
        tape.establish(0, on)
        ends = {"192.0.2.21": f"198.51.100.{client}", "192.0.2.10": f"192.0.2.{server}"}
        tape.records[at:] = [
            msgspec.structs.replace(one, src=_renamed(one.src, ends), dst=_renamed(one.dst, ends))
            for one in tape.records[at:]
        ]
    digest, answers = diagnosed(_end(tape), *(evidence(lost()) for _ in pairs))
    (line,) = [one for one in digest.causes if one.rule == "NET-LOSS"]
    assert line.text.startswith(said)
    assert len(line.who) == who
    assert len(answers[2].facts["network"]) == 5


def _renamed(end: str | None, names: dict[str, str]) -> str:
    name, _, port = (end or "").rpartition(":")
    return f"{names[name]}:{port}"


def test_a_connection_without_the_fault_keeps_its_own_cause() -> None:
    tape = Tape()
    for on in range(2):
        tape.handshake(on)
        tape.establish(0, on)
    _end(tape)
    digest, _ = diagnosed(tape, evidence(lost()), None)
    texts = [(one.layer, one.rule) for one in digest.causes]
    assert ("network", "NET-LOSS") in texts
    assert len(texts) == 2


def test_why_names_the_network_and_not_the_queue_manager() -> None:
    tape = _unacknowledged()
    story = seen(tape, evidence(lost()))
    life = story.lives.by_id(f"{SENDER}\\2")
    first = story.lives.by_id(f"{SENDER}\\1")
    assert life is not None
    assert first is not None
    told = why(life, story, Phrases())
    assert told.reason.endswith(f"{_NOTHING_MORE}, sent again 5 times in 12.40 s.")
    assert (
        told.action == "capture at 192.0.2.10, too: do the segments arrive? Check the firewalls between them"
    )
    # What was acknowledged is not explained by what came later.
    assert "TCP" not in why(first, story, Phrases()).reason
    assert "TCP" not in why(life, seen(tape, None), Phrases()).reason


def test_a_hostile_connection_does_not_accuse_the_network() -> None:
    tape = _establishing()
    diagnosis, story = Diagnosis(), seen(tape, evidence(lost()))
    for record in tape.records:
        diagnosis.feed(record)
    diagnosis.found([finding("LEN-ENV", "high", src="192.0.2.21:49731", dst="192.0.2.10:1801", frame=4)])
    digest = diagnosis.digest(diagnosis.answers(story), story)
    assert [one.rule for one in digest.causes] == ["LEN-ENV"]


@pytest.mark.parametrize(
    ("side", "network", "expected"),
    [
        (0, None, "ended with a reset from 192.0.2.21:"),
        (1, evidence(), "ended with a reset from 192.0.2.10:"),
        # Somebody between the two sent it.
        (1, evidence(reset=_FORGED), "ended with a reset:"),
    ],
)
def test_a_reset_is_said_to_be_from_the_side_that_sent_it(
    side: int, network: NetworkEvidence | None, expected: str
) -> None:
    assert expected in text_of(*diagnosed(_unacknowledged(reset=side), network))

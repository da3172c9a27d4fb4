"""Where vantage points are, how long packets took between them, and what their recordings lack."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

import msmq_wire as mw
from msmq_wire.capture.vantage.points import AddressTranslation, SharedTraffic, VantagePoint
from msmq_wire.capture.vantage.points_capture import PointsCapture
from msmq_wire.detection.rules.id_many import RULE as ID_MANY
from msmq_wire.wire.types.guid import GUID
from tests.detection.diagnosis.test_path_losses import told
from tests.sessions.points_tape import CLIENT, MS, SERVER, PointsTape
from tests.sessions.tape import START

SECOND = 1_000_000_000


def opened(**options: bool | int | None) -> PointsTape:
    tape = PointsTape(**options)  # type: ignore[arg-type]  # options of a tape
    tape.open()
    tape.message(1)
    tape.ack(1)
    return tape


def test_packets_that_tcp_sent_again_are_lost_between_the_points() -> None:
    tape = opened()
    for number in range(7):
        tape.capture.transits.lose((CLIENT, SERVER), (0, 1), START + number * SECOND)
    # What only the point behind saw is missing in the other recording.
    tape.capture.transits.lose((CLIENT, SERVER), (1, 0), START)
    found = told(tape)
    assert found.sentences(4)[1] == (
        f"Seen at {CLIENT} (sender.pcap), never at {SERVER} (receiver.pcap): at least 7 packets of about 10 "
        f"from {CLIENT} to {SERVER}, between 2026-11-20 09:14:07Z and 09:14:13Z. They came when TCP sent "
        "them again: nothing is lost by that but time."
    )
    (line,) = found.digest.lines
    assert (line.severity, line.layer, line.rule) == ("low", "network", "NET-PATH")
    assert found.answers[3].facts["lost_and_sent_again"][0]["packets"] == 7


def test_how_long_packets_were_held_up_is_told() -> None:
    tape = opened()
    for number in range(3):
        tape.capture.transits.lose((CLIENT, SERVER), (0, 1), START, 100 * MS * (1 + number))
    found = told(tape)
    assert "They came when TCP sent them again, held up by 0.30 s at most: nothing is lost" in found.text(4)
    assert found.answers[3].facts["lost_and_sent_again"][0]["longest_held"] == 300 * MS


def test_a_finding_names_the_frames_that_were_lost_by_the_file_that_has_them() -> None:
    folder = Path(__file__).resolve().parents[3] / "fixtures" / "places" / "loss_between"
    files = [folder / "sender.pcap", folder / "receiver.pcap"]
    found = [one for one in mw.findings(files) if one.id == "NET-PATH"]
    shown = {
        (Path(place.capture).name, place.record): sorted(at.frames[0] for at in one.evidence)
        for one in found
        for place in one.evidence
    }
    # As answers.md lists them.
    assert shown == {
        ("sender.pcap", None): [35, 43, 58, 115, 138, 151, 184],
        ("receiver.pcap", None): [194, 202],
    }


def test_bytes_that_had_arrived_before_are_told_of_the_last_point_on_the_way() -> None:
    tape = opened()
    tape.capture.transits.repeat((CLIENT, SERVER), (0, 1))
    assert (
        f"{CLIENT} sent 1 segment to {SERVER} again whose bytes had arrived at the place of receiver.pcap "
        "before: acknowledgments were lost or late, and no data."
    ) in told(tape).sentences(4)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        pytest.param(
            "198.51.100.7",
            "third.pcap has other hosts and nothing in common with the others: it is read by itself.",
            id="other hosts",
        ),
        pytest.param(CLIENT, "third.pcap is read by itself.", id="the same host"),
    ],
)
def test_a_capture_that_no_other_one_joins_is_read_by_itself(other: str, said: str) -> None:
    tape = opened()
    for event, side in (("syn", 0), ("syn_ack", 1)):
        ends = (f"{other}:1025", "198.51.100.8:1801")
        record = tape.tcp(event, side, 9, src=ends[side], dst=ends[1 - side])
        tape.records[-1] = replace(record, capture="x/third.pcap")
    assert said in told(tape).sentences(19)


def test_the_share_of_frames_that_a_recording_lost_is_told() -> None:
    tape = opened()
    tape.capture.transits.add((CLIENT, SERVER), (0, 1), 2 * MS, weight=93)
    with tape.only(0, "lost"):
        for number in range(2, 6):
            tape.message(number)
    # Of 100 frames that both saw and 4 more, 4.
    assert (
        "The recording receiver.pcap lost frames, about 4 % of those with data: 4 packets that came there "
        "are not in it."
    ) in told(tape).sentences(19)


@pytest.mark.parametrize(("resent", "told_so"), [(4, False), (5, True)])
def test_a_recording_that_lost_frames_may_have_lost_what_was_sent_again(resent: int, told_so: bool) -> None:
    tape = opened()
    with tape.only(0, "lost"):
        tape.message(2)
    for number in range(resent):
        tape.capture.transits.lose((CLIENT, SERVER), (0, 1), START + number * SECOND)
    found = told(tape)
    assert ("They came when TCP sent them again" in found.text(4)) == told_so
    assert ("NET-PATH" in {line.rule for line in found.digest.lines}) == told_so


@pytest.mark.parametrize(("resent", "causes"), [(1, 0), (2, 1)])
def test_one_packet_that_was_sent_again_is_no_cause(resent: int, causes: int) -> None:
    tape = opened()
    for number in range(resent):
        tape.capture.transits.lose((CLIENT, SERVER), (0, 1), START + number * SECOND)
    assert len(told(tape).digest.lines) == causes


def test_one_packet_of_many_is_no_cause() -> None:
    tape = opened()
    tape.capture.transits.add((CLIENT, SERVER), (0, 1), 2 * MS, weight=5000)
    tape.capture.transits.lose((CLIENT, SERVER), (0, 1), START)
    found = told(tape)
    assert "at least 1 packet of about 5,004" in found.text(4)
    assert found.digest.lines == ()


def test_without_an_order_of_the_points_nothing_is_lost_between_them() -> None:
    tape = opened(apart=False)
    tape.capture.transits.lose((CLIENT, SERVER), (0, 1), START)
    assert "never at" not in told(tape).text(4)


def test_a_recording_of_one_direction_says_so() -> None:
    tape = PointsTape()
    tape.tcp("syn")
    with tape.only(0, "unknown"):
        tape.tcp("syn_ack", 1)
    tape.message(1)
    with tape.only(0, "unknown"):
        tape.ack(1)
    said = f"receiver.pcap has only what {CLIENT} sent to {SERVER}: what {SERVER} sent is not in it."
    assert said in told(tape).sentences(19)


def test_traffic_that_does_not_pass_a_point_is_no_gap_of_its_recording() -> None:
    tape = opened()
    with tape.only(1, "unknown"):
        tape.message(2, on=9)
    assert told(tape).sentences(19)[-3:] == (
        "sender.pcap and receiver.pcap recorded the same traffic: it is read as one.",
        f"sender.pcap is nearer {CLIENT}, and receiver.pcap nearer {SERVER}.",
        "Times are those of sender.pcap; the clock of receiver.pcap is 0.0 ms ahead of it (± 0.1 ms).",
    )


def translated(offset: int = 0) -> PointsTape:
    """Two hosts behind one address, with a queue manager each, as the receiver's point sees them."""
    here = (bytes((192, 0, 2, 21)), 49731, bytes((192, 0, 2, 10)), 1801)
    points = (
        VantagePoint(files=("receiver.pcap",)),
        VantagePoint(files=("sender.pcap",), offset=offset, uncertainty=MS),
    )
    translations = tuple(
        AddressTranslation(
            1, (bytes((10, 0, 0, number)), 5000, *here[2:]), (here[0], here[1] + number, *here[2:])
        )
        for number in (1, 2)
    )
    tape = PointsTape()
    tape.capture = PointsCapture(SharedTraffic(points=points, translations=translations))
    return tape


def test_addresses_that_are_translated_are_told() -> None:
    tape = translated()
    tape.open()
    (said,) = (one for one in told(tape).sentences(19) if "NAT" in one)
    assert said == (
        "Addresses are translated (NAT) between the places: 10.0.0.1:5000 in sender.pcap is "
        "192.0.2.21:49732 in receiver.pcap and 10.0.0.2:5000 in sender.pcap is 192.0.2.21:49733 in "
        "receiver.pcap."
    )


@pytest.mark.parametrize("managers", [2, 3])
def test_as_many_queue_managers_as_another_point_saw_hosts_share_no_address(managers: int) -> None:
    tape = translated()
    for number in range(1, managers + 1):
        tape.handshake(number)
        tape.establish(0, number, client_guid=GUID(bytes(15) + bytes((number,))))
        tape.establish(1, number)
    found = list(ID_MANY.check(tape.story(), None))  # type: ignore[arg-type]  # it asks for no context
    assert len(found) == (managers > 2)


def test_redaction_names_no_address_of_the_other_point() -> None:
    tape = translated()
    named = tape.capture.renamed(("file 1", "file 2"), lambda text: f"hidden {text.count('.')}")
    assert named.translations == ((1, "hidden 3", "hidden 3"),)
    assert tape.capture.translations[0][1] == "10.0.0.1:5000"

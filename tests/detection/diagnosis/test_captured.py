"""Question 19: what the capture could not see, of all of it and of its connections."""

from __future__ import annotations

from pathlib import Path

import pytest

import msmq_wire as mw
from fixtures.build_imperfect import build
from msmq_wire.detection.diagnosis import Answer
from tests.detection.diagnosis.test_digest import digest
from tests.detection.diagnosis.test_questions import FIXTURES, answers

ONE, OTHER = "192.0.2.21:49731 to 192.0.2.10:1801", "192.0.2.22:49801 to 192.0.2.10:1801"


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answer]:
    """The answer for each capture of fixtures/build_imperfect.py that a test below names."""
    folder = tmp_path_factory.mktemp("imperfect")
    found = {}
    for name, data in build().files.items():
        if name in SAID:
            (folder / name).write_bytes(data)
            found[name] = answers(folder / name)[19]
    return found


SAID = {
    "i3_two_percent_five_a.pcap": (
        "The capture lost about 1% of the frames: 2 gaps in 2 connections, first before frame 176.",
        f"{OTHER} (captured for 11.21 s): 1 gap of 216 bytes between frames 162 and 193.",
        "192.0.2.25:49804 to 192.0.2.10:1801 (captured for 11.21 s): 1 gap of 216 bytes between frames 174 "
        "and 176; frame 175 acknowledges bytes that were not captured.",
    ),
    "i6_one_of_three.pcap": (
        "Only one direction of 1 connection was captured, from 192.0.2.21 to 192.0.2.10.",
        f"{ONE} (captured for 11.21 s): only what 192.0.2.21:49731 sent was captured.",
    ),
    "i9_snap_128.pcap": (
        "70 frames are cut off at 128 bytes, first frame 4.",
        f"{ONE} (captured for 11.21 s): 26 packets cut off.",
        "192.0.2.22:49732 to 192.0.2.10:1801 (captured for 10.75 s): 22 packets cut off.",
        "192.0.2.23:49733 to 192.0.2.10:1801 (captured for 10.75 s): 22 packets cut off.",
    ),
    "i7_all_counters.pcapng": ("The capture lost 540 frames, by its own count.",),
    "perfect_five.pcap": ("Nothing shows that frames are missing from the capture.",),
}


@pytest.mark.parametrize("name", SAID)
def test_what_is_missing_is_said_of_the_capture_and_of_each_connection(
    name: str, reported: dict[str, Answer]
) -> None:
    assert reported[name].sentences == SAID[name]
    assert reported[name].posed is (name != "perfect_five.pcap")


def test_what_is_missing_is_data_too(reported: dict[str, Answer]) -> None:
    facts = reported["i3_two_percent_five_a.pcap"].facts
    assert (facts["holes"], facts["missing_bytes"], facts["one_direction"]) == (2, 432, 0)
    first = facts["connections"][0]
    assert (first["stream"], first["holes"], first["hole_frames"]) == (1, 1, [[162, 193]])
    assert first["last_time"] - first["first_time"] == 11_210_800_000
    assert reported["i7_all_counters.pcapng"].facts["dropped_frames"] == 540
    assert reported["i9_snap_128.pcap"].facts["cut_at"] == 128


def test_a_connection_that_began_before_the_capture_is_named() -> None:
    found = answers(FIXTURES / "sessions" / "midstream_start.pcap")[19].sentences
    assert any("it began before the capture" in text for text in found)


def test_a_file_that_is_cut_says_so_first_and_what_follows_is_not_known(tmp_path: Path) -> None:
    whole = (FIXTURES / "captures" / "clean_business_day.pcap").read_bytes()
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(whole[:-20])
    said = "The file is cut inside a record of 60 bytes: what follows could not be read."
    answer = answers(cut)[19]
    assert answer.sentences == (said,)
    assert answer.facts["broken_files"] == ["the file is cut inside a record of 60 bytes"]
    found, _ = digest(cut)
    assert [line.text for line in found.lines] == [f"{said} What happened after that is not known."]
    assert found.nothing.startswith("Nothing else wrong seen in ")


CUT = "receiver.pcap the file is cut inside a record of 66 bytes: what follows could not be read"


@pytest.mark.parametrize(
    ("other", "said"),
    [
        pytest.param(
            "places/two_ends/sender.pcap",
            f"In {CUT}. Of what came after that only the other recordings tell.",
            id="another place has what follows",
        ),
        pytest.param(
            "captures/clean_business_day.pcap",
            f"In {CUT}. What happened after that is not known.",
            id="another capture",
        ),
    ],
)
def test_a_file_that_is_cut_is_named_beside_another_one(tmp_path: Path, other: str, said: str) -> None:
    cut = tmp_path / "receiver.pcap"
    cut.write_bytes((FIXTURES / "places" / "two_ends" / "receiver.pcap").read_bytes()[:8000])
    for files in ([cut, FIXTURES / other], [FIXTURES / other, cut]):
        with pytest.warns(mw.CaptureWarning, match="cut inside a record"):
            found = mw.diagnose(files)
        assert found.digest is not None
        assert said in [line.text for line in found.digest.lines]

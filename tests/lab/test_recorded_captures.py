"""The captures of the lab among the fixtures are what the lab records, byte for byte, and are clean."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.record_lab import SCENES, TRACED, record
from msmq_wire.capture.reader import read_capture
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.sessions import follow
from tests.lab.lab_scene import deviations_of, records_of

CAPTURES = Path(__file__).resolve().parents[2] / "fixtures" / "captures"
NAMES = [*SCENES, *TRACED]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    record(folder)
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_recording_gives_the_committed_bytes(recorded: Path, name: str) -> None:
    path = CAPTURES / f"{name}.pcap"
    assert (recorded / f"{name}.pcap").read_bytes() == path.read_bytes()


def test_every_capture_of_the_lab_is_recorded() -> None:
    assert {path.stem for path in CAPTURES.glob("lab_*")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_capture_keeps_the_rules(name: str) -> None:
    path = CAPTURES / f"{name}.pcap"
    assert deviations_of(path) == []
    assert [one.notes for one in follow(read_capture(path, streams=True)).sessions if one.notes] == []


def test_sessions_that_dropped_brought_every_message_once() -> None:
    records = records_of(CAPTURES / "lab_drops.pcap")
    story = follow(records)
    assert len(story.sessions) > 2
    for sender in range(2):
        queue_manager = f"a1d30c5b-247e-4f45-9a31-c5d20e6f77{0x88 + sender:02x}"
        lives = [story.lives.by_id(f"{queue_manager}\\{number}") for number in range(1, 26)]
        assert all(life is not None and (life.stored or life.order_ack) for life in lives)


def test_the_methods_of_both_interfaces_are_called() -> None:
    called = {
        name: {one.packet.method for one in records_of(CAPTURES / name) if isinstance(one.packet, RpcCall)}
        for name in ("lab_remote_read.pcap", "lab_qm2qm.pcap")
    }
    assert {"R_StartReceive", "R_EndReceive", "R_MoveMessage"} <= called["lab_remote_read.pcap"]
    assert {"R_QMOpenRemoteQueue", "RemoteQMStartReceive2"} <= called["lab_qm2qm.pcap"]

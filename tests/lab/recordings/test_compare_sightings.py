"""What a capture holds of messages and calls, whatever carries them."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from msmq_wire.capture.reader import read_capture
from msmq_wire.errors import CaptureError
from msmq_wire.lab.recordings import compare_sightings
from msmq_wire.lab.recordings.compare_readings import FIELDS
from msmq_wire.lab.recordings.compare_sightings import Sightings
from msmq_wire.records.message import message_view
from tests.effort import in_batches

_FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"


def _seen(path: Path) -> Sightings:
    sightings = Sightings()
    for record in read_capture(path, streams=True):
        sightings.feed(record)
    return sightings


@in_batches(sorted(_FIXTURES.rglob("*.pcap")))
def test_any_capture_can_be_looked_at(path: Path) -> None:
    try:
        sightings = _seen(path)
    except CaptureError:
        # Some are damaged on purpose.
        return
    for message in (*sightings.messages, *sightings.carried.values()):
        assert set(message.values) <= set(FIELDS)
        assert None not in message.values.values()
        assert message.via in ("tcp", "http", "rpc")


@pytest.mark.parametrize(
    ("capture", "via"),
    [
        ("captures/lab_sessions.pcap", "tcp"),
        ("captures/lab_srmp.pcap", "http"),
        ("captures/lab_remote_read.pcap", "rpc"),
        ("captures/lab_qm2qm.pcap", "rpc"),
        ("rpc_captures/rpc_qmcomm_qm2qm.pcap", "rpc"),
    ],
)
def test_a_message_has_what_rows_say_and_the_digest_of_its_body(capture: str, via: str) -> None:
    path = _FIXTURES / capture
    sightings = _seen(path)
    rows = {record.id: message_view(record) for record in read_capture(path, streams=True)}
    found = [one for one in (*sightings.messages, *sightings.carried.values()) if one.via == via]
    assert found
    for one in found:
        row = rows[one.location.record or 0]
        assert row is not None
        for name in ("label", "body_size", "message_class", "priority"):
            assert one.values.get(name) == row[name]
    assert any("body_sha256" in one.values for one in found)


def test_no_bytes_have_a_digest_too() -> None:
    sightings = _seen(_FIXTURES / "recordings" / "small" / "capture.pcap")
    empty = [one for one in sightings.messages if one.values["body_size"] == 0]
    assert {one.values["body_sha256"] for one in empty} == {sha256(b"").hexdigest()}


def test_what_is_too_much_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    capture = _FIXTURES / "captures" / "lab_sessions.pcap"
    whole = _seen(capture)
    monkeypatch.setattr(compare_sightings, "MOST", 2)
    sightings = _seen(capture)
    assert sightings.messages == whole.messages[:2]
    assert sightings.left_out == len(whole.messages) - 2 > 10

"""``msmq-wire export``: the frames of what matches, and nothing written over an input."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.capture.source import read_frames
from msmq_wire.cli.app import main

Run = Callable[..., Any]

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


def test_the_frames_of_matching_items_are_written_unchanged(run: Run, capture: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.pcap"
    status, _, err = run("export", capture, "--to", out, "--filter", "label ~ mqsender")
    assert status == 0
    before = [(frame.time, frame.data) for frame in read_frames(str(capture))]
    assert [(frame.time, frame.data) for frame in read_frames(str(out))] == before[2:4]
    assert "2 frames of 1 item written" in err


def test_ids_count_through_all_files(run: Run, capture: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.pcap"
    other.write_bytes(capture.read_bytes())
    out = tmp_path / "out.pcap"
    assert run("export", capture, other, "--to", out, "--id", "5").status == 0
    first = next(iter(read_frames(str(other))))
    assert [(frame.time, frame.data) for frame in read_frames(str(out))] == [(first.time, first.data)]


def test_an_exported_capture_decodes_to_the_same_items(run: Run, capture: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.pcap"
    run("export", capture, "--to", out)
    first = run("messages", capture, "--format", "csv", "-q", "--columns=-capture").out
    assert run("messages", out, "--format", "csv", "-q", "--columns=-capture").out == first


def test_frames_are_chosen_by_what_became_of_their_messages(run: Run, tmp_path: Path) -> None:
    source, out = _FIXTURES / "digest" / "refused_invoices.pcap", tmp_path / "out.pcap"
    status, _, err = run("export", source, "--to", out, "--filter", "outcome == refused")
    assert (status, "2 frames of 2 items written" in err) == (0, True)
    whole = list(read_frames(str(source)))
    # Invoices 4 and 8.
    assert [one.data for one in read_frames(str(out))] == [whole[58].data, whole[106].data]
    status, _, err = run("export", source, "--to", out, "--force", "--filter", "outcome == expired")
    assert (status, err.splitlines()[0]) == (1, "msmq-wire: nothing matches")


def test_standard_input_cannot_be_exported(run: Run, tmp_path: Path) -> None:
    status, _, err = run("export", "-", "--to", tmp_path / "out.pcap")
    assert (status, err.count("\n")) == (2, 1)


@pytest.mark.parametrize("source", ["missing.pcap", "text"])
def test_a_capture_that_is_there_stays_when_nothing_is_read(run: Run, tmp_path: Path, source: str) -> None:
    out = tmp_path / "out.pcap"
    out.write_bytes(b"precious")
    (tmp_path / "text").write_text("no capture\n")
    status, _, err = run("export", tmp_path / source, "--to", out, "--force")
    assert status == 1
    assert err
    assert out.read_bytes() == b"precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.pcap", "text"]


def test_a_capture_that_is_there_stays_when_nothing_matches(run: Run, capture: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.pcap"
    out.write_bytes(b"precious")
    status, _, err = run("export", capture, "--to", out, "--force", "--filter", "label ~ nowhere")
    assert (status, "nothing matches" in err) == (1, True)
    assert out.read_bytes() == b"precious"


def test_a_pipe_is_refused_since_it_cannot_be_read_twice(run: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    status, _, err = run("export", tmp_path / "pipe", "--to", tmp_path / "out.pcap")
    assert (status, err.count("\n")) == (2, 1)


def test_standard_output_gets_the_capture_and_nothing_else(
    capture: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["export", str(capture), "--to", str(tmp_path / "out.pcap"), "-q"]) == 0
    assert main(["export", str(capture), "--to", "-"]) == 0
    reported = capsysbinary.readouterr()
    assert reported.out == (tmp_path / "out.pcap").read_bytes()
    assert b"written to standard output" in reported.err


def test_what_keeps_nothing_is_a_target(run: Run, capture: Path) -> None:
    status, out, err = run("export", capture, "--to", "/dev/null")
    assert (status, out) == (0, "")
    assert "4 frames of 3 items written to /dev/null" in err


def test_whole_connections_are_judged_as_in_the_capture_they_come_from(run: Run, tmp_path: Path) -> None:
    capture, out = _FIXTURES / "digest" / "refused_invoices.pcap", tmp_path / "out.pcap"
    outcome = run("export", capture, "--to", out, "--filter", "host == 192.0.2.21", "--connections")
    assert outcome.status == 0
    address = bytes((192, 0, 2, 21))
    ours = [frame for frame in read_frames(str(capture)) if address in frame.data[26:34]]
    written = list(read_frames(str(out)))
    assert [frame.data for frame in written] == [frame.data for frame in ours]
    numbers = [frame.number for frame in ours]
    there = ", ".join(str(numbers.index(number) + 1) for number in (59, 63, 107, 111))
    found = run("findings", capture, "-q").out
    assert run("findings", out, "-q").out == found.replace("59, 63, 107, 111", there) != found
    bare = tmp_path / "bare.pcap"
    run("export", capture, "--to", bare, "--filter", "host == 192.0.2.21")
    assert len(list(read_frames(str(bare)))) < len(written)


def test_probes_without_an_item_are_part_of_the_connections_of_a_host(run: Run, tmp_path: Path) -> None:
    capture, out = _FIXTURES / "digest" / "silent_server.pcap", tmp_path / "out.pcap"
    assert run("export", capture, "--to", out, "--filter", "host == 192.0.2.11", "--connections").status == 0
    reported = run("diagnose", out, "-q").out
    assert "192.0.2.11" in reported
    assert "no answer came to 9 SYNs" in " ".join(reported.split())

"""``msmq-wire why``: what became of a message, whatever somebody calls it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.splitting import split

Run = Callable[..., Any]

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_REFUSED = _FIXTURES / "digest" / "refused_invoices.pcap"
_PURGED = _FIXTURES / "digest" / "payroll_purged.pcap"
_LOST = _FIXTURES / "diagnose" / "q19_lost.pcap"
_NAME = "0f9a63c8-2be1-4d57-a4c3-86d5e7120bf9\\2004"

_RING = (
    "ring_00001_20261120091400.pcap",
    "ring_00002_20261120091454.pcap",
    "ring_00003_20261120091500.pcap",
)
_TOLD = """\
Message "invoice 4" from 192.0.2.21 to DIRECT=OS:msg01\\private$\\invoices was
refused.
Why: an administration acknowledgment says: the sender may not write to the
     queue.
To do: give the sender the right to write to the queue; look for it in
       the dead-letter queue of 192.0.2.21.
Message 0f9a63c8-2be1-4d57-a4c3-86d5e7120bf9\\2004, id 33:
09:14:10.523700      0.000       25  session open
                          session 1  192.0.2.10:1801 → 192.0.2.21:49731
09:14:54.657500     44.134       59  sent
                          DIRECT=OS:msg01\\private$\\invoices, recoverable,
                          "invoice 4", 55 bytes  192.0.2.21:49731 →
                          192.0.2.10:1801
09:14:54.960100     44.436       61  acknowledged
                          and stored  192.0.2.10:1801 → 192.0.2.21:49731
09:14:54.962700     44.439       63  administration ack
                          the sender may not write to the queue  192.0.2.10:1801
                          → 192.0.2.21:49731
09:16:37.630300    147.107      139  session closed
                          session 1  192.0.2.21:49731 → 192.0.2.10:1801
"""


_TOLD_OF_A_RING = """\
Message "invoice 4" from 192.0.2.21 to DIRECT=OS:msg01\\private$\\invoices was
refused.
Why: an administration acknowledgment says: the sender may not write to the
     queue.
To do: give the sender the right to write to the queue; look for it in
       the dead-letter queue of 192.0.2.21.
Message 0f9a63c8-2be1-4d57-a4c3-86d5e7120bf9\\2004, id 33:
in 00001_20261120091400:
09:14:10.523700      0.000       25  session open
                          session 1  192.0.2.10:1801 → 192.0.2.21:49731
in 00002_20261120091454:
09:14:54.657500     44.134        1  sent
                          DIRECT=OS:msg01\\private$\\invoices, recoverable,
                          "invoice 4", 55 bytes  192.0.2.21:49731 →
                          192.0.2.10:1801
09:14:54.960100     44.436        3  acknowledged
                          and stored  192.0.2.10:1801 → 192.0.2.21:49731
in 00003_20261120091500:
09:14:54.962700     44.439        1  administration ack
                          the sender may not write to the queue  192.0.2.10:1801
                          → 192.0.2.21:49731
09:16:37.630300    147.107       77  session closed
                          session 1  192.0.2.21:49731 → 192.0.2.10:1801
"""


@pytest.fixture
def ring(tmp_path: Path) -> list[Path]:
    """The refused invoices in three files: 58 frames, then 4 with invoice 4, then the rest."""
    return split(_REFUSED, tmp_path, _RING, (58, 62))


@pytest.mark.parametrize(
    "called",
    [
        "invoice 4",
        "INVOICE 4",
        _NAME,
        "0f9a63c8\\2004",
        "0f9a63c8…\\2004",
        "frame 59",
        "id 33",
        "frame 63",
        "33",
    ],
)
def test_a_message_is_told_whatever_it_is_called(
    called: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    outcome = run("why", _REFUSED, called, "--quiet")
    assert (outcome.status, outcome.out, outcome.err) == (0, _TOLD, "")


def test_several_messages_are_counted_by_outcome_and_listed_the_rare_first(run: Run) -> None:
    lines = run("why", _PURGED, "private$\\payroll", "--quiet").out.splitlines()
    assert lines[0] == "6 messages fit private$\\payroll: 3 received, 3 purged."
    assert [line.partition(",")[0] for line in lines[1:7]] == [
        f'5ab3e7f2…\\{2000 + number} "payslip {number}": {"received" if number < 4 else "purged"}'
        for number in range(1, 7)
    ]
    assert lines[7] == 'One of them: msmq-wire why FILE "5ab3e7f2…\\2001"'
    refused = run("why", _REFUSED, "0f9a63c8", "--quiet")
    assert refused.status == 1


def test_a_purge_is_a_step_and_an_end(run: Run) -> None:
    (line,) = run("why", _PURGED, "payslip 5", "--format", "jsonl").out.splitlines()
    row = json.loads(line)
    assert (row["outcome"], row["record"], row["frame"]) == ("purged", 38, 66)
    assert row["steps"][-1]["what"] == "queue purged"
    assert row["steps"][-1]["frame"] == 125
    assert "192.0.2.66 purged it in frame 125" in row["reason"]


def test_what_the_capture_lacks_stands_beside_the_message(run: Run) -> None:
    row = json.loads(run("why", _LOST, "order 3", "--format", "jsonl").out)
    assert "bytes of this connection are missing from the capture" in row["unknown"]
    whole = json.loads(run("why", _REFUSED, "invoice 4", "--format", "jsonl").out)
    assert whole["unknown"] == []


def test_a_message_claims_no_more_than_its_evidence(run: Run) -> None:
    row = json.loads(run("why", _REFUSED, "order 1", "--format", "jsonl").out.splitlines()[0])
    assert row["outcome"] in ("acknowledged", "stored", "delivered")
    assert "nothing shows that" in row["sentence"]


def test_a_message_that_was_seen_in_a_call_is_looked_for_at_the_server(run: Run) -> None:
    poison = _FIXTURES / "digest" / "poison_message.pcap"
    row = json.loads(run("why", poison, "order 901", "--format", "jsonl").out)
    assert row["sentence"].startswith(
        'Message "order 901" to DIRECT=OS:msg01\\private$\\orders is in its queue'
    )
    assert row["action"].startswith("look into the queue at 192.0.2.10,")


def test_a_message_is_from_the_host_that_sent_it_first(run: Run) -> None:
    routed = _FIXTURES / "captures" / "routed_right.pcap"
    row = json.loads(run("why", routed, "order 101", "--format", "jsonl").out)
    assert row["sentence"].startswith('Message "order 101" from 192.0.2.19 to ')


def test_what_nobody_is_called_ends_with_1_and_names_nothing_that_is_redacted(run: Run) -> None:
    outcome = run("why", _REFUSED, "nothing like it", "--quiet")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err == (
        "msmq-wire: no message is called nothing like it, by name, number, label, queue, frame or id\n"
    )
    redacted = run("why", _REFUSED, "invoice 4", "--redact", "labels,hosts")
    assert "invoice 4" not in redacted.out + redacted.err
    assert "labels and names may be redacted" in redacted.err
    assert "192.0.2." not in run("why", _REFUSED, "2004", "--redact", "hosts").out


def test_a_name_that_is_left_out_and_a_folder_without_captures_are_told(run: Run, tmp_path: Path) -> None:
    for files in ((_REFUSED,), (_PURGED, _REFUSED)):
        assert run("why", *files) == (
            2,
            "",
            f"msmq-wire: Invalid value for 'TEXT': {_REFUSED} is a capture; put the label, the queue or the "
            "id of the message last (see msmq-wire why --help)\n",
        )
    assert run("why").err == "msmq-wire: Missing argument 'TEXT'. (see msmq-wire why --help)\n"
    assert run("why", tmp_path, "x").status == 1


def test_files_of_a_ring_are_one_capture_in_any_order(
    run: Run, ring: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for files in ((ring[2], ring[0], ring[1]), (tmp_path,)):
        status, out, err = run("why", *files, "invoice 4")
        assert (status, out) == (0, _TOLD_OF_A_RING)
        assert err == "164 frames read; 3 files read as one capture, in order of time\n"


@pytest.mark.parametrize(
    "called",
    [
        "id 33",
        "33",
        "frame 1 of 00002_20261120091454",
        "frame 1 of ring_00002_20261120091454.pcap",
        "frame 3 of 00002_20261120091454",
        "frame 1 of 00003_20261120091500",
        "frame 1",
    ],
)
def test_a_frame_has_the_number_that_it_has_in_its_file(run: Run, ring: list[Path], called: str) -> None:
    (line,) = run("why", *ring, called, "--format", "jsonl", "-q").out.splitlines()
    row = json.loads(line)
    assert (row["label"], row["record"], row["frame"]) == ("invoice 4", 33, 1)
    assert Path(row["capture"]).name == _RING[1]
    assert [(Path(step["capture"]).name[5:10], step["frame"]) for step in row["steps"]] == [
        ("00001", 25),
        ("00002", 1),
        ("00002", 3),
        ("00003", 1),
        ("00003", 77),
    ]
    assert (
        run("why", *ring, "frame 999", "-q").status == run("why", *ring, "frame 1 of 00004", "-q").status == 1
    )


def test_an_id_is_that_of_decode_over_the_same_files(run: Run, ring: list[Path]) -> None:
    files = (_FIXTURES / "captures" / "demo.pcap", *reversed(ring))
    row = json.loads(run("why", *files, "invoice 4", "--format", "jsonl").out)
    shown = json.loads(run("decode", *files, "--id", row["record"], "--format", "jsonl").out)
    assert (shown["capture"], shown["frames"], shown["type"]) == (str(ring[1]), [1], "user_message")


def test_a_purge_names_the_file_of_its_frame(run: Run, tmp_path: Path) -> None:
    files = split(_PURGED, tmp_path, ("day1.pcap", "day2.pcap"), (100,))
    row = json.loads(run("why", *files, "payslip 5", "--format", "jsonl").out)
    assert "192.0.2.66 purged it in frame 25 of day2, and no receive of it was captured" in row["reason"]


def test_a_file_that_cannot_be_read_stops_no_other(run: Run, ring: list[Path], tmp_path: Path) -> None:
    status, out, err = run("why", tmp_path / "absent.pcap", *ring, "invoice 4")
    assert (status, out.splitlines()[0].endswith("was refused.")) == (1, True)
    assert (
        err.splitlines()[0] == f"msmq-wire: cannot open {tmp_path / 'absent.pcap'}: No such file or directory"
    )


def test_redacted_files_are_named_by_their_place(run: Run, ring: list[Path]) -> None:
    out = run("why", *ring, "frame 1 of file 2", "--redact", "hosts").out
    assert [line for line in out.splitlines() if line.startswith("in ")] == [
        "in file 1:",
        "in file 2:",
        "in file 3:",
    ]

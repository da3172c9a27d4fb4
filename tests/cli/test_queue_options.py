"""``--queues``, and what ``carve`` says of files that register queues."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
DAY = FIXTURES / "captures" / "clean_business_day.pcap"
GUID = "c277e190-3d6a-4c4b-8d05-f21b9ac83e44"
QUEUE = f"PRIVATE={GUID}\\0000000a"
NAME = "private$\\order_replies"
FILE = (
    "[Properties]\nQueueLabel=Replies\nQueueName=\\private$\\order_replies\nNovelty=42\n[Signature]\nOdd=1\n"
)


@pytest.fixture
def storage(tmp_path: Path) -> Path:
    lqs = tmp_path / "storage" / "lqs"
    lqs.mkdir(parents=True)
    (lqs / "0000000a.5f3a1c22").write_text(FILE)
    return lqs.parent


def test_a_column_has_the_name_and_the_queue_stays_as_it_was(run: Run, storage: Path) -> None:
    status, out, err = run(
        "messages", DAY, "--queues", f"{GUID}={storage}", "--format", "jsonl",
        "--columns", "id,queue,queue_name,queue_label", "--filter", "queue_name ~ replies",
    )  # fmt: skip
    assert status == 0
    found = [json.loads(line) for line in out.splitlines()]
    assert [one["id"] for one in found] == [19, 56, 93, 130, 167]
    assert {(one["queue"], one["queue_name"], one["queue_label"]) for one in found} == {
        (QUEUE, NAME, "Replies")
    }
    assert "perhaps" not in err


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("messages", ()),
        ("decode", ()),
        ("diagnose", ("-v",)),
        ("report", ("-o", "-")),
        ("timeline", ("--message", "payment 5005")),
        ("why", ("payment 5005",)),
    ],
)
def test_every_command_that_shows_queues_names_them(
    command: str, more: tuple[str, ...], run: Run, storage: Path
) -> None:
    _, out, _ = run(command, DAY, *more, "--queues", f"{GUID}={storage / 'lqs'}")
    assert f"({NAME}" in out
    assert "perhaps" not in out.replace("perhaps not", "")


def test_a_message_is_found_by_the_name_of_its_queue(run: Run, storage: Path) -> None:
    status, out, _ = run("why", DAY, "order_replies", "--queues", f"{GUID}={storage}")
    assert status == 0
    assert "5 messages fit" in out


def test_a_folder_that_does_not_say_whose_it_is_gives_perhaps_and_a_way_out(run: Run, storage: Path) -> None:
    _, out, err = run("messages", DAY, "--queues", storage)
    assert f"{QUEUE} (perhaps {NAME}" in out
    assert f"PRIVATE names are of {GUID}" in err
    assert "--queues GUID=" in err
    _, out, err = run("messages", DAY, "--queues", storage, "--columns", "queue_name", "--format", "jsonl")
    assert NAME not in out


def test_another_queue_manager_is_not_named(run: Run, storage: Path) -> None:
    _, out, err = run("messages", DAY, "--queues", f"{GUID.replace('c2', 'c3')}={storage}")
    assert QUEUE in out
    assert "order_replies" not in out + err


@pytest.mark.parametrize(("what", "shown"), [("hosts", False), ("labels", True), ("bodies", True)])
def test_redaction_takes_names_with_hosts_and_labels_of_queues_with_labels(
    what: str, shown: bool, run: Run, storage: Path
) -> None:
    given = ("--queues", f"{GUID}={storage}", "--redact", what)
    for more in ((), ("--format", "jsonl", "--columns", "queue,queue_name,queue_label")):
        _, out, err = run("messages", DAY, *given, *more)
        assert ("order_replies" in out + err) == shown
        assert ("Replies" in out + err) == (what == "bodies")


@pytest.mark.parametrize("path", ["nosuch", "."])
def test_a_folder_without_queues_is_bad_usage(path: str, run: Run, tmp_path: Path) -> None:
    status, out, err = run("messages", DAY, "--queues", tmp_path / path)
    assert (status, out) == (2, "")
    assert "--queues" in err


def test_files_that_cannot_be_read_are_counted(run: Run, storage: Path) -> None:
    (storage / "lqs" / "0000000b.5f3a1c22").write_bytes(bytes(4096))
    _, _, err = run("messages", DAY, "--queues", storage)
    assert "left out: 1 file (not readable, or no queue in it)" in err


def test_carve_shows_all_that_a_file_says(run: Run, storage: Path) -> None:
    status, out, err = run("carve", storage / "lqs" / "0000000a.5f3a1c22")
    assert status == 0
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert any(line.endswith("registers a queue, queue number 0000000a, UTF-8") for line in lines)
    for line in (
        "[Properties]",
        "QueueLabel Replies",
        "label of the queue",
        "Novelty 42",
        "[Signature]",
        "Odd 1",
    ):
        assert line in lines
    assert "registered queues: 1" in err


def test_carve_gives_a_row_of_it(run: Run, storage: Path) -> None:
    _, out, _ = run("carve", storage / "lqs", "--format", "jsonl")
    (found,) = [row for row in map(json.loads, out.splitlines()) if row["type"] == "queue_file"]
    assert (found["number"], found["name"], found["label"]) == (10, NAME, "Replies")
    assert {"section": "Properties", "key": "Novelty", "value": "42", "meaning": None} in found["properties"]


def test_a_redaction_shows_no_file_of_a_queue(run: Run, storage: Path) -> None:
    status, out, err = run("carve", storage / "lqs", "--redact", "labels")
    assert status == 1
    assert "Replies" not in out + err


def test_other_commands_find_no_message_in_a_file_of_a_queue(run: Run, storage: Path) -> None:
    status, _, err = run("messages", "--carve", storage / "lqs")
    assert status == 1
    assert "nothing of MSMQ" in err


def test_searching_storage_files_takes_the_folder_beside_them(run: Run, storage: Path) -> None:
    # Packets in frames are packets in any file.
    shutil.copy(DAY, storage / "P0003420.MQ")
    for command in (("carve",), ("messages", "--carve")):
        status, out, err = run(*command, storage)
        assert status == 0
        assert f"{QUEUE} (perhaps {NAME}" in out
        assert f"PRIVATE names are of {GUID}" in err
    _, out, err = run("carve", storage, "--redact", "hosts")
    assert "order_replies" not in out + err


def test_other_files_and_a_link_bring_no_names(run: Run, storage: Path, tmp_path: Path) -> None:
    shutil.copy(DAY, storage / "day.bin")
    _, out, _ = run("carve", storage)
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(DAY, other / "P0003420.MQ")
    (other / "lqs").symlink_to(storage / "lqs")
    _, more, _ = run("carve", other)
    assert QUEUE in out
    assert QUEUE in more
    assert "order_replies" not in out + more


def test_the_note_knows_what_other_processes_asked_for(run: Run, storage: Path, tmp_path: Path) -> None:
    other = shutil.copy(DAY, tmp_path / "other.pcap")
    for more in ((), ("--jobs", "2")):
        _, out, err = run("messages", DAY, other, "--queues", storage, *more)
        assert out.count(f"(perhaps {NAME}") == 10
        assert f"PRIVATE names are of {GUID}; " in err


def test_the_end_of_a_name_still_says_perhaps(
    run: Run, storage: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shutil.copy(DAY, storage / "P0003420.MQ")
    (line,) = [one for one in run("carve", storage).out.splitlines() if one.startswith("…")]
    assert line.split()[1] == "private$\\order_replies?)"
    _, out, _ = run("messages", DAY, "--queues", storage)
    assert out.count("lies?)") == 5


def test_a_hostile_name_controls_neither_terminal_nor_page(run: Run, storage: Path) -> None:
    hostile = "QueueName=a\x1b[31m<script>alert(1)</script>\u202e=x\nQueueLabel=b\x07\n"
    (storage / "lqs" / "0000000a.5f3a1c22").write_text(hostile, encoding="utf-8")
    given = ("--queues", f"{GUID}={storage}")
    for command in (("messages", DAY), ("decode", DAY), ("diagnose", DAY, "-v"), ("report", DAY, "-o", "-")):
        _, out, _ = run(*command, *given)
        assert "alert(1)" in out
        assert not {"\x1b", "\u202e", "\x07"} & set(out)
        assert "<script>alert" not in (out if command[0] == "report" else "")
    _, out, _ = run("carve", storage / "lqs")
    assert "a\\x1b[31m<script>alert(1)</script>\\u202e=x" in out
    assert not {"\x1b", "\u202e", "\x07"} & set(out)

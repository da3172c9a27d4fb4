"""``msmq-wire encode``: bytes out of the JSON of ``packet``, where they go, and how it ends."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.cli.app import main
from msmq_wire.cli.packet_input import MAX_INPUT
from tests.cli.conftest import is_refused

Run = Callable[..., Any]
Read = Callable[[str], bytes]
_PACKET = "user_message/direct_destination"


@pytest.fixture
def document(run: Run, packet_bytes: Read, tmp_path: Path) -> Path:
    """The JSON of a packet as the program prints it."""
    path = tmp_path / "packet.json"
    path.write_text(run("packet", "-", "--format", "json", stdin=packet_bytes(_PACKET)).out, encoding="utf-8")
    return path


def _edit(document: Path, header: str, **values: object) -> None:
    found = json.loads(document.read_text(encoding="utf-8"))
    found["packet"][header].update(values)
    document.write_text(json.dumps(found), encoding="utf-8")


def test_a_file_gets_the_bytes(run: Run, document: Path, packet_bytes: Read, tmp_path: Path) -> None:
    written = tmp_path / "packet.bin"
    assert run("encode", document, "-o", written) == (0, "", "")
    assert written.read_bytes() == packet_bytes(_PACKET)
    is_refused(run("encode", document, "-o", written), "is there: --force writes over it")
    _edit(document, "user_header", sent_time=1)
    assert run("encode", document, "-o", written, "--force").status == 0
    assert written.read_bytes()[52:56] == b"\1\0\0\0"


def test_a_pipe_gets_the_bytes_and_packet_reads_them(document: Path, packet_bytes: Read) -> None:
    program = [sys.executable, "-m", "msmq_wire"]
    encoded = subprocess.run([*program, "encode", document], check=True, capture_output=True)
    assert encoded.stdout == packet_bytes(_PACKET)
    again = [*program, "packet", "-", "--format", "json"]
    shown = subprocess.run(again, check=True, capture_output=True, input=encoded.stdout)
    assert shown.stdout.decode() == document.read_text(encoding="utf-8")


def test_a_terminal_gets_hex_text_that_packet_reads(
    run: Run, document: Path, packet_bytes: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    class _Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = _Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["encode", str(document)]) == 0
    text = terminal.getvalue()
    monkeypatch.undo()
    assert text.splitlines()[0] == "10 00 03 00 4c 49 4f 52 c0 00 00 00 ff ff ff ff"
    assert bytes.fromhex(text) == packet_bytes(_PACKET)
    shown = run("packet", "-", "--format", "json", stdin=text.encode()).out
    assert shown == document.read_text(encoding="utf-8")


def test_standard_input_is_read(document: Path, run: Run, tmp_path: Path, packet_bytes: Read) -> None:
    written = tmp_path / "out.bin"
    assert run("encode", "-", "-o", written, stdin=document.read_bytes()).status == 0
    assert written.read_bytes() == packet_bytes(_PACKET)


def test_fit_is_proposed_only_where_it_helps(run: Run, document: Path, tmp_path: Path) -> None:
    _edit(document, "message_properties_header", label="x")
    status, out, err = run("encode", document)
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert err.endswith(
        "packet.json: 4 bytes where the length field says 12 at message_properties_header.label: "
        "add --fit to make sizes, counts and bits right\n"
    )
    written = tmp_path / "out.bin"
    assert run("encode", document, "--fit", "-o", written).status == 0
    # PacketSize is 184 where it was 192.
    assert written.read_bytes()[8:12] == b"\xb8\0\0\0"
    _edit(document, "user_header", sent_time=-1)
    err = run("encode", document).err
    assert "-1 is not in 0 to 4294967295 at user_header.sent_time" in err
    assert "--fit" not in err


def test_a_text_that_its_bytes_override_is_told(run: Run, document: Path, tmp_path: Path) -> None:
    _edit(document, "message_properties_header", label="edited", label_raw="cABsAGEAaQBuAAAA")
    status, _, err = run("encode", document, "-o", tmp_path / "out.bin")
    assert status == 0
    assert err == (
        "note: message_properties_header.label is not written, message_properties_header.label_raw wins: "
        "remove that to write the text\n"
    )


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "standard input: the input is empty"),
        (b"[]", "a list where the object belongs that packet --format json prints"),
        (b"LIOR", "this is no JSON: expecting value, line 1, column 1"),
        (b'{"type": "ping"}', "missing: null says that something is not present at packet"),
        (
            b'{"type": "ping", "packet": {"flags": 0}}',
            "missing: null says that something is not present at sig",
        ),
        (b'{"type": "\x1b[31m", "packet": {}}', "this is no JSON: invalid control character"),
        (b'{"type": "\\u001b[31m", "packet": {}}', "no structure is called '\\x1b[31m'"),
    ],
)
def test_what_is_no_packet_is_one_line_and_status_1(run: Run, data: bytes, words: str) -> None:
    status, out, err = run("encode", "-", stdin=data)
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert words in err


def test_a_file_that_is_not_there_and_one_that_is_too_large(run: Run, tmp_path: Path) -> None:
    assert "cannot read it: No such file" in run("encode", tmp_path / "nothing.json").err
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(MAX_INPUT + 1)
    status, _, err = run("encode", large)
    assert (status, err) == (1, f"msmq-wire: {large}: it is larger than 64 MiB, no packet is\n")


def test_what_is_read_is_not_written_over(run: Run, document: Path) -> None:
    is_refused(run("encode", document, "-o", document, "--force"), "is what is read")


def test_a_folder_that_is_not_there_is_one_line(run: Run, document: Path, tmp_path: Path) -> None:
    status, out, err = run("encode", document, "-o", tmp_path / "no" / "out.bin")
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert "cannot write" in err

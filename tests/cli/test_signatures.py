"""Columns and filters about signatures: what they show of a capture, and what they need."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.build_frames import pcap
from fixtures.build_scene import Scene
from msmq_wire import encode
from msmq_wire.sealing.making import MessageSigner
from tests.sealing.sealed_scene import certificate, key, message, sealer_for

Run = Callable[..., Any]
_BLOCKED = (
    "import sys; sys.modules.update(dict.fromkeys(('cryptography', 'Cryptodome')));"
    "from msmq_wire.cli.app import main; sys.exit(main(sys.argv[1:]))"
)


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """A message without a signature, one with, and one whose body was changed on the way."""
    good = encode(message(sign=MessageSigner(key(), certificate())))
    scene = Scene()
    connection = scene.connect()
    for packet in (encode(message()), good, good.replace(b"4711'", b"4712'")):
        connection.send(0, packet)
    connection.close()
    path = tmp_path / "signed.pcap"
    path.write_bytes(pcap(scene.frames))
    return path


def test_signatures_are_judged_where_a_column_asks(capture: Path, run: Run) -> None:
    outcome = run("messages", capture, "--columns", "signature,signed_by", "--format", "jsonl", "--quiet")
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert rows == [
        {"signature": None, "signed_by": None},
        {"signature": "verified", "signed_by": "CN=order service"},
        {"signature": "not verified", "signed_by": "CN=order service"},
    ]


def test_a_sealed_message_without_its_key_is_sealed_and_not_checked(run: Run, tmp_path: Path) -> None:
    scene = Scene()
    connection = scene.connect()
    packet = message(seal=sealer_for(0), sign=MessageSigner(key(), certificate()))
    connection.send(0, encode(packet))
    connection.close()
    path = tmp_path / "sealed.pcap"
    path.write_bytes(pcap(scene.frames))
    asked = ("messages", path, "--columns", "signature", "--format", "jsonl", "--quiet")
    assert run(*asked).out == '{"signature":"sealed, not checked"}\n'
    assert run(*asked, "--filter", "signature == 'sealed, not checked'").out.count("\n") == 1
    assert "1 sealed, not checked (first frame" in run("diagnose", path, "--verify", "-v").out
    assert re.search(r"verdict +sealed, not checked\n", run("decode", path, "--verify").out)
    assert "CNT-VERIFY" not in run("findings", path, "--verify").out


def test_a_filter_finds_what_was_changed_on_the_way(capture: Path, run: Run) -> None:
    asked = ("--filter", "signature == 'not verified'", "--columns", "id", "--format", "jsonl", "--quiet")
    found = json.loads(run("messages", capture, *asked).out)
    every = [json.loads(line)["id"] for line in run("messages", capture, *asked[2:]).out.splitlines()]
    assert found["id"] == every[2]


def test_redaction_hides_them_as_no_signature_fits_what_is_left(capture: Path, run: Run) -> None:
    outcome = run(
        "messages",
        capture,
        "--columns",
        "signature,signed_by",
        "--format",
        "jsonl",
        "--redact",
        "hosts",
        "--quiet",
    )
    assert set(outcome.out.splitlines()) == {'{"signature":null,"signed_by":null}'}


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("--columns", "signature"), ("--filter", "signature == verified")])
def test_without_the_extra_one_line_says_what_is_needed(capture: Path, arguments: tuple[str, ...]) -> None:
    command = [sys.executable, "-c", _BLOCKED, "messages", str(capture), *arguments, "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    needed = 'checking signatures needs cryptography and pycryptodomex: pip install "msmq-wire[unseal]"'
    assert done.stderr == f"msmq-wire: {needed}\n"


@pytest.mark.slow
def test_without_the_extra_all_columns_are_those_that_there_are(capture: Path) -> None:
    command = [
        sys.executable,
        "-c",
        _BLOCKED,
        "messages",
        str(capture),
        "--columns",
        "all",
        "--format",
        "jsonl",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == 3
    assert {"signature", "signed_by"}.isdisjoint(rows[0])
    assert "body_text" in rows[0]


@pytest.mark.parametrize("command", ["findings", "diagnose", "report"])
def test_findings_check_signatures_where_that_is_asked(
    capture: Path, tmp_path: Path, run: Run, command: str
) -> None:
    page = tmp_path / "report.html"
    more: tuple[object, ...] = ("-o", page, "--force") if command == "report" else ("-v",)

    def reported(*arguments: object) -> str:
        outcome = run(command, capture, *more, *arguments)
        assert outcome.status == 0
        return page.read_text("utf-8") if command == "report" else str(outcome.out)

    assert "CNT-VERIFY" not in reported()
    asked = reported("--verify")
    assert "CNT-VERIFY" in asked
    if command == "diagnose":
        assert "Checked here: 1 verified (first frame 5) and 1 not verified (first frame 6)." in asked
        assert "No signature was verified here." in reported()


def test_trees_say_what_a_signature_is_worth_and_whom_its_certificate_names(capture: Path, run: Run) -> None:
    for more in ((), ("--hex",)):
        text = run("decode", capture, "--verify", *more).out
        assert len(re.findall(r"verdict +verified\n", text)) == 1
        assert len(re.findall(r"verdict +not verified\n", text)) == 1
        assert len(re.findall(r"reading +queues as structures, label with its NUL", text)) == 1
        assert len(re.findall(r"subject +CN=order service\n", text)) == 2
        assert len(re.findall(r"not_after +2028-06-19", text)) == 2
        assert len(re.findall(r"key +RSA, 2048 bits", text)) == 2
    assert "verdict" not in run("decode", capture).out
    refused = run("decode", capture, "--verify", "--redact", "hosts")
    assert (refused.status, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert "no signature fits what is left of a redacted message" in refused.err


@pytest.mark.slow
def test_to_ask_without_the_extra_is_one_line(capture: Path) -> None:
    command = [sys.executable, "-c", _BLOCKED, "findings", str(capture), "--verify"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "checking signatures needs cryptography and pycryptodomex" in done.stderr


def test_certificates_that_are_given_vouch_for_signers(capture: Path, run: Run, tmp_path: Path) -> None:
    mine, nobody = tmp_path / "mine.der", tmp_path / "nobody.der"
    mine.write_bytes(certificate())
    nobody.write_bytes(certificate(1024))
    asked = ("messages", capture, "--columns", "trusted_by", "--format", "jsonl", "--quiet")

    def reported(*arguments: object) -> list[Any]:
        return [json.loads(line)["trusted_by"] for line in run(*asked, *arguments).out.splitlines()]

    assert reported() == reported("--trust", nobody) == [None] * 3
    assert reported("--trust", nobody, "--trust", mine).count("CN=order service") == 2
    tree = run("decode", capture, "--trust", nobody, "--verify").out
    assert len(re.findall(r"trusted_by +none of the certificates given", tree)) == 2
    assert "trusted_by" not in run("decode", capture, "--verify").out
    found = run("findings", capture, "--trust", nobody).out
    assert "CNT-TRUST" in found
    assert "CNT-VERIFY" in found
    assert "CNT-TRUST" not in run("findings", capture, "--trust", mine).out


def test_what_is_no_certificate_is_one_line(capture: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("nothing")
    for path, status, said in (
        (tmp_path / "text", 2, "this is no certificate: PEM, with any number of them, and DER are read"),
        (tmp_path / "absent", 1, "--trust: the file cannot be read: No such file or directory"),
    ):
        outcome = run("messages", capture, "--trust", path)
        assert (outcome.status, outcome.out, outcome.err.count("\n")) == (status, "", 1)
        assert said in outcome.err

"""Private keys on the command line: what they open, where they come from, and that nothing prints them."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)

from fixtures.build_frames import pcap
from fixtures.build_scene import Scene
from msmq_wire import build_message, encode
from msmq_wire.capture.reader import CaptureReader
from msmq_wire.detection import Judge
from msmq_wire.records.body_keys import keys_in_force, opening_bodies
from msmq_wire.records.record import Record
from msmq_wire.sealing.making import BodySealer, MessageSigner
from msmq_wire.sealing.opening import BodyOpener
from msmq_wire.wire.types.enumerations import EncryptionAlgorithm
from tests.sealing.sealed_scene import ANOTHER_KEY, BODY, certificate, key, message, sealer_for

Run = Callable[..., Any]
_PASSWORD = "Hush-Passw0rd"
_AES, _RC4 = EncryptionAlgorithm.AES_256, EncryptionAlgorithm.RC4
_PROGRAM = b"MZ" + bytes(58) + b"\x80\0\0\0" + bytes(64) + b"PE\0\0" + bytes(200)


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MSMQ_WIRE_RSA_KEY", raising=False)
    monkeypatch.delenv("MSMQ_WIRE_RSA_KEY_PASSWORD", raising=False)


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """A body in clear, one that is sealed, one signed and sealed, one sealed for somebody else."""
    scene = Scene()
    connection = scene.connect()
    for options in (
        {},
        {"seal": sealer_for(0)},
        {"seal": sealer_for(0), "sign": MessageSigner(key(), certificate())},
        {"seal": sealer_for(1)},
    ):
        connection.send(0, encode(message(**options)))
    connection.close()
    path = tmp_path / "sealed.pcap"
    path.write_bytes(pcap(scene.frames))
    return path


@pytest.fixture
def pem(tmp_path: Path) -> Path:
    return _written(tmp_path / "key.pem", None)


def _written(path: Path, password: str | None) -> Path:
    cipher = NoEncryption() if password is None else BestAvailableEncryption(password.encode())
    if path.suffix == ".pfx":
        data = pkcs12.serialize_key_and_certificates(None, key(), None, None, cipher)
    else:
        data = key().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, cipher)
    path.write_bytes(data)
    return path


def rows(run: Run, *arguments: object) -> list[dict[str, Any]]:
    outcome = run(*arguments, "--format", "jsonl", "--quiet")
    assert outcome.status == 0, outcome.err
    return [json.loads(line) for line in outcome.out.splitlines()]


def opened(run: Run, capture: Path, *arguments: object) -> bool:
    """Whether the keys open what was sealed for them."""
    found = rows(run, "messages", capture, "--columns", "body_text,opened_with", *arguments)
    assert found[0] == {"body_text": BODY.decode(), "opened_with": None}
    assert found[3] == {"body_text": None, "opened_with": None}
    assert found[1] == found[2]
    return bool(found[1] == {"body_text": BODY.decode(), "opened_with": "AES-256 in CBC"})


def test_a_key_opens_what_was_sealed_for_it(run: Run, capture: Path, pem: Path) -> None:
    assert opened(run, capture, "--rsa-key", pem)
    assert not opened(run, capture)
    assert not keys_in_force()


@pytest.mark.parametrize("name", ["key.pem", "key.pfx"])
@pytest.mark.parametrize("how", ["text", "file", "environment", "several"])
def test_a_password_opens_the_file_of_the_key(
    run: Run, capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, how: str
) -> None:
    path = _written(tmp_path / name, _PASSWORD)
    (tmp_path / "words").write_text(f"another\n{_PASSWORD}\n", encoding="utf-8")
    arguments: list[object] = ["--rsa-key", path]
    if how == "environment":
        monkeypatch.setenv("MSMQ_WIRE_RSA_KEY", str(path))
        monkeypatch.setenv("MSMQ_WIRE_RSA_KEY_PASSWORD", _PASSWORD)
        arguments = []
    elif how == "several":
        arguments += ["--rsa-key-password", "another", "--rsa-key-password", _PASSWORD]
    else:
        arguments += ["--rsa-key-password", _PASSWORD if how == "text" else f"@{tmp_path / 'words'}"]
    assert opened(run, capture, *arguments)


@pytest.mark.slow
def test_several_keys_are_tried(run: Run, capture: Path, pem: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.der"
    other.write_bytes(key(2048, 1).private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()))
    found = rows(run, "messages", capture, "--columns", "opened_with", "--rsa-key", pem, "--rsa-key", other)
    assert [row["opened_with"] for row in found] == [None, *["AES-256 in CBC"] * 3]


def test_the_summary_counts_what_was_opened_and_says_why_not(run: Run, capture: Path, pem: Path) -> None:
    err = run("messages", capture, "--rsa-key", pem).err
    assert f"2 of 3 encrypted bodies opened (1 {ANOTHER_KEY})" in err
    assert "encrypted bodies" not in run("messages", capture).err


@pytest.fixture
def doubtful(tmp_path: Path) -> Path:
    """Bodies under RC4: a text, a program and what BodyType calls a text; one under AES."""
    scene = Scene()
    connection = scene.connect()
    for body, algorithm in ((BODY, _RC4), (_PROGRAM, _RC4), (bytes(range(128, 256)), _RC4), (BODY, _AES)):
        seal = BodySealer(key().public_key(), algorithm=algorithm)
        connection.send(0, encode(build_message("DIRECT=OS:a\\private$\\q", body, body_type=8, seal=seal)))
    connection.close()
    path = tmp_path / "doubtful.pcap"
    path.write_bytes(pcap(scene.frames))
    return path


@pytest.mark.slow
def test_what_nothing_confirms_is_doubtful_wherever_it_is_shown(
    run: Run, doubtful: Path, pem: Path, tmp_path: Path
) -> None:
    said = "RC4, doubtful: nothing confirms the body"
    found = rows(run, "messages", doubtful, "--columns", "opened_with", "--rsa-key", pem)
    reported = [row["opened_with"] for row in found]
    assert reported == ["RC4, which its text confirms", said, said, "AES-256 in CBC"]
    tree = run("decode", doubtful, "--rsa-key", pem)
    assert tree.out.count(said) == 2
    in_summary = "4 of 4 encrypted bodies opened, 2 of them doubtful: nothing confirms what RC4 gave"
    for outcome in (tree, run("messages", doubtful, "--rsa-key", pem, "--jobs", "2")):
        assert in_summary in outcome.err
    (exec_,) = [
        one for one in rows(run, "findings", doubtful, "--rsa-key", pem) if one["id"].startswith("BOD")
    ]
    assert (exec_["id"], exec_["caveats"]) == ("BOD-EXEC", [f"opened with {said}"])
    folder = tmp_path / "bodies"
    assert run("messages", doubtful, "--rsa-key", pem, "--bodies", folder).status == 0
    index = [json.loads(line) for line in (folder / "index.jsonl").read_text("utf-8").splitlines()]
    assert [line["opened_with"] for line in index] == reported


@pytest.mark.slow
def test_a_level_that_no_receiver_takes_is_the_reason(run: Run, pem: Path, tmp_path: Path) -> None:
    scene = Scene()
    connection = scene.connect()
    for level in (0, 2):
        packet = message(seal=sealer_for(0))
        assert packet.message_properties_header is not None
        properties = msgspec.structs.replace(packet.message_properties_header, privacy_level=level)
        connection.send(0, encode(msgspec.structs.replace(packet, message_properties_header=properties)))
    connection.close()
    path = tmp_path / "levels.pcap"
    path.write_bytes(pcap(scene.frames))
    err = run("messages", path, "--rsa-key", pem).err
    for level in (0, 2):
        assert f"1 a receiver rejects EB with PrivacyLevel {level:#x} ([MS-MQQB] 3.1.5.8.3)" in err
    assert run("decode", path, "--rsa-key", pem).out.count("not_opened") == 2


@pytest.mark.slow
def test_a_wrong_key_before_the_right_one_hides_nothing(run: Run, pem: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    other.write_bytes(key(2048, 1).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    scene = Scene()
    connection = scene.connect()
    signer = MessageSigner(key(), certificate())
    for _ in range(96):
        seal = BodySealer(key().public_key(), algorithm=_RC4)
        connection.send(0, encode(message(seal=seal, sign=signer)))
    connection.close()
    path = tmp_path / "many.pcap"
    path.write_bytes(pcap(scene.frames))
    keys = ("--rsa-key", other, "--rsa-key", pem)
    found = rows(run, "messages", path, "--columns", "body_text,signature", *keys)
    assert found == [{"body_text": BODY.decode(), "signature": "verified"}] * 96
    assert "CNT-VERIFY" not in run("findings", path, "--verify", *keys).out


def test_a_filter_sees_what_is_inside(run: Run, capture: Path, pem: Path) -> None:
    asked = ("messages", capture, "--columns", "id", "--filter", "body_text ~ 4711")
    assert len(rows(run, *asked)) == 1
    assert len(rows(run, *asked, "--rsa-key", pem)) == 3


@pytest.mark.slow
def test_trees_show_both_the_cipher_text_and_what_was_opened(run: Run, capture: Path, pem: Path) -> None:
    status, out, _ = run("decode", capture, "--rsa-key", pem)
    assert status == 0
    assert len(re.findall(r"message_body +32 bytes +encrypted", out)) == 3
    assert len(re.findall(r"opened +22 bytes +UTF-8 XML", out)) == 2
    assert len(re.findall(r"not_opened +no given key", out)) == 1
    shown = run("decode", capture, "--rsa-key", pem, "--hex").out
    assert shown.count("opened_with") == 2


@pytest.mark.slow
def test_bodies_are_written_open(run: Run, capture: Path, pem: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bodies"
    assert run("messages", capture, "--rsa-key", pem, "--bodies", folder).status == 0
    assert sum(path.read_bytes() == BODY for path in folder.iterdir()) == 3


@pytest.mark.slow
def test_carved_packets_are_opened_too(run: Run, pem: Path, tmp_path: Path) -> None:
    at_rest = tmp_path / "p0000001.mq"
    at_rest.write_bytes(bytes(512) + encode(message(seal=sealer_for(0))) + bytes(512))
    for command in (("messages", "--carve"), ("carve",)):
        found = rows(run, *command, at_rest, "--columns", "opened_with,body_text", "--rsa-key", pem)
        assert {"opened_with": "AES-256 in CBC", "body_text": BODY.decode()} in found


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["rows", "reference"])
def test_findings_judge_what_is_inside(
    run: Run, pem: Path, tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MSMQ_WIRE_ENGINE", engine)
    scene = Scene()
    connection = scene.connect()
    connection.send(0, encode(build_message("DIRECT=OS:a\\private$\\q", _PROGRAM, seal=sealer_for(0))))
    connection.close()
    path = tmp_path / "program.pcap"
    path.write_bytes(pcap(scene.frames))

    def found(*arguments: object) -> list[dict[str, Any]]:
        asked = rows(run, "findings", path, *arguments)
        return [one for one in asked if one["id"].startswith("BOD")]

    assert found() == []
    (one,) = found("--rsa-key", pem)
    assert one["id"] == "BOD-EXEC"
    # The evidence is what lies in the capture.
    (evidence,) = one["evidence"]
    held = path.read_bytes()
    assert base64.b64decode(evidence["data"]) in held
    assert evidence["length"] == len(_PROGRAM) // 16 * 16 + 16


def test_findings_of_batches_are_those_of_records(capture: Path, tmp_path: Path) -> None:
    scene = Scene()
    connection = scene.connect()
    for body in (_PROGRAM, BODY, _PROGRAM):
        for seal in (None, sealer_for(0), sealer_for(1)):
            connection.send(0, encode(build_message("DIRECT=OS:a\\private$\\q", body, seal=seal)))
    connection.close()
    path = tmp_path / "programs.pcap"
    path.write_bytes(pcap(scene.frames))

    def found(columns: bool) -> list[tuple[str, int | None]]:
        judge = Judge()
        with CaptureReader(path, columns=columns) as reader:
            reported = []
            for item in reader.batched():
                reported += judge.feed(item) if isinstance(item, Record) else judge.take(item)
        reported += judge.finish()
        return [(one.id, one.evidence[0].record) for one in reported if one.id.startswith("BOD")]

    assert len(found(columns=False)) == 2
    with opening_bodies(BodyOpener([key()])):
        by_record = found(columns=False)
        assert len(by_record) == 4
        assert found(columns=True) == by_record


@pytest.mark.parametrize("command", ["diagnose", "report"])
def test_what_wrote_the_bodies_is_told_of_opened_ones(
    run: Run, capture: Path, pem: Path, tmp_path: Path, command: str
) -> None:
    more: list[object] = ["-o", tmp_path / "report.html"] if command == "report" else ["-v"]
    outcome = run(command, capture, "--rsa-key", pem, *more)
    assert outcome.status == 0, outcome.err
    text = (tmp_path / "report.html").read_text("utf-8") if command == "report" else outcome.out
    assert "UTF-8 XML" in text
    if command == "diagnose":
        assert "3 message bodies for PUBLIC=31ea4ab9-9264-4d60-b3b4-d1a7b9d49c2e: UTF-8 XML" in text


@pytest.mark.parametrize("where", ["option", "environment"])
def test_nothing_is_opened_where_something_is_redacted(
    run: Run, capture: Path, pem: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["messages", capture, "--redact", "hosts", "--columns", "body_text,opened_with"]
    if where == "option":
        status, out, err = run(*asked, "--rsa-key", pem)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert "--rsa-key opens bodies: it cannot be used with --redact" in err
        return
    monkeypatch.setenv("MSMQ_WIRE_RSA_KEY", str(pem))
    assert [row["opened_with"] for row in rows(run, *asked)] == [None] * 4


def test_what_is_no_key_is_one_line_that_repeats_nothing(run: Run, capture: Path, tmp_path: Path) -> None:
    locked = _written(tmp_path / "Hush.pem", _PASSWORD)
    for arguments, status, said in (
        (["--rsa-key", tmp_path / "Hush-gone.pem"], 1, "--rsa-key: the file cannot be read"),
        (["--rsa-key", capture], 2, "this is no private key"),
        (["--rsa-key", locked], 2, "asks for its password"),
        (["--rsa-key", locked, "--rsa-key-password", "Hush-wrong"], 2, "another password is its own"),
        (["--rsa-key-password", "Hush"], 2, "it opens a file that --rsa-key names"),
        (["--rsa-key", locked, "--rsa-key-password", "@Hush"], 1, "the file cannot be read"),
        (["--rsa-keyHush", "x"], 2, "a secret may be in it"),
        (["--rsa-key-passwordHush", "x"], 2, "a secret may be in it"),
    ):
        outcome = run("messages", capture, *arguments)
        assert (outcome.status, outcome.out, outcome.err.count("\n")) == (status, "", 1), arguments
        assert said in outcome.err
        assert "Hush" not in outcome.err


@pytest.mark.slow
def test_no_row_tree_finding_or_report_has_anything_of_a_key(run: Run, capture: Path, tmp_path: Path) -> None:
    path = _written(tmp_path / "Hush.pfx", _PASSWORD)
    given = ("--rsa-key", path, "--rsa-key-password", _PASSWORD)
    page = tmp_path / "page.html"
    reported = ""
    for command in (
        ("messages", capture, "--columns", "all", "--format", "jsonl"),
        ("decode", capture),
        ("findings", capture),
        ("diagnose", capture),
        ("report", capture, "-o", page),
        ("carve", capture),
    ):
        outcome = run(*command, *given)
        reported += outcome.out + outcome.err
    reported += page.read_text("utf-8")
    numbers = key().private_numbers()
    for secret in (_PASSWORD, "Hush", *(f"{number:x}" for number in (numbers.d, numbers.p, numbers.q))):
        assert secret not in reported


@pytest.mark.slow
def test_without_the_extra_one_line_says_what_is_needed(capture: Path, pem: Path) -> None:
    blocked = (
        "import sys; sys.modules.update(dict.fromkeys(('cryptography', 'Cryptodome')));"
        "from msmq_wire.cli.app import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", blocked, "messages", str(capture), "--rsa-key", str(pem)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    needed = '--rsa-key needs cryptography and pycryptodomex: pip install "msmq-wire[unseal]"'
    assert done.stderr == f"msmq-wire: {needed}\n"

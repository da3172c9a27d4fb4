"""Passwords, NT hashes and keytabs: where they come from, and that nothing ever prints them."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import commands
from tests.effort import share

Run = Callable[..., Any]

_CAPTURES = Path(__file__).resolve().parents[2] / "fixtures" / "rpc_captures"
_NTLM = _CAPTURES / "rpc_ntlm_privacy.pcap"
_KERBEROS = _CAPTURES / "rpc_kerberos_aes128_signed_headers.pcap"
_KEYTAB = _CAPTURES / "rpc_kerberos.keytab"
_PASSWORD = "Passw0rd!"
# [MS-NLMP] 3.3.1: MD4 of the password in UTF-16.
_HASH = "fc525c9683e8fe067095ba2ddc971889"


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("NT_PASSWORD", "NT_HASH", "KEYTAB"):
        monkeypatch.delenv(f"MSMQ_WIRE_{kind}", raising=False)


def opened(run: Run, capture: Path, *arguments: object) -> bool:
    """Whether every call of a capture can be read and every signature is right."""
    status, out, _ = run("calls", capture, "--format", "jsonl", *arguments)
    rows = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    assert rows
    return all(not row["sealed"] and row["verified"] for row in rows)


@pytest.mark.parametrize("arguments", [("--nt-password", _PASSWORD), ("--nt-hash", _HASH)])
def test_a_secret_opens_calls(run: Run, arguments: tuple[str, str]) -> None:
    assert opened(run, _NTLM, *arguments)
    assert not opened(run, _NTLM)


def test_a_hash_may_stand_after_that_of_lan_manager(run: Run) -> None:
    assert opened(run, _NTLM, "--nt-hash", f"aad3b435b51404eeaad3b435b51404ee:{_HASH}")


def test_a_keytab_opens_calls(run: Run) -> None:
    assert opened(run, _KERBEROS, "--keytab", _KEYTAB)


def test_several_secrets_are_tried(run: Run) -> None:
    assert opened(run, _NTLM, "--nt-password", "other", "--nt-password", _PASSWORD, "--keytab", _KEYTAB)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_file_has_one_password_a_line(run: Run, tmp_path: Path, encoding: str, end: str) -> None:
    file = tmp_path / "passwords.txt"
    file.write_bytes(f"other{end or chr(10)}{_PASSWORD}{end}".encode(encoding))
    assert opened(run, _NTLM, "--nt-password", f"@{file}")


def test_a_file_may_hold_hashes(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "hashes.txt"
    file.write_text(f"{'0' * 32}\n{_HASH}\n", encoding="utf-8")
    assert opened(run, _NTLM, "--nt-hash", f"@{file}")


@pytest.mark.parametrize(
    ("name", "value", "capture"),
    [("NT_PASSWORD", _PASSWORD, _NTLM), ("NT_HASH", _HASH, _NTLM), ("KEYTAB", str(_KEYTAB), _KERBEROS)],
)
def test_the_environment_counts_where_no_option_is_given(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str, value: str, capture: Path
) -> None:
    monkeypatch.setenv(f"MSMQ_WIRE_{name}", value)
    assert opened(run, capture)
    option = f"--{name.lower().replace('_', '-')}"
    if name != "KEYTAB":
        assert not opened(run, capture, option, "0" * 32)


def test_a_wrong_password_is_told_once_for_all_connections(run: Run) -> None:
    status, out, err = run("calls", _NTLM, "--nt-password", "Wrong.Secret")
    assert status == 0
    assert "sealed" in out
    assert err.count("NTLM: the secret is not right for CORP\\alice (2 connections)") == 1
    assert "Wrong.Secret" not in out + err


def test_a_keytab_without_the_key_says_which_is_needed(run: Run) -> None:
    err = run("calls", _KERBEROS, "--nt-hash", "0" * 32).err
    assert "no key given for host/srv01.corp.example@CORP.EXAMPLE" in err


@pytest.mark.parametrize("command", ["calls", "decode", "messages"])
@pytest.mark.parametrize("text", ["Hush-not-a-hash", "0" * 31, "xyz:" + "0" * 32, ""])
def test_what_is_no_hash_is_bad_usage_and_not_repeated(run: Run, command: str, text: str) -> None:
    status, out, err = run(command, _NTLM, "--nt-hash", text)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "32 hexadecimal digits" in err
    assert not text or text not in err


def test_what_is_no_keytab_is_bad_usage(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "Hush.keytab"
    for data in (b"", b"Hush", _KEYTAB.read_bytes()[:40]):
        file.write_bytes(data)
        status, out, err = run("calls", _KERBEROS, "--keytab", file)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert "Hush" not in err


@pytest.mark.parametrize(
    "arguments",
    [("--nt-password", "@Hush"), ("--nt-hash", "@Hush"), ("--keytab", "Hush"), ("--keytab", "Hush\0")],
)
def test_a_file_that_cannot_be_read_is_one_line_without_its_name(
    run: Run, arguments: tuple[str, str]
) -> None:
    status, out, err = run("calls", _NTLM, *arguments)
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert arguments[0] in err
    assert "Hush" not in err


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xff\xfe\x00", b"\x80abc"])
def test_a_file_without_text_is_bad_usage(run: Run, tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "Hush.txt"
    file.write_bytes(data)
    status, out, err = run("calls", _NTLM, "--nt-password", f"@{file}")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "Hush" not in err


def test_two_at_signs_begin_a_password_with_one(run: Run) -> None:
    status, _, err = run("calls", _NTLM, "--nt-password", "@@Hush")
    assert status == 0
    assert "the secret is not right" in err
    assert "Hush" not in err


def test_without_the_extra_one_line_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("msmq_wire.rpc.unseal.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "msmq_wire.rpc.unseal.negotiation", None)
    status, out, err = run("calls", _NTLM, "--nt-password", _PASSWORD)
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert 'pip install "msmq-wire[unseal]"' in err
    assert run("calls", _NTLM).status == 0


@pytest.mark.parametrize(
    "option",
    [
        "--nt-passwordHush",
        "--nt-password-Hush",
        "--nt-passwordHush hush=Hush",
        "--nt-passwordHush\x07",
        "--nt_passwordHush",
        "--NT-PasswordHush",
        "--nt-pasWordHush",
        "--ntHush",
        "-nt-passwordHush",
        "--passwordHush",
        "--passwdHush",
        f"--nt-hash{'0' * 27}Hush",
        "--hashHush",
        "--keytabHush",
        "--nt-password-fileHush",
        "--nt-hash-fileHush",
    ],
)
@pytest.mark.parametrize("where", share(["calls", "packet", "spark run", ""], 2))
def test_an_unknown_option_that_may_hold_a_secret_is_not_repeated(run: Run, option: str, where: str) -> None:
    status, out, err = run(*where.split(), option, _NTLM)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "Hush" not in err
    assert "--nt-password @FILE" in err


@pytest.mark.parametrize("option", ["--nothing", "--formt", "--hsh", "--nt-password-file", "-x"])
def test_another_unknown_option_is_named(run: Run, option: str) -> None:
    assert f"No such option: {option}" in run("calls", option, _NTLM).err


def _options() -> list[Any]:
    """Every option of every command whose name says that a secret is its value."""
    found = []
    for name, command in commands().items():
        for option in command.whole.params:
            names = " ".join(option.opts)
            if re.search("password|hash|secret|token|key", names) and option.metavar != "FILE":
                found.append(pytest.param(getattr(option, "help", ""), id=f"{name} {names}"))
    return found


@pytest.mark.parametrize("words", _options())
def test_the_help_says_who_sees_a_secret_and_what_to_do_instead(words: str) -> None:
    assert "process list" in words
    assert "@FILE" in words
    assert "MSMQ_WIRE_" in words


def test_the_walk_finds_the_options() -> None:
    assert {"calls --nt-password", "decode --nt-hash"} <= {one.id for one in _options()}


@pytest.mark.parametrize("command", ["calls", "decode", "messages", "export"])
def test_the_help_shows_no_secret_of_the_environment(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    for kind in ("NT_PASSWORD", "NT_HASH", "KEYTAB"):
        monkeypatch.setenv(f"MSMQ_WIRE_{kind}", "Hush")
    status, out, err = run(command, "--help")
    assert status == 0
    assert "--nt-password" in out
    assert "Hush" not in out + err

"""What opens sealed calls comes from files, and errors never say what is in them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

from msmq_wire.errors import MsmqWireError
from msmq_wire.records.body_keys import keys_in_force
from msmq_wire.spark.key_options import body_opener_of, negotiator_of, use_body_keys
from msmq_wire.spark.read_options import ReadOptions
from tests.sealing.sealed_scene import key

SECRET = "correct horse battery staple"


def refusal(options: ReadOptions) -> str:
    with pytest.raises(MsmqWireError) as error:
        negotiator_of(options)
    (line,) = str(error.value).splitlines()
    assert SECRET not in line
    return line


def test_without_keys_there_is_one_that_opens_nothing() -> None:
    assert negotiator_of(ReadOptions()) is not None


def test_without_the_extra_there_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "msmq_wire.rpc.unseal.negotiation", None)
    assert negotiator_of(ReadOptions()) is None
    path = tmp_path / "passwords"
    path.write_text(SECRET)
    line = refusal(ReadOptions(nt_password_file=str(path)))
    assert (
        line == 'opening sealed calls needs cryptography and pycryptodomex: pip install "msmq-wire[unseal]"'
    )


def test_passwords_stand_one_a_line(tmp_path: Path) -> None:
    path = tmp_path / "passwords"
    path.write_bytes(b"\xef\xbb\xbf" + SECRET.encode() + b"\r\n\r\nother\n")
    assert negotiator_of(ReadOptions(nt_password_file=str(path))) is not None


@pytest.mark.parametrize("option", ["nt_password_file", "nt_hash_file", "keytabs"])
@pytest.mark.parametrize("path", ["gone", ".", "no\0path", SECRET])
def test_a_file_that_cannot_be_read_is_told_by_its_option(option: str, path: str) -> None:
    names = {"nt_password_file": "ntPasswordFile", "nt_hash_file": "ntHashFile", "keytabs": "keytab"}
    values = {option: (path,) if option == "keytabs" else path}
    line = refusal(ReadOptions(**values))  # type: ignore[arg-type]  # one of three options
    assert line.startswith(f"{names[option]}: the file cannot be read: ")


def test_a_file_of_passwords_is_text(tmp_path: Path) -> None:
    path = tmp_path / "passwords"
    path.write_bytes(b"\xff\xfe" + SECRET.encode())
    assert refusal(ReadOptions(nt_password_file=str(path))) == "ntPasswordFile: the file is no text"


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "keytab"
    with path.open("wb") as file:
        file.truncate((1 << 24) + 1)
    assert refusal(ReadOptions(keytabs=(str(path),))) == "keytab: the file is larger than 16 MiB"


@pytest.mark.parametrize("option", ["nt_hash_file", "keytabs"])
def test_a_file_that_holds_no_key_is_an_error(option: str, tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(f"{SECRET}\n")
    values = {option: (str(path),) if option == "keytabs" else str(path)}
    assert refusal(ReadOptions(**values))  # type: ignore[arg-type]  # one of two options


@pytest.fixture
def private_key(tmp_path: Path) -> Path:
    cipher = BestAvailableEncryption(SECRET.encode())
    path = tmp_path / "key.pem"
    path.write_bytes(key().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, cipher))
    return path


def closed(options: ReadOptions) -> str:
    with pytest.raises(MsmqWireError) as error:
        body_opener_of(options)
    (line,) = str(error.value).splitlines()
    assert SECRET not in line
    return line


def test_private_keys_count_for_what_follows_and_no_longer(private_key: Path, tmp_path: Path) -> None:
    words = tmp_path / "words"
    words.write_text(f"another\n{SECRET}\n")
    use_body_keys(ReadOptions(rsa_keys=(str(private_key),), rsa_key_password_file=str(words)))
    assert keys_in_force()
    use_body_keys(ReadOptions())
    assert not keys_in_force()


def test_a_private_key_that_does_not_open_is_told_by_its_option(private_key: Path, tmp_path: Path) -> None:
    words = tmp_path / "words"
    words.write_text("another\n")
    assert (
        closed(ReadOptions(rsa_keys=(str(private_key),))) == "rsaKey: the private key asks for its password"
    )
    line = closed(ReadOptions(rsa_keys=(str(private_key),), rsa_key_password_file=str(words)))
    assert line.startswith("rsaKey: this is no private key, or another password is its own")
    assert closed(ReadOptions(rsa_keys=(SECRET,))).startswith("rsaKey: the file cannot be read: ")
    gone = ReadOptions(rsa_keys=(str(private_key),), rsa_key_password_file=SECRET)
    assert closed(gone).startswith("rsaKeyPasswordFile: the file cannot be read: ")


def test_without_the_extra_private_keys_are_refused(
    monkeypatch: pytest.MonkeyPatch, private_key: Path
) -> None:
    monkeypatch.setitem(sys.modules, "msmq_wire.sealing.opening", None)
    line = closed(ReadOptions(rsa_keys=(str(private_key),)))
    assert line == 'opening bodies needs cryptography and pycryptodomex: pip install "msmq-wire[unseal]"'

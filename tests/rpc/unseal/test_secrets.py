"""Secrets as a user gives them, and nowhere to be seen afterwards."""

from __future__ import annotations

import pickle

import pytest

from msmq_wire.errors import DecodeError
from msmq_wire.rpc.unseal.keytab import KeytabEntry
from msmq_wire.rpc.unseal.secrets import Secrets, nt_hash, parse_nt_hash

_HASH = "a4f49c406510bdcab6824ee7c30fd852"
_LM = "aad3b435b51404eeaad3b435b51404ee"


@pytest.mark.parametrize("text", [_HASH, _HASH.upper(), f"{_LM}:{_HASH}", f":{_HASH}", f" {_HASH}\n"])
def test_an_nt_hash_is_read_in_the_forms_tools_print(text: str) -> None:
    assert parse_nt_hash(text) == bytes.fromhex(_HASH)


@pytest.mark.parametrize(
    "text",
    ["", "hunter2", _HASH[:-1], _HASH + "00", f"{_HASH}:", f"user:{_HASH}", f"{_LM}:{_LM}:{_HASH}", "g" * 32],
)
def test_a_text_that_is_no_hash_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(DecodeError) as caught:
        parse_nt_hash(text)
    assert caught.value.code == "nt-hash"
    assert not text.strip() or text not in f"{caught.value!r} {caught.value}"


def test_a_hash_with_spaces_between_its_digits_is_refused() -> None:
    with pytest.raises(DecodeError):
        parse_nt_hash(_HASH[:30] + "  ")


def test_passwords_and_hashes_are_gathered_once() -> None:
    secrets = Secrets.of(["Password", "Password"], [_HASH, f"{_LM}:{_HASH}"])
    assert secrets.nt_hashes == (nt_hash("Password"),)


def test_keytabs_are_gathered_and_a_broken_one_is_an_error() -> None:
    record = bytes.fromhex("0001 0001 43 0001 61 00000001 00000000 02 0017 0001 ff")
    keytab = b"\x05\x02" + len(record).to_bytes(4, "big") + record
    assert Secrets.of(keytabs=[keytab]).keys == (KeytabEntry("a@C", 2, 23, b"\xff"),)
    with pytest.raises(DecodeError):
        Secrets.of(keytabs=[b"not a keytab"])


def test_a_repr_counts_and_shows_nothing() -> None:
    secrets = Secrets.of(["Password"], keytabs=[])
    assert repr(secrets) == "Secrets(nt_hashes: 1, keys: 0)"
    assert dict(secrets.__rich_repr__()) == {"nt_hashes": 1, "keys": 0}


def test_secrets_travel_to_other_processes() -> None:
    secrets = Secrets((bytes(16),), (KeytabEntry("a@C", 2, 23, bytes(16)),))
    assert pickle.loads(pickle.dumps(secrets)) == secrets


def test_a_password_outside_unicode_scalar_values_has_a_hash() -> None:
    assert len(nt_hash("\ud800")) == 16

"""Kerberos encryption against [RFC 3961] A.1, [RFC 3962] B and [RFC 4757] 2."""

from __future__ import annotations

import hashlib

import pytest

from msmq_wire.rpc.unseal.kerberos_crypto import AesUsage, derive_key, etype_name, n_fold, usage_of
from msmq_wire.rpc.unseal.secrets import nt_hash

_TERIYAKI = b"chicken teriyaki"
_TEXT = b"I would like the General Gau's Chicken, please, and wonton soup."


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        (b"012345", "be072631276b1955"),
        (b"password", "78a07b6caf85fa"),
        (b"Rough Consensus, and Running Code", "bb6ed30870b7f0e0"),
        (b"password", "59e4a8ca7c0385c3c37b3f6d2000247cb6e6bd5b3e"),
        (b"MASSACHVSETTS INSTITVTE OF TECHNOLOGY", "db3b0d8f0b061e603282b308a50841229ad798fab9540c1b"),
        (b"Q", "518a54a2 15a8452a 518a54a2 15a8452a 518a54a2 15"),
        (b"ba", "fb25d531ae8974499f52fd92ea9857c4ba24cf297e"),
        (b"kerberos", "6b65726265726f73"),
        (b"kerberos", "6b65726265726f737b9b5b2b93132b93"),
        (b"kerberos", "8372c236344e5f1550cd0747e15d62ca7a5a3bcea4"),
    ],
)
def test_a_text_folds_as_the_document_says(text: bytes, folded: str) -> None:
    expected = bytes.fromhex(folded)
    assert n_fold(text, len(expected)) == expected


@pytest.mark.parametrize(
    ("size", "stretched", "key"),
    [
        (16, "cdedb5281bb2f801565a1122b2563515", "42263c6e89f4fc28b8df68ee09799f15"),
        (
            32,
            "cdedb5281bb2f801565a1122b25635150ad1f7a04bb9f3a333ecc0e2e1f70837",
            "fe697b52bc0d3ce14432ba036a92e65bbb52280990a2fa27883998d72af30161",
        ),
    ],
)
def test_the_key_of_a_password_of_the_document_is_derived(size: int, stretched: str, key: str) -> None:
    assert hashlib.pbkdf2_hmac("sha1", b"password", b"ATHENA.MIT.EDUraeburn", 1, size).hex() == stretched
    assert derive_key(bytes.fromhex(stretched), b"kerberos").hex() == key


@pytest.mark.parametrize(
    ("size", "sealed"),
    [
        (17, "c6353568f2bf8cb4d8a580362da7ff7f97"),
        (31, "fc00783e0efdb2c1d445d4c8eff7ed2297687268d6ecccc0c07b25e25ecfe5"),
        (32, "39312523a78662d5be7fcbcc98ebf5a897687268d6ecccc0c07b25e25ecfe584"),
        (
            47,
            "97687268d6ecccc0c07b25e25ecfe584b3fffd940c16a18c1b5549d2f838029e39312523a78662d5be7fcbcc98ebf5",
        ),
        (
            48,
            "97687268d6ecccc0c07b25e25ecfe5849dad8bbb96c4cdc03bc103e1a194bbd839312523a78662d5be7fcbcc98ebf5a8",
        ),
        (
            64,
            "97687268d6ecccc0c07b25e25ecfe58439312523a78662d5be7fcbcc98ebf5a8"
            "4807efe836ee89a526730dbc2f7bc8409dad8bbb96c4cdc03bc103e1a194bbd8",
        ),
    ],
)
def test_a_text_of_the_document_opens_in_cts_mode(
    size: int, sealed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = AesUsage(bytes(16), 0)
    monkeypatch.setattr(usage, "_encryption_key", _TERIYAKI)
    assert usage.open(bytes.fromhex(sealed)) == _TEXT[:size]


def test_the_nt_hash_of_the_document_comes_out() -> None:
    assert nt_hash("foo").hex() == "ac8e657f83df82beea5d43bdaf7800cc"


@pytest.mark.parametrize("etype", [17, 18, 23])
@pytest.mark.parametrize("size", range(0, 50))
def test_bytes_that_nobody_encrypted_do_not_open(etype: int, size: int) -> None:
    usage = usage_of(etype, bytes(32 if etype == 18 else 16), 2)
    assert usage is not None
    assert usage.decrypt(bytes(size)) is None


def test_a_key_of_another_size_and_an_unknown_type_have_no_usage() -> None:
    assert usage_of(17, bytes(15), 2) is None
    assert usage_of(3, bytes(8), 2) is None
    assert (etype_name(3), etype_name(99)) == ("des-cbc-md5", "encryption type 99")

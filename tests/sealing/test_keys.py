"""Who signs and for whom is sealed: keys with their certificates, from what OpenSSL and Windows write."""

from __future__ import annotations

import contextlib

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    pkcs12,
)
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.errors import MsmqWireError
from msmq_wire.sealing.keys import read_identity, read_private_keys, read_public_key
from tests.sealing.sealed_scene import certificate, key

_CERTIFICATE = x509.load_der_x509_certificate(certificate())
_CERTIFICATE_PEM = _CERTIFICATE.public_bytes(Encoding.PEM)
_KEY_PEM = key().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
_OTHER_PEM = x509.load_der_x509_certificate(certificate(1024)).public_bytes(Encoding.PEM)


@pytest.mark.parametrize(
    "data",
    [_KEY_PEM + _CERTIFICATE_PEM, _CERTIFICATE_PEM + _OTHER_PEM + _KEY_PEM],
    ids=["key first", "among others"],
)
def test_a_certificate_stands_with_its_key_in_pem(data: bytes) -> None:
    found, own = read_identity(data)
    assert found.private_numbers() == key().private_numbers()
    assert own == certificate()


@pytest.mark.slow
@pytest.mark.parametrize("password", [None, b"a password"])
def test_a_certificate_stands_with_its_key_in_pfx(password: bytes | None) -> None:
    cipher = NoEncryption() if password is None else BestAvailableEncryption(password)
    data = pkcs12.serialize_key_and_certificates(b"me", key(), _CERTIFICATE, None, cipher)
    found, own = read_identity(data, [b"another", *([password] if password else [])])
    assert found.private_numbers() == key().private_numbers()
    assert own == certificate()


@pytest.mark.parametrize("data", [_KEY_PEM, _KEY_PEM + _OTHER_PEM], ids=["none", "another"])
def test_a_key_without_its_certificate_signs_nothing(data: bytes) -> None:
    with pytest.raises(MsmqWireError, match="no certificate of the private key is beside it"):
        read_identity(data)


@pytest.mark.parametrize(
    "data",
    [
        certificate(),
        _CERTIFICATE_PEM,
        key().public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        key().public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        key().public_key().public_bytes(Encoding.PEM, PublicFormat.PKCS1),
    ],
    ids=["certificate, DER", "certificate, PEM", "key, PEM", "key, DER", "key, PKCS #1"],
)
def test_a_body_is_sealed_for_a_certificate_or_a_public_key(data: bytes) -> None:
    assert read_public_key(data).public_numbers() == key().public_key().public_numbers()


_CURVE = ec.generate_private_key(ec.SECP256R1()).public_key()


@pytest.mark.parametrize(
    "data",
    [b"", b"nothing", _KEY_PEM, _CURVE.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)],
    ids=["empty", "text", "private key", "key of a curve"],
)
def test_what_is_no_public_rsa_key_is_one_line(data: bytes) -> None:
    with pytest.raises(MsmqWireError, match=r"^this is no certificate and no public RSA key"):
        read_public_key(data)


@pytest.mark.slow
def test_each_file_has_its_key_and_any_of_the_passwords() -> None:
    locked = key().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"one"))
    found = read_private_keys([_KEY_PEM, locked], [b"two", b"one"])
    assert [one.private_numbers() for one in found] == [key().private_numbers()] * 2
    with pytest.raises(MsmqWireError, match="another password is its own"):
        read_private_keys([locked], [b"two"])


@pytest.mark.slow
@given(data=st.binary(max_size=200), place=st.integers(0, len(certificate()) - 1))
def test_no_bytes_raise_anything_else(data: bytes, place: int) -> None:
    damaged = certificate()[:place] + data + certificate()[place:]
    for given_ in (data, damaged, _KEY_PEM + data, _CERTIFICATE_PEM + data + _KEY_PEM):
        for read in (read_public_key, read_identity):
            with contextlib.suppress(MsmqWireError):
                read(given_)

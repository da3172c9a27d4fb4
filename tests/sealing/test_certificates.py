"""Certificates that somebody trusts: which ones they vouch for, and that OpenSSL says the same."""

from __future__ import annotations

import datetime
import subprocess
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire import encode
from msmq_wire.errors import MsmqWireError
from msmq_wire.records.record import FoundPacket
from msmq_wire.records.signatures import signature, trusted_by, trusting
from msmq_wire.sealing.certificates import TrustedCertificates
from msmq_wire.sealing.keys import read_certificates
from msmq_wire.sealing.making import MessageSigner
from msmq_wire.sealing.verifying import Verifier
from tests.sealing.sealed_scene import FROM, UNTIL, key, message

_CURVE = ec.generate_private_key(ec.SECP256R1())


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def issued(
    subject: str = "order service",
    issuer: str = "authority",
    *,
    number: int = 0,
    by: int = 1,
    ca: bool | None = False,
) -> x509.Certificate:
    """A certificate for the key of a number, signed with that of another; ``ca`` None: no extensions."""
    builder = x509.CertificateBuilder().subject_name(_name(subject)).issuer_name(_name(issuer))
    builder = builder.public_key(key(2048, number).public_key()).serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(FROM).not_valid_after(UNTIL)
    if ca is not None:
        builder = builder.add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    return builder.sign(key(2048, by), hashes.SHA256())


_AUTHORITY = issued("authority", number=1, ca=True)
_LEAF = issued()
_CASES = {
    "issued by it": (_AUTHORITY, _LEAF, True),
    "itself": (_LEAF, _LEAF, True),
    "the authority itself": (_AUTHORITY, _AUTHORITY, True),
    "issued by a key of another": (_AUTHORITY, issued(by=2), False),
    "of another issuer": (_AUTHORITY, issued(issuer="another"), False),
    "issued by what is no authority": (issued("authority", number=1, ca=False), _LEAF, False),
    "issued by what says nothing of it": (issued("authority", number=1, ca=None), _LEAF, False),
}


def der(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.DER)


@pytest.mark.parametrize("name", _CASES)
def test_a_certificate_vouches_for_itself_and_what_it_issued(name: str) -> None:
    given_, certificate, fits = _CASES[name]
    subject = given_.subject.rfc4514_string() if fits else ""
    trusted = TrustedCertificates([issued("nobody", number=2, ca=True), given_])
    assert [trusted.by(der(certificate)) for _ in range(2)] == [subject, subject]
    assert TrustedCertificates([]).by(der(certificate)) == ""


@pytest.mark.needs("openssl")
@pytest.mark.parametrize("name", _CASES)
def test_openssl_says_the_same(name: str, tmp_path: Path) -> None:
    given_, certificate, fits = _CASES[name]
    for stem, one in (("given", given_), ("leaf", certificate)):
        (tmp_path / f"{stem}.pem").write_bytes(one.public_bytes(Encoding.PEM))
    at = int((FROM + datetime.timedelta(days=1)).timestamp())
    done = subprocess.run(
        ["openssl", "verify", "-partial_chain", "-attime", str(at), "-CAfile", "given.pem", "leaf.pem"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode == 0) == fits, done.stderr


def test_a_check_and_a_column_say_who_vouches() -> None:
    packet = message(sign=MessageSigner(key(), der(_LEAF)))
    record = FoundPacket(1, "", encode(packet), (1,), 0, "", "", None, 0).record()
    for trusted, said, shown in (
        (None, None, None),
        (TrustedCertificates([]), "", None),
        (TrustedCertificates([_AUTHORITY]), "CN=authority", "CN=authority"),
    ):
        found = Verifier(trusted).check(packet)
        assert found is not None
        assert (found.verdict, found.trusted_by) == ("verified", said)
        with trusting(trusted):
            assert (signature(record), trusted_by(record)) == ("verified", shown)
    assert trusted_by(record) is None


def test_files_hold_one_in_der_or_any_number_in_pem() -> None:
    both = b"".join(one.public_bytes(Encoding.PEM) for one in (_AUTHORITY, _LEAF))
    assert read_certificates(both) == [_AUTHORITY, _LEAF]
    assert read_certificates(der(_LEAF)) == [_LEAF]
    for data in (b"", b"nothing", both[:200]):
        with pytest.raises(MsmqWireError, match=r"^this is no certificate: PEM, with any number"):
            read_certificates(data)


@given(data=st.binary(max_size=50), place=st.integers(0, 400), other=st.booleans())
def test_no_bytes_raise(data: bytes, place: int, other: bool) -> None:
    whole = der(_LEAF)
    curve = x509.CertificateBuilder().subject_name(_name("a")).issuer_name(_name("authority"))
    curve = curve.public_key(_CURVE.public_key()).serial_number(5).not_valid_before(FROM)
    signed = curve.not_valid_after(UNTIL).sign(_CURVE, hashes.SHA256())
    trusted = TrustedCertificates([_AUTHORITY, signed])
    assert trusted.by(data) == ""
    trusted.by(whole[:place] + data + whole[place + other * len(data) :])
    assert trusted.by(der(signed)) == "CN=a"

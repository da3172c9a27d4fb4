"""Encrypted bodies: opened with the owner's key and said how; without it one line, and nothing of a key."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates
from hypothesis import given, settings
from hypothesis import strategies as st

from msmq_wire import decode, encode, inspect
from msmq_wire.errors import EncodeError, MsmqWireError
from msmq_wire.sealing.ciphers import KEY_SIZES
from msmq_wire.sealing.keys import read_private_key
from msmq_wire.sealing.making import BodySealer, MessageSigner
from msmq_wire.sealing.opening import BodyOpener, Opening
from msmq_wire.sealing.simple_blob import SimpleBlob
from msmq_wire.sealing.verifying import Verifier
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.enumerations import EncryptionAlgorithm, PrivacyLevel
from tests.sealing.sealed_scene import ANOTHER_KEY, BODY, certificate, key, message, sealer_for

OPENED = {
    EncryptionAlgorithm.AES_128: "AES-128 in CBC",
    EncryptionAlgorithm.AES_192: "AES-192 in CBC",
    EncryptionAlgorithm.AES_256: "AES-256 in CBC",
    EncryptionAlgorithm.RC2: "RC2 in CBC, 128 effective bits",
    EncryptionAlgorithm.RC4: "RC4, which its text confirms",
}


_KEYS = Path(__file__).resolve().parents[2] / "fixtures" / "keys"
_OTHER = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
_PLAIN = key().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def sealed(
    algorithm: int = EncryptionAlgorithm.AES_256, size: int | None = None, bits: int = 2048, **more: Any
) -> UserMessage:
    packet = message(seal=BodySealer(key(bits).public_key(), algorithm=algorithm, key_size=size), **more)
    read = decode(encode(packet))
    assert isinstance(read, UserMessage)
    return read


def opened(packet: UserMessage, *bits: int) -> Opening:
    found = BodyOpener([key(one) for one in bits or (2048,)]).open(packet)
    assert found is not None
    return found


@pytest.mark.parametrize("bits", [1024, 2048])
@pytest.mark.parametrize("algorithm", list(OPENED))
def test_every_cipher_is_opened(algorithm: EncryptionAlgorithm, bits: int) -> None:
    packet = sealed(algorithm, bits=bits)
    assert inspect(encode(packet)).anomalies == ()
    assert opened(packet, 1024, 2048) == Opening(body=BODY, how=OPENED[algorithm])


@pytest.mark.parametrize("algorithm", [EncryptionAlgorithm.RC2, EncryptionAlgorithm.RC4])
@pytest.mark.parametrize("size", sorted(KEY_SIZES[EncryptionAlgorithm.RC2]))
def test_short_keys_open_what_they_sealed(algorithm: int, size: int) -> None:
    packet = sealed(algorithm, size)
    assert opened(packet).body == BODY
    properties = packet.message_properties_header
    assert properties is not None
    assert properties.privacy_level == (PrivacyLevel.BITS_40 if size == 5 else PrivacyLevel.BITS_128)


def test_what_is_signed_and_sealed_is_verified_when_it_is_opened() -> None:
    packet = sealed(sign=MessageSigner(key(), certificate()))
    closed = Verifier().check(packet)
    assert closed is not None
    assert closed.verdict == "sealed, not checked"
    found = Verifier().check(packet, opened=opened(packet))
    assert found is not None
    assert (found.verdict, found.reading and found.reading.body) == ("verified", "opened")


def with_security(packet: UserMessage, **data: Any) -> UserMessage:
    header = packet.security_header
    assert header is not None
    inside = msgspec.structs.replace(header.security_data, **data)
    return msgspec.structs.replace(
        packet, security_header=msgspec.structs.replace(header, security_data=inside)
    )


def with_properties(packet: UserMessage, **more: Any) -> UserMessage:
    header = packet.message_properties_header
    assert header is not None
    return msgspec.structs.replace(packet, message_properties_header=msgspec.structs.replace(header, **more))


def test_what_cannot_be_opened_says_why_in_one_line() -> None:
    packet = sealed()
    for altered, why in (
        (
            with_properties(packet, encryption_algorithm=7),
            "EncryptionAlgorithm 0x7 is none of [MS-MQMQ] 2.2.19.3",
        ),
        (with_properties(packet, encryption_algorithm=0x660E), "the session key is for 0x6610, not 0x660e"),
        (with_security(packet, encryption_key=b""), "EncryptionKey is no SIMPLEBLOB"),
        (with_security(packet, encryption_key=bytes(268)), "EncryptionKey is no SIMPLEBLOB"),
        (
            with_properties(packet, message_body=bytes(31)),
            "the session key opens, but no padding of the body fits: it was changed",
        ),
    ):
        assert opened(altered) == Opening(why=why)
    for keys in ([], [key(1024)], [key(2048, 1)]):
        found = BodyOpener(keys).open(message(seal=sealer_for(0)))
        assert found == Opening(why=ANOTHER_KEY)
    assert BodyOpener([key()]).open(message()) is None


def test_an_empty_cipher_text_opens_to_nothing() -> None:
    found = opened(with_properties(sealed(), message_body=b""))
    assert found.body is None


def test_what_no_cipher_takes_is_not_made() -> None:
    with pytest.raises(EncodeError, match="no EncryptionAlgorithm is 0x1"):
        BodySealer(key().public_key(), algorithm=1)
    with pytest.raises(EncodeError, match="no key of 4 bytes"):
        BodySealer(key().public_key(), algorithm=EncryptionAlgorithm.RC4, key_size=4)
    with pytest.raises(EncodeError, match="no HashAlgorithm is 0x1"):
        MessageSigner(key(), certificate(), hash_algorithm=1)


@pytest.mark.needs("openssl")
def test_openssl_decrypts_the_session_key_and_with_it_the_body(tmp_path: Path) -> None:
    packet = sealed()
    assert packet.security_header is not None
    assert packet.message_properties_header is not None
    blob = SimpleBlob.parse(bytes(packet.security_header.security_data.encryption_key))
    assert blob is not None
    pem = key().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    body = bytes(packet.message_properties_header.message_body)
    for name, content in {"key.pem": pem, "wrapped": blob.encrypted_key[::-1], "body": body}.items():
        (tmp_path / name).write_bytes(content)
    command = "openssl pkeyutl -decrypt -inkey key.pem -in wrapped -out session"
    subprocess.run(command.split(), cwd=tmp_path, check=True, capture_output=True)
    session = (tmp_path / "session").read_bytes().hex()
    command = f"openssl enc -d -aes-256-cbc -K {session} -iv {bytes(16).hex()} -in body"
    done = subprocess.run(command.split(), cwd=tmp_path, check=True, capture_output=True)
    assert done.stdout == BODY


@pytest.mark.slow
@settings(max_examples=200)
@given(st.binary(max_size=300), st.binary(max_size=64), st.sampled_from(sorted(KEY_SIZES)))
def test_any_bytes_in_key_blobs_and_bodies_are_a_value_or_a_line(
    blob: bytes, body: bytes, algorithm: int
) -> None:
    packet = sealed()
    for data in (
        blob,
        SimpleBlob(session_key_algorithm=algorithm, encrypted_key=blob[:256].ljust(256, b"\0")).to_bytes(),
    ):
        altered = with_properties(
            with_security(packet, encryption_key=data), message_body=body, encryption_algorithm=algorithm
        )
        found = opened(altered, 1024, 2048)
        assert (found.body is None) == bool(found.why)
        assert "\n" not in found.why


@pytest.mark.slow
@pytest.mark.parametrize("password", [None, b"a password"])
def test_keys_are_read_from_pem_der_and_pfx(password: bytes | None) -> None:
    cipher = NoEncryption() if password is None else BestAvailableEncryption(password)
    files = [
        key().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, cipher),
        key().private_bytes(Encoding.DER, PrivateFormat.PKCS8, cipher),
        key().private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, cipher),
        serialize_key_and_certificates(None, key(), None, None, cipher),
    ]
    for data in files:
        assert read_private_key(data, password).private_numbers() == key().private_numbers()


def test_what_is_no_key_is_one_line_without_its_content() -> None:
    secret = key().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"the right one"))
    for data, password, said in (
        (
            b"nothing",
            None,
            "this is no private key, or another password is its own: PEM, DER and PFX are read",
        ),
        (secret, None, "the private key asks for its password"),
        (
            secret,
            b"the wrong one",
            "this is no private key, or another password is its own: PEM, DER and PFX are read",
        ),
        (_PLAIN, b"unasked", "the private key asks for no password"),
        (_OTHER, None, "this is no private RSA key: PEM, DER and PFX are read"),
    ):
        with pytest.raises(MsmqWireError) as caught:
            read_private_key(data, password)
        assert str(caught.value) == said
        assert caught.value.__context__ is None


def test_a_key_of_512_bits_that_libraries_no_longer_make_opens() -> None:
    old = read_private_key((_KEYS / "rsa_512.pem").read_bytes())
    assert old.key_size == 512
    for algorithm, size in ((EncryptionAlgorithm.RC4, 5), (EncryptionAlgorithm.RC2, 5)):
        packet = message(seal=BodySealer(old.public_key(), algorithm=algorithm, key_size=size))
        found = BodyOpener([old]).open(packet)
        assert found is not None
        assert found.body == BODY

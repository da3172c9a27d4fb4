"""A wrong key opens nothing by chance and hides no right one. What nothing confirms is doubtful."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from msmq_wire import build_message
from msmq_wire.sealing.ciphers import encrypted, is_text
from msmq_wire.sealing.making import BodySealer, MessageSigner
from msmq_wire.sealing.opening import BodyOpener, Opening
from msmq_wire.sealing.simple_blob import SimpleBlob
from msmq_wire.sealing.verifying import Verifier
from msmq_wire.wire.types.enumerations import EncryptionAlgorithm
from tests.sealing.sealed_scene import ANOTHER_KEY, BODY, certificate, key, message
from tests.sealing.test_opening import opened, sealed, with_properties

_AES, _RC2, _RC4 = EncryptionAlgorithm.AES_256, EncryptionAlgorithm.RC2, EncryptionAlgorithm.RC4
_SESSION = bytes(range(1, 17))
_FILLED = b"\x7f" * 64
_DOUBTFUL = "RC4, doubtful: nothing confirms the body"


def wrapped(block: bytes, owner: RSAPrivateKey) -> bytes:
    """An encryption block as an RSA value, as it stands in a SIMPLEBLOB."""
    numbers = owner.public_key().public_numbers()
    size = (owner.key_size + 7) // 8
    return pow(int.from_bytes(block, "big"), numbers.e, numbers.n).to_bytes(size, "little")


def blob_of(algorithm: int, block: bytes, *, turned: bool = False) -> bytes:
    value = wrapped(block, key(1024))
    return SimpleBlob(
        session_key_algorithm=algorithm, encrypted_key=value[::-1] if turned else value
    ).to_bytes()


def block_of(session: bytes, begins: bytes = b"\0\2", size: int = 128) -> bytes:
    return begins + b"\x7f" * (size - len(begins) - 1 - len(session)) + b"\0" + session


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [_RC4, _RC2, _AES], ids=lambda one: one.name)
def test_a_wrong_key_opens_no_body_and_hides_no_right_one(algorithm: EncryptionAlgorithm) -> None:
    right, wrong = key(1024), key(1024, 1)
    for _ in range(64):
        packet = message(seal=BodySealer(right.public_key(), algorithm=algorithm))
        assert BodyOpener([wrong]).open(packet) == Opening(why=ANOTHER_KEY)
        for keys in ([wrong, right], [right, wrong]):
            found = BodyOpener(keys).open(packet)
            assert found is not None
            assert (found.body, found.doubtful) == (BODY, False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "block",
    [
        pytest.param(block_of(_SESSION, b"\0\1"), id="of a signature"),
        pytest.param(block_of(_SESSION, b"\0\0"), id="of no type"),
        pytest.param(block_of(_SESSION, b"\1\2"), id="a first byte that is no zero"),
        pytest.param(b"\0\2" + b"\x7f" * 7 + b"\0" + b"\x55" * 118, id="seven bytes of padding"),
        pytest.param(b"\0\2" + b"\x7f" * 126, id="no end of the padding"),
        pytest.param(block_of(b"\x55" * 4), id="a key that is too short"),
        pytest.param(block_of(b"\x55" * 17), id="a key that is too long"),
        pytest.param(bytes(128), id="zeros"),
    ],
)
def test_every_wrong_encryption_block_is_refused_alike(block: bytes) -> None:
    opener = BodyOpener([key(1024)])
    # Chance bytes change with each cipher text.
    for turn in range(24):
        changed = block if b"\x7f" not in block else block.replace(b"\x7f", bytes((turn + 1,)), 1)
        for algorithm in (_RC4, _RC2):
            for turned in (False, True):
                blob = blob_of(algorithm, changed, turned=turned)
                assert opener.open_body(algorithm, blob, bytes(16), 16) == Opening(why=ANOTHER_KEY)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("session", "own", "how"),
    [
        (_SESSION, _SESSION, "RC4"),
        (_SESSION, _SESSION[::-1], "RC4, its key turned"),
        (_SESSION[:5], _SESSION[:5] + bytes(11), "RC4, its key padded"),
        (_SESSION[:5], _SESSION[:5][::-1] + bytes(11), "RC4, its key padded, its key turned"),
    ],
)
def test_every_order_of_bytes_is_tried_for_rc4_where_a_text_confirms_it(
    session: bytes, own: bytes, how: str, turned: bool
) -> None:
    blob = blob_of(_RC4, block_of(session), turned=turned)
    for text in (
        BODY,
        "größer als zehn".encode("utf-16-le"),
        "\ufeffa text\r\n\0".encode("utf-16-le"),
        b"a" * 16,
    ):
        found = BodyOpener([key(1024)]).open_body(_RC4, blob, encrypted(_RC4, own, text), len(text))
        assert found == Opening(body=text, how=f"{how}, which its text confirms")


def _unconfirmed() -> Iterator[bytes]:
    yield b""
    yield b"fifteen letters"
    yield bytes(range(64))
    yield b"MZ" + bytes(200)
    yield bytes(range(128, 256))


@pytest.mark.parametrize("body", list(_unconfirmed()), ids=len)
def test_an_rc4_body_that_is_no_text_is_doubtful(body: bytes) -> None:
    packet = build_message(
        "PUBLIC=31ea4ab9-9264-4d60-b3b4-d1a7b9d49c2e",
        body,
        seal=BodySealer(key().public_key(), algorithm=_RC4),
    )
    assert opened(packet) == Opening(body=body, how=_DOUBTFUL, doubtful=True)


def test_chance_is_no_text() -> None:
    assert sum(is_text(os.urandom(16 + place % 64)) for place in range(2000)) <= 1


def test_a_doubtful_body_that_a_signature_does_not_fit_is_said_to_be_doubtful() -> None:
    packet = sealed(_RC4, sign=MessageSigner(key(), certificate()))
    assert packet.message_properties_header is not None
    body = bytes(packet.message_properties_header.message_body)
    changed = with_properties(packet, message_body=bytes((body[0] ^ 0x80,)) + body[1:])
    found = Verifier().check(changed, opened=opened(changed))
    assert found is not None
    assert (found.verdict, found.why.split("; ")[-1]) == ("not verified", "nothing confirms the opened body")


@pytest.mark.parametrize("level", [0, 2, 4, 6, 0xFFFFFFFF])
@pytest.mark.parametrize("algorithm", [_AES, _RC4], ids=lambda one: one.name)
def test_a_level_that_the_text_rejects_opens_nothing(algorithm: int, level: int) -> None:
    packet = with_properties(sealed(algorithm), privacy_level=level)
    why = f"a receiver rejects EB with PrivacyLevel {level:#x} ([MS-MQQB] 3.1.5.8.3)"
    assert opened(packet) == Opening(why=why)

"""Keys in force: bodies are opened while they last, and told of once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from msmq_wire import encode
from msmq_wire.records.body_keys import OpenedBody, keys_in_force, opening_bodies, put_in_force
from msmq_wire.records.message_body import message_body
from msmq_wire.records.record import FoundPacket, Record
from msmq_wire.records.signatures import signature
from msmq_wire.sealing.making import BodySealer, MessageSigner
from msmq_wire.sealing.opening import BodyOpener
from msmq_wire.wire.types.enumerations import EncryptionAlgorithm
from tests.sealing.sealed_scene import ANOTHER_KEY, BODY, certificate, key, message, sealer_for


@pytest.fixture(autouse=True)
def _no_keys() -> Iterator[None]:
    with opening_bodies(None):
        yield


def sealed(number: int = 0, **more: object) -> Record:
    """A record of a message that is sealed for a key."""
    data = encode(message(seal=sealer_for(number), **more))
    return FoundPacket(1, "", data, (1,), 0, "", "", None, 0).record()


def test_a_body_is_opened_while_a_key_is_in_force() -> None:
    record = sealed()
    before = message_body(record)
    assert before is not None
    assert (before.content.kind, before.opened_with, before.not_opened) == ("encrypted", "", "")
    with opening_bodies(BodyOpener([key()])):
        assert keys_in_force()
        body = message_body(record)
    assert body is not None
    assert (body.data, body.size, body.opened_with) == (BODY, len(BODY), "AES-256 in CBC")
    assert body.content.kind == "xml"
    assert body.content.details[0] == ("opened_with", "AES-256 in CBC")
    assert not keys_in_force()
    after = message_body(record)
    assert after is not None
    assert after.content.kind == "encrypted"


@pytest.mark.parametrize(("opener", "kind"), [(5, "int"), (["x"], "list")])
def test_what_opens_no_bodies_is_refused_by_the_name_of_the_argument(opener: Any, kind: str) -> None:
    with pytest.raises(TypeError) as caught, opening_bodies(opener):
        pass
    assert str(caught.value) == (
        f"opener must be an object with a method 'open_body', not {kind}: BodyOpener(keys)"
    )
    assert not keys_in_force()


def test_one_that_stays_closed_says_why() -> None:
    with opening_bodies(BodyOpener([key()])):
        body = message_body(sealed(number=1))
    assert body is not None
    assert body.content.kind == "encrypted"
    assert body.not_opened == ANOTHER_KEY
    assert ("not_opened", body.not_opened) in body.content.details


def test_a_signature_over_an_open_body_fits_with_the_key_only() -> None:
    signer = MessageSigner(key(), certificate())
    assert signature(sealed(sign=signer)) == "sealed, not checked"
    with opening_bodies(BodyOpener([key()])):
        assert signature(sealed(sign=signer)) == "verified"


def test_each_body_is_told_of_once_however_many_ask() -> None:
    reported: list[OpenedBody] = []
    put_in_force(BodyOpener([key()]), reported.append)
    first, second = sealed(), sealed(number=1)
    for record in (first, first, second, second):
        message_body(record)
    assert [one.how or one.why for one in reported] == [
        "AES-256 in CBC",
        "no given key opens the session key: it is for another key pair",
    ]
    put_in_force(None)
    assert not keys_in_force()


def test_what_is_not_encrypted_asks_no_key() -> None:
    reported: list[OpenedBody] = []
    put_in_force(BodyOpener([key()]), reported.append)
    record = FoundPacket(1, "", encode(message()), (1,), 0, "", "", None, 0).record()
    body = message_body(record)
    assert body is not None
    assert (body.data, body.opened_with, reported) == (BODY, "", [])


def test_what_is_missing_of_a_cipher_text_is_missing_of_the_body() -> None:
    sealer = BodySealer(key().public_key(), algorithm=EncryptionAlgorithm.RC4)
    data = encode(message(seal=sealer))
    record = FoundPacket(
        1, "", data[: data.index(b"an extension") + 12 + 10], (1,), 0, "", "", None, 0
    ).record()
    with opening_bodies(BodyOpener([key()])):
        body = message_body(record)
    assert body is not None
    assert (body.data, body.size, body.cut) == (BODY[:10], len(BODY), True)

"""Kerberos messages of a client that holds the service's key and lies inside what it seals."""

from __future__ import annotations

import hashlib
import hmac
import struct

import pytest
from cryptography.hazmat.decrepit.ciphers.algorithms import ARC4
from cryptography.hazmat.primitives.ciphers import Cipher
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.rpc.pdu_protection import ProtectedPdu
from msmq_wire.rpc.unseal.kerberos import KerberosNegotiation
from msmq_wire.rpc.unseal.keytab import KeytabEntry
from msmq_wire.rpc.unseal.secrets import Secrets

_SERVICE_KEY, _SESSION_KEY, _SUBKEY = b"S" * 16, b"K" * 16, b"U" * 16
_TIME = b"20260101000000Z"
_PDU = ProtectedPdu(True, 6, b"h", b"stub", b"t", bytes(60), header_signing=False)


def _der(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    size = len(content)
    length = [size] if size < 128 else [0x81, size] if size < 256 else [0x82, size >> 8, size & 255]
    return bytes([tag, *length]) + content


def _number(field: int, value: int) -> bytes:
    return _der(0xA0 + field, _der(2, bytes([value])))


def _text(field: int, value: bytes) -> bytes:
    return _der(0xA0 + field, _der(0x1B, value))


def _name(field: int, *components: bytes) -> bytes:
    texts = b"".join(_der(0x1B, component) for component in components)
    return _der(0xA0 + field, _der(0x30, _number(0, 1), _der(0xA1, _der(0x30, texts))))


def _key(field: int, etype: int, value: bytes) -> bytes:
    return _der(0xA0 + field, _der(0x30, _number(0, etype), _der(0xA1, _der(4, value))))


def _sealed(field: int, key: bytes, usage: int, plain: bytes, kvno: bytes = b"\x03") -> bytes:
    """EncryptedData with RC4 and kvno 3, [RFC 4757] 5."""
    derived = hmac.new(key, struct.pack("<I", usage), hashlib.md5).digest()
    message = b"confound" + plain
    checksum = hmac.new(derived, message, hashlib.md5).digest()
    cipher = Cipher(ARC4(hmac.new(derived, checksum, hashlib.md5).digest()), mode=None).encryptor()
    data = _der(4, checksum + cipher.update(message))
    return _der(0xA0 + field, _der(0x30, _number(0, 23), _der(0xA1, _der(2, kvno)), _der(0xA2, data)))


def _ticket_part(session_key: bytes = _key(1, 23, _SESSION_KEY), user: bytes = b"alice") -> bytes:
    return _der(
        0x63,
        _der(
            0x30,
            _der(0xA0, bytes.fromhex("03050040810000")),
            session_key,
            _text(2, b"CORP"),
            _name(3, user),
            _der(0xA4, _der(0x30, _number(0, 0), _der(0xA1, _der(4)))),
            _der(0xA5, _der(0x18, _TIME)),
            _der(0xA7, _der(0x18, _TIME)),
        ),
    )


def _authenticator(subkey: bytes = b"") -> bytes:
    time = _der(0xA5, _der(0x18, _TIME))
    return _der(
        0x62, _der(0x30, _number(0, 5), _text(1, b"CORP"), _name(2, b"alice"), _number(4, 0), time, subkey)
    )


def _ap_req(
    ticket_part: bytes = _ticket_part(),
    authenticator: bytes = _authenticator(),
    session_key: bytes = _SESSION_KEY,
    options: int = 0x20,
    kvno: bytes = b"\x03",
) -> bytes:
    sealed = _sealed(3, _SERVICE_KEY, 2, ticket_part, kvno)
    ticket = _der(0x61, _der(0x30, _number(0, 5), _text(1, b"CORP"), _name(2, b"HOST", b"srv"), sealed))
    return _der(
        0x6E,
        _der(
            0x30,
            _number(0, 5),
            _number(1, 14),
            _der(0xA2, b"\x03\x05\x00", bytes([options, 0, 0, 0])),
            _der(0xA3, ticket),
            _sealed(4, session_key, 11, authenticator),
        ),
    )


def _after(*tokens: bytes, keys: tuple[KeytabEntry, ...] | None = None) -> KerberosNegotiation:
    entries = (KeytabEntry("HOST/srv@CORP", 3, 23, _SERVICE_KEY),) if keys is None else keys
    negotiation = KerberosNegotiation(Secrets((), entries))
    for index, token in enumerate(tokens):
        negotiation.exchange(index % 2 == 0, token)
    return negotiation


def test_an_honest_request_names_its_user() -> None:
    negotiation = _after(_ap_req())
    assert (negotiation.account, negotiation.note) == ("alice@CORP", "")


def test_the_key_of_the_service_is_tried_before_the_others_and_they_are_tried_too() -> None:
    others = tuple(KeytabEntry(f"HOST/other{n}@CORP", 3, 23, bytes([n]) * 16) for n in range(5))
    renamed = KeytabEntry("HOST/alias@CORP", 9, 23, _SERVICE_KEY)
    assert _after(_ap_req(), keys=(*others, renamed)).note == ""
    assert _after(_ap_req(), keys=others).note == (
        "Kerberos: 5 keys tried and none right for HOST/srv@CORP (rc4, kvno 3)"
    )


def test_a_key_of_another_type_is_no_key() -> None:
    keys = (KeytabEntry("HOST/srv@CORP", 3, 18, bytes(32)),)
    assert (
        _after(_ap_req(), keys=keys).note == "Kerberos: no key in the keytab for HOST/srv@CORP (rc4, kvno 3)"
    )


def test_a_key_of_a_wrong_size_in_the_keytab_opens_nothing() -> None:
    keys = (KeytabEntry("HOST/srv@CORP", 3, 23, b"short"),)
    assert _after(_ap_req(), keys=keys).note.startswith("Kerberos: 1 key tried and none right")


def test_user_to_user_is_named() -> None:
    assert (
        _after(_ap_req(options=0x40)).note == "Kerberos: user-to-user, no key of a service opens the ticket"
    )


@pytest.mark.parametrize("key", [_key(1, 23, b"short"), _key(1, 3, bytes(8)), _key(1, 18, bytes(16))])
def test_a_session_key_that_cannot_be_used_is_said(key: bytes) -> None:
    negotiation = _after(_ap_req(_ticket_part(key)))
    assert negotiation.note.startswith("Kerberos: a session key of ")
    assert negotiation.unwrap(_PDU).stub is None


def test_an_authenticator_of_another_session_is_found() -> None:
    negotiation = _after(_ap_req(session_key=bytes(16)))
    assert negotiation.note == "Kerberos: the authenticator of alice@CORP does not belong to its ticket"


def test_an_ap_rep_of_another_session_is_found() -> None:
    part = _der(0x7B, _der(0x30, _der(0xA0, _der(0x18, _TIME)), _number(1, 0), _key(2, 23, _SUBKEY)))
    for key, note in ((_SESSION_KEY, ""), (bytes(16), "Kerberos: the AP-REP does not belong to the AP-REQ")):
        reply = _der(0x6F, _der(0x30, _number(0, 5), _number(1, 15), _sealed(2, key, 12, part)))
        assert _after(_ap_req(), reply).note == note


def test_a_user_name_with_control_characters_is_shown_safely() -> None:
    assert _after(_ap_req(_ticket_part(user=b"a\nb\xff"))).account == "a\ufffdb\ufffd@CORP"


@pytest.mark.parametrize("token", [b"\x6e\x00", b"\x6e\x80", _ap_req()[:-1]])
def test_a_request_that_cannot_be_read_is_said(token: bytes) -> None:
    assert _after(token).note == "Kerberos: the AP-REQ cannot be read"


@pytest.mark.parametrize("size", [5, 5000])
def test_an_integer_of_thousands_of_digits_is_not_written_out(size: int) -> None:
    note = _after(_ap_req(kvno=b"\x7f" * size), keys=()).note
    assert note == "Kerberos: no key given for HOST/srv@CORP (rc4, kvno out of range)"
    etype = _der(0xA1, _der(0x30, _der(0xA0, _der(2, b"\x7f" * size)), _der(0xA1, _der(4, bytes(16)))))
    note = _after(_ap_req(_ticket_part(etype))).note
    assert note == "Kerberos: a session key of encryption type out of range, which is not opened"


@given(at=st.integers(0, 400), bits=st.integers(0, 255), cut=st.integers(0, 400))
def test_lies_inside_what_is_sealed_raise_nothing(at: int, bits: int, cut: int) -> None:
    def lie(data: bytes) -> bytes:
        changed = bytearray(data)
        changed[at % len(data)] ^= bits
        return bytes(changed[: max(len(data) - cut, 0)] if cut % 2 else changed)

    for request in (
        _ap_req(lie(_ticket_part())),
        _ap_req(authenticator=lie(_authenticator(_key(6, 23, _SUBKEY)))),
    ):
        part = lie(_der(0x7B, _der(0x30, _der(0xA0, _der(0x18, _TIME)), _number(1, 0), _key(2, 23, _SUBKEY))))
        reply = _der(0x6F, _der(0x30, _number(0, 5), _number(1, 15), _sealed(2, _SESSION_KEY, 12, part)))
        opened = _after(request, reply).unwrap(_PDU)
        assert opened.verified is not True

"""Encrypted bodies: what the headers say about them."""

from __future__ import annotations

import msgspec
import pytest

from msmq_wire.records.bodies import (
    EncryptedBody,
    encrypted_body,
    encrypted_transfer,
    open_body,
    preview,
)
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.security_header import ProviderInfo, SecurityData, SecurityHeader
from msmq_wire.wire.types.wchar_text import WcharText

KEY = bytes.fromhex("01020000 10660000 00a40000") + bytes(128)
PROVIDER = WcharText("Strong\0".encode("utf-16-le"))
SECURITY = SecurityHeader(
    flags=0x22,
    security_data=SecurityData(
        encryption_key=KEY, provider_info=ProviderInfo(provider_type=24, provider_name=PROVIDER)
    ),
)
PROPERTIES = MessagePropertiesHeader(privacy_level=5, encryption_algorithm=0x6610)


class Packet(msgspec.Struct):
    security_header: SecurityHeader | msgspec.UnsetType | None = None
    message_properties_header: MessagePropertiesHeader | msgspec.UnsetType | None = None


def test_an_encrypted_body_says_how_and_not_what() -> None:
    encryption = encrypted_body(Packet(SECURITY, PROPERTIES))
    assert encryption == EncryptedBody(
        privacy_level=5, algorithm=0x6610, key=KEY, provider="Strong", provider_type=24
    )
    body = open_body(b"<a/>", 0, encrypted=encryption)
    assert (body.kind, body.confidence, body.text) == ("encrypted", "declared", None)
    assert body.details == (
        ("size", "4 bytes"),
        ("privacy_level", "AES (0x5)"),
        ("encryption_algorithm", "AES_256 (0x6610)"),
        ("provider", "Microsoft Enhanced RSA and AES Cryptographic Provider"),
        ("signature_provider", "Strong, type 24"),
        ("encryption_key", "140 bytes"),
        ("key_algorithm", "AES_256 (0x6610)"),
    )
    assert preview(body) == "encrypted"


def test_a_body_in_the_clear_is_not_encrypted() -> None:
    # The default algorithm stands in packets whose bodies are in the clear, too.
    clear = MessagePropertiesHeader(privacy_level=0, encryption_algorithm=0x6801)
    assert encrypted_body(Packet(None, clear)) is None
    assert encrypted_body(Packet()) is None
    assert encrypted_body(None) is None


def test_a_privacy_level_alone_makes_it_likely() -> None:
    encryption = encrypted_body(Packet(None, PROPERTIES))
    assert encryption is not None
    assert open_body(bytes.fromhex("9f03c2e871aa05d1"), 0, encrypted=encryption).confidence == "likely"


def test_what_can_be_read_is_not_encrypted_because_of_a_privacy_level() -> None:
    encryption = encrypted_body(Packet(None, PROPERTIES))
    assert encryption is not None
    assert open_body(b"<order/>", 0, encrypted=encryption).kind == "xml"


def test_a_packet_that_is_cut_says_what_it_has() -> None:
    header = msgspec.structs.replace(SECURITY, security_data=msgspec.UNSET)
    encryption = encrypted_body(Packet(header, msgspec.UNSET))
    assert encryption == EncryptedBody()
    assert dict(open_body(b"", 0, encrypted=encryption).details)["encryption_key"] == "0 bytes"


def test_a_key_of_another_form_has_no_algorithm() -> None:
    assert EncryptedBody(key=b"\x06" + KEY[1:]).key_algorithm is None
    assert EncryptedBody(key=KEY[:11]).key_algorithm is None


def test_an_unknown_algorithm_stays_a_number() -> None:
    body = open_body(b"x", 0, encrypted=EncryptedBody(algorithm=0x9999, privacy_level=2))
    assert dict(body.details)["encryption_algorithm"] == "0x9999"
    assert dict(body.details)["privacy_level"] == "0x2"


@pytest.mark.parametrize(
    ("level", "provider"),
    [
        (1, "Microsoft Base Cryptographic Provider v1.0"),
        (3, "Microsoft Enhanced Cryptographic Provider v1.0"),
        (5, "Microsoft Enhanced RSA and AES Cryptographic Provider"),
        (2, "not known"),
        (None, "not known"),
    ],
)
def test_the_provider_goes_by_the_privacy_level(level: int | None, provider: str) -> None:
    # [MS-MQQB] 3.1.5.8.3; 2 is no level of a packet.
    details = dict(open_body(b"x", 0, encrypted=EncryptedBody(privacy_level=level)).details)
    assert details["provider"] == provider


def test_a_header_alone_tells_its_privacy_level() -> None:
    assert encrypted_body(PROPERTIES) == EncryptedBody(declared=False, privacy_level=5, algorithm=0x6610)


def test_a_body_that_an_application_encrypted_says_so_in_its_transfer_buffer() -> None:
    message = MessageProperties(
        body=b"<a/>",
        body_encrypted=True,
        privacy_level=3,
        encryption_algorithm=0x6801,
        symmetric_key=KEY,
        authentication_provider_name=PROVIDER,
        authentication_provider_type=1,
    )
    assert encrypted_transfer(message) == EncryptedBody(
        in_transfer=True, privacy_level=3, algorithm=0x6801, key=KEY, provider="Strong", provider_type=1
    )


@pytest.mark.parametrize("encrypted", [False, None])
def test_a_privacy_level_alone_leaves_a_transferred_body_in_the_clear(encrypted: bool | None) -> None:
    message = MessageProperties(body=b"<a/>", body_encrypted=encrypted, privacy_level=3, symmetric_key=KEY)
    assert encrypted_transfer(message) is None

"""MessagePropertiesHeader, [MS-MQMQ] 2.2.19.3."""

from __future__ import annotations

import struct

import pytest

from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.wchar_text import WcharText
from tests.wire.cases import Cases, bent, judge

CASES = Cases(
    data=bytes.fromhex(
        "0f "  # Flags
        "03 "  # LabelLength
        "00 40 "  # MessageClass
        "d4c3b2a1 f6e5 8947 8abcdef012345678 01 08 00 00 "  # CorrelationID
        "08 00 00 00 "  # BodyType
        "04 03 02 01 "  # ApplicationTag
        "02 00 00 00 "  # MessageSize
        "03 00 00 00 "  # AllocationBodySize
        "00 00 00 00 "  # PrivacyLevel
        "0e 80 00 00 "  # HashAlgorithm
        "10 66 00 00 "  # EncryptionAlgorithm
        "03 00 00 00 "  # ExtensionSize
        "61 00 62 00 00 00 "  # Label "ab"
        "ee ee ee "  # ExtensionData, not aligned
        "bb bb "  # MessageBody, not aligned
        "a5 "  # padding
    ),
    value=MessagePropertiesHeader(
        flags=0x0F,
        label_length=3,
        message_class=0x4000,
        correlation_id=bytes.fromhex("d4c3b2a1f6e589478abcdef01234567801080000"),
        body_type=8,
        application_tag=0x01020304,
        message_size=2,
        allocation_body_size=3,
        privacy_level=0,
        hash_algorithm=0x800E,
        encryption_algorithm=0x6610,
        extension_size=3,
        label=WcharText.of("ab"),
        extension_data=b"\xee\xee\xee",
        message_body=b"\xbb\xbb",
        padding=b"\xa5",
    ),
    bits="pa pr na nr x:4",
    kept=[({0: "ff"}, "flags", 255), ({67: "00"}, "padding", b"\x00")],
    broken=[
        (
            {1: "fb", 32: "0000000000000000", 52: "00000000", 56: "6100" * 250 + "00" * 4},
            [("label-length", "label_length", 1, 1)],
        ),
        ({60: "0100"}, [("label", "label", 56, 6)]),
        ({2: "0002"}, [("message-class", "message_class", 2, 2)]),
        ({24: "05"}, [("body-type", "body_type", 24, 4)]),
        ({36: "01000000"}, [("allocation-body-size", "allocation_body_size", 36, 4)]),
        ({40: "02"}, [("privacy-level", "privacy_level", 40, 4)]),
    ],
    wrapping=[
        ({32: "f8ffffff", 36: "ffffffff"}, [("sizes-wrap", "message_size", 32, 4)]),
        ({52: "ffffffff"}, [("sizes-wrap", "message_size", 32, 4)]),
    ],
    elsewhere={"allocation-body-size-maximum", "encryption-algorithm", "hash-algorithm"},
    borders=[
        {24: "1f10"},
        {24: "0c10"},
        {40: "01"},
        {40: "03"},
        {40: "05"},
        {44: "00000000", 48: "00000000"},
        {2: "0000"},
        {2: "ffe1"},
    ],
    refused=[
        ({}, 23, ("missing-bytes", "correlation_id", 4)),
        ({}, 55, ("missing-bytes", "extension_size", 52)),
        ({}, 61, ("missing-bytes", "label", 56)),
        ({}, 64, ("missing-bytes", "extension_data", 62)),
        ({}, 66, ("missing-bytes", "message_body", 65)),
        ({}, 67, ("missing-bytes", "padding", 67)),
        ({52: "ffffffff"}, None, ("missing-bytes", "extension_data", 62)),
        ({32: "ffffffff"}, None, ("missing-bytes", "message_body", 65)),
    ],
    contradictions=[
        ({"label_length": 2}, "label"),
        ({"extension_size": 4}, "extension_data"),
        ({"message_size": 1}, "message_body"),
        ({"padding": b""}, "padding"),
        ({"correlation_id": bytes(16)}, "correlation_id"),
    ],
)


def _message(security_flags: int, signature_size: int, privacy: int, hashing: int, cipher: int) -> bytes:
    """A user message with a key of 4 bytes, a signature of 0 or 4 and no body."""
    user = bytes(44) + (0x280000).to_bytes(4, "little")
    sizes = struct.pack("<4H2I", security_flags, 0, 4, signature_size, 0, 0)
    security = sizes + bytes(4 + signature_size)
    properties = bytes(40) + struct.pack("<4I", privacy, hashing, cipher, 0)
    size = 16 + len(user) + len(security) + len(properties)
    base = struct.pack("<BBHIII", 0x10, 0, 3, 0x524F494C, size, 0xFFFFFFFF)
    return base + user + security + properties


@pytest.mark.parametrize(
    ("security_flags", "signature_size", "privacy", "hashing", "cipher", "code"),
    [
        pytest.param(0x40, 0, 0, 0, 0, None, id="defaults are not judged without a signature"),
        pytest.param(0x40, 4, 0, 0x8003, 0, None, id="an allowed hash"),
        pytest.param(0x40, 4, 0, 0x8005, 0, "hash-algorithm", id="an unknown hash"),
        pytest.param(0x60, 0, 1, 0, 0x6602, None, id="RC2 with 40 bits"),
        pytest.param(0x60, 0, 3, 0, 0x6801, None, id="RC4 with 128 bits"),
        pytest.param(0x60, 0, 5, 0, 0x660F, None, id="AES"),
        pytest.param(0x60, 0, 5, 0, 0x6801, "encryption-algorithm", id="RC4 at the level of AES"),
        pytest.param(0x60, 0, 1, 0, 0x6610, "encryption-algorithm", id="AES at the level of RC4"),
        pytest.param(0x60, 0, 0, 0, 0x6801, "encryption-algorithm", id="encrypted at level 0"),
    ],
)
def test_algorithms_count_only_where_they_are_used(
    security_flags: int, signature_size: int, privacy: int, hashing: int, cipher: int, code: str | None
) -> None:
    data = _message(security_flags, signature_size, privacy, hashing, cipher)
    result = inspect(data, "user_message")
    assert result.error is None
    expected = [] if code is None else [f"message_properties_header.{code}"]
    assert [anomaly.code for anomaly in result.anomalies] == expected


@pytest.mark.parametrize("length", range(5))
def test_the_header_is_a_multiple_of_four_bytes(length: int) -> None:
    data = (
        bytes(32) + struct.pack("<6I", length, length, 0, 0, 0, 0) + bytes(length) + b"\xff" * (-length & 3)
    )
    value = decode(data, "message_properties_header")
    assert (value.message_body, value.padding) == (bytes(length), b"\xff" * (-length & 3))
    assert encode(value) == data


def test_a_body_is_allocated_no_more_than_a_packet_holds() -> None:
    # AllocationBodySize of a packet of 120 bytes, at 16 + 48 + 36.
    packet = encode(UserMessage())
    assert judge("user_message", bent(packet, {100: "78000000"})) == []
    assert judge("user_message", bent(packet, {100: "79000000"})) == [
        (
            "message_properties_header.allocation-body-size-maximum",
            "message_properties_header.allocation_body_size",
            100,
            4,
        )
    ]

"""SecurityHeader, [MS-MQMQ] 2.2.20.6."""

from __future__ import annotations

import struct

import pytest

from msmq_wire.engines.codec import inspect
from msmq_wire.wire.headers.security_header import ProviderInfo, SecurityData, SecurityHeader
from msmq_wire.wire.types.wchar_text import WcharText
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "a1 00 "  # Flags: ST 1, EB, AI
        "0c 00 "  # SenderIdSize
        "05 00 "  # EncryptionKeySize
        "03 00 "  # SignatureSize
        "02 00 00 00 "  # SenderCertSize
        "0a 00 00 00 "  # ProviderInfoSize
        "01 01 00 00 00 00 00 05 12 00 00 00 "  # SecurityID S-1-5-18
        "01 02 03 04 05 a1 a2 a3 "  # EncryptionKey and padding
        "06 07 08 a4 "  # Signature and padding
        "09 0a a5 a6 "  # SenderCert and padding
        "01 00 00 00 50 00 72 00 00 00 00 00 "  # ProviderInfo and padding
    ),
    value=SecurityHeader(
        flags=0x00A1,
        sender_id_size=12,
        encryption_key_size=5,
        signature_size=3,
        sender_cert_size=2,
        provider_info_size=10,
        security_data=SecurityData(
            security_id=bytes.fromhex("010100000000000512000000"),
            encryption_key=b"\1\2\3\4\5",
            encryption_key_padding=b"\xa1\xa2\xa3",
            signature=b"\6\7\x08",
            signature_padding=b"\xa4",
            sender_cert=b"\x09\x0a",
            sender_cert_padding=b"\xa5\xa6",
            provider_info=ProviderInfo(provider_type=1, provider_name=WcharText.of("Pr")),
            provider_info_padding=b"\0\0",
        ),
    ),
    bits="st:4 au eb de ai as:4 x12 x13 x14 x15",
    kept=[({1: "f0"}, "flags", 61601), ({0: "21"}, "flags", 33)],
    broken=[
        ({0: "a3"}, [("sender-id-type", "flags", 0, 2)]),
        ({0: "a0"}, [("sender-id-absent", "sender_id_size", 2, 2)]),
        (
            {0: "e1000000", 12: "00"},
            [
                ("sender-id-present", "sender_id_size", 2, 2),
                ("sender-sid", "security_data.security_id", 16, 0),
            ],
        ),
        ({16: "02"}, [("sender-sid", "security_data.security_id", 16, 12)]),
        ({0: "a2"}, [("sender-guid", "sender_id_size", 2, 2)]),
        (
            {8: "00000100", 40: "00" * 65536, 65576: "010000005000720000000000"},
            [("sender-cert-size", "sender_cert_size", 8, 4)],
        ),
        ({0: "40000000000000000000000000"}, [("security-data", "sender_id_size", 2, 2)]),
        ({0: "e1"}, [("provider-unasked", "provider_info_size", 12, 4)]),
        ({12: "00"}, [("provider-missing", "provider_info_size", 12, 4)]),
        ({0: "e0000000000003000200000000"}, [("encryption-key", "encryption_key_size", 4, 2)]),
    ],
    wrapping=[({12: "ffffffff"}, [("sizes-wrap", "provider_info_size", 12, 4)])],
    elsewhere={"authenticated", "authentication-signature"},
    refused=[
        ({}, 15, ("missing-bytes", "provider_info_size", 12)),
        ({}, 20, ("missing-bytes", "security_data.security_id", 16)),
        ({}, 33, ("missing-bytes", "security_data.encryption_key_padding", 33)),
        ({}, 50, ("missing-bytes", "security_data.provider_info.provider_name", 48)),
        ({12: "03"}, None, ("negative-length", "security_data.provider_info.provider_name", 48)),
    ],
    contradictions=[
        ({"sender_id_size": 11}, "security_data.security_id"),
        ({"provider_info_size": 0}, "security_data.provider_info"),
        ({"signature_size": 4}, "security_data.signature"),
        ({"sender_cert_size": 1 << 32}, "sender_cert_size"),
    ],
)


def _stored(security_flags: int) -> bytes:
    """A packet with a SecurityHeader that holds a SID, no body."""
    user = bytes(44) + (0x280000).to_bytes(4, "little")
    security = struct.pack("<4H2I", security_flags, 12, 0, 0, 0, 0) + CASES.data[16:28]
    size = 16 + len(user) + len(security) + 56
    return struct.pack("<BBHIII", 0x10, 0, 3, 0x524F494C, size, 0xFFFFFFFF) + user + security + bytes(56)


@pytest.mark.parametrize(
    ("bits", "code"),
    [(0x10, "authenticated"), (0x100, "authentication-signature"), (0x500, "authentication-signature")],
)
def test_the_result_of_a_verification_belongs_into_stored_packets_only(bits: int, code: str) -> None:
    data = _stored(0xC1 | bits)
    sent = inspect(data, "user_message")
    assert [anomaly.code for anomaly in sent.anomalies] == [f"security_header.{code}"]
    assert (sent.anomalies[0].path, sent.anomalies[0].offset) == ("security_header.flags", 64)
    assert inspect(data, "message_packet").anomalies == ()


def test_a_provider_without_a_terminated_name_is_an_anomaly() -> None:
    data = CASES.data[:52] + b"Q\0" + CASES.data[54:]
    (anomaly,) = inspect(data, "security_header").anomalies
    assert anomaly.code == "provider_info.provider-name-terminated"
    assert (anomaly.path, anomaly.offset, anomaly.length) == (
        "security_data.provider_info.provider_name",
        48,
        6,
    )


def test_a_queue_manager_guid_is_no_sid() -> None:
    data = struct.pack("<4H2I", 0xC2, 16, 0, 0, 0, 0) + bytes(range(16))
    assert inspect(data, "security_header").anomalies == ()

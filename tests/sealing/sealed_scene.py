"""What tests of signatures and encrypted bodies share: keys, a certificate, and a message of many fields."""

from __future__ import annotations

import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from msmq_wire import GUID, build_message
from msmq_wire.engines.fit import fit
from msmq_wire.sealing.certificates import TrustedCertificates
from msmq_wire.sealing.keys import read_certificates
from msmq_wire.sealing.making import BodySealer
from msmq_wire.wire.headers.mqf_address_header import MQFAddressHeader
from msmq_wire.wire.headers.multi_queue_format_header import MultiQueueFormatHeader
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.mqf_direct_queue_format_name import MQFDirectQueueFormatName
from msmq_wire.wire.types.mqf_format_name_element import MQFFormatNameElement
from msmq_wire.wire.types.public_queue_format_name import PublicQueueFormatName
from msmq_wire.wire.types.wchar_text import WcharText

BODY = b"<order number='4711'/>"
FROM = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
UNTIL = FROM + datetime.timedelta(days=900)
ANOTHER_KEY = "no given key opens the session key: it is for another key pair"
_KEYS = Path(__file__).resolve().parents[2] / "fixtures" / "keys"


def key(bits: int = 2048, number: int = 0) -> rsa.RSAPrivateKey:
    """A key pair, made once; ``number`` tells several of one size apart."""
    return _key(bits, number)


@lru_cache
def _key(bits: int, number: int) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, bits)


@lru_cache
def certificate(bits: int = 2048) -> bytes:
    """A certificate in DER of the key of this size."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "order service")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).serial_number(5)
    builder = builder.public_key(key(bits).public_key()).not_valid_before(FROM).not_valid_after(UNTIL)
    return builder.sign(key(bits), hashes.SHA256()).public_bytes(Encoding.DER)


def sealer_for(number: int = 0) -> BodySealer:
    """What seals for the key of a number."""
    return BodySealer(key(2048, number).public_key())


def message(**more: Any) -> UserMessage:
    """A message that has all that a signature covers but lists of queues."""
    parts: dict[str, Any] = {
        "label": "order 4711",
        "queue_manager_address": GUID(b"d" * 16),
        "source_queue_manager": GUID(b"s" * 16),
        "response_queue": "DIRECT=OS:ws17\\private$\\replies",
        "admin_queue": "PRIVATE=73737373-7373-7373-7373-737373737373\\0000000f",
        "acknowledge": ("pa", "nr"),
        "delivery": "recoverable",
        "priority": 5,
        "connector_type": GUID(b"c" * 16),
        "correlation_id": bytes(range(20)),
        "application_tag": 0x01020304,
        "extension": b"an extension",
        "body_type": 8,
    }
    return build_message("PUBLIC=31ea4ab9-9264-4d60-b3b4-d1a7b9d49c2e", BODY, **parts | more)


def queue_lists() -> MultiQueueFormatHeader:
    """Two destinations, the second of which begins at a 4-byte boundary, and a response queue."""
    direct = MQFFormatNameElement(
        format_name=MQFDirectQueueFormatName(direct_format_name=WcharText.of("OS:a\\q"))
    )
    public = MQFFormatNameElement(
        format_type=1,
        padding=b"\0\0",
        format_name=PublicQueueFormatName(public_queue_identifier=GUID(b"p" * 16)),
    )
    return fit(
        MultiQueueFormatHeader(
            destination=MQFAddressHeader(format_name_list=(direct, public)),
            response=MQFAddressHeader(header_id=300, format_name_list=(direct,)),
        )
    )


def trusted() -> TrustedCertificates:
    """The certificate of the key that signs the captures of findings, as trusted."""
    return TrustedCertificates(read_certificates((_KEYS / "rsa_512.crt").read_bytes()))

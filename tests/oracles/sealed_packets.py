"""Signed and sealed MSMQ UserMessage packets, written from MS-MQMQ, MS-MQQB and MS-MQDMPR alone.

``python sealed_packets.py [--keys DIR]`` prints one JSON document::

    {"keys": {name: PKCS8 PEM}, "cases": [case, ...]}

``--keys DIR`` reads DIR/<name>.pem and writes the keys that are missing there; without it the five
keys are generated once per run.  Everything else is derived from fixed values and from the keys, so
two runs with the same keys print the same document.

Where the documents leave something open, the choice made is in ``HashInterpretation`` (signatures),
``SealReading`` (encryption) and ``Layout`` (the packet itself).  ``expect`` always speaks of the
recorded reading: "verified" means "verifies for a receiver that reads the documents this way".  It
is null where nothing is signed or where the documents contradict themselves.  ``category`` and ``note``
say what a case is about.

``--aligned`` lets public names in lists begin at a boundary of four bytes, as their siblings do; by the
letter of MS-MQMQ 2.2.18.1.4 nothing is rounded up there.

The 512-bit key is too small for both libraries' generators and (in some releases) for their signers,
so its primes come from ``number.getPrime`` and all RSA here is plain ``pow``.  A SHA-512 DigestInfo
(83 bytes) does not fit a 64-byte block, so SHA-512 with the 512-bit key can't be done with it.
SHA-384 is not in the HashAlgorithm table of 2.2.19.3; it appears only as an unlisted value.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import struct
import sys
import uuid
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from Cryptodome.Cipher import AES, ARC2, ARC4
from Cryptodome.Hash import MD2, MD4
from Cryptodome.PublicKey import RSA
from Cryptodome.Util import number
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

HASH_IDS: dict[str, int] = {
    "MD2": 0x8001,
    "MD4": 0x8002,
    "MD5": 0x8003,
    "SHA-1": 0x8004,
    "SHA-256": 0x800C,
    "SHA-512": 0x800E,
}
UNLISTED_SHA384 = 0x800D
CIPHER_IDS: dict[str, int] = {
    "RC2": 0x6602,
    "RC4": 0x6801,
    "AES-128": 0x660E,
    "AES-192": 0x660F,
    "AES-256": 0x6610,
}
HASH_OIDS: dict[str, str] = {
    "MD2": "1.2.840.113549.2.2",
    "MD4": "1.2.840.113549.2.4",
    "MD5": "1.2.840.113549.2.5",
    "SHA-1": "1.3.14.3.2.26",
    "SHA-256": "2.16.840.1.101.3.4.2.1",
    "SHA-384": "2.16.840.1.101.3.4.2.2",
    "SHA-512": "2.16.840.1.101.3.4.2.3",
}
BASE_CSP = "Microsoft Base Cryptographic Provider v1.0"
ENHANCED_CSP = "Microsoft Enhanced Cryptographic Provider v1.0"
AES_CSP = "Microsoft Enhanced RSA and AES Cryptographic Provider"
PROV_RSA_FULL, PROV_RSA_AES = 0x01, 0x18
PROVIDERS = {1: (PROV_RSA_FULL, BASE_CSP), 3: (PROV_RSA_FULL, ENHANCED_CSP), 5: (PROV_RSA_AES, AES_CSP)}
KEY_BITS = {"rsa512": 512, "rsa1024": 1024, "rsa2048": 2048, "rsa4096": 4096, "other2048": 2048}
VERSIONS = ("1.0", "2.0", "3.0")

NULL_GUID = uuid.UUID(int=0)
# Only decimal digits, so that upper and lower case names are the same bytes.
SOURCE_QM = uuid.UUID("10203040-5060-7080-9010-112131415161")
DEST_QM = uuid.UUID("20304050-6070-8090-1020-223242526272")
OTHER_QM = uuid.UUID("30405060-7080-9010-2030-334353637383")
PUBLIC_A = uuid.UUID("40506070-8090-1020-3040-445464748494")
PUBLIC_B = uuid.UUID("50607080-9010-2030-4050-556575859505")
PUBLIC_C = uuid.UUID("60708090-1020-3040-5060-667686960616")
CONNECTOR = uuid.UUID("70809010-2030-4050-6070-778797071727")
LETTERED = uuid.UUID("abcdef01-2345-4678-9abc-def012345678")
SID = bytes.fromhex("010500000000000515000000AD4A9EBD36D9FA3D63A656DAE8030000")

# UserHeader queue types (2.2.19.2), and one of our own for list elements (2.2.18.1.4).
SAME_AS_ADMIN, ON_SOURCE, ON_DESTINATION, ON_ADMIN_HOST, PUBLIC, ON_OTHER, DIRECT = 1, 2, 3, 4, 5, 6, 7
DISTRIBUTION_LIST = 16


# --- what a message is ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Queue:
    """A queue name: a UserHeader queue type and whatever that type needs."""

    kind: int
    guid: uuid.UUID = NULL_GUID
    number: int = 0
    path: str = ""


@dataclass(frozen=True)
class Layout:
    """Open points of the packet itself."""

    direct_prefix: bool = False
    public_element_aligned: bool = "--aligned" in sys.argv
    header_size: str = "padded"
    padding: int = 0
    allocation_occupied: bool = False
    provider_nul: bool = True


@dataclass(frozen=True)
class Message:
    """Every field of a UserMessage packet outside the SecurityHeader."""

    destination: Queue | None = Queue(PUBLIC, PUBLIC_A)
    admin: Queue | None = None
    response: Queue | None = None
    connector: uuid.UUID | None = None
    priority: int = 3
    time_to_reach_queue: int = 0x54600
    source_qm: uuid.UUID = SOURCE_QM
    qm_address: uuid.UUID | None = None
    time_to_be_received: int = 0xFFFFFFFF
    sent_time: int = 0x441105E6
    message_id: int = 0x8EE
    hops: int = 0
    delivery: int = 0
    jn: bool = False
    jp: bool = False
    ack: int = 0
    message_class: int = 0
    correlation: bytes = bytes(20)
    body_type: int = 0
    tag: int = 0
    body: bytes = b"The quick brown fox."
    label: str | None = None
    extension: bytes = b""
    hash_id: int = HASH_IDS["SHA-512"]
    cipher_id: int = CIPHER_IDS["RC4"]
    privacy: int = 0
    message_size: int | None = None
    allocation: int | None = None
    destinations: tuple[Queue, ...] = ()
    admins: tuple[Queue, ...] = ()
    responses: tuple[Queue, ...] = ()
    transaction: bool = False
    trace: bool = False
    session: bool = False
    soap: bool = False
    base_reserved: int = 0
    user_reserved: int = 0
    layout: Layout = field(default_factory=Layout)

    @property
    def address(self) -> uuid.UUID:
        """QueueManagerAddress: the NULL GUID unless the destination is public or private."""
        if self.qm_address is not None:
            return self.qm_address
        if self.destination is not None and self.destination.kind in (PUBLIC, ON_DESTINATION):
            return DEST_QM
        return NULL_GUID


@dataclass(frozen=True)
class Security:
    """The SecurityHeader, and the signature of the MultiQueueFormatHeader."""

    sender_type: int = 1
    sender_id: bytes = SID
    key: bytes = b""
    signature: bytes = b""
    cert: bytes = b""
    provider: tuple[int, str] | None = None
    authenticated: int = 0
    encrypted: bool = False
    default_provider: bool = True
    data_present: bool = True
    signature_type: int = 0
    reserved: int = 0
    list_signature: bytes = b""


@dataclass(frozen=True)
class Reading:
    """One way to read what the documents say of signatures.  The defaults are the literal ones."""

    queue: str = "wire"
    absent_queue: str = "nothing"
    same_as_admin: str = "nothing"
    guid_case: str = "upper"
    private_id: str = "minimal"
    label: str = "with-nul"
    absent_label: str = "nothing"
    absent_connector: str = "nothing"
    format_name_list: str = "destination-elements"
    list_queues: str = "user-header"
    scalars: str = "packed"
    body: str = "plain"
    encoding: str = "digest-info"
    byte_order: str = "little"
    certificate: str = "x509"
    place: str = "SecurityData"


@dataclass(frozen=True)
class SealReading:
    """One way to read what the documents say of encryption."""

    mode: str = "CBC"
    padding: str = "PKCS5"
    effective_bits: int | None = None
    salt: str = "none"
    session_key_order: str = "as-is"
    blob_order: str = "little"
    blob_size: str = "modulus"
    message_size: str = "cipher"
    provider: str = "ProviderInfo"


WIRE = Reading()
NAMES = Reading(queue="name-nul")


# --- small things --------------------------------------------------------------------------------


def utf16(text: str, nul: bool = False) -> bytes:
    """UTF-16LE, with a NUL character if asked."""
    return (text + "\0" if nul else text).encode("utf-16-le")


def pad(data: bytes, fill: int = 0, to: int = 4) -> bytes:
    """Data up to the next multiple of ``to``."""
    return data + bytes([fill]) * (-len(data) % to)


def stream(seed: str, size: int) -> bytes:
    """Deterministic bytes."""
    blocks = (hashlib.sha256(f"{seed}/{i}".encode()).digest() for i in range(size // 32 + 1))
    return b"".join(blocks)[:size]


def nonzero(seed: str, size: int) -> bytes:
    """Deterministic bytes without a zero."""
    return bytes(b for b in stream(seed, size * 2 + 64) if b)[:size]


def flip(data: bytes, at: int, mask: int = 0x01) -> bytes:
    """Data with some bits of one byte changed."""
    at %= len(data)
    return data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]


def digest(name: str, data: bytes) -> bytes:
    """The hash of data."""
    if name == "MD2":
        return MD2.new(data).digest()
    if name == "MD4":
        return MD4.new(data).digest()
    return hashlib.new(name.replace("-", "").lower(), data).digest()


def der(tag: int, content: bytes) -> bytes:
    """One DER element shorter than 128 bytes."""
    return bytes([tag, len(content)]) + content


def der_oid(dotted: str) -> bytes:
    """An OBJECT IDENTIFIER."""
    first, second, *rest = (int(part) for part in dotted.split("."))
    out = bytes([first * 40 + second])
    for value in rest:
        groups = [value & 0x7F]
        while value := value >> 7:
            groups.append(value & 0x7F | 0x80)
        out += bytes(reversed(groups))
    return der(0x06, out)


# --- keys and certificates -----------------------------------------------------------------------


def small_key(bits: int) -> RSA.RsaKey:
    """An RSA key that the library's own generator thinks too short."""
    e = 65537
    while True:
        p, q = number.getPrime(bits // 2), number.getPrime(bits // 2)
        if p != q and (p * q).bit_length() == bits and number.GCD(e, (p - 1) * (q - 1)) == 1:
            return RSA.construct((p * q, e, pow(e, -1, (p - 1) * (q - 1)), p, q))


def load_keys(directory: Path | None) -> dict[str, RSA.RsaKey]:
    """The keys of the directory, those missing generated (and kept there)."""
    keys: dict[str, RSA.RsaKey] = {}
    for name, bits in KEY_BITS.items():
        path = directory / f"{name}.pem" if directory else None
        if path and path.exists():
            keys[name] = RSA.import_key(path.read_bytes())
            continue
        keys[name] = small_key(bits) if bits < 1024 else RSA.generate(bits)
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(keys[name].export_key(pkcs=8))
    return keys


def modulus_size(key: RSA.RsaKey) -> int:
    """Bytes of the modulus."""
    return (key.n.bit_length() + 7) // 8


def subject_of(name: str) -> x509.Name:
    """The subject of a key's certificate; one of them needs escaping in RFC 4514."""
    common = "Möller, Ada + Söhne" if name == "rsa4096" else f"Signer {name}"
    return x509.Name(
        [
            x509.NameAttribute(NameOID.COUNTRY_NAME, "NL"),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Hand Vectors"),
            x509.NameAttribute(NameOID.COMMON_NAME, common),
        ]
    )


class Certificates:
    """Certificates for the keys: deterministic, self-signed, except the 512-bit one (by other2048)."""

    def __init__(self, keys: dict[str, RSA.RsaKey]) -> None:
        self.keys = keys
        pem = keys["other2048"].export_key(pkcs=8)
        other = serialization.load_pem_private_key(pem, None)
        assert isinstance(other, rsa.RSAPrivateKey)
        self.issuer = other

    def make(self, name: str, last_year: int = 2099) -> bytes:
        """The DER certificate of a key."""
        key = self.keys[name]
        public = rsa.RSAPublicNumbers(key.e, key.n).public_key()
        issuer_name, issuer = "other2048", self.issuer
        if KEY_BITS[name] >= 1024:
            own = serialization.load_pem_private_key(key.export_key(pkcs=8), None)
            assert isinstance(own, rsa.RSAPrivateKey)
            issuer_name, issuer = name, own
        return self._build(subject_of(name), public, subject_of(issuer_name), issuer, last_year)

    def elliptic(self) -> bytes:
        """A certificate for a key that isn't RSA."""
        public = ec.derive_private_key(0x1234567, ec.SECP256R1()).public_key()
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Elliptic")])
        return self._build(name, public, subject_of("other2048"), self.issuer, 2099)

    @staticmethod
    def _build(
        subject: x509.Name,
        public: rsa.RSAPublicKey | ec.EllipticCurvePublicKey,
        issuer_name: x509.Name,
        issuer: rsa.RSAPrivateKey,
        last_year: int,
    ) -> bytes:
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer_name)
            .public_key(public)
            .serial_number(0x4D534D51)
            .not_valid_before(datetime.datetime(2000, 1, 1))
            .not_valid_after(datetime.datetime(last_year, 12, 31))
        )
        return builder.sign(issuer, hashes.SHA256()).public_bytes(serialization.Encoding.DER)


def public_key_blob(key: RSA.RsaKey, key_type: int, reserved: int) -> bytes:
    """PUBLICKEYBLOB (MS-MQQB 2.4.1), or the structure of 2.2.20.6 with one zero byte less."""
    head = b"\x06\x02" + bytes(reserved) + struct.pack("<I", key_type) + b"RSA1"
    return head + struct.pack("<II", key.n.bit_length(), key.e) + key.n.to_bytes(modulus_size(key), "little")


# --- the packet ----------------------------------------------------------------------------------


def direct_text(queue: Queue, layout: Layout) -> str:
    """The DirectFormatName on the wire; the frame of MS-MQQB 4.1.7 has no DIRECT= in it."""
    return "DIRECT=" + queue.path if layout.direct_prefix else queue.path


def queue_field(queue: Queue | None, layout: Layout, padded: bool = True) -> bytes:
    """A queue in the UserHeader (2.2.18.1.5, 2.2.18.1.7)."""
    if queue is None or queue.kind == SAME_AS_ADMIN:
        return b""
    if queue.kind in (ON_SOURCE, ON_DESTINATION, ON_ADMIN_HOST):
        return struct.pack("<I", queue.number)
    if queue.kind == PUBLIC:
        return queue.guid.bytes_le
    if queue.kind == ON_OTHER:
        return queue.guid.bytes_le + struct.pack("<I", queue.number)
    name = utf16(direct_text(queue, layout), nul=True)
    out = struct.pack("<H", len(name)) + name
    return pad(out, layout.padding) if padded else out


def list_elements(queues: Iterable[Queue], layout: Layout) -> bytes:
    """MQFFormatNameElements (2.2.18.1.4), one after another, from a 4-byte boundary."""
    out = b""
    for queue in queues:
        out = pad(out, layout.padding, 2)
        if queue.kind == PUBLIC:
            out += struct.pack("<H", 1)
            out = (pad(out, layout.padding) if layout.public_element_aligned else out) + queue.guid.bytes_le
        elif queue.kind == DIRECT:
            out += struct.pack("<H", 3) + utf16(direct_text(queue, layout), nul=True)
        elif queue.kind == DISTRIBUTION_LIST:
            out = pad(out + struct.pack("<H", 6), layout.padding) + queue.guid.bytes_le
        else:
            out = pad(out + struct.pack("<H", 2), layout.padding)
            out += queue.guid.bytes_le + struct.pack("<I", queue.number)
    return out


def address_header(header_id: int, queues: tuple[Queue, ...], layout: Layout) -> bytes:
    """MQFAddressHeader (2.2.20.2)."""
    elements = list_elements(queues, layout)
    padded = pad(elements, layout.padding)
    size = 12 + len(padded if layout.header_size == "padded" else elements)
    return struct.pack("<IHHI", size, header_id, 0, len(queues)) + padded


def list_header(message: Message, signature: bytes) -> bytes:
    """MultiQueueFormatHeader (2.2.20.1)."""
    return (
        address_header(0x64, message.destinations, message.layout)
        + address_header(0xC8, message.admins, message.layout)
        + address_header(0x12C, message.responses, message.layout)
        + pad(struct.pack("<HHI", 0x15E, 0, len(signature)) + signature, message.layout.padding)
    )


def user_header(message: Message, secured: bool) -> bytes:
    """UserHeader (2.2.19.2)."""
    destination, admin, response = message.destination, message.admin, message.response
    flags = message.hops | message.delivery << 5 | message.jn << 8 | message.jp << 9
    flags |= (destination.kind if destination else 0) << 10
    flags |= (admin.kind if admin else 0) << 13
    flags |= (response.kind if response else 0) << 16
    flags |= secured << 19 | message.transaction << 20 | 1 << 21
    flags |= (message.connector is not None) << 22 | bool(message.destinations) << 23
    flags |= message.soap << 28 | message.user_reserved
    return (
        message.source_qm.bytes_le
        + message.address.bytes_le
        + struct.pack("<IIII", message.time_to_be_received, message.sent_time, message.message_id, flags)
        + queue_field(destination, message.layout)
        + queue_field(admin, message.layout)
        + queue_field(response, message.layout)
        + (message.connector.bytes_le if message.connector else b"")
    )


def provider_info(provider: tuple[int, str] | None, layout: Layout) -> bytes:
    """ProviderInfo (2.2.20.6)."""
    if provider is None:
        return b""
    return struct.pack("<I", provider[0]) + utf16(provider[1], layout.provider_nul)


def security_header(security: Security, layout: Layout) -> bytes:
    """SecurityHeader (2.2.20.6)."""
    flags = security.sender_type | security.authenticated << 4 | security.encrypted << 5
    flags |= security.default_provider << 6 | security.data_present << 7 | security.signature_type << 8
    provider = provider_info(security.provider, layout)
    items = (security.sender_id, security.key, security.signature, security.cert, provider)
    sizes = struct.pack("<HHHII", *(len(item) for item in items))
    data = b"".join(pad(item, layout.padding) for item in items)
    return struct.pack("<H", flags | security.reserved) + sizes + data


def label_field(message: Message) -> bytes:
    """The Label with its NUL; none at all if there is no label."""
    return b"" if message.label is None else utf16(message.label, nul=True)


def properties_header(message: Message) -> bytes:
    """MessagePropertiesHeader (2.2.19.3)."""
    label = label_field(message)
    size = len(message.body) if message.message_size is None else message.message_size
    allocation = len(message.body) if message.allocation is None else message.allocation
    fixed = struct.pack("<BBH", message.ack, len(label) // 2, message.message_class) + message.correlation
    fixed += struct.pack("<IIII", message.body_type, message.tag, size, allocation)
    fixed += struct.pack("<IIII", message.privacy, message.hash_id, message.cipher_id, len(message.extension))
    out = fixed + label + message.extension + message.body
    if message.layout.allocation_occupied:
        out += bytes([message.layout.padding]) * (allocation - len(message.body))
    return pad(out, message.layout.padding)


def optional_headers(message: Message) -> tuple[bytes, bytes]:
    """TransactionHeader (2.2.20.5); DebugHeader and SoapHeader (2.2.20.8, 2.2.20.7)."""
    before = after = b""
    if message.transaction:
        flags = 1 << 2 | 1 << 3 | 0x12345 << 4
        before = struct.pack("<IIIII", flags, 7, 0x441105E6, 1, 0)
    if message.trace:
        after = struct.pack("<HH", 1, 0) + PUBLIC_C.bytes_le
    if message.soap:
        header, body = utf16("<a/>abc", nul=True), utf16("<b/>abc", nul=True)
        after += struct.pack("<HHI", 0x320, 0, len(header) // 2) + header
        after += struct.pack("<HHI", 0x384, 0, len(body) // 2) + body
    return before, after


def build_packet(message: Message, security: Security | None) -> bytes:
    """The whole packet; PacketSize doesn't count the SessionHeader (2.2.19.1)."""
    before, after = optional_headers(message)
    rest = user_header(message, security is not None) + before
    if security is not None:
        rest += security_header(security, message.layout)
    rest += properties_header(message) + after
    if message.destinations:
        rest += list_header(message, security.list_signature if security else b"")
    flags = message.priority | message.session << 4 | message.trace << 5 | message.trace << 8
    flags |= message.base_reserved
    base = struct.pack("<BBHI", 0x10, 0, flags, 0x524F494C)
    base += struct.pack("<II", 16 + len(rest), message.time_to_reach_queue)
    session = struct.pack("<HHIHHHH", 1, 0, 0, 1, 0, 64, 0) if message.session else b""
    return base + rest + session


# --- what is signed ------------------------------------------------------------------------------


def guid_text(value: uuid.UUID, reading: Reading) -> str:
    """A GUID in a format name."""
    return str(value).upper() if reading.guid_case == "upper" else str(value)


def private_host(queue: Queue, message: Message) -> uuid.UUID:
    """The queue manager of a private queue."""
    if queue.kind == ON_SOURCE:
        return message.source_qm
    if queue.kind == ON_DESTINATION:
        return message.address
    if queue.kind == ON_ADMIN_HOST and message.admin is not None and message.admin.kind != ON_ADMIN_HOST:
        return private_host(message.admin, message)
    return queue.guid


def format_name(queue: Queue, message: Message, reading: Reading) -> str:
    """A queue's format name (2.1)."""
    if queue.kind == DIRECT:
        return "DIRECT=" + queue.path
    if queue.kind == PUBLIC:
        return "PUBLIC=" + guid_text(queue.guid, reading)
    if queue.kind == DISTRIBUTION_LIST:
        return "DL=" + guid_text(queue.guid, reading)
    digits = f"{queue.number:08X}" if reading.private_id == "eight" else f"{queue.number:X}"
    digits = digits if reading.guid_case == "upper" else digits.lower()
    return f"PRIVATE={guid_text(private_host(queue, message), reading)}\\{digits}"


def queue_format(queue: Queue, message: Message) -> bytes:
    """A QUEUE_FORMAT (2.2.7), a string standing where the pointer to it would be."""
    if queue.kind == DIRECT:
        return struct.pack("<BBH", 3, 0, 0) + utf16(queue.path, nul=True)
    if queue.kind == PUBLIC:
        return struct.pack("<BBH", 1, 0, 0) + queue.guid.bytes_le
    host = private_host(queue, message).bytes_le
    return struct.pack("<BBH", 2, 0, 0) + host + struct.pack("<I", queue.number)


def signed_queue(queue: Queue | None, message: Message, reading: Reading) -> bytes:
    """A queue of the UserHeader as it is hashed."""
    if queue is not None and queue.kind == SAME_AS_ADMIN:
        queue = message.admin if reading.same_as_admin == "admin" else None
    if queue is None:
        return {"nothing": b"", "nul": bytes(2), "unknown-format": bytes(4)}[reading.absent_queue]
    if reading.queue in ("name-nul", "name"):
        return utf16(format_name(queue, message, reading), reading.queue == "name-nul")
    if reading.queue == "queue-format":
        return queue_format(queue, message)
    if queue.kind == DIRECT and reading.queue in ("wire-string", "wire-string-bare"):
        return utf16(direct_text(queue, message.layout), reading.queue == "wire-string")
    return queue_field(queue, message.layout, padded=reading.queue == "wire-padded")


def signed_list(message: Message, reading: Reading) -> bytes:
    """MultiQueueFormatHeader.FormatNameList as it is hashed."""
    style, layout = reading.format_name_list, message.layout
    lists = ((0x64, message.destinations), (0xC8, message.admins), (0x12C, message.responses))
    if not message.destinations:
        return b""
    headers = [address_header(header_id, queues, layout) for header_id, queues in lists]
    if style == "destination-elements":
        return list_elements(message.destinations, layout)
    if style == "destination-elements-padded":
        return headers[0][12:]
    if style == "destination-count-and-elements":
        return headers[0][8:]
    if style == "destination-header":
        return headers[0]
    if style == "all-elements":
        return b"".join(list_elements(queues, layout) for _, queues in lists)
    if style == "all-headers":
        return b"".join(headers)
    names = [format_name(queue, message, reading) for queue in message.destinations]
    if style == "each-name-nul":
        return b"".join(utf16(name, nul=True) for name in names)
    return utf16(",".join(names), nul=style == "joined-names-nul")


def signed_scalars(message: Message, reading: Reading) -> bytes:
    """DM, PR, the two journal bits, the acknowledgments, MessageClass and BodyType."""
    journal, ack = message.jp << 1 | message.jn, message.ack & 0x0F
    values = (message.delivery, message.priority, journal, ack, message.message_class, message.body_type)
    form = {"packed": "<BBBBHI", "aligned": "<BBBBHxxI", "promoted": "<BBIIHI"}[reading.scalars]
    return struct.pack(form, *values)


def signed_bytes(message: Message, version: str, reading: Reading, body: bytes) -> bytes:
    """The properties of 2.5.1, 2.5.2 or 2.5.3 in their order."""
    label = label_field(message)
    if message.label is None:
        label = bytes(2) if reading.absent_label == "nul" else b""
    elif reading.label == "without-nul":
        label = label[:-2]
    out = message.correlation + struct.pack("<I", message.tag) + body + label
    if version == "3.0" and reading.list_queues == "lists":
        out += list_elements(message.responses, message.layout)
        out += list_elements(message.admins, message.layout)
    else:
        out += signed_queue(message.response, message, reading)
        out += signed_queue(message.admin, message, reading)
    if version == "1.0":
        return out
    if version == "3.0":
        out += message.extension + signed_list(message, reading)
    out += message.source_qm.bytes_le + signed_scalars(message, reading)
    if message.connector is not None:
        out += message.connector.bytes_le
    elif reading.absent_connector == "null-guid":
        out += bytes(16)
    return out + (signed_queue(message.destination, message, reading) if version == "2.0" else b"")


def sign(hash_name: str, data: bytes, key: RSA.RsaKey, reading: Reading) -> bytes:
    """The hash of data "encrypted using RSA and the sender private key" (MS-MQQB 3.1.7.1.4)."""
    value, size = digest(hash_name, data), modulus_size(key)
    if reading.encoding == "hash-only":
        return value
    if reading.encoding.startswith("digest-info"):
        null = b"" if reading.encoding == "digest-info-no-null" else der(0x05, b"")
        value = der(0x30, der(0x30, der_oid(HASH_OIDS[hash_name]) + null) + der(0x04, value))
    if reading.encoding.startswith("raw"):
        value = value[::-1] if reading.encoding == "raw-digest-reversed" else value
        block = value.rjust(size, b"\0")
    else:
        filler = size - 3 - len(value)
        if filler < 8:
            raise ValueError(f"{hash_name} doesn't fit a key of {size} bytes")
        block = b"\0\1" + b"\xff" * filler + b"\0" + value
    plain = int.from_bytes(block, "big")
    return pow(plain, key.d, key.n).to_bytes(size, "little" if reading.byte_order == "little" else "big")


# --- what is sealed ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seal:
    """How a body is encrypted, and what is damaged on purpose."""

    algorithm: str = "AES-256"
    key_size: int = 32
    privacy: int = 5
    recipient: str = "rsa2048"
    reading: SealReading = field(default_factory=SealReading)
    encrypt_for: str | None = None
    blob_algorithm: int | None = None
    block_type: int = 2
    opens: bool | None = True
    body_after: bytes | None = None
    pad_tail: bytes | None = None
    damage_cipher: Callable[[bytes], bytes] | None = None
    damage_blob: Callable[[bytes], bytes] | None = None


@dataclass(frozen=True)
class Sealed:
    """The results of sealing."""

    cipher: bytes
    blob: bytes
    session_key: bytes
    cipher_key: bytes


def make_session_key(seal: Seal, seed: str) -> bytes:
    """The session key; 40 bits with 88 zero bits if the reading says so (MS-MQQB 3.1.7.1.5)."""
    if seal.reading.salt == "trailing-in-blob":
        return stream(seed, 5) + bytes(11)
    if seal.reading.salt == "leading-in-blob":
        return bytes(11) + stream(seed, 5)
    return stream(seed, seal.key_size)


def encrypt_body(seal: Seal, key: bytes, body: bytes) -> bytes:
    """The body under the session key, zero IV and PKCS5 padding (2.2.19.3)."""
    if seal.algorithm == "RC4":
        # pycryptodomex takes keys of 5 bytes and up.
        return ARC4.new(key).encrypt(body) if body else b""
    block = 8 if seal.algorithm == "RC2" else 16
    missing = block - len(body) % block
    tail = bytes([missing]) * missing
    if seal.reading.padding == "zero":
        tail = bytes(-len(body) % block)
    if seal.pad_tail is not None:
        tail = seal.pad_tail
    body += tail
    if seal.algorithm == "RC2":
        bits = seal.reading.effective_bits or len(key) * 8
        options: dict[str, Any] = {"effective_keylen": bits}
        if seal.reading.mode == "ECB":
            return ARC2.new(key, ARC2.MODE_ECB, **options).encrypt(body)
        return ARC2.new(key, ARC2.MODE_CBC, iv=bytes(8), **options).encrypt(body)
    if seal.reading.mode == "ECB":
        return AES.new(key, AES.MODE_ECB).encrypt(body)
    return AES.new(key, AES.MODE_CBC, iv=bytes(16)).encrypt(body)


def simple_blob(seal: Seal, session_key: bytes, key: RSA.RsaKey, seed: str) -> bytes:
    """SIMPLEBLOB (MS-MQQB 2.4.2)."""
    size = modulus_size(key)
    secret = session_key[::-1] if seal.reading.session_key_order == "reversed" else session_key
    filler = nonzero(seed + "/filler", size - 3 - len(secret))
    block = b"\0" + bytes([seal.block_type]) + filler + b"\0" + secret
    order: Literal["little", "big"] = "little" if seal.reading.blob_order == "little" else "big"
    encrypted = pow(int.from_bytes(block, "big"), key.e, key.n).to_bytes(size, order)
    if seal.reading.blob_size == "256":
        encrypted = encrypted.ljust(256, b"\0") if order == "little" else encrypted.rjust(256, b"\0")
    algorithm = CIPHER_IDS[seal.algorithm] if seal.blob_algorithm is None else seal.blob_algorithm
    return b"\x01\x02\x00\x00" + struct.pack("<II", algorithm, 0xA400) + encrypted


def seal_body(seal: Seal, body: bytes, keys: dict[str, RSA.RsaKey], seed: str) -> Sealed:
    """Encrypt a body and its session key."""
    session_key = make_session_key(seal, seed)
    cipher_key = session_key
    if seal.reading.salt == "trailing-in-cipher":
        cipher_key = session_key + bytes(11)
    cipher = encrypt_body(seal, cipher_key, body)
    blob = simple_blob(seal, session_key, keys[seal.encrypt_for or seal.recipient], seed)
    if seal.damage_cipher is not None:
        cipher = seal.damage_cipher(cipher)
    if seal.damage_blob is not None:
        blob = seal.damage_blob(blob)
    return Sealed(cipher, blob, session_key, cipher_key)


# --- the suite -----------------------------------------------------------------------------------

Change = Callable[[Message], Message]
Alter = Callable[[Security], Security]


def unchanged(message: Message) -> Message:
    """No change."""
    return message


def unaltered(security: Security) -> Security:
    """No alteration."""
    return security


def setting(**values: Any) -> Change:
    """A change that sets fields of the message."""
    return lambda message: replace(message, **values)


def securing(**values: Any) -> Alter:
    """An alteration that sets fields of the security header."""
    return lambda security: replace(security, **values)


@dataclass
class Suite:
    """The cases, and everything they're made with."""

    keys: dict[str, RSA.RsaKey]
    certificates: Certificates
    cases: list[dict[str, Any]] = field(default_factory=list)
    known: dict[str, bytes] = field(default_factory=dict)

    def certificate(self, name: str) -> bytes:
        """A key's certificate, made once."""
        if name not in self.known:
            self.known[name] = self.certificates.make(name)
        return self.known[name]

    def sender_cert(self, name: str, reading: Reading) -> bytes:
        """What goes to SenderCert."""
        if reading.certificate == "publickeyblob":
            return public_key_blob(self.keys[name], 0x2400, 2)
        if reading.certificate == "publickeyblob-7":
            return public_key_blob(self.keys[name], 0x2400, 1)
        return self.certificate(name)

    def add(
        self,
        name: str,
        category: str,
        message: Message,
        version: str | None = None,
        *,
        hash_name: str = "SHA-512",
        key: str = "rsa2048",
        reading: Reading = WIRE,
        seal: Seal | None = None,
        change: Change = unchanged,
        alter: Alter = unaltered,
        expect: str | None = "verified",
        note: str = "",
    ) -> None:
        """Build one case: sign, seal, then apply the changes, then write the packet."""
        if any(case["name"] == name for case in self.cases):
            raise ValueError(f"two cases named {name}")
        if version == "3.0" and reading.place == "SecurityData" and category != "place":
            reading = replace(reading, place="MQFSignatureHeader")
        sent = replace(message, hash_id=HASH_IDS[hash_name])
        security = Security()
        sealed: Sealed | None = None
        if seal is not None:
            sealed = seal_body(seal, message.body, self.keys, name)
            sent, security = self.with_seal(sent, security, seal, sealed, len(message.body))
        signature: dict[str, Any] | None = None
        if version is not None:
            body = sent.body if reading.body == "cipher" else message.body
            hashed = signed_bytes(sent, version, reading, body)
            value = sign(hash_name, hashed, self.keys[key], reading)
            place = "signature" if reading.place == "SecurityData" else "list_signature"
            security = replace(security, cert=self.sender_cert(key, reading))
            security = securing(**{place: value})(security)
            signature = {
                "version": version,
                "hash": hash_name,
                "reading": asdict(reading) | {"layout": asdict(message.layout)},
                "hashed_hex": hashed.hex(),
                "key": key,
                "subject": subject_of(key).rfc4514_string(),
            }
        use_security = version is not None or seal is not None or alter is not unaltered
        packet = build_packet(change(sent), alter(security) if use_security else None)
        record = {
            "name": name,
            "category": category,
            "note": note,
            "hex": packet.hex(),
            "signature": signature,
            "sealed": self.seal_record(seal, sealed, message.body),
            "expect": expect if version is not None else None,
        }
        self.cases.append(record)

    def tampered(self, name: str, message: Message, version: str, **values: Any) -> None:
        """A case of a change that the signature covers."""
        self.add(f"tampered-{name}", "tampered-covered", message, version, expect="not verified", **values)

    def bad(self, name: str, version: str = "2.0", **values: Any) -> None:
        """A case of something that isn't right."""
        values = {"expect": "not verified"} | values
        self.add(f"bad-{version}-{name}", "bad", base_for(version), version, **values)

    def uncovered(self, name: str, message: Message, version: str, **values: Any) -> None:
        """A case of a change that the signature doesn't cover."""
        self.add(f"uncovered-{name}", "tampered-uncovered", message, version, **values)

    @staticmethod
    def with_seal(
        sent: Message, security: Security, seal: Seal, sealed: Sealed, plain_size: int
    ) -> tuple[Message, Security]:
        """The fields that MS-MQQB 3.1.7.1.5 sets at the end."""
        sent = replace(
            sent,
            body=sealed.cipher,
            message_size=plain_size if seal.reading.message_size == "plain" else None,
            privacy=seal.privacy,
            cipher_id=CIPHER_IDS[seal.algorithm],
        )
        provider = PROVIDERS.get(seal.privacy) if seal.reading.provider == "ProviderInfo" else None
        default = provider is None
        security = replace(
            security, encrypted=True, key=sealed.blob, provider=provider, default_provider=default
        )
        return sent, security

    @staticmethod
    def seal_record(seal: Seal | None, sealed: Sealed | None, body: bytes) -> dict[str, Any] | None:
        """The "sealed" part of a case."""
        if seal is None or sealed is None:
            return None
        reading = asdict(seal.reading)
        if seal.algorithm == "RC2":
            reading["effective_bits"] = seal.reading.effective_bits or len(sealed.cipher_key) * 8
        return {
            "algorithm": seal.algorithm,
            "key_size": len(sealed.session_key),
            "key": seal.recipient,
            "body_hex": (body if seal.body_after is None else seal.body_after).hex(),
            "session_key_hex": sealed.session_key.hex(),
            "cipher_key_hex": sealed.cipher_key.hex(),
            "privacy_level": seal.privacy,
            "opens": seal.opens,
            "reading": reading,
        }


# --- messages to start from ----------------------------------------------------------------------

# Names of an odd number of characters need two bytes of padding, even ones need none.
EVEN_PATH = "OS:hand1\\private$\\orders"
ODD_PATH = "OS:hand01\\private$\\orders"
DIRECT_EVEN = Queue(DIRECT, path="OS:hand1\\queue")
DIRECT_ODD = Queue(DIRECT, path="OS:hand1\\queue5")
DIRECT_TCP = Queue(DIRECT, path="TCP:192.0.2.17\\private$\\in1")
ELSEWHERE = Queue(ON_OTHER, OTHER_QM, 0x12345678)

FULL = Message(
    admin=Queue(PUBLIC, PUBLIC_B),
    response=Queue(PUBLIC, PUBLIC_C),
    connector=CONNECTOR,
    priority=5,
    delivery=1,
    jp=True,
    ack=0x05,
    message_class=0x0001,
    correlation=stream("correlation", 20),
    body_type=0x41,
    tag=0x01020304,
    label="hand",
    extension=b"extra data..",
)
LISTED = replace(
    FULL,
    destination=DIRECT_EVEN,
    destinations=(DIRECT_EVEN, Queue(DIRECT, path="TCP:192.0.2.17\\q12"), ELSEWHERE),
)
MIXED = replace(
    LISTED,
    destinations=(Queue(PUBLIC, PUBLIC_A), Queue(DISTRIBUTION_LIST, OTHER_QM), DIRECT_ODD),
    admins=(Queue(PUBLIC, PUBLIC_B), DIRECT_ODD),
    responses=(DIRECT_TCP,),
)


def base_for(version: str) -> Message:
    """A full message for a version: 3.0 is for several destinations."""
    return LISTED if version == "3.0" else FULL


def reading_name(reading: Reading) -> str:
    """The short name of one of the two main readings."""
    return "wire" if reading.queue == "wire" else "names"


# --- the categories ------------------------------------------------------------------------------


def add_core(suite: Suite) -> None:
    """Every version with every hash algorithm, both main readings, both byte orders."""
    for reading in (WIRE, NAMES):
        for version in VERSIONS:
            for hash_name in HASH_IDS:
                name = f"core-{version}-{hash_name}-{reading_name(reading)}"
                suite.add(name, "core", base_for(version), version, hash_name=hash_name, reading=reading)
            name = f"core-{version}-SHA-1-{reading_name(reading)}-big"
            big = replace(reading, byte_order="big")
            suite.add(name, "core", base_for(version), version, hash_name="SHA-1", reading=big)


def add_key_sizes(suite: Suite) -> None:
    """Signer keys of every size.  SHA-512 doesn't fit the 512-bit key."""
    pairs = [("rsa512", "MD5"), ("rsa512", "SHA-256"), ("rsa1024", "SHA-1")]
    pairs += [("rsa1024", "SHA-512"), ("rsa4096", "SHA-512")]
    for version in VERSIONS:
        for i, (key, hash_name) in enumerate(pairs):
            reading = WIRE if (i + VERSIONS.index(version)) % 2 else NAMES
            name, message = f"key-{version}-{key}-{hash_name}-{reading_name(reading)}", base_for(version)
            suite.add(name, "key-size", message, version, hash_name=hash_name, key=key, reading=reading)


def queue_shapes() -> dict[str, Message]:
    """Messages that differ in their queues."""
    on_source, on_destination = Queue(ON_SOURCE, number=0x12345678), Queue(ON_DESTINATION, number=0x23456789)
    private = replace(FULL, destination=Queue(ON_DESTINATION, number=0x34567890))
    admin_host = Queue(ON_ADMIN_HOST, number=0x45678901)
    return {
        "no-options": Message(correlation=stream("bare", 20)),
        "to-private": private,
        "to-direct-even": replace(FULL, destination=DIRECT_EVEN),
        "to-direct-odd": replace(FULL, destination=DIRECT_ODD),
        "response-on-source": replace(FULL, response=on_source),
        "response-on-destination": replace(private, response=on_destination),
        "response-on-admin-host": replace(FULL, admin=ELSEWHERE, response=admin_host),
        "response-elsewhere": replace(FULL, response=ELSEWHERE),
        "response-direct-odd": replace(FULL, response=Queue(DIRECT, path=ODD_PATH)),
        "response-same-as-admin": replace(FULL, response=Queue(SAME_AS_ADMIN)),
        "admin-on-source": replace(FULL, admin=on_source),
        "admin-on-destination": replace(private, admin=on_destination),
        "admin-elsewhere": replace(FULL, admin=ELSEWHERE),
        "admin-direct-even": replace(FULL, admin=Queue(DIRECT, path=EVEN_PATH)),
        "all-direct-padded-cc": replace(
            FULL, destination=DIRECT_ODD, admin=DIRECT_ODD, response=DIRECT_ODD, layout=Layout(padding=0xCC)
        ),
    }


def other_shapes() -> dict[str, tuple[Message, Alter]]:
    """Messages that differ in anything else."""
    fit = replace(FULL, delivery=0, jp=False, ack=0, message_class=0)
    qm_sender = securing(sender_type=2, sender_id=SOURCE_QM.bytes_le)
    plain: dict[str, Message] = {
        "label-only-nul": replace(fit, label=""),
        "label-249": replace(fit, label="L" * 249),
        "label-unicode": replace(fit, label="Grüße \U0001f600 漢字"),
        "label-none": replace(fit, label=None),
        "body-none": replace(fit, body=b""),
        "body-1": replace(fit, body=b"\0", body_type=0x11),
        "body-7-extension-3": replace(fit, body=b"seven.7", extension=b"ext", label="odd"),
        "body-5000": replace(fit, body=stream("big", 5000), body_type=0x1011),
        "body-text": replace(fit, body=utf16("text", nul=True), body_type=31),
        "connector-none": replace(fit, connector=None),
        "priority-0-journal-both": replace(fit, priority=0, jn=True, jp=True),
        "priority-7-journal-negative": replace(fit, priority=7, jn=True),
        "acks-all-class-custom": replace(fit, ack=0x0F, message_class=0xE1FF, delivery=1),
        "transactional": replace(fit, transaction=True, delivery=1, priority=0),
        "traced": replace(fit, trace=True),
        "with-session-header": replace(fit, session=True),
        "with-soap-header": replace(fit, soap=True),
        "allocation-larger-not-present": replace(fit, allocation=64),
        "allocation-larger-present": replace(fit, allocation=64, layout=Layout(allocation_occupied=True)),
    }
    out: dict[str, tuple[Message, Alter]] = {name: (message, unaltered) for name, message in plain.items()}
    out["sender-none"] = (fit, securing(sender_type=0, sender_id=b""))
    out["sender-queue-manager"] = (fit, qm_sender)
    out["data-present-clear"] = (fit, securing(data_present=False))
    provider = {"default_provider": False, "provider": (PROV_RSA_FULL, ENHANCED_CSP)}
    out["alternate-provider"] = (fit, securing(**provider))
    return out


def add_shapes(suite: Suite) -> None:
    """What a message can look like."""
    for shape, message in queue_shapes().items():
        for reading in (WIRE, NAMES):
            suite.add(f"shape-2.0-{shape}-{reading_name(reading)}", "shape", message, "2.0", reading=reading)
    for i, (shape, (message, alter)) in enumerate(other_shapes().items()):
        version, reading = ("2.0", "1.0")[i % 2], (WIRE, NAMES)[i // 2 % 2]
        name = f"shape-{version}-{shape}-{reading_name(reading)}"
        suite.add(name, "shape", message, version, reading=reading, alter=alter)
    for shape, message in list_shapes().items():
        suite.add(f"shape-3.0-{shape}-wire", "shape", message, "3.0")
    suite.add("shape-unsigned-frame", "plain", Message(label="mqsender label", destination=DIRECT_ODD))
    suite.add("shape-unsigned-with-sender", "plain", FULL, alter=securing())
    note, certified = "A certificate without a signature.", securing(cert=suite.certificate("rsa2048"))
    suite.add("shape-unsigned-with-cert", "plain", FULL, alter=certified, note=note)


def list_shapes() -> dict[str, Message]:
    """Messages to several destinations."""
    aligned = Layout(public_element_aligned=True)
    return {
        "one-direct": replace(LISTED, destinations=(DIRECT_EVEN,)),
        "odd-direct": replace(LISTED, destinations=(DIRECT_ODD, DIRECT_TCP)),
        "private-only": replace(
            LISTED, destination=Queue(ON_DESTINATION, number=7), destinations=(ELSEWHERE,)
        ),
        "public-unaligned": replace(LISTED, destinations=(Queue(PUBLIC, PUBLIC_A), DIRECT_EVEN)),
        "public-aligned": replace(
            LISTED, destinations=(Queue(PUBLIC, PUBLIC_A), DIRECT_EVEN), layout=aligned
        ),
        "mixed-all-lists": MIXED,
        "mixed-unpadded-size": replace(MIXED, layout=Layout(header_size="unpadded")),
        "mixed-padding-cc": replace(MIXED, layout=Layout(padding=0xCC)),
        "no-destination-field": replace(LISTED, destination=None),
        "direct-prefix": replace(LISTED, layout=Layout(direct_prefix=True)),
    }


def add_readings(suite: Suite) -> None:
    """One case for each reading of each open point."""
    direct = replace(
        FULL,
        destination=DIRECT_ODD,
        response=Queue(DIRECT, path=ODD_PATH),
        admin=DIRECT_ODD,
        layout=Layout(padding=0xAA),
    )
    lettered = replace(
        FULL,
        destination=Queue(PUBLIC, LETTERED),
        admin=Queue(ON_OTHER, LETTERED, 0xAB),
        response=Queue(ON_SOURCE, number=0x1F),
    )
    absent = replace(FULL, response=None, admin=None)
    same = replace(FULL, response=Queue(SAME_AS_ADMIN))

    def one(name: str, base: Message, versions: str, expect: str | None = "verified", **values: str) -> None:
        for version in versions.split():
            reading, case = replace(WIRE, **values), f"reading-{version}-{name}"
            suite.add(case, "reading", base, version, reading=reading, expect=expect)

    for style in (
        "wire",
        "wire-padded",
        "wire-string",
        "wire-string-bare",
        "name-nul",
        "name",
        "queue-format",
    ):
        versions = "1.0 2.0" if style in ("wire-padded", "name-nul", "name") else "2.0"
        one(f"queue-{style}", direct, versions, queue=style)
    one("queue-private-queue-format", lettered, "2.0", queue="queue-format")
    for case in ("upper", "lower"):
        for digits in ("minimal", "eight"):
            name = f"name-{case}-{digits}"
            one(name, lettered, "2.0", queue="name-nul", guid_case=case, private_id=digits)
    one("absent-queue-nothing", absent, "1.0 2.0")
    one("absent-queue-nul", absent, "2.0", queue="name-nul", absent_queue="nul")
    one("absent-queue-unknown-format", absent, "2.0", queue="queue-format", absent_queue="unknown-format")
    one("absent-name-nothing", absent, "2.0", queue="name-nul")
    one("same-as-admin", same, "2.0", same_as_admin="admin")
    one("same-as-admin-name", same, "2.0", queue="name-nul", same_as_admin="admin")
    one("label-without-nul", FULL, "2.0", label="without-nul")
    one("label-without-nul-names", FULL, "2.0", label="without-nul", queue="name")
    one("absent-label-nul", replace(FULL, label=None), "2.0", absent_label="nul")
    one("absent-connector-null-guid", replace(FULL, connector=None), "2.0", absent_connector="null-guid")
    one("absent-connector-null-guid", replace(LISTED, connector=None), "3.0", absent_connector="null-guid")
    one("absent-everything", Message(), "1.0 2.0")
    everything = {"absent_queue": "nul", "absent_label": "nul", "absent_connector": "null-guid"}
    one("absent-everything-filled", Message(), "2.0", queue="name-nul", **everything)
    for style in (
        "destination-elements",
        "destination-elements-padded",
        "destination-count-and-elements",
        "destination-header",
        "all-elements",
        "all-headers",
        "each-name-nul",
        "joined-names-nul",
        "joined-names",
    ):
        one(f"list-{style}", MIXED, "3.0", format_name_list=style)
    one("list-joined-names-nul-names", MIXED, "3.0", format_name_list="joined-names-nul", queue="name-nul")
    one("list-queues-from-lists", MIXED, "3.0", list_queues="lists")
    for style in ("aligned", "promoted"):
        one(f"scalars-{style}", FULL, "2.0", scalars=style)
        one(f"scalars-{style}", LISTED, "3.0", scalars=style)
    for style in ("bare-hash", "raw"):
        for order in ("little", "big"):
            one(f"encoding-{style}-{order}", FULL, "2.0", encoding=style, byte_order=order)
    one("encoding-digest-info-no-null", FULL, "2.0", encoding="digest-info-no-null")
    one("encoding-raw-digest-reversed", FULL, "2.0", encoding="raw-digest-reversed")
    one("encoding-hash-only", FULL, "2.0", expect=None, encoding="hash-only")
    for style in ("publickeyblob", "publickeyblob-7"):
        one(f"certificate-{style}", FULL, "2.0", expect=None, certificate=style)
    one("direct-prefix-on-wire", replace(direct, layout=Layout(direct_prefix=True)), "2.0")


def add_places(suite: Suite) -> None:
    """A 3.0 signature in SecurityData (2.2.20.6); a receiver by MS-MQQB 3.1.5.8.3 never tries that."""
    note = "2.2.20.6: SecurityData.Signature is 3.0 since MSMQ 3.0; MS-MQQB 3.1.5.8.3 tries 2.0 and 1.0 only."
    for hash_name in ("SHA-1", "SHA-512"):
        for name, message in [("listed", LISTED)] + [("single", FULL)] * (hash_name == "SHA-512"):
            case = f"place-3.0-in-security-data-{name}-{hash_name}"
            suite.add(case, "place", message, "3.0", hash_name=hash_name, expect=None, note=note)
    suite.add("place-2.0-listed", "place", LISTED, "2.0", note="2.0 signature of a message with a list.")
    suite.add("place-1.0-listed", "place", LISTED, "1.0", note="1.0 signature of a message with a list.")
    listed = signed_bytes(replace(LISTED, hash_id=HASH_IDS["SHA-512"]), "3.0", WIRE, LISTED.body)
    good = sign("SHA-512", listed, suite.keys["rsa2048"], WIRE)
    note = "SecurityData has a good 2.0 signature, the list header a good 3.0 one."
    suite.add("place-both-good", "place", LISTED, "2.0", alter=securing(list_signature=good), note=note)
    note = "SecurityData good; the list header's is damaged and, by 3.1.5.8.3 (Else if), not looked at."
    damaged = securing(list_signature=flip(good, 9))
    suite.add("place-both-list-damaged", "place", LISTED, "2.0", alter=damaged, note=note)
    note = "SecurityData damaged, list header good: by 3.1.5.8.3 (Else if) the good one isn't looked at."
    suite.add(
        "place-both-security-damaged",
        "place",
        LISTED,
        "2.0",
        note=note,
        expect="not verified",
        alter=lambda s: replace(s, signature=flip(s.signature, 9), list_signature=good),
    )


def covered_changes() -> dict[str, dict[str, Change]]:
    """Changes of fields that every version, 2.0 and 3.0 alike, 2.0 or 3.0 alone cover."""

    def twice(message: Message) -> Message:
        return replace(message, destinations=message.destinations + message.destinations[:1])

    every: dict[str, Change] = {
        "correlation": lambda m: replace(m, correlation=flip(m.correlation, 19)),
        "tag": setting(tag=0x01020305),
        "body": lambda m: replace(m, body=flip(m.body, 0)),
        "label": setting(label="hanD"),
        "response": setting(response=Queue(PUBLIC, OTHER_QM)),
        "admin": setting(admin=Queue(PUBLIC, OTHER_QM)),
    }
    later: dict[str, Change] = {
        "source-qm": setting(source_qm=OTHER_QM),
        "delivery": setting(delivery=0),
        "priority": setting(priority=4),
        "jp": setting(jp=False),
        "jn": setting(jn=True),
        "ack-pa": setting(ack=0x04),
        "ack-pr": setting(ack=0x07),
        "ack-na": setting(ack=0x01),
        "ack-nr": setting(ack=0x0D),
        "class": setting(message_class=0x4000),
        "body-type": setting(body_type=0x42),
        "connector": setting(connector=OTHER_QM),
    }
    second: dict[str, Change] = {
        "response-removed": setting(response=None),
        "admin-removed": setting(admin=None),
        "queues-swapped": lambda m: replace(m, admin=m.response, response=m.admin),
        "connector-removed": setting(connector=None),
        "destination": setting(destination=Queue(PUBLIC, OTHER_QM)),
        "destination-kind": setting(destination=DIRECT_EVEN),
    }
    third: dict[str, Change] = {
        "extension": setting(extension=b"extra data.!"),
        "extension-removed": setting(extension=b""),
        "list-element": lambda m: replace(m, destinations=(DIRECT_TCP, *m.destinations[1:])),
        "list-shortened": lambda m: replace(m, destinations=m.destinations[:-1]),
        "list-reordered": lambda m: replace(m, destinations=m.destinations[::-1]),
        "list-doubled": twice,
    }
    return {"1.0": every, "2.0": every | later | second, "3.0": every | later | third}


def uncovered_changes(version: str) -> dict[str, tuple[Change, Alter, str]]:
    """Changes of fields that a version doesn't cover."""
    boundary = setting(body=FULL.body + utf16("ha"), label="nd")
    out: dict[str, tuple[Change, Alter, str]] = {
        "time-to-reach-queue": (setting(time_to_reach_queue=17), unaltered, ""),
        "time-to-be-received": (setting(time_to_be_received=17), unaltered, ""),
        "sent-time": (setting(sent_time=0x441105E7), unaltered, ""),
        "message-id": (setting(message_id=0x8EF), unaltered, ""),
        "hops": (setting(hops=3), unaltered, ""),
        "qm-address": (setting(qm_address=OTHER_QM), unaltered, ""),
    }
    if version == "2.0":
        out |= {
            "cipher-id": (setting(cipher_id=CIPHER_IDS["AES-256"]), unaltered, "EB is clear."),
            "allocation": (
                setting(allocation=1000),
                unaltered,
                "No bytes added: 2.2.19.3 gives MessageSize bytes.",
            ),
            "reserved-flags": (
                setting(base_reserved=0xFEC0, user_reserved=0xED000080),
                unaltered,
                "All the X bits.",
            ),
            "traced": (setting(trace=True), unaltered, "A DebugHeader and TR were added."),
            "session": (setting(session=True), unaltered, "A SessionHeader was added."),
            "sender-id": (unchanged, securing(sender_id=flip(SID, 27)), "Only the signature is meant."),
            "authentication-flags": (unchanged, securing(authenticated=1, signature_type=3), ""),
            "security-reserved": (unchanged, securing(reserved=0xF000), ""),
            "field-boundary": (boundary, unaltered, "Two characters of the label moved into the body."),
        }
    if version != "1.0":
        out["ack-unused-bits"] = (lambda m: replace(m, ack=m.ack | 0xF0), unaltered, "Only & 0x0F is signed.")
    if version in ("1.0", "2.0"):
        out["extension"] = (setting(extension=b"other data.."), unaltered, "")
    if version == "3.0":
        out["destination"] = (setting(destination=DIRECT_ODD), unaltered, "Each copy has its own.")
        out["list-admins"] = (setting(admins=(DIRECT_TCP,)), unaltered, "")
        out["list-responses"] = (setting(responses=(DIRECT_TCP,)), unaltered, "")
    if version == "1.0":
        later = {
            "source-qm": setting(source_qm=OTHER_QM),
            "delivery": setting(delivery=0),
            "priority": setting(priority=4),
            "journal": setting(jp=False, jn=True),
            "ack": setting(ack=0x0A),
            "class": setting(message_class=0x4000),
            "body-type": setting(body_type=0x42),
            "connector": setting(connector=None),
            "destination": setting(destination=DIRECT_EVEN, qm_address=NULL_GUID),
        }
        out |= {name: (change, unaltered, "") for name, change in later.items()}
    return out


def add_tampered(suite: Suite) -> None:
    """A field changed after signing."""

    def covered(version: str, name: str, reading: Reading = WIRE) -> None:
        case, change = f"{version}-{name}-{reading_name(reading)}", covered_changes()[version][name]
        suite.tampered(case, base_for(version), version, change=change, reading=reading)

    def uncovered(version: str, name: str, reading: Reading = WIRE) -> None:
        case, message = f"{version}-{name}-{reading_name(reading)}", base_for(version)
        change, alter, note = uncovered_changes(version)[name]
        suite.uncovered(case, message, version, change=change, alter=alter, reading=reading, note=note)

    for version, changes in covered_changes().items():
        for name in changes:
            covered(version, name)
    for version in VERSIONS:
        for name in uncovered_changes(version):
            uncovered(version, name)
    for name in ("body", "response", "admin", "destination"):
        covered("2.0", name, NAMES)
    for name in ("sent-time", "qm-address", "extension"):
        uncovered("2.0", name, NAMES)
    add_tampered_kinds(suite)


def add_tampered_kinds(suite: Suite) -> None:
    """Changes whose result depends on how a queue is hashed."""
    private = replace(FULL, destination=Queue(ON_DESTINATION, number=9), response=Queue(ON_SOURCE, number=8))
    kind = setting(response=Queue(ON_DESTINATION, number=8))
    address = setting(qm_address=OTHER_QM)
    padding = setting(layout=Layout(padding=0x55))
    direct = replace(FULL, destination=DIRECT_ODD, response=DIRECT_ODD)
    note = "Flags.RQ changed from 2 to 3: the same four bytes name another queue."
    suite.uncovered("2.0-response-kind-wire", private, "2.0", change=kind, note=note)
    suite.tampered("2.0-response-kind-names", private, "2.0", change=kind, reading=NAMES, note=note)
    note = "QueueManagerAddress is part of the name of a private destination."
    suite.uncovered("2.0-private-address-wire", private, "2.0", change=address, note=note)
    suite.tampered("2.0-private-address-names", private, "2.0", change=address, reading=NAMES, note=note)
    note = "Padding bytes of direct names changed."
    padded = Reading(queue="wire-padded")
    suite.uncovered("2.0-padding-wire", direct, "2.0", change=padding, note=note)
    suite.tampered("2.0-padding-wire-padded", direct, "2.0", change=padding, reading=padded, note=note)


def add_bad(suite: Suite) -> None:
    """Certificates, algorithms and signatures that aren't right."""
    good = suite.certificate("rsa2048")
    key_at = good.index(suite.keys["rsa2048"].n.to_bytes(256, "big"))
    both: dict[str, tuple[Alter, str | None, str]] = {
        "no-certificate": (securing(cert=b""), "no certificate", ""),
        "other-certificate": (securing(cert=suite.certificate("other2048")), "not verified", ""),
        "certificate-garbage": (securing(cert=stream("garbage", 700)), "not verified", ""),
    }
    single: dict[str, tuple[Alter, str | None, str]] = {
        "smaller-certificate": (securing(cert=suite.certificate("rsa1024")), "not verified", ""),
        "certificate-truncated": (securing(cert=good[:-40]), "not verified", "Not DER any more."),
        "certificate-key-damaged": (securing(cert=flip(good, key_at + 100)), "not verified", ""),
        "certificate-first-byte": (securing(cert=flip(good, 0)), "not verified", ""),
        "certificate-elliptic": (securing(cert=suite.certificates.elliptic()), "not verified", ""),
        "certificate-trailing": (
            securing(cert=good + b"\0\0\0\0"),
            None,
            "Bytes after the DER; the text is silent.",
        ),
        "certificate-self-signature": (
            securing(cert=flip(good, -1)),
            "verified",
            "The certificate's own signature is damaged; 3.1.5.8.3 uses only its public key.",
        ),
        "certificate-expired": (
            securing(cert=suite.certificates.make("rsa2048", last_year=2001)),
            "verified",
            "3.1.5.8.3 doesn't speak of validity.",
        ),
    }
    for version in ("2.0", "3.0"):
        for name, (alter, expect, note) in (both | (single if version == "2.0" else {})).items():
            suite.bad(name, version, alter=alter, expect=expect, note=note)
    add_bad_signatures(suite)


def add_bad_signatures(suite: Suite) -> None:
    """Signatures and hash algorithms that aren't right."""
    hashes_declared: dict[str, tuple[str, int, str]] = {
        "declared-sha1-is-sha512": ("SHA-512", HASH_IDS["SHA-1"], ""),
        "declared-sha512-is-sha1": ("SHA-1", HASH_IDS["SHA-512"], ""),
        "declared-md4-is-md5": ("MD5", HASH_IDS["MD4"], "Same length."),
        "declared-sha384": ("SHA-512", UNLISTED_SHA384, "Unlisted, 2.2.19.3."),
        "declared-0": ("SHA-512", 0, "Unlisted, 2.2.19.3."),
        "declared-ffffffff": ("SHA-512", 0xFFFFFFFF, "Unlisted, 2.2.19.3."),
    }
    for name, (hash_name, declared, note) in hashes_declared.items():
        suite.bad(name, hash_name=hash_name, note=note, change=setting(hash_id=declared))
    key = suite.keys["rsa2048"]
    body = signed_bytes(FULL, "2.0", WIRE, FULL.body)
    info = der(0x30, der(0x30, der_oid(HASH_OIDS["SHA-384"]) + der(5, b"")) + der(4, digest("SHA-384", body)))
    block = b"\0\1" + b"\xff" * (253 - len(info)) + b"\0" + info
    sha384 = pow(int.from_bytes(block, "big"), key.d, key.n).to_bytes(256, "little")
    note = "A right SHA-384 signature, declared as 0x800D: not in the table of 2.2.19.3."
    declared_384, signed_384 = setting(hash_id=UNLISTED_SHA384), securing(signature=sha384)
    suite.bad("real-sha384", change=declared_384, alter=signed_384, note=note)
    signatures: dict[str, Alter] = {
        "signature-flipped": lambda s: replace(s, signature=flip(s.signature, 77)),
        "signature-short": lambda s: replace(s, signature=s.signature[:-4]),
        "signature-long": lambda s: replace(s, signature=s.signature + b"\0\0\0\0"),
        "signature-zero": securing(signature=bytes(256)),
        "signature-one": securing(signature=(1).to_bytes(256, "little")),
        "signature-modulus": securing(signature=key.n.to_bytes(256, "little")),
        "signature-ones": securing(signature=b"\xff" * 256),
        "signature-four-bytes": securing(signature=b"\1\2\3\4"),
    }
    for name, alter in signatures.items():
        suite.bad(name, alter=alter)
    note = "The byte order is the other one than the reading says."
    suite.bad("big-endian-as-little", alter=lambda s: replace(s, signature=s.signature[::-1]), note=note)
    note = "2.2.19.3: an unlisted PrivacyLevel is an authentication failure."
    for privacy in (2, 0xFFFFFFFF):
        suite.bad(f"privacy-{privacy:x}", change=setting(privacy=privacy), note=note)


SEALS: dict[str, Seal] = {
    "RC2-40": Seal("RC2", 5, 1),
    "RC2-128": Seal("RC2", 16, 3),
    "RC4-40": Seal("RC4", 5, 1),
    "RC4-128": Seal("RC4", 16, 3),
    "AES-128": Seal("AES-128", 16, 5),
    "AES-192": Seal("AES-192", 24, 5),
    "AES-256": Seal("AES-256", 32, 5),
}


def add_sealed(suite: Suite) -> None:
    """Sealed and not signed: algorithms, recipients, body sizes, readings."""

    def one(name: str, message: Message, seal: Seal, note: str = "") -> None:
        suite.add(f"sealed-{name}", "sealed", message, seal=seal, note=note)

    to_private = Message(destination=Queue(ON_DESTINATION, number=5), label="sealed")
    for algorithm, seal in SEALS.items():
        sizes = ("rsa1024", "rsa2048", "rsa4096")
        for recipient in sizes if algorithm in ("RC2-128", "RC4-128", "AES-256") else sizes[1:2]:
            one(f"{algorithm}-{recipient}", to_private, replace(seal, recipient=recipient))
    note = "512 bits is the Base provider's key length (MS-MQQB 3.1.7.1.5)."
    for algorithm in ("RC2-40", "RC4-40"):
        one(f"{algorithm}-rsa512", to_private, replace(SEALS[algorithm], recipient="rsa512"), note)
    for size in (0, 8, 15, 16, 17, 1000):
        for algorithm in ("AES-256", "RC2-128") if size in (0, 8, 16) else ("AES-128",):
            one(f"{algorithm}-body-{size}", Message(body=stream("body", size)), SEALS[algorithm])
    one("RC4-128-body-0", Message(body=b""), SEALS["RC4-128"])
    one("to-public-extension-label", replace(FULL, extension=b"odd"), SEALS["AES-256"])
    note = "By MS-MQQB 3.1.7.1.5 a sender refuses this; QueueManagerAddress is NULL."
    one("to-direct", Message(destination=DIRECT_EVEN), SEALS["AES-256"], note)
    add_sealed_readings(suite)


def add_sealed_readings(suite: Suite) -> None:
    """One case for each reading of each open point of encryption."""

    def one(name: str, algorithm: str, *, seal: dict[str, Any] | None = None, **values: Any) -> None:
        base = replace(SEALS[algorithm], **(seal or {}))
        reading = replace(base.reading, **values)
        suite.add(f"sealed-reading-{name}", "sealed-reading", Message(), seal=replace(base, reading=reading))

    enhanced = {"privacy": 3}
    trailing: dict[str, Any] = {"seal": enhanced, "salt": "trailing-in-blob"}
    one("rc2-40-effective-128", "RC2-40", effective_bits=128)
    one("rc2-40-effective-1024", "RC2-40", effective_bits=1024)
    one("rc2-40-salt-in-cipher-effective-40", "RC2-40", salt="trailing-in-cipher", effective_bits=40)
    one("rc2-40-salt-in-cipher-effective-128", "RC2-40", salt="trailing-in-cipher", effective_bits=128)
    one("rc2-128-effective-1024", "RC2-128", effective_bits=1024)
    one("rc2-128-effective-40", "RC2-128", effective_bits=40)
    one("rc2-enhanced-40-zeros-trailing", "RC2-40", **trailing)
    one("rc2-enhanced-40-zeros-trailing-effective-40", "RC2-40", **trailing, effective_bits=40)
    one("rc2-enhanced-40-zeros-leading", "RC2-40", seal=enhanced, salt="leading-in-blob")
    one("rc2-enhanced-40-zeros-in-cipher", "RC2-40", seal=enhanced, salt="trailing-in-cipher")
    one("rc2-enhanced-40-bare", "RC2-40", seal=enhanced)
    one("rc2-128-ecb", "RC2-128", mode="ECB")
    one("rc4-40-zeros-in-cipher", "RC4-40", salt="trailing-in-cipher")
    one("rc4-40-zeros-in-blob", "RC4-40", salt="trailing-in-blob")
    for algorithm in ("RC4-128", "AES-256"):
        one(f"session-key-reversed-{algorithm}", algorithm, session_key_order="reversed")
        one(f"blob-big-endian-{algorithm}", algorithm, blob_order="big")
    one("blob-256-rsa1024", "AES-256", seal={"recipient": "rsa1024"}, blob_size="256")
    one("blob-256-rsa1024-big", "AES-256", seal={"recipient": "rsa1024"}, blob_size="256", blob_order="big")
    one("message-size-plain-aes", "AES-256", message_size="plain")
    for algorithm in ("RC4-128", "AES-256"):
        one(f"no-provider-{algorithm}", algorithm, provider="none")
    one("zero-padding-aes", "AES-128", padding="zero")
    bare = Message(layout=Layout(provider_nul=False))
    suite.add("sealed-reading-provider-without-nul", "sealed-reading", bare, seal=SEALS["AES-256"])


def add_sealed_bad(suite: Suite) -> None:
    """Sealed bodies that don't open."""
    aes, rc4, rc2 = SEALS["AES-256"], SEALS["RC4-128"], SEALS["RC2-128"]
    size = 20  # of the body of Message()

    def one(name: str, seal: Seal, opens: bool | None = False, note: str = "", **values: Any) -> None:
        seal = replace(seal, opens=opens, **values)
        suite.add(f"sealed-bad-{name}", "sealed-bad", Message(), seal=seal, note=note)

    blobs: dict[str, Callable[[bytes], bytes]] = {
        "blob-type": lambda b: b"\x06" + b[1:],
        "blob-version": lambda b: b[:1] + b"\x03" + b[2:],
        "blob-exchange-algorithm": lambda b: b[:8] + struct.pack("<I", 0x2400) + b[12:],
        "blob-header-only": lambda b: b[:12],
        "blob-short-header": lambda b: b[:7],
        "blob-key-short": lambda b: b[:-4],
        "blob-key-half": lambda b: b[:140],
        "blob-key-flipped": lambda b: flip(b, 60, 0x10),
        "blob-key-zero": lambda b: b[:12] + bytes(len(b) - 12),
        "blob-key-ones": lambda b: b[:12] + b"\xff" * (len(b) - 12),
        "blob-absent": lambda b: b"",
    }
    for name, damage in blobs.items():
        one(name, aes, damage_blob=damage)
    note = "The SIMPLEBLOB says AES-128, EncryptionAlgorithm AES-256."
    one("blob-other-algorithm", aes, blob_algorithm=CIPHER_IDS["AES-128"], note=note)
    one("blob-unknown-algorithm", aes, blob_algorithm=0x6601)
    one("blob-block-type-1", aes, block_type=1, note="Not RSAES-PKCS1-v1_5.")
    for algorithm in ("AES-256", "RC2-128", "RC4-128"):
        one(f"wrong-recipient-{algorithm}", SEALS[algorithm], encrypt_for="other2048")
    one("wrong-recipient-size", aes, encrypt_for="rsa1024")
    one("session-key-short", aes, key_size=16, note="16 bytes; EncryptionAlgorithm and blob say AES-256.")
    note = "A key of 16 bytes in a blob that says RC4 with PrivacyLevel 1 (40 bits): the levels disagree."
    one("rc4-128-level-1", replace(rc4, privacy=1), note=note, opens=None)
    note = "2.2.19.3: only RC2 and RC4 go with PrivacyLevel 1 and 3, only AES with 5."
    one("aes-level-3", replace(aes, privacy=3), note=note)
    one("rc2-level-5", replace(rc2, privacy=5), note=note)
    for privacy in (0, 2):
        one(f"level-{privacy}", replace(aes, privacy=privacy), note="EB set; the level isn't in 3.1.5.8.3.")
    note, closed = "Unlisted algorithm.", replace(aes, opens=False)
    for cipher_id in (0, 0x6601):
        name, change = f"sealed-bad-cipher-{cipher_id:x}", setting(cipher_id=cipher_id)
        suite.add(name, "sealed-bad", Message(), seal=closed, change=change, note=note)
    tails = {
        "padding-zero": bytes(12),
        "padding-too-large": bytes(11) + b"\x11",
        "padding-inconsistent": b"\x0c" * 5 + b"\x0b" + b"\x0c" * 6,
    }
    for name, tail in tails.items():
        one(name, aes, pad_tail=tail)
    one("padding-zero-rc2", rc2, pad_tail=bytes(4))
    one("padding-too-large-rc2", rc2, pad_tail=b"\x09" * 4)
    one("cipher-not-blocks", aes, damage_cipher=lambda c: c[:-3])
    one("cipher-empty", aes, damage_cipher=lambda c: b"")
    note = "Changes the last padding byte."
    one("cipher-last-block-flipped", aes, damage_cipher=lambda c: flip(c, -17, 0xFF), note=note)
    note, plain = "Nothing protects an unsigned RC4 body.", flip(Message().body, 3)
    one("rc4-flipped-opens", rc4, True, note, damage_cipher=lambda c: flip(c, 3), body_after=plain)
    note = f"EB clear: the cipher text of {size} bytes is taken for the body."
    unknown, clear = replace(aes, opens=None), securing(encrypted=False)
    suite.add("sealed-bad-not-marked", "sealed-bad", Message(), seal=unknown, alter=clear, note=note)


def add_signed_and_sealed(suite: Suite) -> None:
    """Signed before sealing (3.1.7.1.4, 3.1.7.1.5), or over the cipher text (3.1.5.8.3's order)."""

    def both(name: str, seal: Seal, version: str = "2.0", **values: Any) -> None:
        message = base_for(version)
        suite.add(f"both-{version}-{name}", "signed-and-sealed", message, version, seal=seal, **values)

    aes, rc4 = SEALS["AES-256"], SEALS["RC4-128"]
    for i, (algorithm, seal) in enumerate(SEALS.items()):
        reading = (WIRE, NAMES)[i % 2]
        for body in ("plain", "cipher"):
            both(f"{algorithm}-{body}-{reading_name(reading)}", seal, reading=replace(reading, body=body))
    for version in ("1.0", "3.0"):
        for body in ("plain", "cipher"):
            both(f"AES-256-{body}", aes, version, reading=Reading(body=body), hash_name="SHA-1")
    both("signer-4096-recipient-1024", replace(SEALS["AES-128"], recipient="rsa1024"), key="rsa4096")
    flipped = replace(rc4, damage_cipher=lambda c: flip(c, 3), body_after=flip(FULL.body, 3))
    note = "Opens, but to another body than was signed."
    both("cipher-flipped-after", flipped, expect="not verified", note=note)
    note = "Doesn't open; a signature over the plain body can't be checked."
    elsewhere = replace(rc4, encrypt_for="other2048", opens=False)
    for body, expect in (("plain", None), ("cipher", "verified")):
        both(f"wrong-recipient-{body}", elsewhere, expect=expect, reading=Reading(body=body), note=note)
    both("tampered-label", aes, change=setting(label="hanD"), expect="not verified")
    both("no-certificate", aes, alter=securing(cert=b""), expect="no certificate")


def build(keys: dict[str, RSA.RsaKey]) -> dict[str, Any]:
    """The whole document."""
    suite = Suite(keys, Certificates(keys))
    for part in (
        add_core,
        add_key_sizes,
        add_shapes,
        add_readings,
        add_places,
        add_tampered,
        add_bad,
        add_sealed,
        add_sealed_bad,
        add_signed_and_sealed,
    ):
        part(suite)
    pems = {name: key.export_key(pkcs=8).decode("ascii") for name, key in keys.items()}
    return {"keys": pems, "cases": suite.cases}


def main() -> int:
    """Print the document."""
    parser = argparse.ArgumentParser(description="Signed and sealed MSMQ packets from the documents alone.")
    parser.add_argument("--keys", type=Path, help="directory of <name>.pem; missing ones are written there")
    parser.add_argument("--aligned", action="store_true", help="public names in lists begin at 4 bytes")
    arguments = parser.parse_args()
    json.dump(build(load_keys(arguments.keys)), sys.stdout, indent=1)
    sys.stdout.write("\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

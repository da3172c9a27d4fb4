"""Signatures: what fits is verified with its reading, and what was changed is not."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msmq_wire import build_message, decode, encode
from msmq_wire.sealing.certificates import read_certificate
from msmq_wire.sealing.hashed import Version, every_reading, hashed_parts
from msmq_wire.sealing.making import MessageSigner
from msmq_wire.sealing.opening import BodyOpener, Opening
from msmq_wire.sealing.readings import PLAIN, HashInterpretation
from msmq_wire.sealing.verifying import SignatureCheck, Verifier
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.enumerations import HashAlgorithm
from tests.sealing.sealed_scene import FROM, UNTIL, certificate, key, message, queue_lists, sealer_for

VERSIONS: tuple[Version, ...] = ("1.0", "2.0", "3.0")


def signed(
    version: Version = "2.0",
    hash_algorithm: int = HashAlgorithm.SHA_512,
    reading: HashInterpretation = PLAIN,
    bits: int = 2048,
) -> UserMessage:
    signer = MessageSigner(
        key(bits), certificate(bits), version=version, hash_algorithm=hash_algorithm, reading=reading
    )
    return message(sign=signer)


def check(packet: UserMessage, body: bytes | None = None) -> SignatureCheck:
    found = Verifier().check(packet, opened=None if body is None else Opening(body=body))
    assert found is not None
    return found


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("algorithm", list(HashAlgorithm))
def test_every_hash_and_version_is_verified_from_the_bytes_of_the_packet(
    version: Version, algorithm: int
) -> None:
    packet = decode(encode(signed(version, algorithm)))
    assert isinstance(packet, UserMessage)
    found = check(packet)
    assert (found.verdict, found.version, found.reading) == ("verified", version, PLAIN)
    assert found.how == "a DigestInfo, least significant byte first"
    assert found.certificate is not None
    assert found.certificate.subject == found.certificate.issuer == "CN=order service"
    assert (found.certificate.not_before, found.certificate.not_after) == (
        FROM.timestamp(),
        UNTIL.timestamp(),
    )
    assert found.certificate.bits == 2048


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_the_reading_that_fits_is_named_and_tried_first_from_then_on(version: Version) -> None:
    verifier = Verifier()
    for reading, _ in every_reading(message(), version):
        packet = signed(version, reading=reading)
        for _ in range(2):
            found = verifier.check(packet)
            assert found is not None
            assert (found.verdict, found.version, found.reading) == ("verified", version, reading)


def test_a_message_to_many_queues_has_its_signature_with_their_names() -> None:
    packet = message(multi_queue_format_header=queue_lists(), sign=MessageSigner(key(), certificate()))
    read = decode(encode(packet))
    assert isinstance(read, UserMessage)
    assert read.security_header is not None
    assert read.security_header.security_data.signature == b""
    found = check(read)
    assert (found.verdict, found.version, found.reading) == ("verified", "3.0", PLAIN)
    lists = read.multi_queue_format_header
    assert lists is not None
    first = msgspec.structs.replace(
        lists.destination, format_name_list=lists.destination.format_name_list[::-1]
    )
    other = msgspec.structs.replace(lists, destination=first)
    assert check(msgspec.structs.replace(read, multi_queue_format_header=other)).verdict == "not verified"


def leaves(value: WireStruct, path: str) -> Iterator[tuple[str, Any]]:
    """The numbers, bytes and texts of a structure by path."""
    for name in value.__struct_fields__:
        one = getattr(value, name)
        if isinstance(one, WireStruct):
            yield from leaves(one, f"{path}.{name}")
        elif isinstance(one, int | bytes):
            yield f"{path}.{name}", one


def changed(value: Any, path: list[str], bit: int) -> Any:
    """A structure with one bit of what is at a path turned."""
    if path:
        return msgspec.structs.replace(value, **{path[0]: changed(getattr(value, path[0]), path[1:], bit)})
    if isinstance(value, int):
        return value ^ 1 << bit
    turned = bytearray(value)
    turned[bit // 8 % len(value)] ^= 1 << bit % 8
    return type(value)(bytes(turned))


_ENDS = ("padding", "hash_algorithm", "signature", "sender_cert")
"""Padding is nowhere; without the others there is nothing to compare."""
_BITS = {
    "base_header.flags": {0, 1, 2},
    "user_header.flags": {5, 6, 8, 9},
    "message_properties_header.flags": {0, 1, 2, 3},
}
_WHOLE: dict[Version, set[str]] = {
    "1.0": {
        "message_properties_header.correlation_id",
        "message_properties_header.application_tag",
        "message_properties_header.message_body",
        "message_properties_header.label",
        "user_header.response_queue.direct_format_name",
        "user_header.response_queue.count",
        "user_header.admin_queue.private_queue_identifier",
    }
}
_MORE = {
    "user_header.source_queue_manager",
    "message_properties_header.message_class",
    "message_properties_header.body_type",
    "user_header.connector_type",
}
_WHOLE["2.0"] = _WHOLE["1.0"] | _MORE | {"user_header.destination_queue.public_queue_identifier"}
_WHOLE["3.0"] = _WHOLE["1.0"] | _MORE | {"message_properties_header.extension_data"}


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_hashed_cannot_be_changed_and_what_is_not_can(version: Version) -> None:
    packet, seen = signed(version), set()
    for path, value in leaves(packet, ""):
        name = path.removeprefix(".")
        if name.rpartition(".")[2].endswith(_ENDS) or value == b"":
            continue
        for bit in range(8 if isinstance(value, bytes) else 32 if name == "user_header.flags" else 8):
            found = Verifier().check(changed(packet, name.split("."), bit))
            assert found is not None
            bits = _BITS.get(name) if version != "1.0" else None
            hashed = name in _WHOLE[version] or (bits is not None and bit in bits)
            assert (found.verdict == "not verified") == hashed, (name, bit)
            seen.add(name)
    assert seen > _WHOLE[version]
    assert len(seen) > 35


def test_a_body_that_was_signed_open_is_verified_with_it() -> None:
    reading = msgspec.structs.replace(PLAIN, body="opened")
    packet = signed()
    properties = packet.message_properties_header
    assert properties is not None
    sealed = msgspec.structs.replace(
        packet, message_properties_header=msgspec.structs.replace(properties, message_body=b"cipher text")
    )
    assert check(sealed).verdict == "not verified"
    found = check(sealed, bytes(properties.message_body))
    assert (found.verdict, found.reading) == ("verified", reading)
    # A signature of the cipher text is one, too.
    assert check(packet, b"opened").verdict == "verified"


def test_a_message_without_a_signature_is_not_judged() -> None:
    assert Verifier().check(message()) is None
    assert Verifier().check(build_message("DIRECT=OS:h\\private$\\q")) is None


def altered(packet: UserMessage, **data: Any) -> UserMessage:
    """The message with other security data."""
    header = packet.security_header
    assert header is not None
    return msgspec.structs.replace(
        packet,
        security_header=msgspec.structs.replace(
            header, security_data=msgspec.structs.replace(header.security_data, **data)
        ),
    )


def test_what_is_not_verified_says_why() -> None:
    packet = signed()
    properties = packet.message_properties_header
    assert properties is not None
    unknown = msgspec.structs.replace(
        packet, message_properties_header=msgspec.structs.replace(properties, hash_algorithm=0x800D)
    )
    other = changed(packet, ["message_properties_header", "message_body"], 0)
    for altered_packet, verdict, why in (
        (altered(packet, sender_cert=b""), "no certificate", "the packet has no certificate"),
        (
            altered(packet, sender_cert=certificate()[:-9]),
            "no certificate",
            "SenderCert is no X.509 certificate",
        ),
        (unknown, "not verified", "HashAlgorithm 0x800d is none of [MS-MQMQ] 2.2.19.3"),
        (
            altered(packet, signature=bytes(256)),
            "not verified",
            "the key of the certificate gives no padding that RFC 8017 knows",
        ),
        (other, "not verified", "no reading of the document gives the SHA-512 hash that was signed"),
    ):
        found = check(altered_packet)
        assert (found.verdict, found.why) == (verdict, why)


@pytest.mark.needs("openssl")
@pytest.mark.parametrize("version", VERSIONS)
def test_openssl_verifies_the_same_signature_over_the_same_bytes(version: Version, tmp_path: Path) -> None:
    packet = signed(version, HashAlgorithm.SHA_256)
    header = packet.security_header
    assert header is not None
    data = header.security_data
    files = {
        "cert.der": bytes(data.sender_cert),
        "hashed": b"".join(hashed_parts(packet, version)),
        "signature": bytes(data.signature)[::-1],
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    for command in (
        "openssl x509 -inform DER -in cert.der -pubkey -noout -out key.pem",
        "openssl dgst -sha256 -verify key.pem -signature signature hashed",
    ):
        done = subprocess.run(command.split(), cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert done.stdout == "Verified OK\n"


@pytest.mark.slow
@settings(max_examples=150)
@given(st.binary(max_size=80), st.binary(max_size=80), st.integers(0, 0xFFFFFFFF), st.binary(max_size=40))
def test_any_bytes_in_signatures_and_certificates_are_a_verdict(
    signature: bytes, tail: bytes, algorithm: int, body: bytes
) -> None:
    packet = signed()
    for cert in (tail, certificate()[: len(tail)] + tail, certificate()[: -len(tail) or None] + tail):
        found = Verifier().check(
            altered(packet, signature=signature or b"\0", sender_cert=cert), opened=Opening(body=body)
        )
        assert found is not None
        assert found.verdict != "verified"
        assert found.why


def test_a_certificate_of_another_kind_of_key_has_none_to_use() -> None:
    read = read_certificate(certificate())
    assert read is not None
    assert read[0].valid_at(int(FROM.timestamp()))
    assert not read[0].valid_at(int(UNTIL.timestamp()) + 1)
    assert read_certificate(b"") is None


@pytest.mark.slow
@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), min_size=1, max_size=6))
def test_a_certificate_with_changed_bytes_is_one_or_none(changes: list[tuple[int, int]]) -> None:
    data = bytearray(certificate())
    for at, byte in changes:
        data[at % len(data)] = byte
    found = check(altered(signed(), sender_cert=bytes(data)))
    assert found.verdict in ("verified", "not verified", "no certificate")


def test_a_certificate_of_a_version_that_there_is_not_is_none() -> None:
    """A fuzzer found it: what is raised for it is no ValueError."""
    data = certificate()
    at = data.index(bytes.fromhex("a003020102")) + 4
    assert read_certificate(data[:at] + b"\x1d" + data[at + 1 :]) is None


@pytest.mark.parametrize("keys", [(), (1,)], ids=["no key", "the key of another"])
def test_a_sealed_message_that_no_key_opens_is_not_checked(keys: Any) -> None:
    packet = message(seal=sealer_for(0), sign=MessageSigner(key(), certificate()))
    opening = BodyOpener([key(2048, one) for one in keys]).open(packet) if keys else None
    found = Verifier().check(packet, opened=opening)
    assert found is not None
    why = "the body is encrypted, and what was signed may be the open one"
    assert (found.verdict, found.why) == ("sealed, not checked", why)

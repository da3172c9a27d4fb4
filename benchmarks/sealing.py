"""What signatures and keys cost: ``python -m benchmarks.sealing``.

Messages of 1 KB, signed and sealed with keys of 2,048 bits. In each of five rounds the bare calls of
cryptography come first that nobody can do without: hash and verify with the key of the certificate, which is
read once, as it is here; decrypt the session key and the body; or the body alone. Then ours: what is hashed
is gathered, what fits is told. Printed are medians and ratios of rounds.
"""

from __future__ import annotations

import datetime
import statistics
from collections.abc import Callable, Sequence

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

import msmq_wire as mw
from benchmarks.measure import Contestant, measure, pin, ratio_of
from msmq_wire.sealing.hashed import hashed_parts
from msmq_wire.sealing.making import BodySealer, MessageSigner
from msmq_wire.sealing.opening import BodyOpener
from msmq_wire.sealing.readings import PLAIN
from msmq_wire.sealing.verifying import Verifier
from msmq_wire.wire.packets.user_message import UserMessage

__all__ = ["contestants"]

_ROUNDS = 5
_MESSAGES = 2000
_SEALERS = 200
_BODY = b"<order number='4711'/>" * 46
_QUEUE = "PUBLIC=31ea4ab9-9264-4d60-b3b4-d1a7b9d49c2e"

Group = tuple[str, tuple[Callable[[], int], Callable[[], int]]]


def _certificate(key: rsa.RSAPrivateKey) -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "order service")])
    begin = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).serial_number(1)
    builder = builder.public_key(key.public_key()).not_valid_before(begin)
    builder = builder.not_valid_after(begin + datetime.timedelta(days=365))
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.DER)


def contestants(messages: int = _MESSAGES, sealers: int = _SEALERS) -> Sequence[Group]:
    """What is compared: the bare calls, then ours, over the same messages."""
    key = rsa.generate_private_key(65537, 2048)
    public = key.public_key()
    signer = MessageSigner(key, _certificate(key))
    signed = [mw.build_message(_QUEUE, _BODY, label=f"order {n}", sign=signer) for n in range(messages)]
    values = [(_data_of(one, "signature")[::-1], b"".join(hashed_parts(one, "2.0", PLAIN))) for one in signed]

    def bare_verify() -> int:
        for signature, data in values:
            public.verify(signature, data, PKCS1v15(), hashes.SHA512())
        return len(values)

    def verify() -> int:
        verifier = Verifier()
        return sum(_is_verified(verifier, one) for one in signed)

    # One sealer has one session key: with a new one for each message RSA is what takes time.
    sealed = [mw.build_message(_QUEUE, _BODY, seal=BodySealer(public)) for _ in range(sealers)]
    wrapped = [_data_of(one, "encryption_key")[12:][::-1] for one in sealed]
    texts = [
        bytes(one.message_properties_header.message_body) for one in sealed if one.message_properties_header
    ]

    def bare_open() -> int:
        for key_, text in zip(wrapped, texts, strict=True):
            _decrypted(key.decrypt(key_, PKCS1v15()), text)
        return len(texts)

    def open_() -> int:
        opener = BodyOpener([key])
        return sum(_is_opened(opener, one) for one in sealed)

    sealer = BodySealer(public)
    alike = [mw.build_message(_QUEUE, _BODY, seal=sealer) for _ in range(messages)]
    session = key.decrypt(_data_of(alike[0], "encryption_key")[12:][::-1], PKCS1v15())
    bodies = [
        bytes(one.message_properties_header.message_body) for one in alike if one.message_properties_header
    ]

    def bare_decrypt() -> int:
        for text in bodies:
            _decrypted(session, text)
        return len(bodies)

    def open_alike() -> int:
        opener = BodyOpener([key])
        return sum(_is_opened(opener, one) for one in alike)

    return (
        ("signatures", (bare_verify, verify)),
        ("bodies, each with its session key", (bare_open, open_)),
        ("bodies with one session key", (bare_decrypt, open_alike)),
    )


def _data_of(packet: UserMessage, name: str) -> bytes:
    assert packet.security_header is not None
    return bytes(getattr(packet.security_header.security_data, name))


def _is_verified(verifier: Verifier, packet: UserMessage) -> bool:
    check = verifier.check(packet)
    assert check is not None
    assert check.verdict == "verified"
    return True


def _is_opened(opener: BodyOpener, packet: UserMessage) -> bool:
    found = opener.open(packet)
    assert found is not None
    assert found.body == _BODY
    return True


def _decrypted(key: bytes, data: bytes) -> bytes:
    decryptor = Cipher(AES(key), CBC(bytes(16))).decryptor()
    return decryptor.update(data) + decryptor.finalize()


def main() -> None:
    """Measure and print."""
    pin()
    for group, (bare, ours) in contestants():
        results = measure(
            group, "messages/s", (Contestant("cryptography", bare), Contestant("ours", ours)), _ROUNDS
        )
        ratios = ratio_of(results, group, "cryptography", "ours")
        rates = ", ".join(f"{one.contestant} {1e6 / one.median:.0f} us" for one in results)
        print(f"{group}: {rates}; {statistics.median(ratios):.2f} times the bare calls")


if __name__ == "__main__":
    main()

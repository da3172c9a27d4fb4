"""CNT-WEAK: a signature or encryption that uses an algorithm which is broken or too short."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msmq_wire.detection.false_lengths import place_of
from msmq_wire.detection.finding import Evidence
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import one_of, this
from msmq_wire.wire.types.enumerations import EncryptionAlgorithm, HashAlgorithm, PrivacyLevel

_EB = 0x20
_HASHES = {int(one): one.name for one in (HashAlgorithm.MD2, HashAlgorithm.MD4, HashAlgorithm.MD5)}
_CIPHERS = {int(one): one.name for one in (EncryptionAlgorithm.RC2, EncryptionAlgorithm.RC4)}
_PROPERTIES = "message_properties_header"
_HEADER = this.message_properties_header
_IS_WEAK_HASH = one_of(_HEADER.hash_algorithm, *_HASHES)
_IS_WEAK_CIPHER = one_of(_HEADER.encryption_algorithm, *_CIPHERS) | (
    _HEADER.privacy_level == int(PrivacyLevel.BITS_40)
)


def _check(record: Record, context: Context) -> Iterable[Detection]:
    packet = record.packet
    header = reached(packet, "security_header")
    signature = reached(packet, "multi_queue_format_header.signature")
    if header is None and signature is None:
        return ()
    signed = bool(reached(header, "signature_size") or reached(signature, "size"))
    encrypted = bool((reached(header, "flags") or 0) & _EB)
    found = dict(_weak(record, signed, encrypted))
    return (Detection(message="; ".join(found), evidence=tuple(found.values())),) if found else ()


def _weak(record: Record, signed: bool, encrypted: bool) -> Iterator[tuple[str, Evidence]]:
    header = reached(record.packet, _PROPERTIES)
    name = _HASHES.get(reached(header, "hash_algorithm") or 0)
    if signed and name:
        yield f"the signature uses {name}", place_of(record, f"{_PROPERTIES}.hash_algorithm")
    if not encrypted:
        return
    if reached(header, "privacy_level") == PrivacyLevel.BITS_40:
        yield "the body is encrypted with a key of 40 bits", place_of(record, f"{_PROPERTIES}.privacy_level")
    name = _CIPHERS.get(reached(header, "encryption_algorithm") or 0)
    if name:
        yield f"the body is encrypted with {name}", place_of(record, f"{_PROPERTIES}.encryption_algorithm")


RULE = Rule(
    id="CNT-WEAK",
    title="A weak algorithm in use",
    severity="low",
    layer="application",
    spec=(SpecRef("MS-MQMQ", "2.2.19.3"),),
    meaning="The message is signed with MD2, MD4 or MD5, or encrypted with RC2, RC4 or a key of 40 bits. "
    "None of these stops a determined attacker.",
    action="Set SHA-256 or SHA-512 and AES in the sending application; refuse weak hashes at the receiver.",
    harmless="Old applications that were never changed. The same numbers in a message that is neither "
    "signed nor encrypted are defaults and not judged.",
    standing=True,
    types=("user_message", "message_packet"),
    when=(
        (this.security_header.signature_size != 0, _IS_WEAK_HASH),
        (this.multi_queue_format_header.signature.size != 0, _IS_WEAK_HASH),
        (this.security_header.flags & _EB != 0, _IS_WEAK_CIPHER),
    ),
    exact=True,
    check=_check,
)

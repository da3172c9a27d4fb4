"""MessagePropertiesHeader, [MS-MQMQ] 2.2.19.3."""

from typing import Annotated, ClassVar

from construct import Int8ul, Int16ul, Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import aligned, one_of, this, within
from msmq_wire.wire.fields import Bytes, Fill, Tell, Value, WireStruct
from msmq_wire.wire.musts import BitTable, CodedMust, Must, Musts
from msmq_wire.wire.private import BODY, CORRELATION, LABEL
from msmq_wire.wire.types.enumerations import (
    BodyType,
    EncryptionAlgorithm,
    HashAlgorithm,
    MessageClass,
    PrivacyLevel,
)
from msmq_wire.wire.types.wchar_text import WcharText

FIXED_SIZE = 56
"""Bytes before the label."""

MAX_LABEL_LENGTH = 0xFA
"""WCHARs of a label, its terminator counted."""

_VECTOR = BodyType.VT_VECTOR
_BODY_TYPES = {t.value for t in BodyType if t not in (BodyType.VT_VARIANT, _VECTOR)} | {
    t.value | _VECTOR for t in BodyType if t not in (BodyType.VT_EMPTY, BodyType.VT_NULL, _VECTOR)
}
# Message classes are the named ones, all inside this mask, or custom ones made of its bits.
_CLASS_MASK = 0xE1FF


def _is_label(label: WcharText) -> bool:
    at = label.find(b"\0\0")
    while at & 1 and at > 0:
        at = label.find(b"\0\0", at + 1)
    return not label or (at >= 0 and at == len(label) - 2)


def _is_body_type(value: int) -> bool:
    return value in _BODY_TYPES


class MessagePropertiesHeader(WireStruct, frozen=True, kw_only=True, gc=False):
    """What a message says of itself, then its label, its extension and its body."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.19.3")
    flags: Annotated[int, Int8ul, "Which administration acknowledgments are wanted."] = 0
    label_length: Annotated[int, Int8ul, "WCHARs of the label, its terminator counted; 0 for no label."] = 0
    message_class: Annotated[int, Int16ul, MessageClass, "Class of the message."] = 0
    correlation_id: Annotated[
        bytes,
        Bytes(20),
        CORRELATION,
        "Application-defined; in an acknowledgment the identifier of the message.",
    ] = bytes(20)
    body_type: Annotated[int, Int32ul, BodyType, "Type of the body."] = 0
    application_tag: Annotated[int, Int32ul, "Application-defined."] = 0
    message_size: Annotated[int, Int32ul, "Bytes of the body."] = 0
    allocation_body_size: Annotated[int, Int32ul, "Bytes allocated for the body, at least its size."] = 0
    privacy_level: Annotated[int, Int32ul, PrivacyLevel, "How the body is encrypted."] = 0
    hash_algorithm: Annotated[
        int, Int32ul, HashAlgorithm, "Hash of the signature; a default when there is none."
    ] = HashAlgorithm.SHA_512
    encryption_algorithm: Annotated[
        int, Int32ul, EncryptionAlgorithm, "Cipher of the body; a default when it is clear."
    ] = EncryptionAlgorithm.AES_256
    extension_size: Annotated[int, Int32ul, "Bytes of the extension."] = 0
    _at: ClassVar[Annotated[int, Tell()]]
    # [MS-MQQB] 3.1.7.1.5 gives AllocationBodySize the size of the encrypted data, and MessageSize none.
    _allocated: ClassVar[
        Annotated[
            int,
            Value(
                (this._.security_header.flags & 0x20 != 0)
                & (this.allocation_body_size > this.message_size)
                & (
                    aligned(
                        this._at + this.label_length * 2 + this.extension_size + this.allocation_body_size
                    )
                    <= this._.base_header.packet_size
                )
            ),
        ]
    ]
    _body_size: ClassVar[
        Annotated[
            int,
            Value(
                this.message_size + (this.allocation_body_size - this.message_size) * this._allocated,
                of=("message_size", "allocation_body_size"),
            ),
        ]
    ]
    label: Annotated[
        WcharText, Bytes(this.label_length * 2, WcharText), LABEL, "Label with its terminator."
    ] = WcharText()
    extension_data: Annotated[
        bytes, Bytes(this.extension_size), BODY, "Application-defined, not aligned."
    ] = b""
    message_body: Annotated[
        bytes,
        Bytes(this._body_size),
        BODY,
        "The body, not aligned. MessageSize bytes; AllocationBodySize if EB says that it is encrypted, that "
        "is more, and PacketSize has room for it.",
    ] = b""
    padding: Annotated[
        bytes,
        Fill(-(this.label_length * 2 + this.extension_size + this._body_size) & 3),
        "Up to a multiple of 4 bytes; any bytes.",
    ] = b""

    BITS: ClassVar[BitTable | None] = BitTable(
        "flags",
        pa=(0, "acknowledge arrival"),
        pr=(1, "acknowledge receipt"),
        na=(2, "report failed delivery"),
        nr=(3, "report failed receipt"),
        x=(4, 4),
    )
    MUSTS: ClassVar[Musts] = (
        Must(
            "label-length",
            this.label_length <= MAX_LABEL_LENGTH,
            at="label_length",
            message=f"LabelLength must not exceed 0x{MAX_LABEL_LENGTH:X}",
        ),
        CodedMust("label", _is_label, "label", at="label", message="Label must end with its only NUL"),
        Must(
            "message-class",
            this.message_class & (0xFFFF ^ _CLASS_MASK) == 0,
            at="message_class",
            message="MessageClass must be a named class or bits of 0xE1FF",
            spec=SpecRef("MS-MQMQ", "2.2.18.1.6"),
        ),
        CodedMust(
            "body-type",
            _is_body_type,
            "body_type",
            at="body_type",
            message="BodyType must be a PROPVARIANT type",
            spec=SpecRef("MS-MQMQ", "2.2.12"),
        ),
        Must(
            "allocation-body-size",
            this.allocation_body_size >= this.message_size,
            at="allocation_body_size",
            message="AllocationBodySize must be at least MessageSize",
        ),
        Must(
            "allocation-body-size-maximum",
            this.allocation_body_size <= this._.base_header.packet_size,
            at="allocation_body_size",
            message="AllocationBodySize must not exceed PacketSize",
        ),
        Must(
            "privacy-level",
            one_of(this.privacy_level, 0, 1, 3, 5),
            at="privacy_level",
            message="PrivacyLevel must be 0, 1, 3 or 5",
        ),
        Must(
            "hash-algorithm",
            (this._.security_header.signature_size == 0)
            | one_of(this.hash_algorithm, *(member.value for member in HashAlgorithm)),
            at="hash_algorithm",
            message="with a signature HashAlgorithm must be an allowed one",
        ),
        Must(
            "encryption-algorithm",
            (this._.security_header.flags & 0x20 == 0)
            | (one_of(this.privacy_level, 1, 3) & one_of(this.encryption_algorithm, 0x6602, 0x6801))
            | ((this.privacy_level == 5) & within(this.encryption_algorithm, 0x660E, 0x6610)),
            at="encryption_algorithm",
            message="with EB set EncryptionAlgorithm must be one that PrivacyLevel allows",
        ),
        Must(
            "sizes-wrap",
            aligned(this.label_length * 2 + this.extension_size + this.message_size) + FIXED_SIZE < 1 << 32,
            at="message_size",
            message="the sizes must add up within 32 bits",
        ),
    )

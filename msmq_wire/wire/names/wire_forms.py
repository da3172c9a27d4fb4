"""Queue names out of the forms in which packets and RPC calls carry them.

Only DecodeError leaves this module for bytes or numbers that hold no valid name. Code that shows
wire data as it is uses the unchecked constructors (``direct``, ``public``...) or ``queue_format_text``
instead: a name that is refused is still a name.
"""

from __future__ import annotations

import ipaddress
import struct
import uuid
from typing import NoReturn

from msmq_wire.buffers import as_bytes
from msmq_wire.errors import DecodeError, FormatNameError
from msmq_wire.spec import SpecRef
from msmq_wire.wire.names.format_name import ENCODINGS, FormatName, direct, distribution_list, private
from msmq_wire.wire.names.grammar import split_suffix, suffix_text
from msmq_wire.wire.names.queue_format_types import (
    QUEUE_FORMAT_TYPES,
    QUEUE_SUFFIX_TYPES,
    SUFFIX_MASK,
    QueueFormatType,
    QueueSuffixType,
)

Guid = uuid.UUID | bytes | str
"""A GUID as a value, as its 16 bytes on the wire, or as text."""

QueueFormatArm = Guid | tuple[Guid, int] | tuple[Guid, str | None] | tuple[int, int] | None
"""What the union of a QUEUE_FORMAT holds, see :func:`queue_format_name`."""

_SPECS = {
    "private_queue_format_name_id": SpecRef("MS-MQMQ", "2.2.18.1.5.1"),
    "public_queue_format_name": SpecRef("MS-MQMQ", "2.2.18.1.7.1"),
    "private_queue_format_name": SpecRef("MS-MQMQ", "2.2.18.1.7.2"),
    "direct_queue_format_name": SpecRef("MS-MQMQ", "2.2.18.1.5.2"),
    "mqf_direct_queue_format_name": SpecRef("MS-MQMQ", "2.2.18.1.4.1"),
    "mqf_distribution_queue_format_name": SpecRef("MS-MQMQ", "2.2.18.1.4.2"),
}
_QUEUE_FORMAT = SpecRef("MS-MQMQ", "2.2.7")

_FIXED_SIZES = {
    "private_queue_format_name_id": 4,
    "public_queue_format_name": 16,
    "private_queue_format_name": 20,
    "mqf_distribution_queue_format_name": 16,
}

_GUID_ARMS = (QueueFormatType.PUBLIC, QueueFormatType.MACHINE, QueueFormatType.CONNECTOR)
_TEXT_ARMS = (QueueFormatType.DIRECT, QueueFormatType.SUBQUEUE)


def _guid_text(guid: Guid) -> str:
    if isinstance(guid, uuid.UUID):
        return str(guid)
    if isinstance(guid, str):
        return guid.lower()
    if len(guid) != 16:
        raise FormatNameError(f"a GUID has 16 bytes, {len(guid)} are here")
    return str(uuid.UUID(bytes_le=bytes(guid)))


def from_wire(encoding: str, data: bytes, *, host: Guid | None = None) -> FormatName:
    """Return the name in ``data``, the whole of one packet encoding (a key of ``ENCODINGS``), pad included.

    ``host`` is the queue manager of a ``private_queue_format_name_id``, which carries a number only; other
    encodings ignore it. Raises DecodeError: ``missing-bytes``, ``trailing-bytes``, ``odd-length``,
    ``no-terminator``, ``format-name`` (text that the grammar refuses), ``missing-host``,
    ``unknown-selector`` (no such encoding). [MS-MQMQ] 2.2.18.1.4 to 2.2.18.1.7
    """
    data = as_bytes(data)
    kind = ENCODINGS.get(encoding)
    if kind is None:
        raise DecodeError("unknown-selector", f"{encoding!r} is no packet encoding of a queue name")
    if encoding == "direct_queue_format_name":
        _expect_size(encoding, data, 2, at_least=True)
        (count,) = struct.unpack_from("<H", data)
        _expect_size(encoding, data, (2 + count + 3) // 4 * 4)
        return _direct_name(encoding, data[2 : 2 + count], 2)
    if encoding == "mqf_direct_queue_format_name":
        return _direct_name(encoding, data, 0)
    _expect_size(encoding, data, _FIXED_SIZES[encoding])
    if encoding == "private_queue_format_name_id":
        if host is None:
            raise DecodeError(
                "missing-host", "the queue manager of a private queue is not known", spec=_SPECS[encoding]
            )
        data = uuid.UUID(_checked_guid(host)).bytes_le + data
    guid = _guid_text(data[:16])
    number = int.from_bytes(data[16:20], "little")
    return FormatName(kind=kind, guid=guid, number=number)


def _checked_guid(guid: Guid) -> str:
    return FormatName(kind=QueueFormatType.MACHINE, guid=_guid_text(guid)).guid


def _expect_size(encoding: str, data: bytes, size: int, *, at_least: bool = False) -> None:
    if len(data) < size:
        raise DecodeError(
            "missing-bytes",
            f"{encoding} needs {size} bytes, {len(data)} are here",
            offset=len(data),
            spec=_SPECS[encoding],
        )
    if len(data) > size and not at_least:
        raise DecodeError(
            "trailing-bytes",
            f"{encoding} ends after {size} bytes, {len(data)} are here",
            offset=size,
            spec=_SPECS[encoding],
        )


def _direct_name(encoding: str, units: bytes, start: int) -> FormatName:
    def refuse(code: str, message: str, offset: int) -> NoReturn:
        raise DecodeError(code, message, path="direct_format_name", offset=offset, spec=_SPECS[encoding])

    if len(units) % 2:
        refuse("odd-length", f"{len(units)} bytes are no UTF-16 text", start)
    if units[-2:] != b"\0\0":
        refuse("no-terminator", "the name does not end with a null character", start + len(units))
    text = units[:-2].decode("utf-16-le", "surrogatepass")
    try:
        return FormatName.parse(f"DIRECT={text}")
    except FormatNameError as error:
        refuse("format-name", str(error), start)


def wire_parts(text: str) -> tuple[QueueFormatType, str, int]:
    """What a packet carries of a format name: its kind, its GUID or its direct name, its number or 0.

    The other way round than the unchecked constructors: a direct name is taken as it is written. Raises
    FormatNameError for what is no format name, or one that no packet carries.
    """
    keyword, _, name = text.partition("=")
    if keyword.upper() == "DIRECT" and "=" in text:
        return QueueFormatType.DIRECT, name, 0
    found = FormatName.parse(text)
    if found.kind not in ENCODINGS.values() or found.suffix != QueueSuffixType.NONE or found.domain:
        raise FormatNameError(
            f"no packet has the format name {text[:80]!r}: DIRECT=, PUBLIC=GUID, "
            "PRIVATE=GUID\\number or DL=GUID, without a suffix"
        )
    return found.kind, found.guid, found.number


def queue_format_name(qft: int, suffix_and_flags: int, arm: QueueFormatArm) -> FormatName:
    """Return the name that a QUEUE_FORMAT means. [MS-MQMQ] 2.2.7

    ``arm`` by ``qft``: PUBLIC, MACHINE, CONNECTOR a GUID; PRIVATE (GUID, number); DIRECT and SUBQUEUE the
    text without ``DIRECT=``; DL (GUID, domain or None); MULTICAST (m_address, m_port). The text of a direct
    name may leave out the suffix that the number gives. Flags are not used: ``suffix_problems`` judges
    them. m_address is taken as the four address bytes read as a little-endian number, the way Windows
    sockets keep an address; the specification does not say.

    Raises DecodeError: ``unknown-selector`` (UNKNOWN or no QUEUE_FORMAT_TYPE, no QUEUE_SUFFIX_TYPE),
    ``wrong-arm``, ``format-name`` (parts that no format name can have).
    """
    suffix_number = suffix_and_flags & SUFFIX_MASK
    if qft == QueueFormatType.UNKNOWN or qft not in QUEUE_FORMAT_TYPES:
        raise DecodeError("unknown-selector", f"m_qft {qft} names no queue", path="m_qft", spec=_QUEUE_FORMAT)
    if suffix_number not in QUEUE_SUFFIX_TYPES:
        raise DecodeError(
            "unknown-selector",
            f"suffix type {suffix_number} is not defined",
            path="m_suffix_and_flags",
            offset=1,
            spec=_QUEUE_FORMAT,
        )
    try:
        return _name_of_arm(QueueFormatType(qft), QueueSuffixType(suffix_number), arm)
    except FormatNameError as error:
        raise DecodeError("format-name", str(error), offset=4, spec=_QUEUE_FORMAT) from None


def _name_of_arm(kind: QueueFormatType, suffix: QueueSuffixType, arm: QueueFormatArm) -> FormatName:
    if kind in _GUID_ARMS and isinstance(arm, uuid.UUID | bytes | str):
        return FormatName(kind=kind, guid=_guid_text(arm), suffix=suffix)
    if kind in _TEXT_ARMS and isinstance(arm, str):
        return _direct_of_arm(suffix, arm)
    if isinstance(arm, tuple):
        first, second = arm
        if isinstance(first, int):
            words = isinstance(second, int) and 0 <= first <= 0xFFFFFFFF and 0 <= second <= 0xFFFFFFFF
            if kind == QueueFormatType.MULTICAST and words:
                address = ipaddress.IPv4Address(first.to_bytes(4, "little"))
                return FormatName(kind=kind, address=f"{address}:{second}", suffix=suffix)
        elif kind == QueueFormatType.PRIVATE and isinstance(second, int):
            return FormatName(kind=kind, guid=_guid_text(first), number=second, suffix=suffix)
        elif kind == QueueFormatType.DL and not isinstance(second, int):
            return FormatName(kind=kind, guid=_guid_text(first), domain=second or "", suffix=suffix)
    raise DecodeError(
        "wrong-arm", f"the arm of a {kind.name} name is missing or another's", offset=4, spec=_QUEUE_FORMAT
    )


def _direct_of_arm(suffix: QueueSuffixType, text: str) -> FormatName:
    named = suffix not in (QueueSuffixType.NONE, QueueSuffixType.SUBQUEUE)
    if named and ";" not in text:
        text += suffix_text(suffix, "")
    name = FormatName.parse(f"DIRECT={text}")
    if named and name.suffix != suffix:
        raise FormatNameError(f"the suffix type is {suffix.name}, the text says otherwise: {text[:80]!r}")
    return name


def queue_format_text(qft: int, suffix_and_flags: int, arm: QueueFormatArm) -> str | None:
    """What :func:`queue_format_name` says as text, and the parts of a name that it refuses put together.

    None only where there is no name: no arm, or that of another kind.
    """
    try:
        return str(queue_format_name(qft, suffix_and_flags, arm))
    except DecodeError:
        pass
    try:
        return _refused_text(qft, suffix_and_flags & SUFFIX_MASK, arm)
    except FormatNameError:
        return None


def _refused_text(qft: int, suffix: int, arm: QueueFormatArm) -> str | None:
    of_system = 0 < suffix < QueueSuffixType.SUBQUEUE
    said = suffix_text(QueueSuffixType(suffix), "") if of_system else ""
    if qft in _TEXT_ARMS and isinstance(arm, str):
        return _refused_direct(arm.partition("\0")[0], said)
    if qft in _GUID_ARMS and isinstance(arm, uuid.UUID | bytes | str):
        return f"{QueueFormatType(qft).name}={_guid_text(arm)}{said}"
    if not isinstance(arm, tuple):
        return None
    first, second = arm
    if isinstance(first, int):
        if qft != QueueFormatType.MULTICAST:
            return None
        return f"MULTICAST={ipaddress.IPv4Address((first & 0xFFFFFFFF).to_bytes(4, 'little'))}:{second}{said}"
    if qft == QueueFormatType.PRIVATE and isinstance(second, int):
        return private(_guid_text(first), second) + said
    if qft == QueueFormatType.DL and not isinstance(second, int):
        return distribution_list(_guid_text(first), second) + said
    return None


def _refused_direct(text: str, said: str) -> str:
    protocol, colon, rest = text.partition(":")
    if not colon or not (protocol.isascii() and protocol.isalnum()):
        return direct(text)
    if ";" not in rest:
        rest += said
    name, semicolon, word = rest.rpartition(";")
    if semicolon and split_suffix(f";{word}")[1] != QueueSuffixType.SUBQUEUE:
        rest = f"{name};{word.upper()}"
    return direct(f"{protocol.upper()}:{rest}")


def queue_format_arm(name: FormatName) -> QueueFormatArm:
    """Return the arm that :func:`queue_format_name` reads, GUIDs as text. [MS-MQMQ] 2.2.7

    A direct name keeps its suffix in the text.
    """
    if name.kind == QueueFormatType.DIRECT:
        return name.direct_text
    if name.kind == QueueFormatType.PRIVATE:
        return (name.guid, name.number)
    if name.kind == QueueFormatType.DL:
        return (name.guid, name.domain or None)
    if name.kind == QueueFormatType.MULTICAST:
        return (int.from_bytes(ipaddress.IPv4Address(name.host).packed, "little"), name.port or 0)
    return name.guid

"""Management properties by PROPID: their values, and the variants on the wire.

[MS-MQMQ] 2.3.11, 2.3.12. The rule kept here: what is no value of its property is read as None; nothing
is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from msmq_wire.rpc.constants import (
    ManagementConnected,
    ManagementQueueKnown,
    ManagementQueueLocation,
    ManagementQueueState,
    ManagementQueueType,
)
from msmq_wire.rpc.properties import PropertyKind, find_property
from msmq_wire.rpc.types.propvariant import Blob, CountedArray, PropVariant
from msmq_wire.rpc.types.sequence_info import SequenceInfo
from msmq_wire.wire.types.enumerations import BodyType
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.wchar_text import WcharText

NO_VALUE: Final = PropVariant(vt=BodyType.VT_NULL)
_VECTOR = int(BodyType.VT_VECTOR)
_TEXTS = _VECTOR | BodyType.VT_LPWSTR
WORDS: Final[Mapping[PropertyKind, Mapping[int, frozenset[str]]]] = {
    PropertyKind.MANAGEMENT_MACHINE: {4: frozenset(ManagementConnected)},
    PropertyKind.MANAGEMENT_QUEUE: {
        3: frozenset(ManagementQueueType),
        4: frozenset(ManagementQueueLocation),
        5: frozenset(ManagementQueueKnown),
        6: frozenset(ManagementQueueKnown),
        11: frozenset(ManagementQueueState),
    },
}
"""The texts that a property can be, of those that cannot be any; case is not looked at."""


class TransferSource(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of PROPID_MGMT_QUEUE_EOD_SOURCE_INFO: a sequence that comes into a queue. [MS-MQMQ] 2.3.12.24

    It is IncomingTransactionalTransferInfo of [MS-MQDMPR] 3.1.1.5; ``last_access_time`` is in seconds since
    1970.
    """

    format_name: str
    sender_identifier: GUID = NULL_GUID
    sequence_identifier: int = 0
    sequence_number: int = 0
    last_access_time: int = 0
    reject_count: int = 0


class ConnectionAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of PROPID_MGMT_QUEUE_CONNECTION_HISTORY. [MS-MQMQ] 2.3.12.25, [MS-MQDMPR] 3.1.1.3

    ``status`` is a `ConnectionStatus`, ``time`` in seconds since 1970, ``error`` an HRESULT or 0.
    """

    status: int
    time: int = 0
    error: int = 0
    addresses: tuple[str, ...] = ()


ManagementValue: TypeAlias = (
    str | int | tuple[str, ...] | SequenceInfo | tuple[TransferSource, ...] | tuple[ConnectionAttempt, ...]
)


def read_value(variant: PropVariant, propid: int, kind: PropertyKind) -> ManagementValue | None:
    """The value of a property; None where it has none, or none of the type of the property."""
    found = find_property(propid, kind)
    if found is None or not isinstance(variant.vt, int) or variant.vt != found.vt:
        return None
    read = _READ.get((kind, propid)) or _BY_TYPE[found.vt][0]
    try:
        value: ManagementValue | None = read(variant.arm)
    except (TypeError, ValueError):
        # Not all of it was decoded, or the vectors of a list are not as long as each other.
        return None
    return value


def write_value(value: ManagementValue | None, propid: int, kind: PropertyKind) -> PropVariant:
    """The variant of a property; VT_NULL for None. Raises LookupError for a number that is no property."""
    found = find_property(propid, kind)
    if found is None or found.vt is None:
        raise LookupError(f"{propid} is no property of a {kind.name}")
    if value is None:
        return NO_VALUE
    write = _WRITE.get((kind, propid)) or _BY_TYPE[found.vt][1]
    return PropVariant(vt=found.vt, arm=write(value))


def _read_text(arm: Any) -> str | None:
    return arm.text.partition("\0")[0] if isinstance(arm, WcharText) else None


def _read_number(arm: Any) -> int | None:
    return arm if isinstance(arm, int) else None


def _elements(arm: Any) -> tuple[Any, ...]:
    if not isinstance(arm, CountedArray) or not isinstance(arm.p_elems, tuple | None):
        raise TypeError("no counted array")
    return arm.p_elems or ()


def _counted(elements: Iterable[Any]) -> CountedArray:
    listed = tuple(elements)
    return CountedArray(c_elems=len(listed), p_elems=listed or None)


def _read_texts(arm: Any) -> tuple[str, ...]:
    return tuple(_read_text(one) or "" for one in _elements(arm))


def _write_texts(values: Iterable[str]) -> CountedArray:
    return _counted(map(WcharText.of, values))


def _read_sequence(arm: Any) -> SequenceInfo | None:
    data = arm.p_blob_data if isinstance(arm, Blob) else None
    return SequenceInfo.parse(data) if isinstance(data, bytes) else None


def _write_sequence(value: SequenceInfo) -> Blob:
    data = value.to_bytes()
    return Blob(cb_size=len(data), p_blob_data=data)


def _columns(arm: Any, *types: int) -> list[tuple[Any, ...]]:
    """The vectors in a vector, one of each type."""
    variants = _elements(arm)
    if [one.vt for one in variants] != [_VECTOR | one for one in types]:
        raise ValueError("other vectors")
    return [_elements(one.arm) for one in variants]


def _vectors(*columns: tuple[int, Sequence[Any]]) -> CountedArray:
    return _counted(PropVariant(vt=_VECTOR | vt, arm=_counted(values)) for vt, values in columns)


_OF_SOURCES = (
    BodyType.VT_LPWSTR,
    BodyType.VT_CLSID,
    BodyType.VT_UI8,
    BodyType.VT_UI4,
    BodyType.VT_I4,
    BodyType.VT_UI4,
)
_OF_ATTEMPTS = (BodyType.VT_UI4, BodyType.VT_I4, BodyType.VT_I4, BodyType.VT_VARIANT)


def _read_sources(arm: Any) -> tuple[TransferSource, ...]:
    names, senders, *numbers = _columns(arm, *_OF_SOURCES)
    return tuple(
        TransferSource(
            format_name=_read_text(name) or "",
            sender_identifier=sender,
            sequence_identifier=identifier,
            sequence_number=number,
            last_access_time=accessed,
            reject_count=rejected,
        )
        for name, sender, identifier, number, accessed, rejected in zip(names, senders, *numbers, strict=True)
    )


def _write_sources(values: Sequence[TransferSource]) -> CountedArray:
    rows = [msgspec.structs.astuple(one) for one in values]
    names, *others = zip(*rows, strict=True) if rows else [()] * len(_OF_SOURCES)
    return _vectors(*zip(_OF_SOURCES, (tuple(map(WcharText.of, names)), *others), strict=True))


def _read_attempts(arm: Any) -> tuple[ConnectionAttempt, ...]:
    columns = _columns(arm, *_OF_ATTEMPTS)
    return tuple(
        ConnectionAttempt(
            status=status, time=time, error=error & 0xFFFF_FFFF, addresses=_read_texts(addresses.arm)
        )
        for status, time, error, addresses in zip(*columns, strict=True)
    )


def _write_attempts(values: Sequence[ConnectionAttempt]) -> CountedArray:
    return _vectors(
        (BodyType.VT_UI4, [one.status for one in values]),
        (BodyType.VT_I4, [one.time for one in values]),
        (BodyType.VT_I4, [_signed(one.error) for one in values]),
        (BodyType.VT_VARIANT, [PropVariant(vt=_TEXTS, arm=_write_texts(one.addresses)) for one in values]),
    )


def _signed(value: int) -> int:
    return (value + 0x8000_0000) % 0x1_0000_0000 - 0x8000_0000


def _unsigned(value: int) -> int:
    return value & 0xFFFF_FFFF


_Read: TypeAlias = Callable[[Any], Any]
_BY_TYPE: Final[dict[int | None, tuple[_Read, _Read]]] = {
    BodyType.VT_LPWSTR: (_read_text, WcharText.of),
    _TEXTS: (_read_texts, _write_texts),
    BodyType.VT_I4: (_read_number, _signed),
    BodyType.VT_UI4: (_read_number, _unsigned),
    BodyType.VT_I8: (_read_number, int),
    BodyType.VT_BLOB: (_read_sequence, _write_sequence),
}
_SOURCES, _ATTEMPTS = (PropertyKind.MANAGEMENT_QUEUE, 24), (PropertyKind.MANAGEMENT_QUEUE, 25)
_READ: Final[dict[tuple[PropertyKind, int], _Read]] = {_SOURCES: _read_sources, _ATTEMPTS: _read_attempts}
_WRITE: Final[dict[tuple[PropertyKind, int], _Read]] = {_SOURCES: _write_sources, _ATTEMPTS: _write_attempts}

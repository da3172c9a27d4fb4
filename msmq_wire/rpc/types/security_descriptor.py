"""SECURITY_DESCRIPTOR of a queue, in self-relative form: its parts, and how they are exchanged.

[MS-DTYP] 2.4.6; the descriptor of a new queue is [MS-MQDMPR] 3.1.7.1.3.1. The rule kept here: a part is kept
as the bytes that it came as. Nothing is decided by what stands in it.
"""

from __future__ import annotations

import struct
from typing import Final

import msgspec

from msmq_wire.buffers import as_bytes
from msmq_wire.errors import DecodeError
from msmq_wire.rpc.constants import SecurityInformation
from msmq_wire.spec import SpecRef

_SPEC = SpecRef("MS-DTYP", "2.4.6")
_HEADER = struct.Struct("<BBHIIII")
_ACL = struct.Struct("<BBHHH")
_ACE = struct.Struct("<BBH")
_SID_LIMIT = 15
_SELF_RELATIVE = 0x8000
_SACL_PRESENT, _DACL_PRESENT = 0x0010, 0x0004

# The Control bits that belong to each part.
_BITS: Final = {
    SecurityInformation.OWNER_SECURITY_INFORMATION: 0x0001,
    SecurityInformation.GROUP_SECURITY_INFORMATION: 0x0002,
    SecurityInformation.DACL_SECURITY_INFORMATION: _DACL_PRESENT | 0x0008 | 0x0100 | 0x0400 | 0x1000,
    SecurityInformation.SACL_SECURITY_INFORMATION: _SACL_PRESENT | 0x0020 | 0x0200 | 0x0800 | 0x2000,
}
_PARTS: Final = {
    SecurityInformation.OWNER_SECURITY_INFORMATION: "owner",
    SecurityInformation.GROUP_SECURITY_INFORMATION: "group",
    SecurityInformation.DACL_SECURITY_INFORMATION: "dacl",
    SecurityInformation.SACL_SECURITY_INFORMATION: "sacl",
}


def _wrong(message: str, offset: int) -> DecodeError:
    return DecodeError("security-descriptor", message, offset=offset, spec=_SPEC)


def _sid(data: bytes, offset: int) -> bytes | None:
    if not offset:
        return None
    if offset < _HEADER.size or offset + 8 > len(data):
        raise _wrong("a SID does not lie in the descriptor", offset)
    revision, count = data[offset], data[offset + 1]
    end = offset + 8 + 4 * count
    if revision != 1 or count > _SID_LIMIT or end > len(data):
        raise _wrong("this is no SID", offset)
    return data[offset:end]


def _acl(data: bytes, offset: int) -> bytes | None:
    if not offset:
        return None
    if offset < _HEADER.size or offset + _ACL.size > len(data):
        raise _wrong("an ACL does not lie in the descriptor", offset)
    revision, _, size, count, _ = _ACL.unpack_from(data, offset)
    end = offset + size
    if revision not in (2, 4) or end > len(data):
        raise _wrong("this is no ACL", offset)
    place = offset + _ACL.size
    for _ in range(count):
        if place + _ACE.size > end:
            raise _wrong("the ACL holds fewer ACEs than it says", place)
        length = _ACE.unpack_from(data, place)[2]
        if length < _ACE.size or place + length > end:
            raise _wrong("an ACE does not lie in its ACL", place)
        place += length
    return data[offset:end]


class SecurityDescriptor(msgspec.Struct, frozen=True, kw_only=True):
    """The four parts as bytes, None for one that is not there; ``control`` is the word of flags."""

    control: int = _SELF_RELATIVE
    owner: bytes | None = None
    group: bytes | None = None
    sacl: bytes | None = None
    dacl: bytes | None = None

    @classmethod
    def parse(cls, data: bytes) -> SecurityDescriptor:
        """Read the self-relative form; DecodeError for what is none. No bytes are an empty descriptor."""
        data = as_bytes(data)
        if not data:
            return cls()
        if len(data) < _HEADER.size:
            raise _wrong(f"{len(data)} bytes are no descriptor", 0)
        revision, _, control, owner, group, sacl, dacl = _HEADER.unpack_from(data)
        if revision != 1 or not control & _SELF_RELATIVE:
            raise _wrong("this is no descriptor in self-relative form", 0)
        return cls(
            control=control,
            owner=_sid(data, owner),
            group=_sid(data, group),
            sacl=_acl(data, sacl) if control & _SACL_PRESENT else None,
            dacl=_acl(data, dacl) if control & _DACL_PRESENT else None,
        )

    def to_bytes(self) -> bytes:
        """The self-relative form: the header, then SACL, DACL, owner and group, each at a multiple of 4."""
        data = bytearray(_HEADER.size)
        offsets = {}
        for name in ("sacl", "dacl", "owner", "group"):
            part: bytes | None = getattr(self, name)
            offsets[name] = 0 if part is None else len(data)
            if part is not None:
                data += part + bytes(-len(part) % 4)
        _HEADER.pack_into(
            data,
            0,
            1,
            0,
            self.control | _SELF_RELATIVE,
            offsets["owner"],
            offsets["group"],
            offsets["sacl"],
            offsets["dacl"],
        )
        return bytes(data)

    def with_parts(self, other: SecurityDescriptor, information: int) -> SecurityDescriptor:
        """This one with the parts of another that ``information`` names (SECURITY_INFORMATION)."""
        control = self.control
        changes: dict[str, bytes | None] = {}
        for bit, name in _PARTS.items():
            if information & bit:
                control = control & ~_BITS[bit] | other.control & _BITS[bit]
                changes[name] = getattr(other, name)
        return msgspec.structs.replace(self, control=control, **changes)

    def parts(self, information: int) -> SecurityDescriptor:
        """A descriptor that has only the parts that ``information`` names."""
        return SecurityDescriptor().with_parts(self, information)


_EVERYBODY = bytes.fromhex("010100000000000100000000")
"""S-1-1-0"""
_ANONYMOUS = bytes.fromhex("010100000000000507000000")
"""S-1-5-7"""
_QUEUE_GENERIC_ALL = 0x000F003F
_WRITE_MESSAGE = 0x00000004


def _allowed(mask: int, sid: bytes) -> bytes:
    return struct.pack("<BBHI", 0, 0, 8 + len(sid), mask) + sid


def default_security() -> bytes:
    """The descriptor of a queue whose creator is no domain user. [MS-MQDMPR] 3.1.7.1.3.1

    All may do everything, and who is anonymous may send, since messages come by SRMP too. The text finds out
    an owner and forgets it; read as the owner of the descriptor.
    """
    entries = _allowed(_QUEUE_GENERIC_ALL, _EVERYBODY) + _allowed(_WRITE_MESSAGE, _ANONYMOUS)
    dacl = _ACL.pack(2, 0, _ACL.size + len(entries), 2, 0) + entries
    return SecurityDescriptor(control=_SELF_RELATIVE | _DACL_PRESENT, owner=_ANONYMOUS, dacl=dacl).to_bytes()

"""The verification trailer at the end of a request's stub, [MS-RPCE] 2.2.2.13.

The rule kept here: a trailer is what stands 4-aligned behind its signature and whose commands reach exactly
to the end of the stub; anything else stays in the stub. Where several signatures would do, the last one
counts, so that no bytes of a message pass for a trailer. Everything in it is little-endian.
"""

from __future__ import annotations

from struct import Struct, error
from typing import TypeAlias

import msgspec

from msmq_wire.buffers import as_bytes
from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.rpc.events import SyntaxId
from msmq_wire.spec import SpecRef
from msmq_wire.wire.types.guid import GUID

__all__ = [
    "COMMAND_END",
    "MUST_PROCESS",
    "SIGNATURE",
    "BitmaskCommand",
    "Header2Command",
    "OtherCommand",
    "PContextCommand",
    "VerificationCommand",
    "VerificationTrailer",
    "decode_verification_trailer",
    "encode_verification_trailer",
    "split_verification_trailer",
]

SIGNATURE = bytes.fromhex("8ae3137102f43671")
COMMAND_END = 0x4000
"""SEC_VT_COMMAND_END: the last command."""
MUST_PROCESS = 0x8000
"""SEC_VT_MUST_PROCESS_COMMAND: who does not know the command must refuse the request."""

_SPEC = SpecRef("MS-RPCE", "2.2.2.13")
_COMMAND = Struct("<HH")
_BITMASK = Struct("<I")
_PCONTEXT = Struct("<16sHH16sHH")
_HEADER2 = Struct("<BBH4sIHH")
# A trailer holds one command of a type at most, and three types are known: more are no trailer.
_MAX_COMMANDS = 8


class BitmaskCommand(msgspec.Struct, frozen=True, gc=False):
    """SEC_VT_COMMAND_BITMASK_1, [MS-RPCE] 2.2.2.13.2; bit 0 is CLIENT_SUPPORT_HEADER_SIGNING."""

    bits: int
    must_process: bool = False


class PContextCommand(msgspec.Struct, frozen=True, gc=False):
    """SEC_VT_COMMAND_PCONTEXT: the presentation context of the request, [MS-RPCE] 2.2.2.13.4."""

    interface: SyntaxId
    transfer_syntax: SyntaxId
    must_process: bool = False


class Header2Command(msgspec.Struct, frozen=True, gc=False):
    """SEC_VT_COMMAND_HEADER2: a copy of header fields of the request, [MS-RPCE] 2.2.2.13.3."""

    ptype: int
    packed_drep: bytes
    call_id: int
    context_id: int
    opnum: int
    reserved1: int = 0
    reserved2: int = 0
    must_process: bool = False


class OtherCommand(msgspec.Struct, frozen=True, gc=False):
    """A command of another type (14 bits): its bytes."""

    command: int
    data: bytes
    must_process: bool = False


VerificationCommand: TypeAlias = BitmaskCommand | PContextCommand | Header2Command | OtherCommand


class VerificationTrailer(msgspec.Struct, frozen=True, gc=False):
    """The commands, in order; the last one carries SEC_VT_COMMAND_END."""

    commands: tuple[VerificationCommand, ...]


def split_verification_trailer(stub: bytes) -> tuple[bytes, bytes]:
    """Return the stub without its verification trailer, and the trailer from its signature on (or nothing).

    ``stub`` is that of a whole request, in the clear and without authentication padding. Filler that aligns
    the trailer stays in the stub: only NDR knows where the parameters end.
    """
    stub = as_bytes(stub, "stub")
    at = stub.rfind(SIGNATURE)
    while at >= 0:
        if not at & 3 and _commands_end(stub, at) == len(stub):
            return stub[:at], stub[at:]
        at = stub.rfind(SIGNATURE, 0, at)
    return stub, b""


def _commands_end(data: bytes, at: int) -> int:
    """Return where the commands of the trailer at ``at`` end, -1 where they are malformed."""
    at += len(SIGNATURE)
    seen = set()
    for _ in range(_MAX_COMMANDS):
        if at + 4 > len(data):
            return -1
        command, length = _COMMAND.unpack_from(data, at)
        kind = command & 0x3FFF
        at += 4 + length
        if length & 3 or at > len(data) or kind in seen or length != _LENGTHS.get(kind, length):
            return -1
        if command & COMMAND_END:
            return at
        seen.add(kind)
    return -1


_LENGTHS = {1: _BITMASK.size, 2: _PCONTEXT.size, 3: _HEADER2.size}


def decode_verification_trailer(data: bytes) -> VerificationTrailer:
    """Decode a trailer that fills ``data``, signature first; DecodeError ``verification-trailer``."""
    data = as_bytes(data)
    if not data.startswith(SIGNATURE) or _commands_end(data, 0) != len(data):
        raise DecodeError("verification-trailer", "the bytes are no verification trailer", spec=_SPEC)
    commands = []
    at = len(SIGNATURE)
    while at < len(data):
        command, length = _COMMAND.unpack_from(data, at)
        at += 4
        commands.append(_decode_command(command, data[at : at + length]))
        at += length
    return VerificationTrailer(tuple(commands))


def _decode_command(command: int, data: bytes) -> VerificationCommand:
    kind, must_process = command & 0x3FFF, bool(command & MUST_PROCESS)
    if kind == 1:
        return BitmaskCommand(_BITMASK.unpack(data)[0], must_process)
    if kind == 2:
        interface, major, minor, syntax, syntax_major, syntax_minor = _PCONTEXT.unpack(data)
        return PContextCommand(
            SyntaxId(GUID(interface), major, minor),
            SyntaxId(GUID(syntax), syntax_major, syntax_minor),
            must_process,
        )
    if kind == 3:
        ptype, reserved1, reserved2, drep, call_id, context_id, opnum = _HEADER2.unpack(data)
        return Header2Command(ptype, drep, call_id, context_id, opnum, reserved1, reserved2, must_process)
    return OtherCommand(kind, data, must_process)


def encode_verification_trailer(trailer: VerificationTrailer) -> bytes:
    """Return the bytes of ``trailer``; raises `EncodeError` for what does not decode to the same value."""
    parts = [SIGNATURE]
    last = len(trailer.commands) - 1
    for index, command in enumerate(trailer.commands):
        try:
            kind, data = _encode_command(command)
            flags = (MUST_PROCESS if command.must_process else 0) | (COMMAND_END if index == last else 0)
            parts.append(_COMMAND.pack(kind | flags, len(data)) + data)
        except error as reason:
            raise EncodeError(f"a number is out of range: {reason}", path=f"commands[{index}]") from reason
    encoded = b"".join(parts)
    if _commands_end(encoded, 0) != len(encoded):
        raise EncodeError("these commands make no verification trailer", path="commands")
    return encoded


def _encode_command(command: VerificationCommand) -> tuple[int, bytes]:
    match command:
        case BitmaskCommand():
            return 1, _BITMASK.pack(command.bits)
        case PContextCommand():
            one, two = command.interface, command.transfer_syntax
            if len(one.uuid) != 16 or len(two.uuid) != 16:
                raise EncodeError("a GUID is 16 bytes", path="uuid")
            return 2, _PCONTEXT.pack(one.uuid, one.major, one.minor, two.uuid, two.major, two.minor)
        case Header2Command():
            if len(command.packed_drep) != 4:
                raise EncodeError("four bytes are needed", path="packed_drep")
            return 3, _HEADER2.pack(
                command.ptype,
                command.reserved1,
                command.reserved2,
                command.packed_drep,
                command.call_id,
                command.context_id,
                command.opnum,
            )
        case OtherCommand():
            if not 0 <= command.command <= 0x3FFF or command.command in _LENGTHS:
                raise EncodeError("a type of 14 bits without a class of its own is needed", path="command")
            return command.command, command.data

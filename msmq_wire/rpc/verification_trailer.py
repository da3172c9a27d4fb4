"""The verification trailer at the end of a request's stub, [MS-RPCE] 2.2.2.13.

The rule kept here: a trailer is what stands 4-aligned behind its signature and whose commands reach exactly
to the end of the stub; anything else stays in the stub. Where several signatures would do, the last one
counts, so that no bytes of a message pass for a trailer. Everything in it is little-endian.
"""

from __future__ import annotations

from struct import Struct

from msmq_wire.buffers import as_bytes

SIGNATURE = bytes.fromhex("8ae3137102f43671")
_COMMAND_END = 0x4000
"""SEC_VT_COMMAND_END: the last command."""
_COMMAND = Struct("<HH")
# Bitmask, presentation context and header: the types that have a length of their own.
_LENGTHS = {1: 4, 2: 40, 3: 16}
# A trailer holds one command of a type at most, and three types are known: more are no trailer.
_MAX_COMMANDS = 8


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
        if command & _COMMAND_END:
            return at
        seen.add(kind)
    return -1

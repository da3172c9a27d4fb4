"""Names for the codes that end calls: HRESULT, NTSTATUS, Win32 and DCE RPC status in one number space.

A status of 32 bits does not say which list it is from, but no number has a meaning in two of them: Win32
errors lie below 0x10000, nca_* codes begin at 0x1C000000, MQ_* codes carry the facility 0x00E, and 0 is
success everywhere. So one look-up is enough. What looks like a duplicate is one condition under several
codes, and stays so, because the code tells who refused:

* a wrong handle is MQ_ERROR_INVALID_HANDLE or STATUS_INVALID_HANDLE from the queue manager, and
  nca_s_fault_context_mismatch from the RPC runtime when it is a context handle;
* denied access is MQ_ERROR_ACCESS_DENIED or STATUS_ACCESS_DENIED from the queue manager, and
  RPC_S_ACCESS_DENIED (in a fault nca_* has no code for it) from the RPC runtime or a disabled method;
* a fault carries nca_* on the wire where the client's application sees the RPC_S_* of [MS-RPCE] 3.1.1.5.5;
* 0x8007xxxx wraps a Win32 error and 0xDxxxxxxx an NTSTATUS; they are unwrapped unless they have a name.
"""

from __future__ import annotations

import msgspec

from msmq_wire.rpc.rpc_statuses import NCA_STATUSES, WIN32_ERRORS
from msmq_wire.rpc.statuses import MQ_HRESULTS, SYSTEM_STATUSES

_ALL = WIN32_ERRORS | NCA_STATUSES | SYSTEM_STATUSES | MQ_HRESULTS

_HRESULT_FROM_WIN32 = 0x80070000
_HRESULT_FROM_NT = 0x10000000
_NT_ERROR = 0xC0000000


class StatusText(msgspec.Struct, frozen=True, gc=False):
    """A code with its name: ``code`` is unsigned, ``meaning`` is empty when the code is not known."""

    code: int
    symbol: str
    meaning: str

    @property
    def known(self) -> bool:
        """Whether the code has a name here."""
        return bool(self.meaning)


def describe(code: int) -> StatusText:
    """Return the symbol and the meaning of a status; any number is taken, negative ones as 32-bit signed.

    The symbol of an unknown code is its hexadecimal text. Nothing is raised.

    >>> describe(0xC00E001B).symbol, describe(-1072824293).symbol, describe(0x12345).symbol
    ('MQ_ERROR_IO_TIMEOUT', 'MQ_ERROR_IO_TIMEOUT', '0x00012345')
    """
    code &= 0xFFFFFFFF
    known = _ALL.get(code)
    if known is not None:
        return StatusText(code, *known)
    if code & 0xFFFF0000 == _HRESULT_FROM_WIN32 and code & 0xFFFF in WIN32_ERRORS:
        symbol, meaning = WIN32_ERRORS[code & 0xFFFF]
        return StatusText(code, f"HRESULT_FROM_WIN32({symbol})", meaning)
    unwrapped = code & ~_HRESULT_FROM_NT
    if code & _HRESULT_FROM_NT and unwrapped & _NT_ERROR == _NT_ERROR and unwrapped in SYSTEM_STATUSES:
        symbol, meaning = SYSTEM_STATUSES[unwrapped]
        return StatusText(code, f"HRESULT_FROM_NT({symbol})", meaning)
    return StatusText(code, f"0x{code:08X}", "")


def name(code: int) -> str:
    """Return the symbol of a status, or its hexadecimal text when it is not known."""
    return describe(code).symbol

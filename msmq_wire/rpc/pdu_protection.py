"""The interface between the PDU layer and an unsealer: `Negotiation`, `ProtectedPdu`, `Unwrapped`.

The rule kept here: plain values and protocols, no cryptography. The PDU layer works without an unsealer, and
an unsealer knows nothing of connections.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Protocol

import msgspec


class AuthenticationType(IntEnum):
    """``auth_type``, the security provider, [MS-RPCE] 2.2.1.1.7."""

    NONE = 0x00
    GSS_NEGOTIATE = 0x09
    WINNT = 0x0A
    GSS_SCHANNEL = 0x0E
    GSS_KERBEROS = 0x10
    NETLOGON = 0x44
    MSMQ = 0x64
    DEFAULT = 0xFF


class AuthenticationLevel(IntEnum):
    """``auth_level``, what is protected, [MS-RPCE] 2.2.1.1.8."""

    DEFAULT = 0
    NONE = 1
    CONNECT = 2
    CALL = 3
    PKT = 4
    PKT_INTEGRITY = 5
    PKT_PRIVACY = 6


class ProtectedPdu(msgspec.Struct, frozen=True, gc=False):
    """A request or response with a sec_trailer, cut where protection applies, [MS-RPCE] 3.3.1.5.2.

    ``header`` is everything before the stub, ``stub`` the stub with its authentication padding as captured
    (sealed at level privacy), ``trailer`` the 8 bytes of the sec_trailer, ``auth_value`` what follows them.
    ``header_signing`` is what bind and bind_ack agreed on.
    """

    from_client: bool
    level: int
    header: bytes
    stub: bytes
    trailer: bytes
    auth_value: bytes
    header_signing: bool


class Unwrapped(msgspec.Struct, frozen=True, gc=False):
    """``stub`` in the clear with its authentication padding, None where it could not be opened.

    ``verified`` says whether the signature is right, None where it could not be judged; ``note`` says why
    something failed, in one line.
    """

    stub: bytes | None
    verified: bool | None
    note: str = ""


class Negotiation(Protocol):
    """One security context of one association, followed from its first token."""

    def exchange(self, from_client: bool, token: bytes) -> None:
        """Take the auth_value of a bind, an alter_context, their answers or an auth3; raises nothing."""

    def unwrap(self, pdu: ProtectedPdu) -> Unwrapped:
        """Open and verify a PDU; every protected one must be given, in the order sent. Raises nothing."""

    @property
    def account(self) -> str:
        """Who the client says it is (``DOMAIN\\user``, ``user@REALM``), empty when not known."""

    @property
    def note(self) -> str:
        """Why nothing can be opened, in one line; empty while all is well."""


Negotiator = Callable[[int], Negotiation | None]
"""Makes the `Negotiation` for an auth_type; None for a provider that it does not know."""

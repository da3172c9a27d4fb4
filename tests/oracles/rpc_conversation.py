"""What a conversation of `rpc_loopback` consists of: connections, the calls on them and how they are sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.oracles.rpc_impacket_calls import METHODS, stub

NDR, NDR64 = "ndr", "ndr64"
FEATURES = "bind_time_features"
# auth_type and auth_level, [MS-RPCE] 2.2.1.1.7 and 2.2.1.1.8.
NTLM, SPNEGO, KERBEROS = 0x0A, 0x09, 0x10
INTEGRITY, PRIVACY = 5, 6


@dataclass(frozen=True)
class Fault:
    """A fault PDU instead of a result."""

    status: int


@dataclass(frozen=True)
class Call:
    """A call with its plain stubs; ``response`` is None where no answer is sent."""

    interface: str
    opnum: int
    request: bytes
    response: bytes | Fault | None
    syntax: str = NDR

    @property
    def method(self) -> str:
        """The name in the IDL."""
        return METHODS[self.interface][self.opnum][0]

    @property
    def status(self) -> int | None:
        """The HRESULT at the end of the results or the status of the fault; None where there is neither."""
        if isinstance(self.response, Fault):
            return self.response.status
        results = METHODS[self.interface][self.opnum][2]
        if self.response is None:
            return None
        has_status = bool(results) and results[-1][0] == "status"
        return int.from_bytes(self.response[-4:], "little") if has_status else None


def call(
    interface: str,
    opnum: int,
    request: dict[str, Any],
    response: dict[str, Any] | Fault | None,
    syntax: str = NDR,
) -> Call:
    """A call from values."""
    wide = syntax == NDR64
    sent = stub(interface, opnum, "request", request, ndr64=wide)
    if response is None or isinstance(response, Fault):
        return Call(interface, opnum, sent, response, syntax)
    return Call(interface, opnum, sent, stub(interface, opnum, "response", response, ndr64=wide), syntax)


@dataclass(frozen=True)
class Alter:
    """An alter_context that adds an interface."""

    interface: str
    syntax: str = NDR


@dataclass(frozen=True)
class Together:
    """Calls whose requests leave in one segment before any answer is read."""

    calls: tuple[Call, ...]


@dataclass(frozen=True)
class Authentication:
    """How a connection is secured: type and level as in the sec_trailer, secrets as the facts tell them."""

    type: int
    level: int
    secrets: dict[str, Any]


@dataclass(frozen=True)
class Connection:
    """A TCP connection to a port of the server; ``contexts`` are offered in one bind.

    ``by_scapy`` takes scapy's client, which signs headers and sends a verification trailer, over impacket's.
    """

    port: int
    contexts: tuple[tuple[str, str], ...]
    steps: tuple[Call | Alter | Together, ...]
    authentication: Authentication | None = None
    request_fragment: int = 0
    by_scapy: bool = False


@dataclass(frozen=True)
class Scenario:
    """Connections, one after the other."""

    connections: tuple[Connection, ...]
    notes: str
    secrets: dict[str, Any] = field(default_factory=dict)

    def calls(self) -> list[tuple[int, Call]]:
        """Every call with the number of its connection, in order."""
        found: list[tuple[int, Call]] = []
        for number, connection in enumerate(self.connections):
            for step in connection.steps:
                if isinstance(step, Together):
                    found += [(number, each) for each in step.calls]
                elif isinstance(step, Call):
                    found.append((number, step))
        return found

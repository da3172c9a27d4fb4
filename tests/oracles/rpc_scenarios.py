"""The conversations of `rpc_loopback`: remote reads told by [MS-MQRR] 4 and [MS-MQQP] 4, and odder ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.oracles.rpc_cases import (
    FULL_RECEIVE,
    FULL_SEND,
    OPEN_INTERNAL,
    OPEN_INTERNAL_RESULTS,
    OPEN_REMOTE,
    OPEN_REMOTE_RESULTS,
    QUEUE_FORMATS,
    describe,
    open_queue,
    started,
)
from tests.oracles.rpc_conversation import (
    FEATURES,
    INTEGRITY,
    KERBEROS,
    NDR,
    NDR64,
    NTLM,
    PRIVACY,
    SPNEGO,
    Alter,
    Authentication,
    Call,
    Connection,
    Fault,
    Scenario,
    Together,
    call,
)
from tests.oracles.rpc_kerberos import AES128, AES256, RC4

_PACKETS = Path(__file__).resolve().parents[2] / "fixtures" / "packets"

NTLM_SECRETS = {"user": "alice", "domain": "CORP", "password": "Passw0rd!"}
_KERBEROS = {"user": "alice", "realm": "CORP.EXAMPLE", "principal": "host/srv01.corp.example"}
KERBEROS_AES256 = _KERBEROS | {
    "encryption_type": AES256,
    "key": "8f1d2c3b4a5968778695a4b3c2d1e0f00f1e2d3c4b5a69788796a5b4c3d2e1f0",
}
KERBEROS_AES128 = _KERBEROS | {"encryption_type": AES128, "key": "5d6c7b8a99a8b7c6d5e4f30211203f4e"}
KERBEROS_RC4 = _KERBEROS | {"encryption_type": RC4, "key": "3a4b5c6d7e8f90a1b2c3d4e5f6071829"}

_CONTEXT = {"hex": "00000000" + "c0ffee01" + "5b3e4d7a9f10" + "a1b2c3d4e5f6"}
_NULL = {"hex": "00" * 20}
_UOW = {"hex": "2f1e0d0c0b0a09080706050403020100"}
_RECEIVE, _PEEK_CURRENT, _PEEK_NEXT, _LOOKUP_RECEIVE = 0, 0x80000000, 0x80000001, 0x40000020
_ACK, _NACK = 2, 1
_IO_TIMEOUT, _CANCELLED, _ACCESS_DENIED, _NOT_FOUND = 0xC00E001B, 0xC00E0008, 0xC00E0025, 0xC00E0088
_RPC_ACCESS_DENIED = 5
Step = Call | Alter | Together

# Packets with nothing between label and body: where the body starts, its size, the octets behind its padding.
_CUTTABLE = (("trailers_inside_packet_size", 150, 5, 188), ("four_trailers_ipv6", 136, 4, 208))
_CURSOR = {"hCursor": 3, "srv_hACQueue": 4, "cli_pQMQueue": 5}
_SENT = {"pMessageID": {"Lineage": "5c1f0e67-2d3b-4a58-9e01-7f8091a2b304", "Uniquifier": 0x51}, "status": 0}
_OPEN_SESSION = {
    "pLicGuid": "5c1f0e67-2d3b-4a58-9e01-7f8091a2b304",
    "dwMQS": 1,
    "hQueue": 0x00061050,
    "pQueue": 4,
    "dwpContext": 3,
}

_FULL_PACKET, _FIRST_SECTION, _SECOND_SECTION = 0, 1, 2


def packet(kind: str, name: str) -> bytes:
    """The octets of a packet fixture."""
    lines = (_PACKETS / kind / f"{name}.hex").read_text(encoding="utf-8").splitlines()
    return bytes.fromhex("".join(line.partition("#")[0] for line in lines))


def _section(kind: int, data: bytes, allocated: int) -> dict[str, Any]:
    sizes = {"SectionSizeAlloc": allocated, "SectionSize": len(data)}
    return {"SectionBufferType": kind, **sizes, "pSectionBuffer": {"hex": data.hex()}}


def whole(data: bytes) -> list[dict[str, Any]]:
    """One section with the whole packet."""
    return [_section(_FULL_PACKET, data, len(data))]


def cut(data: bytes, body_at: int, body_size: int, maximum_body: int, trailing: int) -> list[dict[str, Any]]:
    """The two sections of a packet whose body is cut at ``maximum_body`` octets ([MS-MQRR] 2.2.6, 3.1.4.7).

    The first holds everything up to the end of the cut body, the second the ``trailing`` octets of headers
    that follow the body and its padding; the allocated size of the first counts the body as it was.
    """
    first = data[: body_at + min(body_size, maximum_body)]
    sections = [_section(_FIRST_SECTION, first, body_at + body_size)]
    if trailing:
        rest = data[-trailing:]
        sections.append(_section(_SECOND_SECTION, rest, len(rest)))
    return sections


class RemoteRead:
    """Makes the calls of one RemoteRead client."""

    def __init__(self, syntax: str) -> None:
        self._syntax = syntax
        self._request = 0

    def _call(self, opnum: int, request: dict[str, Any], response: dict[str, Any] | Fault | None) -> Call:
        return call("RemoteRead", opnum, request, response, self._syntax)

    def port(self) -> Call:
        return self._call(0, {}, {"port": 2103})

    def open(self, name: str, answer: Fault | None = None) -> Call:
        return self._call(2, open_queue(QUEUE_FORMATS[name]), answer or {"pphContext": _CONTEXT})

    def close(self) -> Call:
        return self._call(3, {"pphContext": _CONTEXT}, {"pphContext": _NULL, "status": 0})

    def cursor(self) -> Call:
        return self._call(4, {"phContext": _CONTEXT}, {"phCursor": 1, "status": 0})

    def close_cursor(self) -> Call:
        return self._call(5, {"phContext": _CONTEXT, "hCursor": 1}, {"status": 0})

    def start(
        self,
        action: int,
        sections: list[dict[str, Any]] | None,
        *,
        status: int = 0,
        cursor: int = 0,
        lookup: int = 0,
        body: int = 65536,
        timeout: int = 10_000,
        unanswered: bool = False,
    ) -> Call:
        self._request += 1
        request = {
            "phContext": _CONTEXT,
            "LookupId": lookup,
            "hCursor": cursor,
            "ulAction": action,
            "ulTimeout": 0 if lookup else timeout,
            "dwRequestId": self._request,
            "dwMaxBodySize": body,
            "dwMaxCompoundMessageSize": 65536,
        }
        return self._call(7, request, None if unanswered else started(sections, status))

    def end(self, acknowledge: int = _ACK) -> Call:
        request = {"phContext": _CONTEXT, "dwAck": acknowledge, "dwRequestId": self._request}
        return self._call(9, request, {"status": 0})

    def cancel(self) -> Call:
        return self._call(8, {"phContext": _CONTEXT, "dwRequestId": self._request}, {"status": 0})

    def enlist(self, token: bytes) -> Call:
        request = {
            "pTransactionId": _UOW,
            "cbPropagationToken": len(token),
            "pbPropagationToken": {"hex": token.hex()},
            "pQueueFormat": QUEUE_FORMATS["direct"],
        }
        return self._call(12, request, {"status": 0})

    def large(self, size: int) -> Call:
        """A receive whose reply is one section of ``size`` octets."""
        body = bytes(range(256)) * (size // 256 + 1)
        return self.start(_RECEIVE, whole(packet("user_message", "smallest") + body[:size]), body=size)

    def story(self) -> list[Call]:
        """A client that looks at a queue, takes a message and waits in vain for another."""
        message = packet("message_packet", "four_trailers_ipv6")
        peeked = packet("message_packet", "private_destination_guid")
        return [
            self.port(),
            self.open("direct"),
            self.cursor(),
            self.start(_PEEK_CURRENT, whole(peeked), cursor=1),
            self.start(_PEEK_NEXT, whole(message), cursor=1),
            self.start(_RECEIVE, whole(peeked)),
            self.end(),
            self.start(_RECEIVE, whole(message)),
            self.end(_NACK),
            self.start(_LOOKUP_RECEIVE, None, status=_NOT_FOUND, lookup=0x0006_0504_0302_0107),
            self.start(_RECEIVE, None, status=_IO_TIMEOUT, timeout=1000),
            self.close_cursor(),
            self.close(),
        ]

    def cancelled(self) -> Together:
        """A receive and its cancel, both under way."""
        start = self.start(_RECEIVE, None, status=_CANCELLED)
        return Together((start, self.cancel()))


def _read(
    syntax: str, authentication: Authentication | None, steps: Sequence[Step], fragment: int = 0
) -> Connection:
    both = (("RemoteRead", NDR), ("RemoteRead", NDR64), ("RemoteRead", FEATURES))
    contexts = both if authentication is None else (("RemoteRead", syntax),)
    return Connection(2103, contexts, tuple(steps), authentication, fragment)


def _plain(syntax: str) -> Scenario:
    reader = RemoteRead(syntax)
    story = reader.story()
    steps: list[Step] = [*story[:-2], reader.cancelled(), *story[-2:]]
    return Scenario(
        (_read(syntax, None, steps),), "No authentication; start and cancel leave in one segment."
    )


def _secured(kind: int, level: int, secrets: dict[str, Any], notes: str) -> Scenario:
    authentication = Authentication(kind, level, secrets)
    connections = []
    for syntax in (NDR, NDR64):
        reader = RemoteRead(syntax)
        story = reader.story()
        connections.append(_read(syntax, authentication, [*story[:-2], reader.cancelled(), *story[-2:]]))
    return Scenario(tuple(connections), notes, secrets)


def _ntlm_large() -> Scenario:
    authentication = Authentication(NTLM, PRIVACY, NTLM_SECRETS)
    reader = RemoteRead(NDR64)
    steps = [
        reader.port(),
        reader.open("direct"),
        # Such that the last fragment is no short one.
        reader.large((1 << 20) + 3000),
        reader.end(),
        reader.enlist(bytes(range(256)) * 40),
        reader.close(),
    ]
    notes = "A reply of over 1 MiB and a request of 10 KiB in fragments, behind an empty sealed request."
    return Scenario((_read(NDR64, authentication, steps, 4096),), notes, NTLM_SECRETS)


def _sections() -> Scenario:
    """Packets cut by dwMaxBodySize, a whole one, and replies without sections."""
    connections = []
    for syntax in (NDR, NDR64):
        reader = RemoteRead(syntax)
        steps: list[Step] = [reader.open("direct")]
        for source, body_at, body_size, trailing in _CUTTABLE:
            data = packet("message_packet", source)
            for maximum in (0, 1, body_size - 1):
                parts = cut(data, body_at, body_size, maximum, trailing)
                steps += [reader.start(_PEEK_CURRENT, parts, body=maximum)]
            steps += [reader.start(_RECEIVE, whole(data)), reader.end()]
        steps += [reader.start(_RECEIVE, None, status=_IO_TIMEOUT), reader.start(_RECEIVE, [])]
        connections.append(_read(syntax, None, [*steps, reader.close()]))
    notes = "Each packet is sent cut to 0, 1 and all but one octet of its body, then whole."
    return Scenario(tuple(connections), notes)


def _legacy() -> Scenario:
    """What a dependent client and the supporting server behind it say: three interfaces, two connections."""
    message = packet("user_message", "transactional")
    client = (
        call("qmcomm", 31, {"fIP": 0}, {"port": 2103}),
        call("qmcomm", 19, OPEN_INTERNAL, OPEN_INTERNAL_RESULTS | {"phQueue": _CONTEXT}),
        Alter("qmcomm2"),
        call(
            "qmcomm2",
            0,
            {"pQueueFormat": QUEUE_FORMATS["direct"], "ptb": FULL_SEND, "pMessageID": None},
            _SENT,
        ),
        call("qmcomm2", 2, {"hQMContext": 9, "ptb": FULL_RECEIVE}, {"ptb": FULL_RECEIVE, "status": 0}),
        call("qmcomm2", 3, {"hQueue": _CONTEXT, "pcc": _CURSOR}, {"pcc": _CURSOR, "status": 0}),
        call(
            "qmcomm2",
            1,
            {"hQueue": _CONTEXT, "ptb": FULL_SEND, "pMessageID": None},
            Fault(_RPC_ACCESS_DENIED),
        ),
        call("qmcomm", 20, {"phQueue": _CONTEXT}, {"phQueue": _NULL, "status": 0}),
        call("qmcomm", 2, OPEN_REMOTE, OPEN_REMOTE_RESULTS | {"pphContext": _CONTEXT}),
        call("qmcomm", 3, {"phContext": _CONTEXT}, {"phContext": _NULL}),
    )
    empty, full = describe(None, server=False), describe(message, server=True)
    nothing = describe(None, server=True)
    session = {"phContext": _CONTEXT}
    result = session | {"lpRemoteReadDesc": full, "status": 0}
    result2 = session | {"lpRemoteReadDesc2": {"pRemoteReadDesc": full, "SequentialId": 7}, "status": 0}
    request2 = {"lpRemoteReadDesc2": {"pRemoteReadDesc": empty, "SequentialId": 0}}
    cancelled = {"phContext": _NULL, "lpRemoteReadDesc": nothing, "status": _CANCELLED}
    cancel = {"hQueue": empty["hRemoteQueue"], "pQueue": OPEN_REMOTE_RESULTS["dwpQueue"], "dwRequestID": 7}
    ended = session | {"status": 0}
    server = (
        call("qm2qm", 7, {"dwPortType": 1}, {"port": 2105}),
        call("qm2qm", 8, {}, {"pMajor": 6, "pMinor": 3, "pBuildNumber": 9600}),
        call("qm2qm", 2, _OPEN_SESSION, session | {"status": 0}),
        call("qm2qm", 0, {"lpRemoteReadDesc": empty}, result),
        call("qm2qm", 1, session | {"dwAck": _ACK}, ended),
        call("qm2qm", 9, request2, result2),
        call("qm2qm", 1, session | {"dwAck": _NACK}, ended),
        call("qm2qm", 10, {"LookupId": 7} | request2, result2),
        Together(
            (
                call("qm2qm", 0, {"lpRemoteReadDesc": empty}, cancelled),
                call("qm2qm", 5, cancel, {"status": 0}),
            )
        ),
        call("qm2qm", 6, {"hQueue": 9}, Fault(_ACCESS_DENIED)),
        call("qm2qm", 3, session, {"phContext": _NULL, "status": 0}),
    )
    both = (("qm2qm", NDR), ("qm2qm", NDR64), ("qm2qm", FEATURES))
    return Scenario(
        (
            Connection(2103, (("qmcomm", NDR), ("qmcomm", FEATURES)), client),
            Connection(2105, both, server),
        ),
        "qmcomm and, by alter_context, qmcomm2 on one association; qm2qm on a second connection.",
    )


def _odd() -> Scenario:
    """Faults, a request in fragments, requests together in one segment, and a call that is never answered."""
    connections = []
    for syntax in (NDR, NDR64):
        reader = RemoteRead(syntax)
        steps: list[Step] = [
            reader.open("public", Fault(_RPC_ACCESS_DENIED)),
            reader.open("private", Fault(_ACCESS_DENIED)),
            Together((reader.port(), reader.open("direct"), reader.cursor())),
            reader.enlist(bytes(range(256)) * 24),
            reader.start(_PEEK_NEXT, None, cursor=1, unanswered=True),
        ]
        connections.append(_read(syntax, None, steps, 1024))
    return Scenario(tuple(connections), "The last call of each connection is not answered before it ends.")


def _signed_headers(
    kind: int, secrets: dict[str, Any], notes: str, levels: tuple[int, ...] = (PRIVACY, INTEGRITY)
) -> Scenario:
    """As Windows does it: signed headers, a verification trailer behind the first request."""
    connections = []
    for level in levels:
        story = RemoteRead(NDR64).story()[1:]
        both = (("RemoteRead", NDR), ("RemoteRead", NDR64), ("RemoteRead", FEATURES))
        secured = Authentication(kind, level, secrets)
        connections.append(Connection(2103, both, tuple(story), secured, by_scapy=True))
    notes += " The first request of a connection carries a verification trailer, which is not in request_hex."
    return Scenario(tuple(connections), notes, secrets)


SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "none_ndr": lambda: _plain(NDR),
    "none_ndr64": lambda: _plain(NDR64),
    "ntlm_privacy": lambda: _secured(
        NTLM, PRIVACY, NTLM_SECRETS, "The first request is an empty sealed stub."
    ),
    "ntlm_integrity": lambda: _secured(NTLM, INTEGRITY, NTLM_SECRETS, "Signed, not sealed."),
    "ntlm_privacy_large": _ntlm_large,
    "spnego_ntlm_signed_headers": lambda: _signed_headers(SPNEGO, NTLM_SECRETS, "SPNEGO with NTLM."),
    "kerberos_aes256_signed_headers": lambda: _signed_headers(KERBEROS, KERBEROS_AES256, "Kerberos alone."),
    "kerberos_aes128_signed_headers": lambda: _signed_headers(KERBEROS, KERBEROS_AES128, "Kerberos alone."),
    # scapy signs with RC4 only what it also seals.
    "kerberos_rc4_signed_headers": lambda: _signed_headers(
        KERBEROS, KERBEROS_RC4, "Kerberos alone.", (PRIVACY,)
    ),
    "sections": _sections,
    "qmcomm_qm2qm": _legacy,
    "faults_and_fragments": _odd,
    "kerberos_aes256": lambda: _secured(SPNEGO, PRIVACY, KERBEROS_AES256, "SPNEGO, AP-REQ in the bind."),
    "kerberos_rc4": lambda: _secured(SPNEGO, PRIVACY, KERBEROS_RC4, "SPNEGO, AP-REQ in the bind."),
}

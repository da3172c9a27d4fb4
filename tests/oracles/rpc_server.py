"""A DCE/RPC server over TCP that answers a prepared list of calls ([C706] 12.6, [MS-RPCE] 2.2.2).

It checks that every request has the expected octets, and that its signature is right, before it answers.
"""

from __future__ import annotations

import socket
import struct
import threading
import uuid
from collections.abc import Sequence

from tests.oracles.rpc_conversation import FEATURES, NDR, NDR64, NTLM, Authentication, Call, Fault
from tests.oracles.rpc_impacket_calls import INTERFACES
from tests.oracles.rpc_security import Acceptor

REQUEST, RESPONSE, FAULT, BIND, BIND_ACK, ALTER, ALTER_ACK, AUTH3 = 0, 2, 3, 11, 12, 14, 15, 16
_FIRST, _LAST, _HEADER_SIGN = 1, 2, 4
_MAXIMUM_FRAGMENT = 5840

SYNTAXES = {
    NDR: uuid.UUID("8a885d04-1ceb-11c9-9fe8-08002b104860").bytes_le + struct.pack("<I", 2),
    NDR64: uuid.UUID("71710533-beba-4937-8319-b5dbef9ccc36").bytes_le + struct.pack("<I", 1),
    FEATURES: uuid.UUID("6cb71c2c-9812-4540-0300-000000000000").bytes_le + struct.pack("<I", 1),
}
_BY_SYNTAX = {octets: name for name, octets in SYNTAXES.items()}
_BY_INTERFACE = {uuid.UUID(text).bytes_le + struct.pack("<I", 1): name for name, text in INTERFACES.items()}


def header(kind: int, flags: int, body_size: int, authentication_size: int, call_id: int) -> bytes:
    """The common header; ``body_size`` counts everything behind it."""
    size = 16 + body_size
    return struct.pack("<BBBB4sHHI", 5, 0, kind, flags, b"\x10\0\0\0", size, authentication_size, call_id)


class Server:
    """Answers one connection after the other on ``port``."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(30)
        self.port: int = self._listener.getsockname()[1]
        self.errors: list[str] = []

    def expect(self, calls: Sequence[Call], authentication: Authentication | None) -> threading.Thread:
        """Serve the next connection, which makes ``calls`` in this order."""
        thread = threading.Thread(target=self._serve, args=(list(calls), authentication), daemon=True)
        thread.start()
        return thread

    def _serve(self, calls: list[Call], authentication: Authentication | None) -> None:
        client, _ = self._listener.accept()
        client.settimeout(30)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            with client:
                _Association(client, calls, authentication).run()
        except (ValueError, AssertionError, OSError) as error:
            self.errors.append(f"{type(error).__name__}: {error}")
        if calls:
            self.errors.append(f"{len(calls)} calls were not made")

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()


class _Association:
    def __init__(
        self, client: socket.socket, calls: list[Call], authentication: Authentication | None
    ) -> None:
        self._client = client
        self._calls = calls
        self._authentication = authentication
        self._acceptor: Acceptor | None = None
        self._contexts: dict[int, tuple[str, str]] = {}
        self._security_id = b""
        self._stub = b""

    def run(self) -> None:
        buffer = b""
        while data := self._client.recv(65536):
            buffer += data
            answers = b""
            while len(buffer) >= 16 and len(buffer) >= (size := int.from_bytes(buffer[8:10], "little")):
                pdu, buffer = buffer[:size], buffer[size:]
                answers += self._answer(pdu)
            if answers:
                self._client.sendall(answers)

    def _answer(self, pdu: bytes) -> bytes:
        kind, flags = pdu[2], pdu[3]
        if kind in (BIND, ALTER):
            return self._bind(pdu, kind, flags)
        if kind == AUTH3:
            self._accept(pdu)
            return b""
        if kind != REQUEST:
            raise ValueError(f"PDU type {kind} from a client")
        plain = self._open(pdu)
        self._stub = plain if flags & _FIRST else self._stub + plain
        return self._reply(pdu) if flags & _LAST else b""

    def _accept(self, pdu: bytes) -> bytes:
        size = int.from_bytes(pdu[10:12], "little")
        if not size:
            return b""
        trailer, token = pdu[-size - 8 : -size], pdu[-size:]
        if self._acceptor is None:
            if self._authentication is None:
                raise ValueError("a client that authenticates was not expected")
            if (trailer[0], trailer[1]) != (self._authentication.type, self._authentication.level):
                raise ValueError("another security provider or level than expected")
            self._acceptor = Acceptor(trailer[0], trailer[1], self._authentication.secrets)
            # impacket signs the header with NTLM without saying so in its bind; Kerberos it does not.
            self._acceptor.header_sign = bool(pdu[3] & _HEADER_SIGN) or trailer[0] == NTLM
        self._security_id = trailer[4:]
        answer = self._acceptor.accept(token)
        return trailer[:2] + bytes(2) + trailer[4:] + answer if answer else b""

    def _bind(self, pdu: bytes, kind: int, flags: int) -> bytes:
        (count,) = struct.unpack_from("<B", pdu, 24)
        at, results = 28, b""
        for _ in range(count):
            number, offered = struct.unpack_from("<HB", pdu, at)
            interface = _BY_INTERFACE[pdu[at + 4 : at + 24]]
            names = [_BY_SYNTAX[pdu[at + 24 + 20 * i : at + 44 + 20 * i]] for i in range(offered)]
            at += 24 + 20 * offered
            results += self._result(number, interface, names)
        token = self._accept(pdu)
        address = b"2103\0" if kind == BIND else b""
        fixed = struct.pack("<HHIH", _MAXIMUM_FRAGMENT, _MAXIMUM_FRAGMENT, 0x1234, len(address)) + address
        body = fixed + bytes(-len(fixed) % 4) + struct.pack("<Bxxx", count) + results
        size = len(token) - 8 if token else 0
        answer = BIND_ACK if kind == BIND else ALTER_ACK
        flags = _FIRST | _LAST | flags & _HEADER_SIGN
        return (
            header(answer, flags, len(body + token), size, int.from_bytes(pdu[12:16], "little"))
            + body
            + token
        )

    def _result(self, number: int, interface: str, names: list[str]) -> bytes:
        if FEATURES in names:
            return struct.pack("<HH", 3, 3) + bytes(20)
        # One syntax of an interface is taken, that of the prepared calls, as Windows takes NDR64 alone.
        wanted = {each.syntax for each in self._calls if each.interface == interface}
        for name in names:
            if name in wanted:
                self._contexts[number] = interface, name
                return struct.pack("<HH", 0, 0) + SYNTAXES[name]
        return struct.pack("<HH", 2, 2) + bytes(20)

    def _open(self, pdu: bytes) -> bytes:
        size = int.from_bytes(pdu[10:12], "little")
        if self._acceptor is None or not size:
            return pdu[24:]
        head, body, trailer, token = pdu[:24], pdu[24 : -size - 8], pdu[-size - 8 : -size], pdu[-size:]
        plain = self._acceptor.open(head, body, trailer, token)
        return plain[: len(plain) - trailer[2]]

    def _reply(self, pdu: bytes) -> bytes:
        call_id, context = int.from_bytes(pdu[12:16], "little"), int.from_bytes(pdu[20:22], "little")
        expected = self._calls.pop(0)
        interface, syntax = self._contexts[context]
        opnum = int.from_bytes(pdu[22:24], "little")
        if (interface, syntax, opnum) != (expected.interface, expected.syntax, expected.opnum):
            raise ValueError(f"{interface} {opnum} {syntax} instead of {expected.method}")
        if self._stub[: len(expected.request)] != expected.request:
            raise ValueError(f"{expected.method} arrived with other octets than it was sent with")
        if expected.response is None:
            return b""
        if isinstance(expected.response, Fault):
            body = struct.pack("<IHBxII", 0, context, 0, expected.response.status, 0)
            return header(FAULT, _FIRST | _LAST, len(body), 0, call_id) + body
        return b"".join(self._fragments(expected.response, context, call_id))

    def _fragments(self, stub: bytes, context: int, call_id: int) -> list[bytes]:
        overhead = 24 + (8 + self._acceptor.token_size() if self._acceptor else 0)
        room = (_MAXIMUM_FRAGMENT - overhead) & ~15
        parts = [stub[at : at + room] for at in range(0, max(len(stub), 1), room)]
        left, found = len(stub), []
        for number, part in enumerate(parts):
            flags = (_FIRST if number == 0 else 0) | (_LAST if number == len(parts) - 1 else 0)
            start = struct.pack("<IHBx", left, context, 0)
            left -= len(part)
            found.append(self._sealed(flags, start, part, call_id))
        return found

    def _sealed(self, flags: int, start: bytes, part: bytes, call_id: int) -> bytes:
        acceptor, authentication = self._acceptor, self._authentication
        if acceptor is None or authentication is None:
            return header(RESPONSE, flags, 8 + len(part), 0, call_id) + start + part
        # [MS-RPCE] 2.2.2.11: the sec_trailer stands at a multiple of 16 from the start of the body.
        padding = -len(part) % 16
        kind = authentication.type, authentication.level
        trailer = struct.pack("<BBBB", *kind, padding, 0) + self._security_id
        size = acceptor.token_size()
        head = header(RESPONSE, flags, 8 + len(part) + padding + 8 + size, size, call_id) + start
        body, token = acceptor.close(head, part + bytes(padding), trailer)
        if len(token) != size:
            raise ValueError(f"a token of {len(token)} octets where {size} were promised")
        return head + body + trailer + token

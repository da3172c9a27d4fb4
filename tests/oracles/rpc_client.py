"""The client side of `rpc_loopback`: impacket over a socket of its own."""

from __future__ import annotations

import importlib
import struct
import uuid
from typing import Any

from tests.oracles.rpc_conversation import Alter, Call, Connection, Fault, Together
from tests.oracles.rpc_impacket_calls import INTERFACES
from tests.oracles.rpc_kerberos import service_ticket
from tests.oracles.rpc_server import SYNTAXES

_rpcrt: Any = importlib.import_module("impacket.dcerpc.v5.rpcrt")
_transport: Any = importlib.import_module("impacket.dcerpc.v5.transport")
_dce_uuid: Any = importlib.import_module("impacket.uuid")


class Client:
    """One connection through the relay."""

    def __init__(self, connection: Connection, port: int) -> None:
        self._connection = connection
        self._transport = _transport.TCPTransport("127.0.0.1", port)
        self._transport.set_connect_timeout(30)
        self._dce = self._transport.get_dce_rpc()
        self._contexts: dict[tuple[str, str], int] = {}
        self._next_context = 0
        self._held: list[bytes] | None = None
        self._send = self._transport.send
        self._transport.send = self._send_or_hold

    def _send_or_hold(self, data: bytes, *args: Any, **options: Any) -> None:
        if self._held is None:
            self._send(data, *args, **options)
        else:
            self._held.append(data)

    def run(self) -> None:
        """Hold the conversation. Raises ValueError where a result has other octets than expected."""
        self._dce.connect()
        self._bind()
        for step in self._connection.steps:
            if isinstance(step, Alter):
                self._alter(step)
            elif isinstance(step, Together):
                self._together(step)
            else:
                self._request(step)
                self._response(step)
        self._dce.disconnect()

    def _bind(self) -> None:
        if self._connection.request_fragment:
            self._dce.set_max_fragment_size(self._connection.request_fragment)
        if self._connection.authentication is None:
            self._offer(self._connection.contexts, _rpcrt.MSRPC_BIND)
            return
        self._authenticate()
        ((interface, syntax),) = self._connection.contexts
        text = SYNTAXES[syntax]
        offered = str(uuid.UUID(bytes_le=text[:16])), f"{text[16]}.0"
        identifier = _dce_uuid.uuidtup_to_bin((INTERFACES[interface], "1.0"))
        self._dce.bind(identifier, transfer_syntax=offered)
        self._contexts[interface, syntax] = 0

    def _authenticate(self) -> None:
        authentication = self._connection.authentication
        assert authentication is not None
        secrets = authentication.secrets
        if "password" in secrets:
            self._dce.set_credentials(secrets["user"], secrets["password"], secrets["domain"])
        else:
            self._dce.set_credentials(secrets["user"], "", secrets["realm"], TGS=service_ticket(secrets))
        self._dce.set_auth_type(authentication.type)
        self._dce.set_auth_level(authentication.level)

    def _offer(self, contexts: tuple[tuple[str, str], ...], kind: int) -> None:
        """Bind or alter_context with a presentation context for each pair."""
        bind = _rpcrt.MSRPCBind()
        for interface, syntax in contexts:
            item = _rpcrt.CtxItem()
            item["ContextID"] = self._next_context
            item["TransItems"] = 1
            item["AbstractSyntax"] = uuid.UUID(INTERFACES[interface]).bytes_le + struct.pack("<I", 1)
            item["TransferSyntax"] = SYNTAXES[syntax]
            bind.addCtxItem(item)
            self._next_context += 1
        packet = _rpcrt.MSRPCHeader()
        packet["type"] = kind
        packet["pduData"] = bind.getData()
        packet["call_id"] = 1
        self._transport.send(packet.get_packet())
        answer = _rpcrt.MSRPCBindAck(_rpcrt.MSRPCHeader(self._transport.recv()).getData())
        first = self._next_context - len(contexts)
        for number, (interface, syntax) in enumerate(contexts):
            if answer.getCtxItem(number + 1)["Result"] != 0:
                continue
            self._dce.set_max_tfrag(answer["max_rfrag"])
            self._contexts[interface, syntax] = first + number

    def _alter(self, step: Alter) -> None:
        if self._connection.authentication is not None:
            raise ValueError("alter_context is for connections without authentication here")
        self._offer(((step.interface, step.syntax),), _rpcrt.MSRPC_ALTERCTX)

    def _request(self, step: Call) -> None:
        self._dce.set_ctx_id(self._contexts[step.interface, step.syntax])
        self._dce.call(step.opnum, step.request)

    def _response(self, step: Call) -> None:
        if step.response is None:
            return
        try:
            result = self._dce.recv()
        except _rpcrt.DCERPCException:
            if not isinstance(step.response, Fault):
                raise
            return
        if result != step.response:
            raise ValueError(f"{step.method} returned other octets than were sent")

    def _together(self, step: Together) -> None:
        self._held = []
        for each in step.calls:
            self._request(each)
        data, self._held = b"".join(self._held), None
        self._transport.send(data)
        for each in step.calls:
            self._response(each)

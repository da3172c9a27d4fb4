# SPDX-License-Identifier: GPL-2.0-or-later
"""The client side of `rpc_loopback` by scapy: signed headers and a verification trailer, like Windows."""

from __future__ import annotations

import importlib
import uuid
from typing import Any

from tests.oracles.rpc_conversation import NDR64, SPNEGO, Call, Connection
from tests.oracles.rpc_impacket_calls import INTERFACES
from tests.oracles.rpc_kerberos import service_ticket

_rpc: Any = importlib.import_module("scapy.layers.dcerpc")
_client: Any = importlib.import_module("scapy.layers.msrpce.rpcclient")
_kerberos: Any = importlib.import_module("scapy.layers.kerberos")
_keys: Any = importlib.import_module("scapy.libs.rfc3961")
_ntlm: Any = importlib.import_module("scapy.layers.ntlm")
_spnego: Any = importlib.import_module("scapy.layers.spnego")
_packet: Any = importlib.import_module("scapy.packet")


def _provider(secrets: dict[str, Any]) -> Any:
    if "password" in secrets:
        return _ntlm.NTLMSSP(UPN=f"{secrets['user']}@{secrets['domain']}", PASSWORD=secrets["password"])
    found = service_ticket(secrets)
    session_key = _keys.Key(
        _keys.EncryptionType(secrets["encryption_type"]), key=found["sessionKey"].contents
    )
    return _kerberos.KerberosSSP(
        UPN=f"{secrets['user']}@{secrets['realm']}",
        SPN=secrets["principal"],
        ST=_kerberos.KRB_Ticket(found["ticket"]),
        KEY=session_key,
    )


class ScapyClient:
    """One connection through the relay."""

    def __init__(self, connection: Connection, port: int) -> None:
        authentication = connection.authentication
        if authentication is None:
            raise ValueError("scapy's client is for authenticated connections here")
        provider = _provider(authentication.secrets)
        self._steps = connection.steps
        self._port = port
        self._wide = any(isinstance(step, Call) and step.syntax == NDR64 for step in connection.steps)
        self._client = _client.DCERPC_Client(
            _rpc.DCERPC_Transport.NCACN_IP_TCP,
            ndr64=self._wide,
            verb=False,
            ssp=_spnego.SPNEGOSSP([provider]) if authentication.type == SPNEGO else provider,
            auth_level=_rpc.RPC_C_AUTHN_LEVEL(authentication.level),
        )

    def run(self) -> None:
        """Hold the conversation. Raises ValueError where a result has other octets than expected."""
        identifier = uuid.UUID(INTERFACES["RemoteRead"])
        _rpc.register_dcerpc_interface("RemoteRead", uuid=identifier, version="1.0", opnums={})
        self._client.connect("127.0.0.1", port=self._port)
        if not self._client.bind(_rpc.find_dcerpc_interface("RemoteRead")):
            raise ValueError("the bind was refused")
        first = True
        for step in self._steps:
            if not isinstance(step, Call):
                raise ValueError("scapy's client makes one call after the other")
            trailer = self._trailer(identifier) if first else None
            first = False
            request = _rpc.DceRpc5Request(
                cont_id=self._client.session.cont_id, opnum=step.opnum, alloc_hint=len(step.request)
            )
            answer = self._client.sr1(request / _packet.Raw(step.request), vt_trailer=trailer)
            if answer is None:
                raise ValueError(f"{step.method} was not answered")
            if bytes(answer[_rpc.DceRpc5Response].payload) != step.response:
                raise ValueError(f"{step.method} returned other octets than were sent")
        self._client.close()

    def _trailer(self, identifier: uuid.UUID) -> Any:
        name, version = ("NDR64", 1) if self._wide else ("NDR 2.0", 2)
        context = _rpc.DceRpcSecVTPcontext(
            InterfaceId=identifier, Version=1, TransferSyntax=name, TransferVersion=version
        )
        return _rpc.DceRpcSecVT(commands=[_rpc.DceRpcSecVTCommand(SEC_VT_COMMAND_END=1) / context])

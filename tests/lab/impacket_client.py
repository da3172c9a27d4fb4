"""A client of the lab by impacket, in a process of its own: ``python tests/lab/impacket_client.py PORT``.

Prints one JSON object: what the server of RemoteRead on that port said, call by call. With ``inconsistent``
behind the port: what the servers of all interfaces said to requests that contradict themselves. Stubs are
built and read by impacket and by nothing of this project.
"""

from __future__ import annotations

import importlib
import json
import logging
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.dont_write_bytecode = True
logging.disable(logging.WARNING)

from tests.oracles.rpc_cases import FULL_SEND, describe, open_queue, queue_format  # noqa: E402  (needs the path above)
from tests.oracles.rpc_impacket_calls import INTERFACES, stub  # noqa: E402

_rpcrt: Any = importlib.import_module("impacket.dcerpc.v5.rpcrt")
_transport: Any = importlib.import_module("impacket.dcerpc.v5.transport")
_uuid: Any = importlib.import_module("impacket.uuid")

_NDR64 = ("71710533-beba-4937-8319-b5dbef9ccc36", "1.0")
_INTERFACES = INTERFACES | {"qmmgmt": "41208ee0-e970-11d1-9b9e-00e02c064c39"}
_ORDERS = queue_format(3, "m_pDirectID", "OS:lab01\\private$\\orders")
_NOWHERE = queue_format(3, "m_pDirectID", "OS:lab01\\private$\\nowhere")


class Client:
    """A connection that is bound to an interface."""

    def __init__(self, port: int, interface: str = "RemoteRead", **options: Any) -> None:
        transport = _transport.TCPTransport("127.0.0.1", port)
        transport.set_connect_timeout(20)
        self.dce = transport.get_dce_rpc()
        if "fragment" in options:
            self.dce.set_max_fragment_size(options["fragment"])
        if "level" in options:
            self.dce.set_credentials("user", "password", "lab")
            self.dce.set_auth_level(options["level"])
        self.dce.connect()
        syntax = {"transfer_syntax": options["syntax"]} if "syntax" in options else {}
        self.dce.bind(_uuid.uuidtup_to_bin((_INTERFACES[interface], "1.0")), **syntax)

    def call(self, opnum: int, request: bytes) -> str:
        """The stub of the response as hexadecimal text, or the fault."""
        try:
            self.dce.call(opnum, request)
            answer: bytes = self.dce.recv()
        except _rpcrt.DCERPCException as error:
            return f"fault: {error}"
        return answer.hex()


def _refused(port: int, **options: Any) -> str:
    try:
        Client(port, **options)
    except _rpcrt.DCERPCException as error:
        return str(error)
    return "bound"


def _request(opnum: int, values: dict[str, Any], *, ndr64: bool = False) -> bytes:
    return stub("RemoteRead", opnum, "request", values, ndr64=ndr64)


def _enlist(size: int, declared: int | None = None) -> bytes:
    values = {
        "pTransactionId": {"hex": "42" * 16},
        "cbPropagationToken": size if declared is None else declared,
        "pbPropagationToken": {"hex": "5a" * size},
        "pQueueFormat": _ORDERS,
    }
    return _request(12, values)


def _inconsistent(port: int) -> None:
    """Ask every interface what contradicts itself, and beside it what does not."""
    handle = {"hex": "00" * 20}

    def security(size: int, descriptor: dict[str, str] | None) -> dict[str, Any]:
        queue = {"ObjType": 1, "u": {"pQueueFormat": _ORDERS}}
        return {
            "pObjectFormat": queue,
            "SecurityInformation": 4,
            "SDSize": size,
            "pSecurityDescriptor": descriptor,
        }

    def name(size: int) -> dict[str, Any]:
        room = {"dwFormatNameRPCBufferLen": size, "lpwcsFormatName": None, "pdwLength": size}
        return {"hQueue": handle, **room}

    def sent(certificate: dict[str, None] | None, size: int) -> dict[str, Any]:
        old = FULL_SEND["old"] | {"ppSenderCert": certificate, "ulSenderCertLen": size}
        return {"hQueue": handle, "ptb": FULL_SEND | {"old": old}, "pMessageID": None}

    def described(size: int) -> dict[str, Any]:
        return {"lpRemoteReadDesc": describe(None, server=False) | {"dwSize": size}}

    built: dict[str, tuple[str, int, dict[str, Any]]] = {
        "descriptor": ("qmcomm", 7, security(5, None)),
        "name": ("qmcomm", 26, name(5)),
        "no room for a name": ("qmcomm", 26, name(0)),
        "large room for a name": ("qmcomm", 26, name(524_289)),
        "certificate": ("qmcomm2", 1, sent({"pointer": None}, 5)),
        "no pointer to a certificate": ("qmcomm2", 1, sent(None, 5)),
        "packet": ("qm2qm", 0, described(5)),
        "no packet": ("qm2qm", 0, described(0)),
        "large packet": ("qm2qm", 0, described(0x0042_0001)),
        "acknowledgment": ("RemoteRead", 9, {"phContext": handle, "dwAck": 3, "dwRequestId": 1}),
    }
    requests = {
        f"{of} {what}{wide}": (of, opnum, stub(of, opnum, "request", values, ndr64=bool(wide)), bool(wide))
        for what, (of, opnum, values) in built.items()
        for wide in ("", " in ndr64")
    }
    requests["RemoteRead token"] = ("RemoteRead", 12, _enlist(3, declared=5), False)
    # MGMT_OBJECT of the machine, cp, aProp, apVar: a VARIANT of type VT_BLOB, or VT_NULL.
    asked = "0100 0100 00000000 01000000 01000000 01000000 01000000"
    for what, variant in (
        ("blob", "41000000 00000000 41000000 05000000 00000000"),
        ("empty blob", "41000000 00000000 41000000 00000000 00000000"),
    ):
        requests[f"qmmgmt {what}"] = ("qmmgmt", 0, bytes.fromhex(asked + variant), False)
    none = "0100 0100 00000000 00000000 00000000 00000000"
    requests["qmmgmt no property"] = ("qmmgmt", 0, bytes.fromhex(none), False)
    said = {}
    for what, (interface, opnum, request, wide) in requests.items():
        client = Client(port, interface, **({"syntax": _NDR64} if wide else {}))
        said[what] = client.call(opnum, request)
        client.dce.disconnect()
    print(json.dumps(said))


def main() -> None:
    """Hold the conversations."""
    port = int(sys.argv[1])
    if "inconsistent" in sys.argv:
        _inconsistent(port)
        return
    client = Client(port)
    opened = client.call(2, _request(2, open_queue(_ORDERS)))
    handle = {"phContext": {"hex": opened}}
    receive = {
        **handle,
        "LookupId": 0,
        "hCursor": 0,
        "ulAction": 0,
        "ulTimeout": 50,
        "dwRequestId": 1,
        "dwMaxBodySize": 1000,
        "dwMaxCompoundMessageSize": 0,
    }
    said = {
        "port": client.call(0, b""),
        "open": opened,
        "open nowhere": client.call(2, _request(2, open_queue(_NOWHERE))),
        "cursor": client.call(4, _request(4, handle)),
        "receive from an empty queue": client.call(7, _request(7, receive)),
        "no opnum": client.call(1, b""),
        "bad stub": client.call(2, b"\xff" * 30),
        "unknown handle": client.call(4, _request(4, {"phContext": {"hex": "00" * 4 + "77" * 16}})),
        "bad acknowledgment": client.call(9, _request(9, {**handle, "dwAck": 3, "dwRequestId": 1})),
        "purge": client.call(6, _request(6, handle)),
        "close": client.call(3, _request(3, {"pphContext": {"hex": opened}})),
        "use after close": client.call(6, _request(6, handle)),
    }
    client.dce.disconnect()
    fragmented = Client(port, fragment=200)
    said["in fragments"] = fragmented.call(12, _enlist(20_000))
    fragmented.dce.disconnect()
    wide = Client(port, syntax=_NDR64)
    said["open in ndr64"] = wide.call(2, _request(2, open_queue(_ORDERS), ndr64=True))
    wide.dce.disconnect()
    said["other interface"] = _refused(port, interface="qmcomm2")
    said["ntlm"] = _refused(port, level=6)
    print(json.dumps(said))


if __name__ == "__main__":
    main()

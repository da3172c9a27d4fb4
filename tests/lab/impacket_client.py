"""A client of the lab by impacket, in a process of its own: ``python tests/lab/impacket_client.py PORT``.

Prints one JSON object: what the server of RemoteRead on that port said, call by call. Stubs are built
and read by impacket and by nothing of this project.
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

from tests.oracles.rpc_cases import open_queue, queue_format  # noqa: E402  (needs the path above)
from tests.oracles.rpc_impacket_calls import INTERFACES, stub  # noqa: E402

_rpcrt: Any = importlib.import_module("impacket.dcerpc.v5.rpcrt")
_transport: Any = importlib.import_module("impacket.dcerpc.v5.transport")
_uuid: Any = importlib.import_module("impacket.uuid")

_NDR64 = ("71710533-beba-4937-8319-b5dbef9ccc36", "1.0")
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
        self.dce.bind(_uuid.uuidtup_to_bin((INTERFACES[interface], "1.0")), **syntax)

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


def _enlist(size: int) -> bytes:
    values = {
        "pTransactionId": {"hex": "42" * 16},
        "cbPropagationToken": size,
        "pbPropagationToken": {"hex": "5a" * size},
        "pQueueFormat": _ORDERS,
    }
    return _request(12, values)


def main() -> None:
    """Hold the conversations."""
    port = int(sys.argv[1])
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

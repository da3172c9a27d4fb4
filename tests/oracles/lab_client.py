"""A client of RemoteRead by impacket, in a process of its own: ``python tests/oracles/lab_client.py PORT``.

Prints one JSON object: what the server said, step by step. The queue ``private$\\orders`` of the server holds
at least five messages; in the end it is empty. Stubs are built and read by impacket and by the offsets of the
document, and by nothing of this project.
"""

from __future__ import annotations

import importlib
import json
import logging
import struct
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

_DIRECT, _SUBQUEUE = 3, 8
_RECEIVE_ACCESS, _PEEK_ACCESS, _MOVE_ACCESS = 1, 0x20, 4
_RECEIVE, _PEEK, _PEEK_NEXT = 0, 0x80000000, 0x80000001
_LOOKUP_RECEIVE = 0x40000020
_ACK, _NACK = 2, 1
_FOREVER = 0xFFFFFFFF
_NAME = "OS:lab\\private$\\orders"


class Client:
    """A connection that is bound to RemoteRead."""

    def __init__(self, port: int) -> None:
        transport = _transport.TCPTransport("127.0.0.1", port)
        transport.set_connect_timeout(20)
        self.dce = transport.get_dce_rpc()
        self.dce.connect()
        self.dce.bind(_uuid.uuidtup_to_bin((INTERFACES["RemoteRead"], "1.0")))
        self._requests = 0

    def send(self, opnum: int, values: dict[str, Any]) -> None:
        """Make a call and do not wait for its answer."""
        self.dce.call(opnum, stub("RemoteRead", opnum, "request", values) if values else b"")

    def read(self) -> bytes:
        """The next answer; a fault is its text."""
        try:
            answer: bytes = self.dce.recv()
        except _rpcrt.DCERPCException as error:
            return f"fault: {error}".encode()
        return answer

    def call(self, opnum: int, values: dict[str, Any]) -> bytes:
        """Make a call; the stub of its answer."""
        self.send(opnum, values)
        return self.read()

    def status(self, opnum: int, values: dict[str, Any]) -> str:
        """Make a call; the status at the end of its answer."""
        return _status(self.call(opnum, values))

    def receive(self, handle: dict[str, Any], **changes: Any) -> dict[str, Any]:
        """The parameters of R_StartReceive."""
        self._requests += 1
        values = {
            **handle,
            "LookupId": 0,
            "hCursor": 0,
            "ulAction": _RECEIVE,
            "ulTimeout": 0,
            "dwRequestId": self._requests,
            "dwMaxBodySize": 0xFFFFFFFF,
            "dwMaxCompoundMessageSize": 0xFFFFFFFF,
        }
        return {**values, **changes}


def _status(answer: bytes) -> str:
    return (
        answer.decode() if answer.startswith(b"fault") else f"{int.from_bytes(answer[-4:], 'little'):#010x}"
    )


def _message(answer: bytes) -> list[Any]:
    """The status, SequenceId and body (UTF-16 text in the packet) of an answer. [MS-MQRR] 3.1.4.7"""
    if int.from_bytes(answer[-4:], "little"):
        return [_status(answer)]
    sequence, count = struct.unpack_from("<QI", answer, 8)
    text = answer.decode("utf-16-le", "ignore")
    at = text.rindex("body ")
    return [_status(answer), sequence, count, text[at : at + 6]]


def _opening(access: int, kind: int = _DIRECT, name: str = _NAME) -> dict[str, Any]:
    arm = "m_pDirectID" if kind == _DIRECT else "m_pDirectSubqueueID"
    return {**open_queue(queue_format(kind, arm, name)), "dwAccess": access}


def main() -> None:
    """Hold the conversation."""
    client = Client(int(sys.argv[1]))
    said: dict[str, Any] = {"port": int.from_bytes(client.call(0, {})[:4], "little")}
    peeking = client.call(2, _opening(_PEEK_ACCESS))
    handle = {"phContext": {"hex": peeking.hex()}}
    cursor = int.from_bytes(client.call(4, handle)[:4], "little")
    peek = {"hCursor": cursor, "ulAction": _PEEK}
    said["peek"] = _message(client.call(7, client.receive(handle, **peek)))
    peek["ulAction"] = _PEEK_NEXT
    said["peek next"] = _message(client.call(7, client.receive(handle, **peek)))
    said["receive without access"] = _status(client.call(7, client.receive(handle)))
    said["close cursor"] = client.status(5, {**handle, "hCursor": cursor})
    said["close"] = client.status(3, {"pphContext": handle["phContext"]})

    opened = client.call(2, _opening(_RECEIVE_ACCESS))
    handle = {"phContext": {"hex": opened.hex()}}
    request = client.receive(handle)
    said["receive"] = _message(client.call(7, request))
    end = {**handle, "dwAck": _NACK, "dwRequestId": request["dwRequestId"]}
    said["nack"] = client.status(9, end)
    request = client.receive(handle)
    said["receive again"] = _message(client.call(7, request))
    end = {**handle, "dwAck": _ACK, "dwRequestId": request["dwRequestId"]}
    said["ack"] = client.status(9, end)
    said["ack again"] = client.status(9, end)

    moving = client.call(11, _opening(_MOVE_ACCESS, _SUBQUEUE, _NAME + ";late"))
    target = {"phContext": {"hex": moving[-20:].hex()}}
    first = _message(client.call(7, client.receive(handle, ulAction=_PEEK)))
    said["move"] = client.status(
        10,
        {
            "phContextFrom": handle["phContext"],
            "ullContextTo": int.from_bytes(moving[:8], "little"),
            "LookupId": first[1],
            "pTransactionId": {"hex": "00" * 16},
        },
    )
    late = client.call(2, _opening(_RECEIVE_ACCESS, _SUBQUEUE, _NAME + ";late"))
    late_handle = {"phContext": {"hex": late.hex()}}
    request = client.receive(late_handle, ulAction=_LOOKUP_RECEIVE, LookupId=first[1])
    said["receive what was moved"] = _message(client.call(7, request))[3] == first[3]
    end = {**late_handle, "dwAck": _ACK, "dwRequestId": request["dwRequestId"]}
    said["ack what was moved"] = client.status(9, end)
    for one in (late_handle, target):
        said["close"] = client.status(3, {"pphContext": one["phContext"]})

    said["purge"] = client.status(6, handle)
    said["receive from an empty queue"] = client.status(7, client.receive(handle, ulTimeout=50))
    request = client.receive(handle, ulTimeout=_FOREVER)
    client.send(7, request)
    client.send(8, {**handle, "dwRequestId": request["dwRequestId"]})
    said["cancelled and cancel"] = [_status(client.read()), _status(client.read())]
    said["close"] = client.status(3, {"pphContext": handle["phContext"]})
    said["purge after close"] = client.status(6, handle)
    client.dce.disconnect()
    print(json.dumps(said))


if __name__ == "__main__":
    main()

"""A DCOM client by impacket: ``python tests/oracles/com_client.py PORT FORMAT_NAME COUNT``.

It activates an MSMQQueueInfo, names the queue and opens it, and calls ReceiveCurrent_v1 COUNT times
without waiting. Printed is a JSON object: ``opened`` is the HRESULT of Open, ``receives`` has HRESULT and
label of each message, ``released`` what a call on an interface that was released gives.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any

# impacket has no types.
dcomrt: Any = import_module("impacket.dcerpc.v5.dcomrt")
oaut: Any = import_module("impacket.dcerpc.v5.dcom.oaut")
dtypes: Any = import_module("impacket.dcerpc.v5.dtypes")
rpcrt: Any = import_module("impacket.dcerpc.v5.rpcrt")
transport: Any = import_module("impacket.dcerpc.v5.transport")
_uuid: Any = import_module("impacket.uuid")

CLASS = "d7d6e07c-dccd-11d0-aa4b-0060970debae"
QUEUE_INFO = "d7d6e07b-dccd-11d0-aa4b-0060970debae"
QUEUE = "d7d6e076-dccd-11d0-aa4b-0060970debae"
MESSAGE = "d7d6e074-dccd-11d0-aa4b-0060970debae"
VT_I4, VT_ERROR, NOT_SPECIFIED = 3, 10, -2147352572
RECEIVE_ACCESS = 1
DISCONNECTED = 0x80010108
NO_AUTHENTICATION = 1
_ARGUMENTS = ("Transaction", "WantDestinationQueue", "WantBody", "ReceiveTimeout")


def _method(name: str, opnum: int, given: tuple[Any, ...], got: tuple[Any, ...]) -> Any:
    """A method as impacket declares them: the class of the response is looked for beside the other."""
    answer = (*got, ("ErrorCode", dcomrt.error_status_t))
    space = globals()
    space[f"{name}Response"] = type(
        f"{name}Response", (dcomrt.DCOMANSWER,), {"structure": answer, "__module__": __name__}
    )
    return type(name, (dcomrt.DCOMCALL,), {"opnum": opnum, "structure": given, "__module__": __name__})


PutFormatName = _method("PutFormatName", 15, (("text", oaut.BSTR),), ())
Open = _method(
    "Open",
    34,
    (("Access", dtypes.LONG), ("ShareMode", dtypes.LONG)),
    (("ppq", dcomrt.PMInterfacePointer),),
)
ReceiveCurrent = _method(
    "ReceiveCurrent",
    17,
    tuple((name, oaut.VARIANT) for name in _ARGUMENTS),
    (("ppmsg", dcomrt.PMInterfacePointer),),
)
GetLabel = _method("GetLabel", 36, (), (("text", oaut.BSTR),))


def _iid(text: str) -> bytes:
    return bytes(_uuid.uuidtup_to_bin((text, "0.0")))


def _pointed(interface: Any, pointer: Any) -> Any:
    """The interface that a response gave."""
    return dcomrt.INTERFACE(
        interface.get_cinstance(),
        b"".join(pointer["abData"]),
        interface.get_ipidRemUnknown(),
        target=interface.get_target(),
    )


class DCERPCSessionError(Exception):
    """What impacket raises for the HRESULT of a method that is declared here; it knows it by this name."""

    def __init__(self, error_string: str = "", error_code: int = 0, packet: Any = None) -> None:
        super().__init__(error_string)
        self.error_code = error_code


def _called(interface: Any, request: Any, iid: str) -> tuple[int, Any]:
    """The HRESULT of a call, and its response where it succeeded."""
    try:
        response = interface.request(request, _iid(iid), interface.get_iPid())
    except DCERPCSessionError as error:
        return error.error_code, None
    except rpcrt.DCERPCException as error:
        # The status of a fault is told by its name.
        return DISCONNECTED if "RPC_E_DISCONNECTED" in str(error) else 0, None
    return int(response["ErrorCode"]), response


def _received(queue: Any) -> dict[str, Any]:
    request = ReceiveCurrent()
    for name in _ARGUMENTS:
        variant = request[name]
        kind, value = (VT_I4, 0) if name == "ReceiveTimeout" else (VT_ERROR, NOT_SPECIFIED)
        variant["clSize"] = 3
        variant["vt"] = variant["_varUnion"]["tag"] = kind
        variant["_varUnion"]["lVal" if kind == VT_I4 else "scode"] = value
    status, response = _called(queue, request, QUEUE)
    if response is None:
        return {"status": status, "label": None}
    message = _pointed(queue, response["ppmsg"])
    _, labelled = _called(message, GetLabel(), MESSAGE)
    return {"status": status, "label": labelled["text"]["asData"]}


def main(port: int, format_name: str, count: int) -> dict[str, Any]:
    connection = transport.DCERPCTransportFactory(f"ncacn_ip_tcp:127.0.0.1[{port}]").get_dce_rpc()
    connection.connect()
    dcomrt.DCOMConnection.PORTMAPS["127.0.0.1"] = connection
    info = dcomrt.IActivation(connection).RemoteActivation(_uuid.string_to_bin(CLASS), _iid(QUEUE_INFO))
    info.get_cinstance().set_auth_level(NO_AUTHENTICATION)
    naming = PutFormatName()
    naming["text"]["asData"] = format_name
    assert _called(info, naming, QUEUE_INFO)[0] == 0
    opening = Open()
    opening["Access"], opening["ShareMode"] = RECEIVE_ACCESS, 0
    status, opened = _called(info, opening, QUEUE_INFO)
    if opened is None:
        return {"opened": status}
    queue = _pointed(info, opened["ppq"])
    receives = [_received(queue) for _ in range(count)]
    unknown = dcomrt.IRemUnknown(queue)
    again = unknown.RemQueryInterface(1, (_iid(QUEUE),))
    for _ in range(5):
        unknown.RemRelease()
    released = _received(queue)["status"]
    connection.disconnect()
    return {
        "opened": status,
        "receives": receives,
        "another": again.get_iPid() != queue.get_iPid(),
        "released": released,
    }


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))))

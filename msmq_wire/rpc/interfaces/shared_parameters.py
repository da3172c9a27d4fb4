"""Parameter lists that methods of several interfaces have in common."""

from typing import Annotated, ClassVar

from msmq_wire.rpc.interfaces.method import HResult
from msmq_wire.rpc.ndr import DWORD, NdrStruct
from msmq_wire.spec import SpecRef

_CALLS = SpecRef("C706", "14.4")


class NoParameters(NdrStruct, frozen=True, kw_only=True, gc=False):
    """An empty stub."""

    SPEC: ClassVar[SpecRef] = _CALLS


class StatusResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """Nothing but the status."""

    SPEC: ClassVar[SpecRef] = _CALLS
    status: HResult = 0


class PortResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The port of an interface."""

    SPEC: ClassVar[SpecRef] = _CALLS
    return_value: Annotated[int, DWORD, "TCP port of the interface; 0 is an error."] = 0

"""Methods of DCOM that a server of queue objects answers: activation, references, what leads to a queue.

[MS-DCOM] 3.1.1.5.6 and 3.1.2.5.2, [MC-MQAC] 3.10.4.1 and 3.17.4.1; the queue objects themselves are declared
in `msmq_wire.rpc.com.queue_interfaces`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from msmq_wire.rpc.com.activation import (
    PointerResponse,
    QueryInterfaceRequest,
    QueryInterfaceResponse,
    RemoteActivationRequest,
    RemoteActivationResponse,
)
from msmq_wire.rpc.com.orpc import ORPC_THAT, ORPC_THIS, OrpcThat, OrpcThis
from msmq_wire.rpc.com.queue_interfaces import OrpcRequest
from msmq_wire.rpc.com.variant import BSTR, FlaggedWordBlob
from msmq_wire.rpc.interfaces.method import HResult, Interface, Method
from msmq_wire.rpc.ndr import DWORD, LONG, UUID, WORD, Conformant, Fields, NdrStruct, Parameters
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.types.guid import GUID, NULL_GUID


class RemInterfaceRef(NdrStruct, frozen=True, kw_only=True, gc=False):
    """REMINTERFACEREF: references to one interface."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-DCOM", "2.2.23")
    ipid: Annotated[GUID, UUID, "The interface."] = NULL_GUID
    c_public_refs: Annotated[int, LONG, "References."] = 0
    c_private_refs: Annotated[int, LONG, "References of one client alone."] = 0


class InterfaceReferencesRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """RemAddRef and RemRelease: how many references more, or fewer."""

    orpcthis: Annotated[OrpcThis, ORPC_THIS, ""] = OrpcThis()
    c_interface_refs: Annotated[int, WORD, "How many interfaces."] = 0
    interface_refs: Annotated[
        tuple[RemInterfaceRef, ...],
        Conformant(Fields(RemInterfaceRef), size=this.c_interface_refs),
        "The references.",
    ] = ()


class RemAddRefResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """RemAddRef: a result for each."""

    orpcthat: Annotated[OrpcThat, ORPC_THAT, ""] = OrpcThat()
    p_results: Annotated[tuple[int, ...], Conformant(DWORD), "The results."] = ()
    status: HResult = 0


class OrpcStatusResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A response that has nothing but its HRESULT."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-DCOM", "2.2.13")
    orpcthat: Annotated[OrpcThat, ORPC_THAT, ""] = OrpcThat()
    status: HResult = 0


class TextRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A property that is set to a text."""

    orpcthis: Annotated[OrpcThis, ORPC_THIS, ""] = OrpcThis()
    text: Annotated[FlaggedWordBlob | None, BSTR, "The text."] = None


class TextResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A property that is a text."""

    SPEC: ClassVar[SpecRef] = SpecRef("MC-MQAC", "3.17.4.1.30")
    orpcthat: Annotated[OrpcThat, ORPC_THAT, ""] = OrpcThat()
    text: Annotated[FlaggedWordBlob | None, BSTR, "The text."] = None
    status: HResult = 0


class OpenRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """Open of MSMQQueueInfo: what for, and who else may."""

    orpcthis: Annotated[OrpcThis, ORPC_THIS, ""] = OrpcThis()
    access: Annotated[int, LONG, "MQACCESS."] = 1
    share_mode: Annotated[int, LONG, "MQSHARE."] = 0


def _interface(
    name: str,
    uuid: str,
    spec: SpecRef,
    methods: Mapping[int, tuple[str, str, type[NdrStruct], type[NdrStruct]]],
) -> Interface:
    made = {
        opnum: Method(
            opnum, method, SpecRef(spec.document, section), Parameters(request), Parameters(response)
        )
        for opnum, (method, section, request, response) in methods.items()
    }
    return Interface(name, GUID.parse(uuid), spec, made, major=0)


ACTIVATION = _interface(
    "IActivation",
    "4d9f4ab8-7d1c-11cf-861e-0020af6e7c57",
    SpecRef("MS-DCOM", "3.1.2.5.2.3"),
    {0: ("RemoteActivation", "3.1.2.5.2.3.1", RemoteActivationRequest, RemoteActivationResponse)},
)
REM_UNKNOWN = _interface(
    "IRemUnknown",
    "00000131-0000-0000-c000-000000000046",
    SpecRef("MS-DCOM", "3.1.1.5.6.1"),
    {
        3: ("RemQueryInterface", "3.1.1.5.6.1.1", QueryInterfaceRequest, QueryInterfaceResponse),
        4: ("RemAddRef", "3.1.1.5.6.1.2", InterfaceReferencesRequest, RemAddRefResponse),
        5: ("RemRelease", "3.1.1.5.6.1.3", InterfaceReferencesRequest, OrpcStatusResponse),
    },
)
QUEUE_INFO = _interface(
    "IMSMQQueueInfo",
    "d7d6e07b-dccd-11d0-aa4b-0060970debae",
    SpecRef("MC-MQAC", "3.10.4.1"),
    {
        14: ("get_FormatName", "3.10.4.1.8", OrpcRequest, TextResponse),
        15: ("put_FormatName", "3.10.4.1.9", TextRequest, OrpcStatusResponse),
        34: ("Open", "3.10.4.1.28", OpenRequest, PointerResponse),
    },
)
MESSAGE = _interface(
    "IMSMQMessage",
    "d7d6e074-dccd-11d0-aa4b-0060970debae",
    SpecRef("MC-MQAC", "3.17.4.1"),
    {36: ("get_Label", "3.17.4.1.30", OrpcRequest, TextResponse)},
)

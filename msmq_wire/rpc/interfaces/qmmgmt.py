"""qmmgmt, [MS-MQMR]: what an administrator asks of a queue manager, and tells it to do."""

from collections.abc import Mapping
from typing import Annotated

from msmq_wire.rpc.constants import ManagementAction, MgmtObjectType
from msmq_wire.rpc.interfaces.method import HResult, interface, method
from msmq_wire.rpc.interfaces.role import QUEUE, Role
from msmq_wire.rpc.interfaces.shared_parameters import StatusResponse
from msmq_wire.rpc.ndr import DWORD, Conformant, NdrStruct, Ranged, String
from msmq_wire.rpc.properties import PropertyKind
from msmq_wire.rpc.types.management_object import MGMT_OBJECT, MgmtObject
from msmq_wire.rpc.types.propvariant import PROPVARIANT, PropVariant
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.private import Public
from msmq_wire.wire.types.wchar_text import WcharText

_MS_MQMR = SpecRef("MS-MQMR", "3.1.4")
_KINDS: Mapping[int, PropertyKind] = {
    MgmtObjectType.MGMT_MACHINE: PropertyKind.MANAGEMENT_MACHINE,
    MgmtObjectType.MGMT_QUEUE: PropertyKind.MANAGEMENT_QUEUE,
}


class QMMgmtGetInfoRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A computer or a queue, and the properties that are asked for."""

    p_object_format: Annotated[MgmtObject, MGMT_OBJECT, QUEUE, "The computer or the queue."] = MgmtObject()
    cp: Annotated[int, Ranged(DWORD, 1, 128), "How many properties there are."] = 0
    a_prop: Annotated[tuple[int, ...], Conformant(DWORD, size=this.cp), "The properties."] = ()
    ap_var: Annotated[
        tuple[PropVariant, ...], Conformant(PROPVARIANT, size=this.cp), "Room for their values: VT_NULL."
    ] = ()

    @property
    def property_kind(self) -> PropertyKind | None:
        """What has the properties that are asked for."""
        return _KINDS.get(self.p_object_format.type)


class QMMgmtGetInfoResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The values of the properties."""

    ap_var: Annotated[tuple[PropVariant, ...], Conformant(PROPVARIANT), "The values."] = ()
    status: HResult = 0


class QMMgmtActionRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """What is to be done with a computer or a queue.

    The IDL lacks ``string`` where it declares the action, and with it there would be one character of it; the
    text of the section wants a text with its end, and so it is read.
    """

    p_object_format: Annotated[MgmtObject, MGMT_OBJECT, QUEUE, "The computer or the queue."] = MgmtObject()
    lpwsz_action: Annotated[WcharText, String(), Public(among=tuple(ManagementAction)), "What to do."] = (
        WcharText(b"\0\0")
    )


INTERFACE = interface(
    "qmmgmt",
    "41208ee0-e970-11d1-9b9e-00e02c064c39",
    _MS_MQMR,
    {
        0: method("R_QMMgmtGetInfo", "3.1.4.1", QMMgmtGetInfoRequest, QMMgmtGetInfoResponse, Role.ASK_STATE),
        1: method("R_QMMgmtAction", "3.1.4.2", QMMgmtActionRequest, StatusResponse, Role.MANAGE),
    },
)

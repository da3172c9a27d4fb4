"""The interfaces of remote read, dependent clients, management and the directory: their methods.

`INTERFACES` has them by UUID: RemoteRead ([MS-MQRR]), qmcomm and qmcomm2 ([MS-MQMP]), qm2qm ([MS-MQQP]),
qmmgmt ([MS-MQMR]), dscomm and dscomm2 ([MS-MQDS]).
"""

from __future__ import annotations

from msmq_wire.rpc.interfaces import dscomm, dscomm2, qm2qm, qmcomm, qmcomm2, qmmgmt, remote_read
from msmq_wire.rpc.interfaces.method import Interface, Method
from msmq_wire.rpc.interfaces.role import Members, Role
from msmq_wire.wire.types.guid import GUID

__all__ = ["INTERFACES", "METHODS", "NAMED_ONLY", "Interface", "Members", "Method", "Role", "interface_name"]

INTERFACES: dict[GUID, Interface] = {
    interface.uuid: interface
    for interface in (
        remote_read.INTERFACE,
        qmcomm.INTERFACE,
        qmcomm2.INTERFACE,
        qm2qm.INTERFACE,
        qmmgmt.INTERFACE,
        dscomm.INTERFACE,
        dscomm2.INTERFACE,
    )
}

METHODS: dict[str, Method] = {one.name: one for each in INTERFACES.values() for one in each.all_methods}
"""The methods and callbacks of all of them by name, which no two share."""

NAMED_ONLY: dict[GUID, str] = {
    GUID.parse(uuid): name
    for uuid, name in {
        "975201b0-59ca-11d0-a8d5-00a0c90d8051": "msqueue (old)",
        "d7d6e076-dccd-11d0-aa4b-0060970debae": "IMSMQQueue",
        "ef0574e0-06d8-11d3-b100-00e02c074f6b": "IMSMQQueue2",
        "eba96b1b-2168-11d3-898c-00e02c074f6b": "IMSMQQueue3",
        "eba96b20-2168-11d3-898c-00e02c074f6b": "IMSMQQueue4",
    }.items()
}
"""Interfaces of MSMQ whose calls are listed by name and not opened."""


def interface_name(uuid: GUID) -> str | None:
    """The name of an interface of MSMQ, None for any other."""
    known = INTERFACES.get(uuid)
    return known.name if known is not None else NAMED_ONLY.get(uuid)

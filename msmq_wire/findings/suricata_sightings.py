"""Signatures that belong to no rule: what others must know of a session, and who uses what of MSMQ.

The rule kept here: what is only seen is no finding. Those signatures are off in the file unless asked for.
"""

from __future__ import annotations

from msmq_wire.findings.suricata_signature import (
    ACCEPTED,
    ASKED,
    CALLS,
    CONNECTS,
    DISCOVERY,
    OPEN,
    POSTS,
    TO_CLIENT,
    TO_SERVER,
    Signature,
    calls,
    posted,
)
from msmq_wire.rpc.interfaces import INTERFACES
from msmq_wire.wire.expressions import this
from msmq_wire.wire.packets.connection_parameters import ConnectionParameters
from msmq_wire.wire.packets.establish_connection import EstablishConnection
from msmq_wire.wire.packets.topology_client_request import TopologyClientRequest
from msmq_wire.wire.types.enumerations import TopologyPacketType

_NUMBERS = {
    "RemoteRead": 901,
    "qmcomm": 902,
    "qmcomm2": 903,
    "qm2qm": 904,
    "qmmgmt": 905,
    "dscomm": 906,
    "dscomm2": 907,
}

STATES: tuple[Signature, ...] = (
    Signature(
        number=1,
        on=TO_SERVER,
        packet=EstablishConnection,
        anywhere=True,
        says="a session is asked for",
        sets=(ASKED,),
        silent=True,
    ),
    Signature(
        number=2,
        on=TO_CLIENT,
        packet=ConnectionParameters,
        anywhere=True,
        says="a session is open",
        sets=(OPEN,),
        silent=True,
    ),
    Signature(
        number=3,
        on=ACCEPTED,
        match=("flags:SA", f"xbits:set,{CONNECTS},track ip_dst,expire 60"),
        says="a host connects",
        silent=True,
    ),
)
"""They set what other signatures ask for, and tell nothing."""

SIGHTINGS: tuple[Signature, ...] = (
    Signature(
        number=900,
        on=TO_SERVER,
        packet=EstablishConnection,
        match=("stream_size:client,<,1000",),
        says="a session of the binary protocol is asked for",
    ),
    *(
        Signature(
            number=_NUMBERS[interface.name],
            on=CALLS,
            match=calls(interface),
            says=f"a call of {interface.name}",
        )
        for interface in INTERFACES.values()
    ),
    Signature(
        number=910,
        on=DISCOVERY,
        packet=TopologyClientRequest,
        match=(this.topology_packet_header.type == TopologyPacketType.TOPOLOGY_CLIENT_REQUEST,),
        says="somebody asks for directory servers",
    ),
    Signature(number=911, on=POSTS, match=posted(), says="a message is posted over HTTP"),
)
"""Who uses what: an inventory, and no finding."""

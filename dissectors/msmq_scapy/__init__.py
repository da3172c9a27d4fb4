# SPDX-License-Identifier: GPL-2.0-or-later
"""scapy layers for Microsoft Message Queuing, made from the declarations of msmq_wire.

``MSMQ(data)`` dissects a packet of any kind; ``MSMQUserMessage``, ``MSMQUserHeader`` and so on are the packet
classes of single structures, ``MSMQ_R_StartReceive_request`` and so on those of the stubs of calls. Importing
this loads no scapy and binds nothing: see `register`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from msmq_scapy.declarations import structures
from msmq_wire.arguments import nearest

if TYPE_CHECKING:
    from msmq_scapy.binding import register, unregister
    from msmq_scapy.judging import anomalies, view
    from msmq_scapy.packets import MSMQ, StructurePacket
    from msmq_scapy.session import MSMQSession
    from msmq_scapy.stubs import MSMQStub
    from msmq_scapy.values import value_of

_ON_DEMAND = {
    "MSMQ": "msmq_scapy.packets",
    "MSMQSession": "msmq_scapy.session",
    "MSMQStub": "msmq_scapy.stubs",
    "anomalies": "msmq_scapy.judging",
    "register": "msmq_scapy.binding",
    "unregister": "msmq_scapy.binding",
    "value_of": "msmq_scapy.values",
    "view": "msmq_scapy.judging",
}

__all__ = [
    "MSMQ",
    "MSMQSession",
    "MSMQStub",
    "anomalies",
    "register",
    "unregister",
    "value_of",
    "view",
    *structures(),
]


def __getattr__(name: str) -> type[StructurePacket] | type[MSMQStub]:
    if name in _ON_DEMAND:
        value = getattr(import_module(_ON_DEMAND[name]), name)
    elif name in structures():
        value = import_module("msmq_scapy.packets").packet_class(structures()[name])
    elif name.startswith("MSMQ_"):
        value = import_module("msmq_scapy.stubs").stub_named(name)
    else:
        near = nearest(name, [*_ON_DEMAND, *structures()])
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}{near and f': did you mean {near!r}?'}"
        )
    globals()[name] = value
    found: type[StructurePacket] | type[MSMQStub] = value
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

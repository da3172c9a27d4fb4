# SPDX-License-Identifier: GPL-2.0-or-later
"""scapy layers for Microsoft Message Queuing, made from the declarations of msmq_wire.

``MSMQ(data)`` dissects a packet of any kind; ``MSMQUserMessage``, ``MSMQUserHeader`` and so on are the packet
classes of single structures, ``MSMQ_R_StartReceive_request`` and so on those of the stubs of calls. Importing
this loads no scapy and binds nothing: see `register`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from msmq_scapy.declarations import structures

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

__all__ = sorted([*_ON_DEMAND, *structures()])


def __getattr__(name: str) -> Any:
    if name in _ON_DEMAND:
        value = getattr(import_module(_ON_DEMAND[name]), name)
    elif name in structures():
        value = import_module("msmq_scapy.packets").packet_class(structures()[name])
    elif name.startswith("MSMQ_"):
        value = import_module("msmq_scapy.stubs").stub_named(name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

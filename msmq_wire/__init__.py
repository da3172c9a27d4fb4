"""Wire-format codec and packet forensics for Microsoft Message Queuing (MSMQ)."""

from __future__ import annotations

from msmq_wire.engines.building import build_message
from msmq_wire.engines.codec import InspectResult, decode, encode, inspect
from msmq_wire.engines.fit import fit
from msmq_wire.errors import CaptureError, DecodeError, EncodeError, FormatNameError, MsmqWireError
from msmq_wire.names import FormatName, PathName
from msmq_wire.wire.musts import Anomaly
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.section_buffer import SectionBuffer, SectionType

__version__ = "0.1.0"

__all__ = [
    "GUID",
    "Anomaly",
    "CaptureError",
    "DecodeError",
    "EncodeError",
    "FormatName",
    "FormatNameError",
    "InspectResult",
    "MsmqWireError",
    "PathName",
    "SectionBuffer",
    "SectionType",
    "build_message",
    "decode",
    "encode",
    "fit",
    "inspect",
]

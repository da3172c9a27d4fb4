"""Wire-format codec and packet forensics for Microsoft Message Queuing (MSMQ)."""

from __future__ import annotations

from msmq_wire.capture.reader import CaptureReader, read_capture
from msmq_wire.engines.building import build_message
from msmq_wire.engines.codec import InspectResult, decode, encode, inspect
from msmq_wire.engines.fit import fit
from msmq_wire.errors import CaptureError, DecodeError, EncodeError, FormatNameError, MsmqWireError
from msmq_wire.names import FormatName, PathName
from msmq_wire.reassembly.sections import JoinedPacket, join_sections, split_sections
from msmq_wire.records.record import Record
from msmq_wire.wire.musts import Anomaly
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.section_buffer import SectionBuffer, SectionType

__version__ = "0.1.0"

__all__ = [
    "GUID",
    "Anomaly",
    "CaptureError",
    "CaptureReader",
    "DecodeError",
    "EncodeError",
    "FormatName",
    "FormatNameError",
    "InspectResult",
    "JoinedPacket",
    "MsmqWireError",
    "PathName",
    "Record",
    "SectionBuffer",
    "SectionType",
    "build_message",
    "decode",
    "encode",
    "fit",
    "inspect",
    "join_sections",
    "read_capture",
    "split_sections",
]

"""Wire-format codec and packet forensics for Microsoft Message Queuing (MSMQ)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from msmq_wire.engines.codec import InspectResult, decode, encode, inspect
from msmq_wire.engines.fit import fit
from msmq_wire.engines.message_builder import build_message
from msmq_wire.errors import CaptureError, DecodeError, EncodeError, FormatNameError, MsmqWireError
from msmq_wire.reassembly.sections import JoinedPacket, join_sections, split_sections
from msmq_wire.wire.musts import Anomaly
from msmq_wire.wire.names import FormatName, PathName
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.section_buffer import SectionBuffer, SectionType

if TYPE_CHECKING:
    from msmq_wire.capture.reader import CaptureReader, read_capture
    from msmq_wire.records.record import Record

__version__ = "0.2.0"

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

# Who decodes one packet does not wait for what reads captures.
_ON_DEMAND = {
    "CaptureReader": "msmq_wire.capture.reader",
    "Record": "msmq_wire.records.record",
    "read_capture": "msmq_wire.capture.reader",
}


def __getattr__(name: str) -> object:
    module = _ON_DEMAND.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

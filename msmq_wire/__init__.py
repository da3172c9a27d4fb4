"""Wire-format codec and packet forensics for Microsoft Message Queuing (MSMQ)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from msmq_wire.engines.codec import InspectResult, decode, encode, inspect
from msmq_wire.engines.fit import fit
from msmq_wire.engines.message_builder import build_message
from msmq_wire.errors import (
    CaptureError,
    DecodeError,
    EncodeError,
    FormatNameError,
    MsmqWireError,
    NoSuchMessageError,
)
from msmq_wire.reassembly.sections import JoinedPacket, join_sections, split_sections
from msmq_wire.wire.musts import Anomaly
from msmq_wire.wire.names import FormatName, PathName
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.section_buffer import SectionBuffer, SectionType

if TYPE_CHECKING:
    from msmq_wire.api.calls import Call, calls
    from msmq_wire.api.capture_iterator import CaptureIterator
    from msmq_wire.api.diagnosis import DiagnosisResult, diagnose
    from msmq_wire.api.findings import findings
    from msmq_wire.api.messages import Message, messages
    from msmq_wire.api.table import table
    from msmq_wire.api.why import WhyAnswer, why
    from msmq_wire.capture.reader import CaptureReader, read_capture
    from msmq_wire.detection.finding import Finding
    from msmq_wire.records.record import Record
    from msmq_wire.records.tree.tree_text import tree

__version__ = "0.2.0"

__all__ = [
    "GUID",
    "Anomaly",
    "Call",
    "CaptureError",
    "CaptureIterator",
    "CaptureReader",
    "DecodeError",
    "DiagnosisResult",
    "EncodeError",
    "Finding",
    "FormatName",
    "FormatNameError",
    "InspectResult",
    "JoinedPacket",
    "Message",
    "MsmqWireError",
    "NoSuchMessageError",
    "PathName",
    "Record",
    "SectionBuffer",
    "SectionType",
    "WhyAnswer",
    "build_message",
    "calls",
    "decode",
    "diagnose",
    "encode",
    "findings",
    "fit",
    "inspect",
    "join_sections",
    "messages",
    "read_capture",
    "split_sections",
    "table",
    "tree",
    "why",
]

# Who decodes one packet does not wait for what reads captures.
_ON_DEMAND = {
    "Call": "msmq_wire.api.calls",
    "CaptureIterator": "msmq_wire.api.capture_iterator",
    "CaptureReader": "msmq_wire.capture.reader",
    "DiagnosisResult": "msmq_wire.api.diagnosis",
    "Finding": "msmq_wire.detection.finding",
    "Message": "msmq_wire.api.messages",
    "Record": "msmq_wire.records.record",
    "WhyAnswer": "msmq_wire.api.why",
    "calls": "msmq_wire.api.calls",
    "diagnose": "msmq_wire.api.diagnosis",
    "findings": "msmq_wire.api.findings",
    "messages": "msmq_wire.api.messages",
    "read_capture": "msmq_wire.capture.reader",
    "tree": "msmq_wire.records.tree.tree_text",
    "why": "msmq_wire.api.why",
    "table": "msmq_wire.api.table",
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

"""RPC-FMTLEN: a call names a queue with a name that is too long for a queue."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.call_queues import path_names, split_path
from msmq_wire.detection.rule import Context, Detection, Rule, evidence_of
from msmq_wire.detection.suricata_signature import CALLS, SuricataSignature, calls
from msmq_wire.records.record import Record
from msmq_wire.rpc.interfaces import Role
from msmq_wire.rpc.interfaces.qmcomm import INTERFACE
from msmq_wire.spec import SpecRef
from msmq_wire.wire.names.queue_format_types import QueueFormatType

_QUEUE, _COMPUTER = 124, 256
_FIRST = 128
_LONG_PATH = 2048
"""Characters of the path in the public module for CVE-2007-3039: a host name and 4,096 bytes. A path of
legal parts has fewer than 400."""
_PATH_CVE, _NAME_CVE = "CVE-2007-3039", "CVE-2005-0059"


def _check(record: Record, context: Context) -> Iterator[Detection]:
    for path, text in path_names(record):
        if len(text) <= 2 * _FIRST:
            continue
        computer, queue = split_path(text.text)
        cve = _published(record, path, len(text) // 2)
        if len(computer) > _COMPUTER:
            part = f"the computer name has {len(computer)} characters, the limit is {_COMPUTER}"
        elif len(queue) > _QUEUE:
            part = f"the queue name has {len(queue)} characters, the limit is {_QUEUE}"
        elif cve == _PATH_CVE:
            # Bytes that are no text may look like parts.
            part = f"the path has {len(text) // 2} characters"
        else:
            continue
        yield Detection(
            message=f"{part}: matches the published condition of {cve}" if cve else part,
            evidence=(evidence_of(record, path, 0, len(text), text),),
            confidence="published" if cve else None,
            cves=(cve,) if cve else (),
            tells=tuple(one.path for one in record.anomalies if one.code == "queue_format.format-name"),
        )


def _published(record: Record, path: str, characters: int) -> str:
    """The CVE whose published condition a too long name matches; empty if none does."""
    call = record.packet
    if call.interface != "qmcomm" or not path.startswith("request."):
        return ""
    if call.role is Role.DELETE_QUEUE and path.endswith(".m_p_direct_id"):
        return _NAME_CVE
    if call.role is Role.CREATE_QUEUE and path.endswith(".lpwcs_path_name") and characters >= _LONG_PATH:
        return _PATH_CVE
    return ""


_LEGAL = 400
"""A name of legal parts has fewer characters."""
_PATH_LENGTH = 12
"""Offset of the path length in a create stub: after the object type, MaxCount and Offset."""
_KIND, _NAME_LENGTH = 12, 32
"""Offsets in a delete stub: m_qft, and the length after two pointers, MaxCount and Offset."""


def _opnums(role: Role) -> list[int]:
    return [method.opnum for method in INTERFACE.methods.values() if method.role is role]


RULE = Rule(
    id="RPC-FMTLEN",
    title="A queue name that is too long",
    severity="high",
    layer="host",
    spec=(SpecRef("MS-MQMQ", "2.1.1"), SpecRef("MS-MQMQ", "2.1.2")),
    meaning="A queue name has at most 124 characters, a computer name at most 256. Longer names reach two "
    "old public bugs of the RPC interface qmcomm. One is opnum 9 with a direct format name. The other is "
    "opnum 6 with a path name of 2,048 characters or more, as a public exploit sends.",
    action="Look at the client and at the text; check that the server has the fixes of MS05-017 and "
    "MS07-065.",
    harmless="A program that builds names from input that it does not check.",
    cves=(_NAME_CVE, _PATH_CVE),
    needs=("record",),
    types=("rpc_call",),
    check=_check,
    suricata=(
        SuricataSignature(
            number=640,
            on=CALLS,
            match=(
                *calls(INTERFACE, _opnums(Role.CREATE_QUEUE)),
                "dcerpc.stub_data",
                f"byte_test:4,>=,{_LONG_PATH},{_PATH_LENGTH},little",
            ),
            says=f"matches the published condition of {_PATH_CVE}",
            cves=(_PATH_CVE,),
        ),
        SuricataSignature(
            number=641,
            on=CALLS,
            match=(
                *calls(INTERFACE, _opnums(Role.DELETE_QUEUE)),
                "dcerpc.stub_data",
                f"byte_test:1,=,{QueueFormatType.DIRECT},{_KIND}",
                f"byte_test:4,>=,{_LEGAL},{_NAME_LENGTH},little",
            ),
            says=f"matches the published condition of {_NAME_CVE}",
            cves=(_NAME_CVE,),
        ),
    ),
)

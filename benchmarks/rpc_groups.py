"""Remote read: our NDR and PDU layer beside scapy-rpc and impacket, on the same stubs and one capture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from impacket.dcerpc.v5 import dtypes, ndr  # type: ignore[import-untyped]  # it has no stubs
from msrpcs import ms_mqrr  # type: ignore[import-untyped]  # it has no stubs
from scapy.config import conf
from scapy.layers.dcerpc import DceRpc5, DceRpcSession
from scapy.layers.inet import TCP
from scapy.packet import bind_bottom_up
from scapy.sendrecv import sniff

from benchmarks.calls import METHODS, call_payloads, small_calls
from benchmarks.measure import Contestant, Result, measure
from benchmarks.traffic import write
from msmq_wire.capture.reader import CaptureReader
from msmq_wire.rpc.association import Association
from msmq_wire.rpc.events import CallEvent
from msmq_wire.rpc.interfaces.remote_read import StartReceiveResponse
from msmq_wire.rpc.ndr import NDR, NDR64, StubValue, Syntax, decode_stub, encode_stub, inspect_stub
from msmq_wire.rpc.types.section_array import PointerArray
from msmq_wire.wire.types.section_buffer import SectionBuffer

__all__ = [
    "ASSOCIATION",
    "DECODE",
    "IMPACKET",
    "INSPECT",
    "READ_CAPTURE",
    "SCAPY_RPC",
    "SCAPY_SESSION",
    "check",
    "run",
]

DECODE = "msmq_wire, decode_stub"
INSPECT = "msmq_wire, inspect_stub"
SCAPY_RPC = "scapy-rpc"
IMPACKET = "impacket"
READ_CAPTURE = "msmq_wire, read_capture"
ASSOCIATION = "msmq_wire, Association"
SCAPY_SESSION = "scapy, DceRpcSession"

_START_RECEIVE = METHODS["R_StartReceive"]
_BODY = bytes(range(256)) * 16
_SYNTAXES = {"ndr": NDR, "ndr64": NDR64}

Facts = tuple[int, int, int, int, bytes, int]
"""Sequence, sections, SectionSizeAlloc and SectionSize of the first one, its bytes, the status."""


class _Bytes(ndr.NDRUniConformantArray):  # type: ignore[misc]  # it has no stubs
    item = "c"


class _BytesPointer(ndr.NDRPOINTER):  # type: ignore[misc]  # it has no stubs
    referent = (("Data", _Bytes),)


class _SectionType(ndr.NDRENUM):  # type: ignore[misc]  # it has no stubs
    pass


class _SectionBuffer(ndr.NDRSTRUCT):  # type: ignore[misc]  # it has no stubs
    structure = (
        ("SectionBufferType", _SectionType),
        ("SectionSizeAlloc", dtypes.DWORD),
        ("SectionSize", dtypes.DWORD),
        ("pSectionBuffer", _BytesPointer),
    )


class _Sections(ndr.NDRUniConformantArray):  # type: ignore[misc]  # it has no stubs
    item = _SectionBuffer


class _SectionsPointer(ndr.NDRPOINTER):  # type: ignore[misc]  # it has no stubs
    referent = (("Data", _Sections),)


class _Response(ndr.NDRCALL):  # type: ignore[misc]  # it has no stubs
    structure = (
        ("pdwArriveTime", dtypes.DWORD),
        ("pSequenceId", dtypes.ULONGLONG),
        ("pdwNumberOfSections", dtypes.DWORD),
        ("ppPacketSections", _SectionsPointer),
        ("ErrorCode", dtypes.ULONG),
    )


def _reply(*, pointers: bool) -> StubValue:
    """An R_StartReceive reply with one section; ``pointers``: as an array of those, as scapy-rpc has it."""
    section = SectionBuffer(section_size_alloc=len(_BODY), section_size=len(_BODY), data=_BODY)
    sections = PointerArray((section,)) if pointers else (section,)
    return StubValue(
        StartReceiveResponse(
            pdw_arrive_time=1_700_000_000,
            p_sequence_id=7,
            pdw_number_of_sections=1,
            pp_packet_sections=sections,
        )
    )


def _stub(syntax: Syntax, *, pointers: bool = False) -> bytes:
    return encode_stub(_START_RECEIVE.response, _reply(pointers=pointers), syntax)


def _facts(value: Any) -> Facts:
    section = value.pp_packet_sections[0]
    return (
        value.p_sequence_id,
        value.pdw_number_of_sections,
        section.section_size_alloc,
        section.section_size,
        section.data,
        value.status,
    )


def _facts_of_scapy(packet: Any) -> Facts:
    section = packet.ppPacketSections.value[0].value
    return (
        packet.pSequenceId,
        packet.pdwNumberOfSections,
        section.SectionSizeAlloc,
        section.SectionSize,
        bytes(section.pSectionBuffer.value.value),
        packet.status,
    )


def _facts_of_impacket(call: Any) -> Facts:
    section = call["ppPacketSections"][0]
    return (
        call["pSequenceId"],
        call["pdwNumberOfSections"],
        section["SectionSizeAlloc"],
        section["SectionSize"],
        b"".join(section["pSectionBuffer"]),
        call["ErrorCode"],
    )


def check(folder: Path) -> list[str]:
    """One line for every contestant that reads something else; none if all agree."""
    lines = []
    expected = _facts(_reply(pointers=False).value)
    for name, syntax in _SYNTAXES.items():
        stub, turned = _stub(syntax), _stub(syntax, pointers=True)
        found = {
            DECODE: _facts(decode_stub(_START_RECEIVE.response, stub, syntax).value),
            INSPECT: _facts(inspect_stub(_START_RECEIVE.response, stub, syntax).value),
            SCAPY_RPC: _facts_of_scapy(ms_mqrr.R_StartReceive_Response(turned, ndr64=syntax.wide)),
            IMPACKET: _facts_of_impacket(_Response(stub, isNDR64=syntax.wide)),
        }
        lines += [
            f"{contestant}, {name}: {facts}" for contestant, facts in found.items() if facts != expected
        ]
    capture = _capture(folder / "rpc_check.pcap", 20)
    counts = {
        READ_CAPTURE: _read_capture(capture),
        ASSOCIATION: _associate(list(call_payloads(20))),
        SCAPY_SESSION: _scapy_session(capture),
    }
    return lines + [
        f"{name}: {count} PDUs of calls, 40 are there" for name, count in counts.items() if count != 40
    ]


def run(folder: Path, *, stubs: int, calls: int, rounds: int) -> list[Result]:
    """Measure stubs in both syntaxes, and the PDUs of a capture; a tenth for the peers."""
    results: list[Result] = []
    for name, syntax in _SYNTAXES.items():
        stub, turned = _stub(syntax), _stub(syntax, pointers=True)
        response = _START_RECEIVE.response
        work: dict[str, tuple[Callable[[], Any], int]] = {
            DECODE: (partial(decode_stub, response, stub, syntax), stubs),
            INSPECT: (partial(inspect_stub, response, stub, syntax), stubs // 5),
            SCAPY_RPC: (partial(ms_mqrr.R_StartReceive_Response, turned, ndr64=syntax.wide), stubs // 100),
            IMPACKET: (partial(_Response, stub, isNDR64=syntax.wide), stubs // 500),
        }
        contestants = [Contestant(one, partial(_repeat, *each)) for one, each in work.items()]
        results += measure(f"ndr_{name}", "stubs a second", contestants, rounds)
    whole, part = _capture(folder / "rpc.pcap", calls), _capture(folder / "rpc_part.pcap", calls // 20)
    payloads = list(call_payloads(calls))
    results += measure(
        "pdu_small",
        "PDUs a second",
        [
            Contestant(READ_CAPTURE, lambda: _read_capture(whole)),
            Contestant(ASSOCIATION, lambda: _associate(payloads)),
            Contestant(SCAPY_SESSION, lambda: _scapy_session(part)),
        ],
        rounds,
    )
    return results


def _repeat(work: Callable[[], Any], count: int) -> int:
    for _ in range(count):
        work()
    return count


def _capture(path: Path, calls: int) -> str:
    """Write the conversation as a capture of a connection to port 2103."""
    write(path, small_calls(calls))
    return str(path)


def _read_capture(path: str) -> int:
    return sum(2 for record in CaptureReader(path, columns=False) if record.type == "rpc_call")


def _associate(payloads: Sequence[tuple[bool, bytes]]) -> int:
    association = Association()
    done = 0
    for number, (client, data) in enumerate(payloads):
        done += sum(
            2 for event in association.feed(client, data, number, number) if isinstance(event, CallEvent)
        )
    return done


@cache
def _bind() -> None:
    """Let scapy take port 2103 for DCE/RPC."""
    bind_bottom_up(TCP, DceRpc5, sport=2103)
    bind_bottom_up(TCP, DceRpc5, dport=2103)


def _scapy_session(path: str) -> int:
    _bind()
    before, conf.dcerpc_session_enable = conf.dcerpc_session_enable, True
    try:
        packets = sniff(offline=path, session=DceRpcSession, quiet=True)
    finally:
        conf.dcerpc_session_enable = before
    return sum(1 for packet in packets if DceRpc5 in packet and packet[DceRpc5].ptype in (0, 2))

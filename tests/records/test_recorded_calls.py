"""Conversations between independent clients and servers, recorded on loopback, against what both sides saw.

The facts beside a capture are the plain stubs. Every one of them, every message and every signature counts.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.capture.reader import CaptureReader, read_capture
from msmq_wire.records import rpc_reader
from msmq_wire.records.message import message_view
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcBind, RpcCall
from msmq_wire.rpc.association import Association
from msmq_wire.rpc.events import CallEvent, RpcEvent, Stub
from msmq_wire.rpc.interfaces import INTERFACES
from msmq_wire.rpc.ndr import NDR, NDR64, StubValue, encode_stub, inspect_stub
from msmq_wire.rpc.pdu_protection import Negotiator
from msmq_wire.rpc.unseal.negotiation import negotiator
from msmq_wire.rpc.unseal.secrets import Secrets
from msmq_wire.sessions import follow
from msmq_wire.wire.types.guid import NULL_GUID
from tests.effort import share

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "fixtures" / "rpc_captures"
LOOPBACK = ROOT / "tests" / "oracles" / "rpc_loopback.py"
CAPTURES = sorted(FOLDER.glob("*.pcap*"))
SEALED = [
    path for path in CAPTURES if "privacy" in path.name or "kerberos" in path.name or "spnego" in path.name
]
KEYTAB = (FOLDER / "rpc_kerberos.keytab").read_bytes()
LIVE = (
    "none_ndr",
    "none_ndr64",
    "ntlm_privacy",
    "ntlm_integrity",
    "ntlm_privacy_large",
    "kerberos_aes256",
    "kerberos_rc4",
)


def facts_of(capture: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (FOLDER / f"{capture.name.partition('.')[0]}.json").read_text(encoding="utf-8")
    )
    return found


def opener(facts: dict[str, Any]) -> Negotiator:
    secrets = facts["secrets"]
    passwords = [secrets["password"]] if "password" in secrets else []
    return negotiator(Secrets.of(passwords=passwords, keytabs=[KEYTAB]))


def records_of(capture: Path | str, given: Negotiator | None = None) -> list[Record]:
    return list(read_capture(str(capture), negotiator=given))


def calls_in(records: list[Record]) -> list[RpcCall]:
    return [record.packet for record in records if isinstance(record.packet, RpcCall)]


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[CallEvent]:
    """The call events of what is read from here on, in the order of the requests of each connection."""
    found: list[CallEvent] = []

    class Witness(Association):
        __slots__ = ()

        def feed(self, from_client: bool, data: bytes, frame: int, time: int) -> list[RpcEvent]:
            return self._seen(super().feed(from_client, data, frame, time))

        def finish(self) -> list[RpcEvent]:
            return self._seen(super().finish())

        def _seen(self, events: list[RpcEvent]) -> list[RpcEvent]:
            found.extend(event for event in events if isinstance(event, CallEvent))
            return events

    monkeypatch.setattr(rpc_reader, "Association", Witness)
    return found


def stub_differs(stub: Stub | None, call: dict[str, Any], side: str) -> str:
    expected = call.get(f"{side}_hex")
    if expected is None and f"{side}_sha256" in call:
        data = b"" if stub is None else stub.data
        same = (
            len(data) == call[f"{side}_size"] and hashlib.sha256(data).hexdigest() == call[f"{side}_sha256"]
        )
        return "" if same else f"{side} of {len(data)} bytes"
    if expected is None:
        return "" if stub is None else f"{side} that nobody sent"
    if stub is None:
        return f"no {side}"
    plain = bytes.fromhex(expected)
    # impacket seals padding of its own behind a stub, which auth_pad_length does not count.
    if stub.data[: len(plain)] != plain or len(stub.data) - len(plain) > 7:
        return f"{side} {stub.data.hex()} instead of {expected}"
    return ""


def assert_every_call(facts: dict[str, Any], events: list[CallEvent], records: list[Record]) -> None:
    expected = {(call["connection"], number): call for number, call in enumerate(facts["calls"])}
    found = sorted(events, key=lambda event: min(event.request.frames) if event.request else 0)
    assert len(found) == len(expected)
    differences = []
    calls = calls_in(records)
    assert len(calls) == len(expected)
    remaining = list(found)
    for call in facts["calls"]:
        match = next(
            (
                event
                for event in remaining
                if event.opnum == call["opnum"] and not stub_differs(event.request, call, "request")
            ),
            None,
        )
        if match is None:
            differences.append(f"{call['method']}: not found")
            continue
        remaining.remove(match)
        problem = stub_differs(match.response, call, "response")
        if problem:
            differences.append(f"{call['method']}: {problem}")
    assert differences == []
    names = sorted(
        (call["interface"], call["method"], call["syntax"], call["status"])
        for call in facts["calls"]
        if call["status"] is not None
    )
    shown = sorted(
        (call.interface, call.method, call.syntax, call.status) for call in calls if call.status is not None
    )
    assert shown == names


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.name)
def test_every_stub_is_what_both_sides_saw(capture: Path, events: list[CallEvent]) -> None:
    facts = facts_of(capture)
    records = records_of(capture, opener(facts))
    assert_every_call(facts, events, records)
    assert [record for record in records if record.error is not None] == []
    assert [call for call in calls_in(records) if call.sealed or call.guessed or not call.complete] == []


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.name)
def test_every_signature_is_verified(capture: Path, events: list[CallEvent]) -> None:
    records_of(capture, opener(facts_of(capture)))
    stubs = [stub for event in events for stub in (event.request, event.response) if stub is not None]
    signed = [stub for stub in stubs if stub.auth_level >= 4]
    assert [stub for stub in signed if stub.verified is not True] == []
    protected = any(word in capture.name for word in ("ntlm", "kerberos"))
    assert bool(signed) is protected


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.name)
def test_replies_with_sections_or_a_buffer_give_their_message(capture: Path) -> None:
    records = records_of(capture, opener(facts_of(capture)))
    by_id = {record.id: record for record in records}
    carrying = 0
    for record in records:
        if isinstance(record.packet, RpcCall) and record.packet.response is not None:
            value = record.packet.response
            descriptor = getattr(value, "lp_remote_read_desc", None)
            second = getattr(value, "lp_remote_read_desc2", None)
            descriptor = descriptor or getattr(second, "p_remote_read_desc", None)
            carrying += bool(getattr(value, "pp_packet_sections", None)) or bool(
                getattr(descriptor, "lp_buffer", None)
            )
    messages = [
        record
        for record in records
        if record.type in ("message_packet", "user_message") and record.parent is not None
    ]
    assert len(messages) == carrying
    for message in messages:
        assert message.parent is not None
        parent = by_id[message.parent]
        assert isinstance(parent.packet, RpcCall)
        assert (message.src, message.dst) == (parent.dst, parent.src)
        assert message.packet is not None
        kind = "user_message" if parent.packet.interface == "qm2qm" else "message_packet"
        assert (message.type, message.packet.stem()) == (kind, kind)


def test_the_packet_of_qm2qm_has_the_time_and_the_address_that_were_sent(tmp_path: Path) -> None:
    data = (ROOT / "fixtures" / "captures" / "lab_qm2qm.pcap").read_bytes()
    # SentTime tells the user packets from those of the session.
    sent_time, hour = (1_795_166_047).to_bytes(4, "little"), (3600).to_bytes(4, "little")
    first, *packets = data.split(b"LIOR")
    packets = [one[:4] + hour + one[8:] if one[44:48] == sent_time else one for one in packets]
    path = tmp_path / "hour.pcap"
    path.write_bytes(b"LIOR".join((first, *packets)))
    records = list(read_capture(str(path), streams=True))
    messages = [record for record in records if record.type == "user_message"]
    read = [record for record in messages if record.parent is not None]
    originals = {record.packet.user_header.message_id: record for record in messages if record.parent is None}
    assert len(read) == 2
    for record in read:
        assert record.packet == originals[record.packet.user_header.message_id].packet
        assert record.packet.base_header.time_to_reach_queue == 3600
        assert record.packet.user_header.queue_manager_address == NULL_GUID
        assert record.anomalies == ()
        row = message_view(record)
        assert row is not None
        assert (row["via"], row["parent"]) == ("rpc", record.parent)
    story = follow(records)
    assert [life.time_to_reach_queue for life in story.lives] == [3600] * len(originals)
    assert [one.message for one in story.reads if one.message] == [record.id for record in read]
    assert [one.notes for one in story.sessions if one.notes] == []


@pytest.mark.parametrize("capture", SEALED, ids=lambda path: path.name)
def test_without_a_key_calls_are_listed_sealed(capture: Path) -> None:
    facts = facts_of(capture)
    calls = calls_in(records_of(capture))
    assert sorted((call.interface, call.method) for call in calls) == sorted(
        (call["interface"], call["method"]) for call in facts["calls"]
    )
    sealed = [call for call in calls if call.sealed]
    assert sealed
    assert all(call.request is None or call.response is None for call in sealed)


@pytest.mark.parametrize("capture", SEALED, ids=lambda path: path.name)
def test_a_wrong_key_is_told_once_for_each_association_and_calls_are_still_listed(capture: Path) -> None:
    wrong = negotiator(Secrets.of(passwords=["not the password"]))
    with CaptureReader(str(capture), negotiator=wrong) as reader:
        records = list(reader)
        notices = dict(reader.summary.notices)
    assert len(calls_in(records)) == len(facts_of(capture)["calls"])
    reported = [text for text in notices if "->" in text or " to " in text]
    assert reported
    assert not any("not the password" in text for text in notices)


def test_start_and_end_of_a_receive_are_linked_and_handles_followed() -> None:
    calls = calls_in(records_of(FOLDER / "rpc_none_ndr.pcap"))
    opened = next(call for call in calls if call.method == "R_OpenQueue")
    assert opened.queue == "DIRECT=OS:srv01.corp.example\\private$\\orders"
    ends = [call for call in calls if call.method == "R_EndReceive"]
    assert ends
    for call in calls:
        if call.method not in ("R_GetServerPort", "R_OpenQueue"):
            assert call.queue == opened.queue
            assert call.opened_frame is not None
    for end in ends:
        start = next(
            call for call in calls if call.method == "R_StartReceive" and call.request_id == end.request_id
        )
        assert end.started_frame is not None
        assert start.started_frame is None


def test_a_conversation_whose_bind_was_not_captured_is_guessed_and_says_so(tmp_path: Path) -> None:
    capture = FOLDER / "rpc_none_ndr64.pcap"
    whole = calls_in(records_of(capture))
    data = capture.read_bytes()
    late = tmp_path / "late.pcap"
    late.write_bytes(data[:24] + b"".join(pcap_records(data)[5:]))
    found = calls_in(records_of(late))
    assert {call.guessed for call in found} == {True}
    assert [(call.method, call.syntax, call.status) for call in found[1:]] == [
        (call.method, call.syntax, call.status) for call in whole[1:]
    ]


def pcap_records(data: bytes) -> list[bytes]:
    records, at = [], 24
    while at < len(data):
        size = 16 + int.from_bytes(data[at + 8 : at + 12], "little")
        records.append(data[at : at + size])
        at += size
    return records


def test_binds_tell_interfaces_syntaxes_and_who_asks() -> None:
    capture = FOLDER / "rpc_ntlm_privacy.pcap"
    binds = [
        r.packet for r in records_of(capture, opener(facts_of(capture))) if isinstance(r.packet, RpcBind)
    ]
    assert binds
    assert {context.interface for bind in binds for context in bind.contexts} == {"RemoteRead"}
    assert {bind.auth_level for bind in binds} == {6}
    assert {context.accepted for bind in binds for context in bind.contexts if context.result == 0} == {
        "ndr",
        "ndr64",
    }


@pytest.mark.check
@pytest.mark.needs("impacket")
@pytest.mark.parametrize("scenario", share(LIVE, 5))
def test_a_live_conversation_on_loopback_is_opened_whole(
    scenario: str, tmp_path: Path, events: list[CallEvent]
) -> None:
    capture, facts_file = tmp_path / f"{scenario}.pcap", tmp_path / f"{scenario}.json"
    command = [
        sys.executable,
        str(LOOPBACK),
        "--scenario",
        scenario,
        "--out",
        str(capture),
        "--facts",
        str(facts_file),
    ]
    subprocess.run(command, check=True, timeout=120, capture_output=True)
    facts = json.loads(facts_file.read_text(encoding="utf-8"))
    records = records_of(capture, opener(facts))
    assert_every_call(facts, events, records)
    stubs = [stub for event in events for stub in (event.request, event.response) if stub is not None]
    assert [stub for stub in stubs if stub.auth_level >= 4 and stub.verified is not True] == []
    assert [record for record in records if record.error is not None] == []


def tshark_options(facts: dict[str, Any]) -> Iterator[str]:
    if "password" in facts["secrets"]:
        yield from ("--password", facts["secrets"]["password"])
    if "key" in facts["secrets"]:
        yield from ("--keytab", str(FOLDER / "rpc_kerberos.keytab"))


@pytest.mark.check
@pytest.mark.tshark
@pytest.mark.parametrize(
    "capture", share([path for path in CAPTURES if path.suffix == ".pcap"], 4), ids=lambda path: path.name
)
def test_tshark_reassembles_and_opens_the_same_stubs_but_where_it_is_known_to_fail(capture: Path) -> None:
    facts = facts_of(capture)
    facts_file = FOLDER / f"{capture.stem}.json"
    script = ROOT / "tests" / "oracles" / "rpc_tshark.py"
    command = [sys.executable, str(script), str(capture), str(facts_file), *tshark_options(facts)]
    output = subprocess.run(command, check=True, timeout=120, capture_output=True, text=True).stdout
    verdicts = json.loads(output)
    assert len(verdicts) == len(facts["calls"])
    for call, verdict in zip(facts["calls"], verdicts, strict=True):
        for side in ("request", "response"):
            if call["tshark"][side] == "equal":
                assert verdict[side] == "equal", call["method"]


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.name)
def test_every_plain_stub_goes_back_to_its_bytes(capture: Path) -> None:
    methods = {(one.name, opnum): each for one in INTERFACES.values() for opnum, each in one.methods.items()}
    done = 0
    for call in facts_of(capture)["calls"]:
        method = methods[call["interface"], call["opnum"]]
        syntax = NDR64 if call["syntax"] == "ndr64" else NDR
        for side, parameters in (("request", method.request), ("response", method.response)):
            if call.get(f"{side}_hex") is not None:
                data = bytes.fromhex(call[f"{side}_hex"])
                read = inspect_stub(parameters, data, syntax)
                assert read.error is None
                stub = StubValue(read.value, read.residue, read.remainder)
                assert encode_stub(parameters, stub, syntax) == data
                done += 1
    assert done

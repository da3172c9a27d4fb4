"""Rules about framing and flags: every hit is found where it lies, what comes near is not."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.build_findings_wire import SCENES
from msmq_wire.capture.reader import read_capture
from msmq_wire.detection import registry
from msmq_wire.detection.finding import Finding
from msmq_wire.detection.judge import judge
from msmq_wire.detection.rule import Detection
from msmq_wire.engines.codec import inspect
from msmq_wire.records.record import UNKNOWN_PACKET, Record

ROOT = Path(__file__).resolve().parents[3]
FINDINGS = ROOT / "fixtures" / "findings"
IDS = tuple(dict.fromkeys(name.partition("/")[0] for name in SCENES))
RULES = {id_: registry.RULES[id_] for id_ in IDS}
BASE, USER = ("base_header.flags", 2, 2), ("user_header.flags", 60, 4)
SIZE = ("base_header.packet_size", 8, 4)
BODY = "message_properties_header.message_body"
NAME = "user_header.destination_queue.direct_format_name"
SECURITY = ("security_header.flags", 116, 2)

# Severity, then path, offset and length of the evidence. A message: BaseHeader 16, UserHeader 48 and
# a name of 52, MessagePropertiesHeader from 116 on: 56, label 16, body 15, padding 1; together 204 bytes.
SEEN: dict[str, tuple[str, str, int, int]] = {
    "FRM-SIG/hit_signature": ("medium", "", 0, 204),
    "FRM-SIG/hit_version": ("medium", "base_header.version_number", 0, 1),
    "FRM-SIG/hit_first_bytes": ("low", "", 0, 31),
    "FRM-SIG/hit_in_a_queue": ("medium", "base_header.signature", 4, 4),
    "FRM-MUST/hit_number_of_no_message": ("low", "transaction_header.tx_sequence_number", 128, 4),
    "FRM-MUST/hit_cut_in_a_queue": ("medium", "message_properties_header.label", 172, 0),
    "FRM-SIZE-MIN/hit_message_of_100": ("medium", *SIZE),
    "FRM-SIZE-MIN/hit_below_the_base_header": ("medium", *SIZE),
    "FRM-SIZE-MAX/hit_one_byte_more": ("medium", *SIZE),
    "FRM-SIZE-STREAM/hit_four_bytes_more": ("medium", "", 0, 4),
    "FRM-TRUNC/hit_closed_inside": ("low", NAME, 66, 0),
    "FRM-TRUNC/hit_reset_inside": ("low", NAME, 66, 0),
    "FRM-LEFTOVER/hit_sixteen_bytes": ("medium", "undeclared", 204, 16),
    "FRM-LEFTOVER/hit_bit_26": ("high", "undeclared", 204, 46),
    "FRM-LEFTOVER/hit_extension_header": ("low", "undeclared", 204, 12),
    "FRM-OVERLAP/hit_body": ("high", BODY, 188, 16),
    "FRM-OVERLAP/hit_queue_name": ("high", NAME, 66, 138),
    "FRM-OVERLAP/hit_transaction_header": ("high", "message_properties_header.extension_data", 192, 12),
    "FRM-WRAP32/hit_data_length": ("high", "srmp_envelope_header.data_length", 208, 4),
    "FRM-WRAP32/hit_message_size": ("high", "message_properties_header.message_size", 148, 4),
    "FRM-PAD-DIRTY/hit_body": ("info", "message_properties_header.padding", 203, 1),
    "FRM-PAD-DIRTY/hit_queue_name": ("info", "user_header.destination_queue.padding", 102, 2),
    "FRM-PAD-LEN/hit_stray_byte": ("medium", *SIZE),
    "FRM-PAD-LEN/hit_padding_left_out": ("medium", *SIZE),
    "FRM-SEG/hit_six_bytes_each": ("low", "", 0, 204),
    "FLG-BASE-RSV/hit_0x1003": ("low", *BASE),
    "FLG-USER-X3/hit_bit_26": ("high", *USER),
    "FLG-USER-X3/hit_bit_27": ("high", *USER),
    "FLG-USER-RSV/hit_bit_7": ("low", *USER),
    "FLG-USER-RSV/hit_bit_24": ("low", *USER),
    "FLG-USER-RSV/hit_bit_31": ("low", *USER),
    "FLG-AH-WIRE/hit_srmp_headers": ("high", *USER),
    "FLG-QTYPE/hit_destination": ("medium", *USER),
    "FLG-QTYPE/hit_admin": ("medium", *USER),
    "FLG-MP/hit_clear": ("medium", *USER),
    "FLG-DM/hit_undefined": ("medium", *USER),
    "FLG-DM/hit_express_in_a_transaction": ("medium", *USER),
    "FLG-DM/hit_priority_in_a_transaction": ("medium", *BASE),
    "FLG-RC/hit_thirty": ("low", *USER),
    "FLG-RC/hit_direct_name": ("info", *USER),
    "FLG-IN-DH/hit_internal": ("low", *BASE),
    "FLG-IN-DH/hit_tracing": ("low", *BASE),
    "FLG-ACK-NOAQ/hit_all_asked": ("info", *USER),
    "FLG-SEC-SHAPE/hit_before_the_properties": ("medium", "message_properties_header", 116, 24),
    "FLG-SEC-SHAPE/hit_at_the_end": ("medium", "undeclared", 204, 44),
    "FLG-SEC-AU/hit_authenticated": ("low", *SECURITY),
    "FLG-SEC-AU/hit_verified_by": ("low", *SECURITY),
}
_NOT_JUDGED_ALONE = {"FRM-TRUNC/hit_snap_length"}
HITS = sorted(path.relative_to(FINDINGS) for id_ in IDS for path in (FINDINGS / id_).glob("hit_*.pcap"))
MISSES = sorted(path.relative_to(FINDINGS) for id_ in IDS for path in (FINDINGS / id_).glob("miss_*.pcap"))


class Known(msgspec.Struct, frozen=True):
    """What a check may ask, told beforehand."""

    begun: bool = True

    def started(self, record: Record) -> bool:
        return self.begun

    def on_wire(self, record: Record) -> bool:
        return record.parent is None

    def first_with_key(self, key: bytes, sender: str) -> str:
        return sender


def found_in(path: Path) -> list[Finding]:
    return list(judge(read_capture(path, streams=True), RULES))


def seen_by(id_: str, record: Record, context: Known) -> list[Detection]:
    return list(RULES[id_].check(record, context))


def message(user_flags: int = 0x201C00) -> bytes:
    """A message to OS:h\\q without label and body, 136 bytes."""
    name = "OS:h\\q\0".encode("utf-16-le")
    user = bytes(32) + struct.pack("<IIII", 0xFFFFFFFF, 1795166047, 1, user_flags) + b"\x0e\0" + name
    properties = struct.pack("<BBH20x8I", 0, 0, 0, 0, 0, 0, 0, 0, 0x800E, 0x6610, 0)
    size = 16 + len(user) + len(properties)
    return struct.pack("<BBHIII", 0x10, 0, 3, 0x524F494C, size, 0xFFFFFFFF) + user + properties


def record_of(data: bytes, as_: str | None = None, parent: int | None = None) -> Record:
    result = inspect(data, as_)
    return Record(
        id=2, parent=parent, type=result.type or UNKNOWN_PACKET, frames=(1,), stream=0, length=len(data),
        packet=result.packet, anomalies=result.anomalies, consumed=result.consumed, error=result.error,
    )  # fmt: skip


def gap(data: bytes, offset: int) -> Record:
    return Record(
        id=2, type="gap", stream=0, offset=offset, length=len(data), missing=0, reason="no-signature",
        remainder=data,
    )  # fmt: skip


def test_every_rule_has_captures_that_hit_and_miss_it() -> None:
    named = {path.with_suffix("").as_posix() for path in HITS}
    assert SEEN.keys() | _NOT_JUDGED_ALONE <= named
    assert {path.parts[0] for path in HITS} == {path.parts[0] for path in MISSES} == set(IDS)


@pytest.mark.parametrize("path", HITS, ids=str)
def test_a_hit_is_found_where_it_lies(path: Path) -> None:
    findings = [finding for finding in found_in(FINDINGS / path) if finding.id == path.parts[0]]
    assert findings
    place = findings[0].evidence[0]
    assert place.frames
    assert place.record is not None
    name = path.with_suffix("").as_posix()
    if name in SEEN:
        assert (findings[0].severity, place.path, place.offset, place.length) == SEEN[name]


@pytest.mark.parametrize("path", MISSES, ids=str)
def test_what_comes_near_is_no_hit(path: Path) -> None:
    assert [finding for finding in found_in(FINDINGS / path) if finding.id == path.parts[0]] == []


@pytest.mark.slow
def test_the_captures_are_what_the_builder_builds(tmp_path: Path) -> None:
    builder = ROOT / "fixtures" / "build_findings_wire.py"
    subprocess.run([sys.executable, "-B", builder, tmp_path], check=True, capture_output=True)
    built = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.pcap")}
    assert {path: (FINDINGS / path).read_bytes() for path in (*HITS, *MISSES)} == built


def test_the_published_frames_give_notes_and_their_truncation() -> None:
    findings = found_in(ROOT / "fixtures" / "captures" / "published.pcap")
    assert {finding.id for finding in findings if finding.severity != "info"} <= {"FRM-TRUNC"}
    assert {finding.id for finding in findings} == {"FRM-TRUNC", "FLG-ACK-NOAQ"}


@pytest.mark.parametrize(
    "path", sorted((ROOT / "fixtures" / "sessions").glob("*.pcap")), ids=lambda path: path.stem
)
def test_sessions_that_keep_to_the_protocol_give_nothing_above_info(path: Path) -> None:
    assert [finding for finding in found_in(path) if finding.severity != "info"] == []


def told_of(id_: str, record: Record, *before: Record) -> list[Finding]:
    """The findings of one rule about a record on stream 1, with other records of that before it."""
    ends = {"src": "192.0.2.1:50000", "dst": "192.0.2.2:1801", "stream": 1}
    records = [
        msgspec.structs.replace(one, id=number, **ends) for number, one in enumerate((*before, record), 1)
    ]
    return list(judge(records, {id_: RULES[id_]}))


_SYN = Record(id=0, type="tcp_stream", event="syn", frames=(1,))
_HOLE = Record(id=0, type="gap", missing=40, reason="loss", frames=(1, 2))


def test_a_packet_that_the_capture_cut_is_a_note_with_its_reason() -> None:
    (found,) = told_of("FRM-TRUNC", record_of(message()[:90]), _SYN, _HOLE)
    assert found.severity == "info"
    assert "bytes of this connection are missing from the capture" in found.caveats


def test_nothing_is_said_of_packet_starts_behind_bytes_that_are_missing() -> None:
    data = message().replace(b"LIOR", b"ROIL")
    for id_, bytes_ in (("FRM-SIG", data), ("FRM-SIZE-STREAM", b"KKKK")):
        behind = msgspec.structs.replace(gap(bytes_, 300), frames=(3,))
        assert len(told_of(id_, behind, _SYN)) == 1
        assert told_of(id_, behind, _SYN, _HOLE) == []


@pytest.mark.parametrize(
    ("id_", "data"), [("FRM-SIG", message().replace(b"LIOR", b"ROIL")), ("FRM-SIZE-STREAM", b"KKKK")]
)
def test_a_connection_whose_start_was_not_captured_counts_less(id_: str, data: bytes) -> None:
    (found,) = told_of(id_, gap(data, 300))
    assert found.severity == "low"
    assert found.caveats == ("the beginning of this connection was not captured",)
    assert told_of(id_, gap(data, 0)) == []


def test_the_bytes_behind_a_packet_are_shown() -> None:
    (seen,) = seen_by("FRM-SIZE-STREAM", gap(b"KKKK", 226), Known())
    assert seen.evidence[0].data == b"KKKK"


def test_bits_that_a_queue_manager_stores_are_no_findings_in_remote_read() -> None:
    sid = bytes.fromhex("010500000000000515000000112233445566778899aabbcce9030000")
    data = message(0x281C00)
    security = struct.pack("<HHHHII", 0x591, len(sid), 0, 0, 0, 0) + sid
    data = data[:8] + struct.pack("<I", len(data) + len(security)) + data[12:80] + security + data[80:]
    assert seen_by("FLG-SEC-AU", record_of(data), Known()) != []
    assert seen_by("FLG-SEC-AU", record_of(data, "message_packet", parent=1), Known()) == []
    arrived = record_of(message(0x2201C00), "message_packet", parent=1)
    assert seen_by("FLG-AH-WIRE", arrived, Known()) == []


def test_a_routed_message_may_have_passed_routing_servers() -> None:
    (seen,) = seen_by("FLG-RC", record_of(message(0x201C02)), Known())
    assert (seen.severity, len(seen.caveats)) == ("info", 1)
    assert seen_by("FLG-RC", record_of(message(0x201C02), "message_packet", parent=1), Known()) == []


def test_only_the_rule_with_a_published_field_names_a_cve() -> None:
    assert {id_: rule.cves for id_, rule in RULES.items() if rule.cves} == {
        "FLG-AH-WIRE": ("CVE-2023-21554",)
    }
    texts = [text for rule in RULES.values() for text in (rule.meaning, rule.action, rule.harmless)]
    assert not any("exploit" in text.lower() for text in texts)


@given(st.integers(0, 0xFFFFFFFF))
def test_reserved_bits_of_user_header_are_found_whatever_else_is_set(word: int) -> None:
    record = record_of(message(word))
    assert bool(seen_by("FLG-USER-X3", record, Known())) == bool(word & 0x0C000000)
    assert bool(seen_by("FLG-USER-RSV", record, Known())) == bool(word & 0xE1000080)


@given(st.integers(0, 0xFFFF))
def test_reserved_bits_of_base_header_are_found_whatever_else_is_set(word: int) -> None:
    data = message()
    record = record_of(data[:2] + struct.pack("<H", word) + data[4:])
    assert bool(seen_by("FLG-BASE-RSV", record, Known())) == bool(word & 0xFEC0)


@given(st.data())
def test_no_bytes_make_a_rule_raise_or_point_outside_the_packet(data: st.DataObject) -> None:
    changed = bytearray(message() + bytes(16))
    for at in data.draw(st.lists(st.integers(0, len(changed) - 1), max_size=8)):
        changed[at] = data.draw(st.integers(0, 255))
    packet = bytes(changed[: data.draw(st.integers(8, len(changed)))])
    record = record_of(packet)
    codes = {anomaly.code for anomaly in record.anomalies}
    for rule in RULES.values():
        if (rule.codes and codes.isdisjoint(rule.codes)) or (rule.types and record.type not in rule.types):
            continue
        for seen in rule.check(record, Known()):
            assert seen.message
            assert all(0 <= place.offset <= len(packet) for place in seen.evidence)
            assert all(place.offset + place.length <= len(packet) for place in seen.evidence if place.path)

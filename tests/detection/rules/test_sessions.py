"""Rules about sessions, sequences and queue managers, and fingerprints: hits in their place, near misses."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.build_findings_scanners import SCENES as SCANNERS
from fixtures.build_findings_session_frames import establish, parameters
from fixtures.build_findings_sessions import SCENES as SESSIONS
from fixtures.build_frames import SYN, pcap
from fixtures.build_scene import Connection, Scene, message
from msmq_wire.capture.reader import read_capture
from msmq_wire.detection import registry
from msmq_wire.detection.finding import Finding
from msmq_wire.detection.judge import judge
from msmq_wire.engines.codec import inspect
from msmq_wire.records.record import UNKNOWN_PACKET, Record
from tests.hex_files import hex_bytes

ROOT = Path(__file__).resolve().parents[3]
FIXTURES = ROOT / "fixtures"
FINDINGS = FIXTURES / "findings"
IDS = tuple(dict.fromkeys(name.partition("/")[0] for name in (*SESSIONS, *SCANNERS)))
RULES = {id_: registry.RULES[id_] for id_ in IDS}
BUILDERS = ("build_findings_sessions.py", "build_findings_scanners.py")

ESTABLISH, PARAMETERS = "establish_connection_header", "connection_parameters_header"
CLIENT_GUID, SERVER_GUID = (f"{ESTABLISH}.client_guid", 20, 16), (f"{ESTABLISH}.server_guid", 36, 16)
SYSTEM, CS = (f"{ESTABLISH}.operating_system", 56, 2), ("internal_header.flags", 18, 2)
SOURCE, USER_FLAGS = ("user_header.source_queue_manager", 16, 16), ("user_header.flags", 60, 4)
PACKET = ("", 0, 0)

# Severity, the frame of the first evidence, then its path, offset and length. Frames 1-3 are the handshake,
# a session is open with frame 7 (with 11, where TCP acknowledges each packet).
SEEN: dict[str, tuple[str, int, str, int, int]] = {
    "SES-NAKED/hit_no_session": ("high", 4, *PACKET),
    "SES-NAKED/hit_never_opened": ("high", 8, *PACKET),
    "SES-NAKED/hit_stray_bytes": ("high", 4, *PACKET),
    "SES-NAKED/hit_captured_in_another_order": ("medium", 10, *PACKET),
    "SES-NAKED/hit_lost_frames": ("info", 4, *PACKET),
    "SES-NAKED/hit_begins_late": ("info", 1, *PACKET),
    "SES-ORDER/hit_second_establish": ("medium", 14, *PACKET),
    "SES-ORDER/hit_parameters_first": ("medium", 4, *PACKET),
    "SES-ORDER/hit_ack_first": ("medium", 8, *PACKET),
    "SES-CONNECT/hit_silence": ("medium", 1, *PACKET),
    "SES-CONNECT/hit_reset": ("medium", 1, *PACKET),
    "SES-CONNECT/hit_answered_later": ("info", 1, *PACKET),
    "SES-REFUSED/hit_establish": ("info", 6, *CS),
    "SES-REFUSED/hit_parameters": ("info", 10, *CS),
    "SES-GUID/hit_another": ("medium", 6, *SERVER_GUID),
    "SES-GUID/hit_refused": ("info", 6, *SERVER_GUID),
    "SES-OS/hit_swapped": ("medium", 4, *SYSTEM),
    "SES-PAD/hit_zeros": ("low", 5, f"{ESTABLISH}.padding", 60, 512),
    "SES-PAD/hit_one_byte": ("low", 5, f"{ESTABLISH}.padding", 160, 412),
    "SES-PARM/hit_ack_timeout": ("low", 6, f"{PARAMETERS}.ack_timeout", 24, 4),
    "SES-PARM/hit_recoverable_ack_timeout": ("low", 7, f"{PARAMETERS}.recoverable_ack_timeout", 20, 4),
    "SES-PARM/hit_window_zero": ("low", 6, f"{PARAMETERS}.window_size", 30, 2),
    "SES-PARM/hit_window_one": ("info", 7, f"{PARAMETERS}.window_size", 30, 2),
    "SES-PARM/hit_window_closes": ("info", 34, *PACKET),
    "SES-ACKBACK/hit_goes_back": ("medium", 18, *PACKET),
    "SES-ACKBACK/hit_ahead": ("medium", 16, *PACKET),
    "SES-ACKLATE/hit_closed": ("info", 12, *PACKET),
    "SES-SLOW/hit_late": ("low", 12, *PACKET),
    "SES-COUNT/hit_messages": ("low", 18, *PACKET),
    "SES-COUNT/hit_recoverable": ("low", 14, *PACKET),
    "SES-RESEND/hit_reset": ("info", 18, *PACKET),
    "SES-RESEND/hit_duplicate": ("info", 12, *PACKET),
    "SES-RECACK/hit_unseen": ("low", 14, *PACKET),
    "SES-RECACK/hit_ahead": ("low", 14, *PACKET),
    "TXN-GAP/hit_never_filled": ("medium", 16, *PACKET),
    "TXN-GAP/hit_capture_ends": ("low", 16, *PACKET),
    "TXN-GAP/hit_lost_frames": ("info", 17, *PACKET),
    "TXN-GAP/hit_filled": ("info", 16, *PACKET),
    "TXN-FORM/hit_flags": ("low", 14, "base_header.flags", 2, 2),
    "TXN-FORM/hit_queue": ("low", 14, "user_header.destination_queue", 64, 4),
    "TXN-ACK/hit_unseen": ("low", 14, *PACKET),
    "TXN-ACK/hit_ahead": ("low", 14, *PACKET),
    "TXN-ACK/hit_final": ("info", 14, *PACKET),
    "TXN-ACK/hit_begins_late": ("info", 3, *PACKET),
    "ID-CLONE/hit_two_hosts": ("medium", 4, *CLIENT_GUID),
    "ID-CLONE/hit_one_after_the_other": ("low", 4, *CLIENT_GUID),
    "ID-CLONE/hit_two_families": ("info", 4, *CLIENT_GUID),
    "ID-MANY/hit_two_clients": ("low", 4, *CLIENT_GUID),
    "FPR-SAMPLE/hit_request": ("medium", 4, *CLIENT_GUID),
    "FPR-SAMPLE/hit_message": ("high", 4, *SOURCE),
    "FPR-SAMPLE/hit_message_changed": ("high", 4, *SOURCE),
    "FPR-NUCLEI/hit_answered": ("medium", 4, *CLIENT_GUID),
    "FPR-NUCLEI/hit_unanswered": ("medium", 4, *CLIENT_GUID),
    "FPR-NUCLEI/hit_capture_ends": ("low", 4, *CLIENT_GUID),
    "FPR-ZGRAB/hit_request": ("medium", 4, *CLIENT_GUID),
    "FPR-METASPLOIT/hit_top_bit": ("high", 4, *SOURCE),
    "FPR-METASPLOIT/hit_variant": ("high", 4, *SOURCE),
    "FPR-SCRIPT/hit_message": ("medium", 4, "undeclared", 232, 1),
    "FPR-SENSOR/hit_message": ("high", 4, *USER_FLAGS),
}


def found_in(path: Path) -> list[Finding]:
    return list(judge(read_capture(path, streams=True), RULES))


def found(name: str) -> list[Finding]:
    """What the rule of a capture says of it."""
    rule = name.partition("/")[0]
    return list(judge(read_capture(FINDINGS / f"{name}.pcap", streams=True), {rule: RULES[rule]}))


def hit(name: str) -> Finding:
    return found(name)[0]


def names(kind: str) -> list[str]:
    return [f"{id_}/{path.stem}" for id_ in IDS for path in sorted((FINDINGS / id_).glob(f"{kind}_*.pcap"))]


def golden(stem: str) -> Record:
    return record_of(hex_bytes(FIXTURES / "packets/user_message" / f"{stem}.hex"))


def record_of(data: bytes, *, src: str = "192.0.2.21:49731", dst: str = "192.0.2.10:1801") -> Record:
    result = inspect(data)
    return Record(
        id=1,
        type=result.type or UNKNOWN_PACKET,
        frames=(1,),
        src=src,
        dst=dst,
        stream=0,
        length=len(data),
        packet=result.packet,
        anomalies=result.anomalies,
        remainder=result.remainder,
        error=result.error,
    )


def fingerprints(record: Record) -> set[str]:
    rules = {id_: rule for id_, rule in RULES.items() if id_.startswith("FPR")}
    return {finding.id for finding in judge([record], rules)}


def test_every_rule_has_a_hit_and_a_near_miss() -> None:
    for kind in ("hit", "miss"):
        assert {name.partition("/")[0] for name in names(kind)} == set(IDS)
    assert set(SEEN) <= set(names("hit"))


@pytest.mark.parametrize("name", SEEN)
def test_a_hit_is_found_where_it_lies(name: str) -> None:
    finding = hit(name)
    place = finding.evidence[0]
    assert finding.id == name.partition("/")[0]
    assert (finding.severity, place.frames[0], place.path, place.offset, place.length) == SEEN[name]


@pytest.mark.parametrize("name", SEEN)
def test_evidence_names_its_capture_and_quotes_the_bytes_of_its_frame(name: str) -> None:
    raw = (FINDINGS / f"{name}.pcap").read_bytes()
    for finding in found(name):
        for place in finding.evidence:
            assert place.capture.endswith(".pcap")
            assert place.record is not None
            assert place.src
            assert place.data in raw


@pytest.mark.parametrize("name", names("miss"))
def test_what_comes_near_is_no_hit(name: str) -> None:
    assert found(name) == []


@pytest.mark.slow
@pytest.mark.parametrize("builder", BUILDERS)
def test_the_captures_are_what_the_builder_builds(builder: str, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-B", FIXTURES / builder, tmp_path], check=True, capture_output=True)
    built = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.pcap")}
    assert built
    assert {path: (FINDINGS / path).read_bytes() for path in built} == built


@pytest.mark.slow
def test_every_capture_of_these_rules_has_a_builder(tmp_path: Path) -> None:
    for builder in BUILDERS:
        subprocess.run([sys.executable, "-B", FIXTURES / builder, tmp_path], check=True, capture_output=True)
    built = {path.relative_to(tmp_path).with_suffix("").as_posix() for path in tmp_path.rglob("*.pcap")}
    assert built == {*names("hit"), *names("miss")}


@pytest.mark.parametrize(
    ("capture", "ids"),
    [
        ("express_session_acks", set()),
        ("both_directions", set()),
        ("parallel_sessions", set()),
        ("sequence_wrap", set()),
        ("recoverable_thirty_two", set()),
        ("transactional_acks", set()),
        ("transactional_bridged_gap", set()),
        ("reset_and_resend", set()),
        ("naked_message", {"SES-NAKED"}),
        ("second_establish", {"SES-ORDER"}),
        ("wrong_count", {"SES-COUNT"}),
        ("lost_frames", set()),
    ],
)
def test_of_the_sessions_only_those_with_a_fault_give_more_than_notes(capture: str, ids: set[str]) -> None:
    findings = found_in(FIXTURES / "sessions" / f"{capture}.pcap")
    assert {finding.id for finding in findings if finding.severity != "info"} == ids


def test_the_published_frames_are_known_for_what_they_are() -> None:
    findings = found_in(FIXTURES / "captures" / "published.pcap")
    assert {finding.id for finding in findings if finding.severity != "info"} == {"FPR-SAMPLE", "SES-GUID"}


@pytest.mark.parametrize(
    ("name", "caveat"),
    [
        ("SES-NAKED/hit_begins_late", "the beginning of this connection was not captured"),
        ("SES-NAKED/hit_lost_frames", "bytes of this connection are missing from the capture"),
        ("SES-GUID/hit_refused", "the response refuses the session, as the protocol asks for"),
        ("TXN-ACK/hit_final", "the messages may have been sent before the capture began"),
        ("TXN-ACK/hit_begins_late", "the messages may have been sent before the capture began"),
        ("ID-CLONE/hit_two_families", "one address is IPv4, the other IPv6: it may be one host"),
        ("FPR-NUCLEI/hit_capture_ends", "the capture ends before the connection does: more may have come"),
    ],
)
def test_what_lowers_a_finding_is_said_beside_it(name: str, caveat: str) -> None:
    assert caveat in hit(name).caveats


def test_addresses_behind_proxy_headers_may_be_those_of_load_balancers() -> None:
    records: list[Record] = []
    for one in read_capture(FINDINGS / "ID-CLONE" / "hit_two_hosts.pcap", streams=True):
        more = [msgspec.structs.replace(one, event="proxied")] if one.event == "established" else []
        records += [*more, one]
    (found,) = judge(records, {"ID-CLONE": RULES["ID-CLONE"]})
    assert found.severity == "low"
    assert "load balancers" in found.caveats[0]


@pytest.mark.parametrize(("number", "side"), [(0, "client"), (1, "server")])
def test_a_capture_of_one_direction_accuses_no_side_that_did_its_part(number: int, side: str) -> None:
    capture = FIXTURES / "captures" / "clean_one_direction.pcap"
    naked = list(judge(read_capture(capture, streams=True), {"SES-NAKED": RULES["SES-NAKED"]}))
    assert len(naked) == 2
    assert naked[number].severity == "info"
    assert naked[number].message.startswith(f"a message of the {side} ")
    assert "only one direction of this connection was captured" in [
        text.partition(":")[0] for text in naked[number].caveats
    ]
    assert list(judge(read_capture(capture, streams=True), {"SES-ORDER": RULES["SES-ORDER"]})) == []


@pytest.mark.parametrize(
    ("sent", "severities"),
    [
        (("establish", "parameters"), {"SES-NAKED": "info"}),
        (("establish",), {"SES-NAKED": "high"}),
        (("parameters",), {"SES-NAKED": "high", "SES-ORDER": "medium"}),
        ((), {"SES-NAKED": "high"}),
    ],
)
def test_in_one_direction_a_message_needs_the_packets_that_its_own_sender_opens_with(
    sent: tuple[str, ...], severities: dict[str, str], tmp_path: Path
) -> None:
    scene = Scene()
    connection = Connection(scene)
    scene.packet(connection.segment(0, SYN, -1))
    for data in ({"establish": establish(), "parameters": parameters()}[name] for name in sent):
        connection.send(0, data)
    connection.send(0, message(1, "order", b"<order id='1'/>").data)
    capture = tmp_path / "client_only.pcap"
    capture.write_bytes(pcap(scene.frames))
    rules = {id_: RULES[id_] for id_ in ("SES-NAKED", "SES-ORDER")}
    reported = judge(read_capture(capture, streams=True), rules)
    assert {finding.id: finding.severity for finding in reported} == severities


def test_bytes_that_are_no_packet_do_not_hide_that_no_session_was_opened() -> None:
    assert hit("SES-NAKED/hit_stray_bytes").severity == "high"
    assert hit("SES-NAKED/hit_stray_bytes").caveats == ()


def test_a_resend_is_told_with_its_first_copy_and_what_was_acknowledged() -> None:
    [again] = found("SES-RESEND/hit_reset")
    assert again.message.startswith("2 messages from 192.0.2.21 to 192.0.2.10")
    assert [place.frames for place in again.evidence] == [(18,), (34,), (20,), (36,)]
    assert hit("SES-RESEND/hit_duplicate").message.endswith("1 after an acknowledgment: duplicates")


def test_another_message_with_the_same_identifier_is_no_second_attempt() -> None:
    rule = {"SES-RESEND": RULES["SES-RESEND"]}
    content = FINDINGS / "RPL-CONTENT"
    assert list(judge(read_capture(content / "hit_identifier.pcap", streams=True), rule)) == []
    [again] = judge(read_capture(content / "miss_resent.pcap", streams=True), rule)
    assert again.message.endswith("a second attempt to deliver")


def test_a_gap_names_the_numbers_on_both_sides() -> None:
    message = hit("TXN-GAP/hit_never_filled").message
    assert message.startswith(
        "number 3 is missing, and 1 message waits for it, in sequence 0x6a85fd5f00000001"
    )
    assert message.endswith("message 4 names 3 as the one before it, but the last one was 2")


def test_a_late_acknowledgment_says_how_long_was_waited() -> None:
    message = hit("SES-ACKLATE/hit_closed").message
    assert (
        message
        == "the client waited for 80.0 s for the acknowledgment of 2 packets, and closed the connection"
    )


def test_both_guids_of_a_wrong_answer_are_shown() -> None:
    places = hit("SES-GUID/hit_another").evidence
    assert [place.frames for place in places] == [(6,), (4,)]
    assert places[0].data.hex() == "90e177c26a3d4b4c8d05f21b9ac83e44"
    assert places[1].data.hex() == "f6c1c0315e8a294db0c46e0a5d4f7a11"


@pytest.mark.parametrize(
    ("stem", "ids"),
    [
        ("golden_226_of_230", {"FPR-SENSOR"}),
        ("golden_233_naked_probe", {"FPR-SCRIPT"}),
        ("golden_256_altered_frame_7", {"FPR-SAMPLE"}),
        ("golden_srmp_origin_2380", {"FPR-METASPLOIT"}),
        ("golden_srmp_origin_2380_top_bit", {"FPR-METASPLOIT"}),
        ("golden_srmp_origin_2404", {"FPR-METASPLOIT"}),
        ("golden_srmp_origin_2404_top_bit", {"FPR-METASPLOIT"}),
        ("everything", set()),
        ("direct_destination", set()),
        ("undeclared_bytes_bit_26", set()),
    ],
)
def test_a_packet_is_known_by_the_marks_of_its_source_alone(stem: str, ids: set[str]) -> None:
    assert fingerprints(golden(stem)) == ids


def test_an_answer_that_repeats_the_marks_of_a_request_is_not_marked() -> None:
    data = hex_bytes(FIXTURES / "packets/establish_connection/frame_3_request.hex")
    assert "FPR-SAMPLE" in fingerprints(record_of(data))
    assert fingerprints(record_of(data, src="192.0.2.10:1801", dst="192.0.2.21:49731")) == set()


def test_no_rule_names_a_cve_or_an_intent() -> None:
    assert [id_ for id_, rule in RULES.items() if rule.cves] == []
    texts = [f"{rule.title} {rule.meaning} {rule.action} {rule.harmless}" for rule in RULES.values()]
    assert not any(word in text.lower() for text in texts for word in ("exploit", "attack"))


_BASE = struct.pack("<BBHIII", 0x10, 0, 0x0B, 0x524F494C, 32, 0xFFFFFFFF)


@pytest.mark.slow
@given(
    recoverable=st.integers(0, 0xFFFFFFFF),
    waited=st.integers(0, 0xFFFFFFFF),
    window=st.integers(0, 0xFFFF),
)
def test_parameters_are_judged_by_their_limits(recoverable: int, waited: int, window: int) -> None:
    data = _BASE + struct.pack("<HHIIHH", 0, 3, recoverable, waited, 0, window)
    seen = list(judge([record_of(data)], {"SES-PARM": RULES["SES-PARM"]}))
    expected = set()
    if not 500 <= recoverable <= 120_000:
        expected.add((f"{PARAMETERS}.recoverable_ack_timeout", "low"))
    if not 20_000 <= waited <= 120_000:
        expected.add((f"{PARAMETERS}.ack_timeout", "low"))
    if window <= 1:
        expected.add((f"{PARAMETERS}.window_size", "info" if window else "low"))
    assert {(one.evidence[0].path, one.severity) for one in seen} == expected


@given(st.data())
def test_no_bytes_make_a_rule_raise_or_point_outside_the_packet(data: st.DataObject) -> None:
    name = data.draw(
        st.sampled_from(["golden_226_of_230", "golden_233_naked_probe", "golden_srmp_origin_2404"])
    )
    changed = bytearray(hex_bytes(FIXTURES / "packets/user_message" / f"{name}.hex"))
    for at in data.draw(st.lists(st.integers(0, len(changed) - 1), max_size=8)):
        changed[at] = data.draw(st.integers(0, 255))
    packet = bytes(changed[: data.draw(st.integers(16, len(changed)))])
    for finding in judge([record_of(packet)], RULES):
        assert finding.evidence
        assert all(0 <= one.offset <= one.offset + one.length <= len(packet) for one in finding.evidence)


def test_each_field_that_marks_zgrab_is_shown() -> None:
    shown = {place.path for one in found("FPR-ZGRAB/hit_request") for place in one.evidence}
    assert shown == {f"{ESTABLISH}.{name}" for name in ("client_guid", "time_stamp", "operating_system")}

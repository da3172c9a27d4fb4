"""The rules about lengths, times and content: their captures, and what a capture cannot show."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.capture.reader import read_capture
from msmq_wire.detection import Finding, Judge, Severity, registry
from msmq_wire.detection.rule import Rule
from msmq_wire.engines.codec import inspect
from msmq_wire.records.record import Record
from msmq_wire.records.signatures import checking_signatures, trusting
from tests.hex_files import hex_bytes
from tests.sealing.sealed_scene import trusted

# The captures of CNT-LOOPBACK are calls: tests.detection.rules.test_calls.
_RULES = {
    id_: rule
    for id_, rule in registry.RULES.items()
    if id_.startswith(("LEN-", "TIM-", "CNT-")) and id_ != "CNT-LOOPBACK"
}


@pytest.fixture(autouse=True)
def _signatures_are_asked() -> Iterator[None]:
    with checking_signatures(), trusting(trusted()):
        yield


_FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
_FINDINGS = _FIXTURES / "findings"

_USER, _PROPERTIES, _SECURITY = "user_header", "message_properties_header", "security_header"
_MQF = "multi_queue_format_header.destination"
_NAME = f"{_USER}.destination_queue"
# Severity, then path, offset and length of the first evidence, counted from the bytes of the fixture: the
# queue name begins at 64, the properties at 116 behind "OS:msg01\private$\orders", the label at 172.
_HITS: dict[str, tuple[Severity, str, int, int]] = {
    "LEN-ENV/hit_top_bit": ("high", "srmp_envelope_header.data_length", 200, 4),
    "LEN-ENV/hit_past_packet": ("high", "srmp_envelope_header.data_length", 200, 4),
    "LEN-ENV/hit_late_start": ("medium", "srmp_envelope_header.data_length", 200, 4),
    "LEN-SOAP/hit_wraps": ("high", "soap_header.header_data_length", 220, 4),
    "LEN-SOAP/hit_body_past": ("high", "soap_header.body_data_length", 236, 4),
    "LEN-CMP/hit_past_packet": ("high", "compound_message_header.http_body_size", 1240, 4),
    "LEN-CMP/hit_body_past_data": ("high", "compound_message_header.msg_body_offset", 1248, 4),
    "LEN-CMP/hit_stored_disagrees": ("medium", "compound_message_header.msg_body_size", 1280, 4),
    "LEN-MIME/hit_too_short": ("medium", "parts[1]", 1138, 15),
    "LEN-LABEL/hit_past_packet": ("medium", f"{_PROPERTIES}.label_length", 117, 1),
    "LEN-LABEL/hit_too_long": ("medium", f"{_PROPERTIES}.label_length", 117, 1),
    "LEN-LABEL/hit_no_end": ("medium", f"{_PROPERTIES}.label", 172, 10),
    "LEN-LABEL/hit_nul_inside": ("medium", f"{_PROPERTIES}.label", 172, 26),
    "LEN-BODY/hit_allocation": ("medium", f"{_PROPERTIES}.allocation_body_size", 152, 4),
    "LEN-BODY/hit_allocation_above_packet": ("medium", f"{_PROPERTIES}.allocation_body_size", 152, 4),
    "LEN-BODY/hit_past_packet": ("high", f"{_PROPERTIES}.allocation_body_size", 152, 4),
    "LEN-BODY/hit_extension": ("high", f"{_PROPERTIES}.extension_size", 168, 4),
    "LEN-BODY/hit_wraps": ("high", f"{_PROPERTIES}.allocation_body_size", 152, 4),
    "LEN-SEC/hit_certificate_past": ("medium", f"{_SECURITY}.sender_cert_size", 124, 4),
    "LEN-SEC/hit_sid_length": ("medium", f"{_SECURITY}.security_data.security_id", 132, 24),
    "LEN-SEC/hit_nothing": ("medium", f"{_SECURITY}.sender_id_size", 118, 2),
    "LEN-MQF/hit_header_size": ("high", f"{_MQF}.header_size", 216, 4),
    "LEN-MQF/hit_past_packet": ("high", f"{_MQF}.header_size", 216, 4),
    "LEN-MQF/hit_count": ("high", f"{_MQF}.element_count", 224, 4),
    "LEN-MQF/hit_header_id": ("high", f"{_MQF}.header_id", 220, 2),
    "LEN-MQF/hit_unknown_element": ("medium", f"{_MQF}.element_count", 224, 4),
    "LEN-DIRECT/hit_odd": ("medium", f"{_NAME}.count", 64, 2),
    "LEN-DIRECT/hit_past_packet": ("medium", f"{_NAME}.count", 64, 2),
    "LEN-DIRECT/hit_no_end": ("medium", f"{_NAME}.direct_format_name", 66, 12),
    "LEN-DIRECT/hit_protocol": ("medium", f"{_NAME}.direct_format_name", 66, 52),
    "LEN-DIRECT/hit_long_queue": ("medium", f"{_NAME}.direct_format_name", 66, 270),
    "LEN-DIRECT/hit_control_character": ("medium", f"{_NAME}.direct_format_name", 66, 52),
    "LEN-DIRECT/hit_in_list": (
        "medium",
        f"{_MQF}.format_name_list[1].format_name.direct_format_name",
        282,
        32,
    ),
    "LEN-EXT/hit_remaining": ("medium", "extension_header.remaining_headers_size", 220, 4),
    "LEN-EXT/hit_header_size": ("medium", "extension_header.header_size", 216, 4),
    "LEN-EXT/hit_subqueue": ("medium", "extension_header.remaining_headers_size", 220, 4),
    "LEN-OACK/hit_order_ack": ("medium", f"{_PROPERTIES}.message_size", 100, 4),
    "LEN-OACK/hit_final_ack": ("medium", f"{_PROPERTIES}.message_size", 100, 4),
    "TIM-SKEW/hit_future": ("low", f"{_USER}.sent_time", 52, 4),
    "TIM-SKEW/hit_old": ("low", f"{_USER}.sent_time", 52, 4),
    "TIM-SKEW/hit_old_with_limit": ("low", f"{_USER}.sent_time", 52, 4),
    "TIM-SKEW/hit_slow_clock": ("low", f"{_USER}.sent_time", 52, 4),
    "TIM-EXPIRED/hit_reach_queue": ("info", "base_header.time_to_reach_queue", 12, 4),
    "TIM-EXPIRED/hit_received": ("info", f"{_USER}.time_to_be_received", 48, 4),
    "TIM-MAGIC/hit_sample_time": ("high", f"{_USER}.sent_time", 52, 4),
    "CNT-CLASS/hit_outside_mask": ("low", f"{_PROPERTIES}.message_class", 118, 2),
    "CNT-ALG/hit_hash": ("low", f"{_PROPERTIES}.hash_algorithm", 368, 4),
    "CNT-ALG/hit_cipher": ("low", f"{_PROPERTIES}.encryption_algorithm", 252, 4),
    "CNT-ALG/hit_privacy_unused": ("info", f"{_PROPERTIES}.privacy_level", 156, 4),
    "CNT-CLEAR/hit_xml": ("info", f"{_PROPERTIES}.message_body", 194, 39),
    "CNT-CLEAR/hit_text": ("info", f"{_PROPERTIES}.message_body", 194, 36),
    "CNT-CLEAR/hit_json": ("info", f"{_PROPERTIES}.message_body", 194, 34),
    "CNT-WEAK/hit_md5": ("low", f"{_PROPERTIES}.hash_algorithm", 368, 4),
    "CNT-WEAK/hit_rc4": ("low", f"{_PROPERTIES}.privacy_level", 244, 4),
    "CNT-WEAK/hit_md5_many": ("low", f"{_PROPERTIES}.hash_algorithm", 304, 4),
    "CNT-CERT/hit_text": ("low", f"{_SECURITY}.security_data.sender_cert", 152, 4),
    "CNT-SIGN/hit_certificate": ("low", f"{_SECURITY}.sender_cert_size", 124, 4),
    "CNT-SIGN/hit_signature": ("low", f"{_SECURITY}.signature_size", 122, 2),
    "CNT-SIGN/hit_no_key": ("low", f"{_SECURITY}.encryption_key_size", 120, 2),
    "CNT-QMADDR/hit_named": ("low", f"{_USER}.queue_manager_address", 32, 16),
    "CNT-BODYTYPE/hit_unknown": ("info", f"{_PROPERTIES}.body_type", 140, 4),
    "CNT-NACK/hit_access_denied": ("info", f"{_PROPERTIES}.message_class", 118, 2),
    "CNT-NACK/hit_purged": ("info", f"{_PROPERTIES}.message_class", 118, 2),
    "CNT-NACK/hit_final_ack": ("info", f"{_PROPERTIES}.message_class", 70, 2),
    "CNT-NACK/hit_srmp": ("info", "envelope.header.msmq.class", 0, 0),
}


def _judged(path: Path, rule: str) -> list[Finding]:
    judge = Judge({rule: _RULES[rule]})
    found = [finding for record in read_capture(path, streams=True) for finding in judge.feed(record)]
    return [*found, *judge.finish()]


def _hit(name: str) -> Finding:
    [finding] = _judged(_FINDINGS / f"{name}.pcap", name.partition("/")[0])
    return finding


def _names(kind: str) -> list[str]:
    return sorted(
        f"{path.parent.name}/{path.stem}"
        for rule in _RULES
        for path in (_FINDINGS / rule).glob(f"{kind}_*.pcap")
    )


def _record(data: bytes, **more: object) -> Record:
    result = inspect(data)
    values = {"type": result.type, "packet": result.packet, "anomalies": result.anomalies}
    return Record(**({"id": 1, "error": result.error} | values | more))


def test_every_hit_of_the_table_is_there() -> None:
    assert set(_HITS) <= set(_names("hit"))


@pytest.mark.parametrize("name", _HITS)
def test_a_hit_gives_one_finding_with_its_place(name: str) -> None:
    finding = _hit(name)
    place = finding.evidence[0]
    assert (finding.severity, place.path, place.offset, place.length) == _HITS[name]
    assert finding.id == name.partition("/")[0]


@pytest.mark.parametrize("name", _names("hit"))
def test_evidence_quotes_the_bytes_of_its_frame(name: str) -> None:
    raw = (_FINDINGS / f"{name}.pcap").read_bytes()
    for place in _hit(name).evidence:
        assert place.frames
        assert place.capture.endswith(".pcap")
        assert place.data in raw


@pytest.mark.parametrize("name", _names("miss"))
def test_a_near_miss_gives_no_finding(name: str) -> None:
    assert _judged(_FINDINGS / f"{name}.pcap", name.partition("/")[0]) == []


@pytest.mark.parametrize("rule", _RULES)
def test_a_rule_has_a_hit_and_a_near_miss(rule: str) -> None:
    kinds = {path.name.partition("_")[0] for path in (_FINDINGS / rule).glob("*.pcap")}
    assert kinds == {"hit", "miss"}


@pytest.mark.parametrize("rule", _RULES.values(), ids=str)
def test_only_the_published_field_names_a_cve(rule: Rule) -> None:
    assert rule.cves == (("CVE-2023-21554",) if rule.id == "LEN-ENV" else ())


def test_a_length_that_does_not_wrap_is_not_said_to_match_the_published_condition() -> None:
    published = "the published condition of CVE-2023-21554"
    assert published in _hit("LEN-ENV/hit_top_bit").message
    assert published not in _hit("LEN-ENV/hit_past_packet").message


def test_what_was_not_captured_lowers_a_finding_and_is_said() -> None:
    whole, late = _hit("LEN-ENV/hit_top_bit"), _hit("LEN-ENV/hit_late_start")
    assert (whole.severity, whole.caveats) == ("high", ())
    assert late.severity == "medium"
    assert "beginning of this connection was not captured" in late.caveats[0]


def test_a_length_is_said_with_what_it_needs_and_what_is_left() -> None:
    message = _hit("LEN-LABEL/hit_past_packet").message
    assert message == (
        "message_properties_header.label_length is 200: "
        "400 bytes needed, 44 left before the end that PacketSize sets"
    )


def test_a_name_is_said_with_what_is_wrong_in_it() -> None:
    assert "queue name has 125 characters, at most 124" in _hit("LEN-DIRECT/hit_long_queue").message
    assert "U+0007" in _hit("LEN-DIRECT/hit_control_character").message


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "hit_access_denied",
            "class 0x8004: message a1d30c5b-247e-4f45-9a31-c5d20e6f7788\\4162 did not arrive",
        ),
        ("hit_purged", "4162 arrived and was not read: its queue was purged"),
        ("hit_final_ack", "message a1d30c5b-247e-4f45-9a31-c5d20e6f7788\\4163 arrived and was not read"),
        (
            "hit_srmp",
            "class 0xc004: a message arrived and was not read: the application rejected it",
        ),
    ],
)
def test_a_negative_acknowledgment_names_its_message_and_the_reason(name: str, said: str) -> None:
    assert said in _hit(f"CNT-NACK/{name}").message


def test_clear_text_is_told_by_its_place_and_not_quoted() -> None:
    assert [place.data for place in _hit("CNT-CLEAR/hit_xml").evidence] == [b""]


def test_a_frame_without_time_is_not_judged_by_the_clock() -> None:
    data = hex_bytes(_FIXTURES / "packets/user_message/direct_destination.hex")
    record = _record(data, time=None)
    judge = Judge({})
    assert [list(_RULES[rule].check(record, judge)) for rule in ("TIM-SKEW", "TIM-EXPIRED")] == [[], []]


@pytest.mark.parametrize("path", sorted((_FIXTURES / "packets/user_message").glob("golden_*.hex")), ids=str)
def test_known_hostile_packets_are_judged_without_failing(path: Path) -> None:
    record = _record(hex_bytes(path))
    judge = Judge({})
    seen = [one for rule in _RULES.values() if record.type in rule.types for one in rule.check(record, judge)]
    assert all(one.evidence for one in seen)


_BASE = (_FINDINGS / "CNT-WEAK/hit_md5_many.pcap").read_bytes
_WRITTEN = st.binary(min_size=1, max_size=4)


@given(at=st.integers(0, 480), written=_WRITTEN, cut=st.integers(0, 480))
def test_any_bytes_in_a_packet_are_judged_with_places_inside_it(at: int, written: bytes, cut: int) -> None:
    raw = _BASE()
    start = raw.index(b"\x10\0\x03\0LIOR")
    data = bytearray(raw[start : start + 480])
    data[at : at + len(written)] = written
    record = _record(bytes(data[: max(cut, 16)]), time=1)
    judge = Judge({})
    for rule in _RULES.values():
        if record.type in rule.types or (rule.codes and not rule.types):
            for seen in rule.check(record, judge):
                assert all(0 <= place.offset <= place.offset + place.length <= 480 for place in seen.evidence)
                assert seen.message


@pytest.mark.slow
def test_ordinary_captures_give_nothing_above_info() -> None:
    captures = sorted((_FIXTURES / "rpc_captures").glob("*.pcap"))
    captures += sorted((_FIXTURES / "captures").glob("path_*.pcap*"))
    captures += [_FIXTURES / "captures/demo.pcap", *sorted((_FIXTURES / "sessions").glob("*.pcap"))]
    found = [
        (path.name, finding.id, finding.severity)
        for path in captures
        for judge in [Judge(_RULES)]
        for record in read_capture(path, streams=True)
        for finding in judge.feed(record)
    ]
    assert [one for one in found if one[2] != "info"] == []

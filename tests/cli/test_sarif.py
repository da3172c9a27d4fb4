"""Findings as SARIF: what the standard asks for, whatever stands in a finding."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msmq_wire.cli.render.sarif import artifact_uri, sarif_log
from msmq_wire.detection import RULES, SEVERITIES, Evidence, Finding
from tests.effort import examples
from tests.schemas import Schema

_SCHEMA = Schema(Path(__file__).parent / "sarif_subset.schema.json")
_ID = "FLG-AH-WIRE"
_PLACE = Evidence(
    capture="one.pcap",
    record=7,
    frames=(11, 12),
    time=1_700_000_000_500_000_000,
    src="192.0.2.1:1025",
    dst="192.0.2.20:1801",
    path="user_header.flags",
    offset=60,
    length=4,
)


def _finding(message: str = "AH is set", *places: Evidence, **values: Any) -> Finding:
    return Finding(
        **{
            "id": _ID,
            "title": "A title",
            "severity": "high",
            "confidence": "certain",
            "message": message,
            "evidence": places or (_PLACE,),
            **values,
        }
    )


def _log(*findings: Finding, **values: Any) -> Any:
    log = sarif_log(findings, RULES, **{"version": "0.1.0", **values})
    assert _SCHEMA.faults(log) == []
    return log


def _result(finding: Finding) -> Any:
    [run] = _log(finding)["runs"]
    [result] = run["results"]
    return result


def _fingerprint(finding: Finding) -> Any:
    return _result(finding)["partialFingerprints"]


def test_the_schema_of_the_tests_is_one() -> None:
    assert not _SCHEMA.fits({"version": "2.1.0", "runs": []})
    assert not _SCHEMA.fits({**_log(), "version": "2.2"})


def test_every_rule_stands_in_the_log_with_its_texts() -> None:
    [run] = _log()["runs"]
    rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    assert list(rules) == list(RULES)
    rule = rules[_ID]
    assert rule["name"] == "FlgAhWire"
    assert rule["shortDescription"]["text"] == RULES[_ID].title
    assert rule["fullDescription"]["text"] == RULES[_ID].meaning
    assert rule["help"]["text"].startswith(RULES[_ID].action)
    assert rule["defaultConfiguration"] == {"level": "error"}
    assert rule["properties"]["page"] == "docs/findings/flg_ah_wire.md"
    assert rule["properties"]["tags"] == ["msmq", "CVE-2023-21554"]


def test_a_result_says_which_rule_where_and_in_which_frames() -> None:
    result = _result(_finding(caveats=("the capture has gaps",)))
    assert result["ruleIndex"] == list(RULES).index(_ID)
    assert result["message"] == {"text": "AH is set. But: the capture has gaps."}
    assert result["locations"] == [
        {
            "physicalLocation": {"artifactLocation": {"uri": "one.pcap"}},
            "logicalLocations": [{"fullyQualifiedName": "frame 11 user_header.flags"}],
            "properties": {
                "frames": [11, 12],
                "offset": 60,
                "length": 4,
                "time": "2023-11-14T22:13:20.500000000Z",
                "src": "192.0.2.1:1025",
                "dst": "192.0.2.20:1801",
                "src_ip": "192.0.2.1",
                "src_port": 1025,
                "dst_ip": "192.0.2.20",
                "dst_port": 1801,
                "community_id": "1:M4hj93n6cwdweuYIhFXGEoE0THs=",
            },
        }
    ]


@pytest.mark.parametrize(
    ("severity", "level"), [("info", "note"), ("low", "note"), ("medium", "warning"), ("high", "error")]
)
def test_a_severity_has_a_level(severity: str, level: str) -> None:
    assert _result(_finding(severity=severity))["level"] == level


def test_evidence_without_capture_frame_or_path_has_no_location_of_that_kind() -> None:
    assert _result(_finding("odd", Evidence()))["locations"] == [
        {"properties": {"frames": [], "offset": 0, "length": 0}}
    ]


def test_a_run_that_failed_says_so_and_so_does_one_that_left_findings_out() -> None:
    [run] = _log(complete=False, notes=["17 more of FRM-SIG"])["runs"]
    assert run["invocations"] == [
        {
            "executionSuccessful": False,
            "toolExecutionNotifications": [{"level": "note", "message": {"text": "17 more of FRM-SIG"}}],
        }
    ]


@pytest.mark.parametrize(
    ("capture", "uri"),
    [
        ("one.pcap", "one.pcap"),
        ("day 1/a#b?.pcap", "day%201/a%23b%3F.pcap"),
        ("a:b.pcap", "a%3Ab.pcap"),
        ("../up.pcap", "../up.pcap"),
        ("ü.pcap", "%C3%BC.pcap"),
        ("/cases/7/one.pcap", "one.pcap"),
        ("/cases/8/one.pcap", "file:///cases/8/one.pcap"),
        ("-", "-"),
    ],
)
def test_a_capture_is_named_by_a_relative_uri_where_there_is_one(capture: str, uri: str) -> None:
    assert artifact_uri(capture, "/cases/7") == uri


def test_a_name_that_is_no_unicode_text_keeps_its_bytes() -> None:
    assert unquote_to_bytes(artifact_uri("a\udcff.pcap", "")) == b"a\xff.pcap"


def test_a_fingerprint_stays_whatever_the_capture_is_called_or_the_message_says() -> None:
    moved = Evidence(**{**{name: getattr(_PLACE, name) for name in _PLACE.__struct_fields__}, "frames": (3,)})
    named = Evidence(**{**{name: getattr(_PLACE, name) for name in _PLACE.__struct_fields__}, "capture": "b"})
    assert _fingerprint(_finding("other words", moved)) == _fingerprint(_finding())
    assert _fingerprint(_finding("AH is set", named)) == _fingerprint(_finding())


def test_a_fingerprint_differs_for_another_rule_field_or_time() -> None:
    fields = {name: getattr(_PLACE, name) for name in _PLACE.__struct_fields__}
    others = [
        _finding(id="FRM-SIZE-MAX"),
        _finding("AH is set", Evidence(**{**fields, "path": "user_header"})),
        _finding("AH is set", Evidence(**{**fields, "time": 1})),
        _finding("AH is set", Evidence(**{**fields, "time": None})),
        _finding("AH is set", _PLACE, _PLACE),
    ]
    prints = {json.dumps(_fingerprint(one)) for one in (_finding(), *others)}
    assert len(prints) == 6


_TEXTS = st.text(min_size=1, max_size=40)
_PLACES = st.builds(
    Evidence,
    capture=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30),
    record=st.none() | st.integers(1, 1 << 40),
    frames=st.lists(st.integers(1, 1 << 40), max_size=4).map(tuple),
    time=st.none() | st.integers(0, 1 << 62),
    src=st.none() | _TEXTS,
    dst=st.none() | _TEXTS,
    path=st.text(max_size=30),
    offset=st.integers(0, 1 << 32),
    length=st.integers(0, 1 << 32),
    data=st.binary(max_size=64),
)


@pytest.mark.slow
@given(
    message=_TEXTS,
    places=st.lists(_PLACES, min_size=1, max_size=3),
    severity=st.sampled_from(SEVERITIES),
    caveats=st.lists(_TEXTS, max_size=2).map(tuple),
)
# Each log is held against the whole schema of SARIF.
@settings(max_examples=examples(100))
def test_any_finding_makes_a_valid_log(
    message: str, places: list[Evidence], severity: str, caveats: tuple[str, ...]
) -> None:
    finding = _finding(message, *places, severity=severity, caveats=caveats)
    text = _result(finding)["message"]["text"]
    plain = re.sub(r"\\([\\\[\]])|({|})\2", lambda found: found[1] or found[2], text)
    assert plain.startswith(message)


def test_what_was_captured_makes_no_link_and_no_placeholder() -> None:
    hostile = r"[click](http://192.0.2.66/) {0} \[x\]"
    literal = r"\[click\](http://192.0.2.66/) {{0}} \\\[x\\\]"
    explained = _finding(hostile, id="FRM-SIZE-MAX", explained_by=_ID, cause=_PLACE)
    log = _log(_finding(hostile, caveats=(hostile,)), explained, notes=(hostile,))
    result, _ = log["runs"][0]["results"]
    assert result["message"]["text"] == f"{literal}. But: {literal}."
    assert result["relatedLocations"][0]["message"]["text"] == f"FRM-SIZE-MAX: {literal}."
    [note] = log["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert note["message"]["text"] == literal


def test_what_is_explained_is_a_related_location_of_its_explainer() -> None:
    elsewhere = msgspec.structs.replace(_PLACE, record=8, frames=(13,), path="base_header.packet_size")
    cause = _finding("AH is set")
    explained = _finding("too long", elsewhere, id="FRM-SIZE-MAX", explained_by=_ID, cause=_PLACE)
    other = _finding("AH is set", elsewhere)
    first, second, third = _log(cause, explained, other)["runs"][0]["results"]
    [related] = first["relatedLocations"]
    assert related["message"] == {"text": "FRM-SIZE-MAX: too long."}
    assert related["logicalLocations"] == [{"fullyQualifiedName": "frame 13 base_header.packet_size"}]
    assert [one["properties"]["group"] for one in (first, second)] == [f"{_ID} 192.0.2.1"] * 2
    assert [one["properties"]["explained_by"] for one in (first, second)] == [None, _ID]
    assert "relatedLocations" not in second
    assert "relatedLocations" not in third


@pytest.mark.slow
def test_related_locations_are_bounded() -> None:
    def related(*frames: int) -> int:
        some = [
            _finding("x", msgspec.structs.replace(_PLACE, frames=(frame,)), explained_by=_ID, cause=_PLACE)
            for frame in frames
        ]
        # Not held against the schema, which takes seconds for so many.
        log = sarif_log([_finding(), *some], RULES, version="0.1.0")
        return len(log["runs"][0]["results"][0]["relatedLocations"])

    assert (related(*range(150)), related(1, 2, 1)) == (100, 2)

"""The rule file for Suricata: stable sids, options that Suricata has, references that lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from msmq_wire.detection import RULES
from msmq_wire.detection.suricata_options import content, options
from msmq_wire.detection.suricata_rules import (
    BLOCK,
    FIRST_SID,
    left_out,
    page_address,
    rendered,
    rule_file,
)
from msmq_wire.detection.suricata_signature import ON_WIRE, SuricataSignature, numbers_text, undefined
from msmq_wire.detection.vulnerabilities import REFERENCES
from msmq_wire.errors import MsmqWireError
from msmq_wire.rpc.interfaces import INTERFACES, remote_read
from msmq_wire.wire.expressions import one_of, size_, this
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.base_header import BaseHeader
from msmq_wire.wire.packets.ping import Ping
from msmq_wire.wire.packets.user_message import UserMessage
from tests.detection.suricata_numbers import GONE, NUMBERS

_ROOT = Path(__file__).resolve().parents[2]
_PAGES = "https://docs.example/msmq"
_LINES = list(rendered(pages=_PAGES))
_RULE = re.compile(r"alert (tcp|udp|dcerpc|http) \S+ \S+ (?:->|<>) \S+ \S+ \((.*);\)")
_OPTION = re.compile(r'[a-z_.]+(?::!?(?:"[^"]*"(?:,[a-z0-9]+)?|[^;"]+))?')
_KEYWORDS = {
    *("msg", "flow", "flowbits", "xbits", "content", "depth", "offset", "nocase", "pcre", "dsize", "flags"),
    *("byte_test", "byte_math", "byte_extract", "isdataat", "stream_size", "detection_filter"),
    *("dcerpc.iface", "dcerpc.opnum", "dcerpc.stub_data"),
    *("http.method", "http.uri", "http.request_body", "http.header_names"),
    *("reference", "classtype", "priority", "metadata", "sid", "rev"),
}


def _options(text: str) -> list[str]:
    found = _RULE.fullmatch(text)
    assert found is not None, text
    return found[2].split("; ")


def _matched(packet: type[WireStruct] | None, *match: Any, **more: Any) -> list[str]:
    return list(
        options(SuricataSignature(number=1, on=ON_WIRE, packet=packet, match=match, guarded=False, **more))
    )[1:]


def test_a_number_stands_for_what_it_was_given_for_and_none_is_used_twice() -> None:
    given = [number for numbers in NUMBERS.values() for number in numbers]
    assert len(given) == len(set(given))
    by_rule: dict[str, list[int]] = {}
    for one in _LINES:
        by_rule.setdefault("" if one.rule is None else one.rule.id, []).append(one.signature.number)
    assert {rule: set(numbers) for rule, numbers in by_rule.items()} == {
        rule: set(numbers) - GONE for rule, numbers in NUMBERS.items() if set(numbers) - GONE
    }


def test_sids_are_in_the_block_and_for_local_use() -> None:
    sids = [one.sid for one in _LINES]
    assert len(sids) == len(set(sids))
    assert all(FIRST_SID < sid < FIRST_SID + BLOCK for sid in sids)
    assert FIRST_SID >= 1_000_000
    assert FIRST_SID + BLOCK <= 2_000_000


@pytest.mark.parametrize("one", _LINES, ids=lambda one: str(one.sid))
def test_every_option_is_one_of_suricata(one: Any) -> None:
    parts = _options(one.text)
    assert [part for part in parts if not _OPTION.fullmatch(part)] == []
    assert {part.partition(":")[0] for part in parts} <= _KEYWORDS
    assert parts[0].startswith("msg:")
    assert parts[-2:] == [f"sid:{one.sid}", f"rev:{one.signature.rev}"]


@pytest.mark.parametrize("one", _LINES, ids=lambda one: str(one.sid))
def test_references_are_pages_that_there_are_and_vulnerabilities_of_the_rule(one: Any) -> None:
    references = [part for part in _options(one.text) if part.startswith("reference:")]
    named = [part.removeprefix("reference:cve,") for part in references if ",docs" not in part]
    if one.rule is None:
        assert references == []
        return
    assert {f"CVE-{name}" for name in named} <= set(one.rule.cves) & REFERENCES.keys()
    assert references[0] == f"reference:url,docs.example/msmq/findings/{one.rule.stem}/"
    assert (_ROOT / "docs" / "findings" / f"{one.rule.stem}.md").exists()


def test_bits_that_are_asked_for_are_set_by_others() -> None:
    setters = {bit for one in _LINES for bit in one.signature.sets}
    assert {bit for one in _LINES for bit in (*one.signature.lacks, *one.signature.needs)} == setters
    hosts = [part for one in _LINES for part in _options(one.text) if part.startswith("xbits:")]
    assert {part.split(",")[1] for part in hosts if part.startswith("xbits:isnotset")} == {
        part.split(",")[1] for part in hosts if part.startswith("xbits:set")
    }


def test_a_rule_has_signatures_or_a_reason_why_not() -> None:
    assert all(rule.suricata or left_out(rule) for rule in RULES.values())
    assert "several packets" in left_out(RULES["ID-CLONE"])
    assert "topology" in left_out(RULES["RTE-PATH"])


def test_packets_of_the_wire_are_told_by_their_signature_and_type() -> None:
    signature = SuricataSignature(number=1, on=ON_WIRE, packet=UserMessage)
    assert list(options(signature)) == [
        "flow:established",
        'content:"|10|"; depth:1',
        'content:"LIOR"; offset:4; depth:4',
        "byte_test:2,!&,0x8,2,little",
    ]
    inside = SuricataSignature(number=1, on=ON_WIRE, packet=UserMessage, anywhere=True)
    assert list(options(inside)) == [
        "flow:established",
        "dsize:>8",
        'content:"LIOR"',
        "byte_test:1,=,16,-8,relative",
        "byte_test:2,!&,0x8,-6,relative,little",
    ]


@pytest.mark.parametrize(
    ("packet", "condition", "said"),
    [
        (BaseHeader, this.packet_size > 7, "byte_test:4,>,7,8,little"),
        (BaseHeader, this.packet_size != 7, "byte_test:4,!=,7,8,little"),
        (BaseHeader, this.packet_size == 7, 'content:"|07 00 00 00|"; offset:8; depth:4'),
        (BaseHeader, this.flags & 0xC0 != 0, "byte_test:2,&,0xc0,2,little"),
        (BaseHeader, this.flags & 0xC0 == 0, "byte_test:2,!&,0xc0,2,little"),
        (BaseHeader, this.flags & 0xC0 == 0x40, "byte_test:2,=,1,2,little,bitmask 0xc0"),
        (BaseHeader, this.flags >> 6 & 3 == 1, "byte_test:2,=,1,2,little,bitmask 0xc0"),
        (BaseHeader, this.flags & 7 <= 3, "byte_test:2,<=,3,2,little,bitmask 0x7"),
        (BaseHeader, this.signature != b"LIOR", 'content:!"LIOR"; offset:4; depth:4'),
        (BaseHeader, one_of(this.flags & 7, 1, 2) | (this.flags & 8 != 0), None),
        (Ping, this.qm_guid == bytes(16), f'content:"|{"00 " * 15}00|"; offset:8; depth:16'),
    ],
)
def test_a_condition_is_said_by_the_place_of_its_field(
    packet: type[WireStruct], condition: Any, said: str | None
) -> None:
    (found,) = _matched(packet, condition)
    if said is not None:
        assert found == said
        return
    pattern = re.compile(found.removeprefix('pcre:"/').removesuffix('/s"').encode(), re.DOTALL)
    for byte in range(256):
        assert bool(pattern.match(bytes((16, 0, byte)))) == (byte & 7 in (1, 2) or bool(byte & 8))


@pytest.mark.parametrize(
    "condition",
    [
        this.packet_size,
        this.packet_size + this.time_to_reach_queue > 4,
        size_(this.packet_size) == 4,
        one_of(this.flags & 0x180, 0x80, 0x100),
    ],
)
def test_a_condition_that_cannot_be_said_is_refused(condition: Any) -> None:
    with pytest.raises(TypeError):
        _matched(BaseHeader, condition)
    with pytest.raises(TypeError, match="none is named"):
        _matched(None, condition)


def test_bytes_that_would_end_an_option_are_hex() -> None:
    assert content(b'a;"\\:|\0b') == 'content:"a|3b 22 5c 3a 7c 00|b"'


def test_numbers_are_listed_with_their_runs() -> None:
    assert numbers_text((1, 2, 3, 7, 9, 10)) == "1-3,7,9-10"
    assert numbers_text(()) == ""
    few = {opnum: one for opnum, one in remote_read.INTERFACE.methods.items() if opnum in (0, 2, 3, 15)}
    assert undefined(msgspec.structs.replace(remote_read.INTERFACE, methods=few)) == "1,4-14,16-65535"
    assert all(undefined(one) for one in INTERFACES.values())


@pytest.mark.parametrize(("pages", "said"), [("", ""), ("https://a.example/b/", "a.example/b"), ("c", "c")])
def test_an_address_is_referred_to_without_its_scheme(pages: str, said: str) -> None:
    assert page_address(pages) == said


@pytest.mark.parametrize("pages", ["a b", "a;sid:1", "ftp//é", "//"])
def test_what_is_no_address_is_refused(pages: str) -> None:
    with pytest.raises(MsmqWireError):
        rule_file(pages=pages)

"""Every rule has a stable id, fixtures that hit and miss, a page, sections and whole sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from msmq_wire.capture.capture_sequence import CaptureSequence
from msmq_wire.capture.reader import read_capture
from msmq_wire.detection import RULES, SEVERITIES, Finding, judge
from msmq_wire.detection.finding_view import finding_view
from msmq_wire.detection.registry import BROKEN, waits_for
from msmq_wire.detection.rule import Rule
from msmq_wire.detection.rules import module_of, modules, rules_in
from msmq_wire.records.signatures import checking_signatures, trusting
from msmq_wire.routing.auditor import Auditor
from msmq_wire.routing.topology import Topology
from msmq_wire.routing.topology_file import parse_topology
from msmq_wire.rpc.unseal.negotiation import negotiator
from msmq_wire.rpc.unseal.secrets import Secrets
from tests.effort import in_batches
from tests.schemas import schema_of
from tests.sealing.sealed_scene import trusted

_ROOT = Path(__file__).resolve().parents[2]
_FIXTURES = _ROOT / "fixtures"
_RULES = list(RULES.values())
_CLEAN = [
    _FIXTURES / "captures" / "demo.pcap",
    *sorted((_FIXTURES / "captures").glob("clean_*.pcap")),
]
# Remote read at packet privacy: with the keys, and without.
_SEALED = [
    _FIXTURES / "rpc_captures" / f"rpc_{name}.pcap"
    for name in ("kerberos_aes256", "kerberos_rc4", "kerberos_rc4_signed_headers", "ntlm_privacy")
]
_JUDGED = sorted((_FIXTURES / "findings").glob("*/*.pcap"))
_ID = re.compile(r"[A-Z]{2,3}(-[A-Z0-9]+)+")
_CVE = re.compile(r"CVE-[0-9]{4}-[0-9]{4,}")


@cache
def _topology(path: Path) -> Topology:
    own = path.parent / "topology.toml"
    return parse_topology((own if own.exists() else _FIXTURES / "routing" / "example.toml").read_bytes())


@pytest.fixture(autouse=True)
def _signatures_are_asked() -> Iterator[None]:
    with checking_signatures(), trusting(trusted()):
        yield


@cache
def _found(path: Path) -> tuple[Finding, ...]:
    auditor = Auditor(_topology(path))
    if path.is_dir():
        # The captures of several places, given together.
        together = CaptureSequence([str(one) for one in sorted(path.glob("*.pcap"))], streams=True)
        return tuple(judge(together, auditor=auditor))
    return tuple(judge(read_capture(str(path), streams=True), auditor=auditor))


def _captures(rule: Rule, kind: str) -> list[Path]:
    found = (_FIXTURES / "findings" / rule.id).glob(f"{kind}_*")
    return sorted(one for one in found if one.suffix == ".pcap" or one.is_dir())


def test_the_ids_are_those_that_have_pages() -> None:
    pages = [path.read_text(encoding="utf-8") for path in (_ROOT / "docs" / "findings").glob("*.md")]
    assert {page.partition("\n")[0].removeprefix("# ") for page in pages} == set(RULES)


def test_every_module_of_rules_has_rules_and_every_rule_is_in_one() -> None:
    assert {rule.id for name in modules() for rule in rules_in(name)} == set(RULES)
    assert {module_of(rule.stem) for rule in RULES.values()} == set(modules())


def test_every_folder_of_fixtures_belongs_to_a_rule() -> None:
    folders = {path.name for path in (_FIXTURES / "findings").glob("*") if path.is_dir()}
    assert folders == set(RULES)


_ABOUT_READS = {"RPC-AGAIN", "RPC-PENDING"}
"""Rules over the whole story that judge remote reads only: without a call there is none."""


@in_batches([rule for rule in _RULES if waits_for(rule.id)], name="rule")
def test_a_rule_that_waits_sees_nothing_before_that_has_come(rule: Rule) -> None:
    if rule.over == "record":
        assert (rule.types and {*rule.types} <= waits_for(rule.id)) or (
            rule.codes and waits_for(rule.id) == {BROKEN}
        )
    else:
        assert rule.over in waits_for(rule.id) or rule.id in _ABOUT_READS


@in_batches(_RULES, name="rule", every=1)
def test_a_rule_is_in_its_module_or_its_table(rule: Rule) -> None:
    assert _ID.fullmatch(rule.id)
    assert RULES[rule.id] is rule
    assert rule in rules_in(module_of(rule.stem))


@in_batches(_RULES, name="rule", every=1)
def test_a_rule_says_what_it_rests_on_in_whole_sentences(rule: Rule) -> None:
    assert rule.spec
    assert not rule.title.endswith(".")
    texts = [rule.meaning, rule.action, *([rule.harmless] if rule.harmless else [])]
    assert [text for text in texts if not text.endswith((".", "?")) or text != " ".join(text.split())] == []
    assert [name for name in rule.cves if not _CVE.fullmatch(name)] == []


@in_batches(_RULES, name="rule", every=1)
def test_a_rule_has_a_page_that_the_index_links(rule: Rule) -> None:
    page = (_ROOT / "docs" / "findings" / f"{rule.stem}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {rule.id}\n")
    assert [section for section in map(str, rule.spec) if section not in page] == []
    index = (_ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    assert f"| [{rule.id}](findings/{rule.stem}.md) | {rule.severity} |" in index


@in_batches(_RULES, name="rule", every=1)
def test_a_rule_finds_what_its_hits_hold(rule: Rule) -> None:
    hits = _captures(rule, "hit")
    assert hits
    assert [path.name for path in hits if rule.id not in {one.id for one in _found(path)}] == []


@in_batches(_RULES, name="rule", every=1)
def test_a_rule_finds_nothing_in_its_misses(rule: Rule) -> None:
    misses = _captures(rule, "miss")
    assert misses
    assert [path.name for path in misses if rule.id in {one.id for one in _found(path)}] == []


@pytest.mark.parametrize("path", _CLEAN, ids=lambda path: path.name)
def test_a_clean_capture_gives_nothing_at_low_or_above(path: Path) -> None:
    least = SEVERITIES.index("low")
    assert [(one.id, one.message) for one in _found(path) if one.rank >= least] == []


@pytest.mark.parametrize("path", _SEALED, ids=lambda path: path.name)
def test_remote_read_at_privacy_gives_nothing_at_low_or_above_sealed_or_opened(path: Path) -> None:
    facts = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    keytab = (path.parent / "rpc_kerberos.keytab").read_bytes()
    passwords = [facts["secrets"]["password"]] if "password" in facts["secrets"] else []
    opener = negotiator(Secrets.of(passwords=passwords, keytabs=[keytab]))
    opened = tuple(judge(read_capture(path, streams=True, negotiator=opener)))
    assert "RPC-SEALED" in {one.id for one in _found(path)}
    assert "RPC-SEALED" not in {one.id for one in opened}
    least = SEVERITIES.index("low")
    assert [(one.id, one.message) for one in (*_found(path), *opened) if one.rank >= least] == []


def test_there_are_clean_captures() -> None:
    assert len(_CLEAN) > 10


def test_findings_fit_their_schema_and_say_where() -> None:
    found = [one for path in (*_JUDGED, _FIXTURES / "captures" / "published.pcap") for one in _found(path)]
    assert found
    for one in found:
        row = json.loads(json.dumps(finding_view(one)))
        assert (one.id, schema_of("finding").faults(row)) == (one.id, [])
        assert [place for place in one.evidence if not place.frames or len(place.data) > 64] == []

"""What the documentation says of SRMP is what is declared, and what `decode` prints fits its schema."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from docs.generators.srmp import elements
from msmq_wire.capture.reader import read_capture
from msmq_wire.records.message import message_view
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.records.view import record_view
from msmq_wire.srmp.http.message import HoleReason
from msmq_wire.srmp.xml.fields import XmlStruct, xml_fields
from tests.schemas import schema_of

_ROOT = Path(__file__).resolve().parents[2]
_DOCS = _ROOT / "docs"
_CAPTURES = sorted((_ROOT / "fixtures" / "captures").glob("path_*srmp*.pcap*"))
_OWN_CODES = re.compile(
    r'"((?:http|mime|xml|srmp_message|compound_message_header|srmp_envelope_header)\.[a-z-]+)"'
)
_RULE = re.compile(r'Breach\("([a-z_]+\.[a-z-]+)"')


def _text(page: str) -> str:
    return (_DOCS / page).read_text(encoding="utf-8")


def _sources(*folders: str) -> str:
    paths = [path for folder in folders for path in (_ROOT / "msmq_wire" / folder).rglob("*.py")]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def test_every_code_of_http_mime_xml_and_parts_is_described() -> None:
    codes = set(_OWN_CODES.findall(_sources("srmp", "records")))
    assert {"http.grammar", "mime.no-part", "xml.doctype", "srmp_message.part"} <= codes
    described = _text("anomalies.md") + _text("srmp.md")
    assert sorted(code for code in codes if f"`{code}`" not in described) == []


def test_every_rule_over_an_envelope_is_described() -> None:
    codes = set(_RULE.findall(_sources("srmp")))
    assert {"path.id", "stream.durable"} <= codes
    assert sorted(code for code in codes if f"`{code}`" not in _text("anomalies.md")) == []


def test_every_kind_of_wrong_text_is_described() -> None:
    kinds = {field.problem for cls in elements() for field in xml_fields(cls).values() if field.problem} - {
        "attribute"
    }
    assert {"number", "date"} <= kinds
    assert [kind for kind in kinds if f".{kind}`" not in _text("anomalies.md")] == []


@pytest.mark.parametrize("cls", elements(), ids=lambda cls: cls.TAG)
def test_an_element_is_described_with_all_its_fields(cls: type[XmlStruct]) -> None:
    section = _text("srmp.md").partition(f"\n### {cls.TAG}\n")[2].partition("\n### ")[0]
    assert str(cls.SPEC) in section
    assert cls.NAMESPACE in section
    for field in xml_fields(cls).values():
        assert f"{field.tag}`" in section


def test_every_reason_of_a_gap_is_in_the_schema() -> None:
    text = (_DOCS / "schema" / "record.schema.json").read_text(encoding="utf-8")
    assert [reason for reason in get_args(HoleReason) if f'"{reason}"' not in text] == []


@pytest.mark.parametrize("capture", _CAPTURES, ids=lambda path: path.name)
def test_the_rows_of_a_capture_fit_their_schemas(capture: Path) -> None:
    records = list(read_capture(capture))
    assert any(isinstance(record.packet, SrmpMessage) for record in records)
    for record in records:
        assert schema_of("record").faults(record_view(record)) == []
        row = message_view(record, acknowledgments=True)
        assert row is None or schema_of("message").faults(row) == []

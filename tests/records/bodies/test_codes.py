"""The codes of errors that stop the reading of a body."""

from __future__ import annotations

import re
from pathlib import Path

from msmq_wire.records.bodies.xml_text import xml_form

_ROOT = Path(__file__).resolve().parents[3]
_RAISED = re.compile(r'(?:DecodeError|\.error)\(\s*"([^"]+)"')


def _codes() -> set[str]:
    modules = (_ROOT / "msmq_wire" / "records" / "bodies").glob("*.py")
    return {code for module in modules for code in _RAISED.findall(module.read_text(encoding="utf-8"))}


def test_codes_are_words_with_hyphens_and_each_is_documented() -> None:
    page = (_ROOT / "docs" / "anomalies.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `([^`]+)` \|", page.partition("## Codes of errors")[2], re.MULTILINE))
    codes = _codes()
    assert {"too-deep", "document-type", "unknown-class"} <= codes
    assert all(re.fullmatch("[a-z]+(-[a-z]+)*", code) for code in codes)
    assert codes <= documented


def test_the_form_of_xml_that_is_refused_is_the_code() -> None:
    assert xml_form("<!DOCTYPE a><a/>") == ("document-type", "")
    assert xml_form("<a>" * 257)[0] == "too-deep"

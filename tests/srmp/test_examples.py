"""Every example of [MC-MQSRM] section 4: all values, and back to an equivalent message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from msmq_wire.srmp.building import build_srmp_request
from msmq_wire.srmp.envelope import build_envelope, parse_envelope
from msmq_wire.srmp.http.connection import parse_message
from msmq_wire.srmp.http.message import HttpMessage
from msmq_wire.srmp.mime import parse_multipart
from msmq_wire.srmp.xml.fields import IsoDate, XmlStruct

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "srmp"
EXPECTED = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}
REQUESTS = [name for name in EXPECTED if not name.endswith("_response")]
RESPONSES = [name for name in EXPECTED if name.endswith("_response")]


def shown(value: Any) -> Any:
    """A value as its fixture writes it: what is there, dates as text, bytes as hex."""
    if isinstance(value, IsoDate):
        assert value.seconds is not None
        return value.text
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, XmlStruct):
        pairs = msgspec.structs.asdict(value).items()
        there = {k: v for k, v in pairs if k != "order" and v is not None and v is not False}
        return {k: shown(v) for k, v in there.items() if v not in ((), "")}
    return value


def infoset(data: bytes) -> Any:
    """Names, attributes and texts by another XML library, white space around texts left out."""

    def node(element: ElementTree.Element) -> Any:
        text = (element.text or "").strip()
        return element.tag, sorted(element.attrib.items()), text, [node(child) for child in element]

    return node(ElementTree.fromstring(data))


def _message(name: str) -> HttpMessage:
    message, rest = parse_message((FOLDER / f"{name}.http").read_bytes())
    assert message is not None
    assert rest == b""
    assert message.complete
    return message


def _envelope(message: HttpMessage) -> tuple[bytes, list[tuple[str, bytes]]]:
    content_type = message.header("content-type") or ""
    if not content_type.startswith("multipart/"):
        return message.body, []
    parts = parse_multipart(content_type, message.body).parts
    return parts[0].data, [(part.content_id, part.data) for part in parts[1:]]


@pytest.mark.parametrize("name", REQUESTS)
def test_an_example_decodes_to_all_its_values(name: str) -> None:
    expected = EXPECTED[name]
    message = _message(name)
    assert (message.target, message.header("host")) == (expected["target"], expected["host"])
    data, parts = _envelope(message)
    parsed = parse_envelope(data)
    assert parsed.error is None
    assert parsed.value is not None
    assert parsed.value.header is not None
    assert shown(parsed.value.header) == expected["header"]
    assert parsed.kind == expected["kind"]
    assert [anomaly.code for anomaly in parsed.anomalies] == expected["anomalies"]
    part = expected["part"]
    assert parts == ([] if part is None else [(part["content_id"], bytes.fromhex(part["body"]))])


@pytest.mark.parametrize("name", REQUESTS)
def test_an_example_rebuilds_to_an_equivalent_envelope(name: str) -> None:
    data, _ = _envelope(_message(name))
    value = parse_envelope(data).value
    assert value is not None
    built = build_envelope(value)
    assert infoset(built) == infoset(data)
    assert parse_envelope(built).value == value


@pytest.mark.parametrize("name", [name for name in REQUESTS if name != "multicast"])
def test_an_example_rebuilds_to_an_equivalent_request(name: str) -> None:
    message = _message(name)
    data, parts = _envelope(message)
    value = parse_envelope(data).value
    assert value is not None
    target = EXPECTED[name]["target"]
    rebuilt, rest = parse_message(
        build_srmp_request(f"http://{EXPECTED[name]['host']}{target}", value, parts)
    )
    assert rebuilt is not None
    assert rest in (b"", b"\r\n")
    for header in ("host", "soapaction", "proxy-accept"):
        assert rebuilt.header(header) == message.header(header)
    again, same_parts = _envelope(rebuilt)
    assert same_parts == parts
    assert infoset(again) == infoset(data)


@pytest.mark.parametrize("name", RESPONSES)
def test_a_response_has_its_status_and_headers(name: str) -> None:
    message = _message(name)
    assert (message.status, message.reason) == (EXPECTED[name]["status"], EXPECTED[name]["reason"])
    for header, value in EXPECTED[name]["headers"].items():
        assert message.header(header) == value
    assert message.body == b""


@pytest.mark.parametrize("name", REQUESTS)
def test_an_envelope_in_utf_16_with_a_terminator_has_the_same_value(name: str) -> None:
    data, _ = _envelope(_message(name))
    wide = (data.decode("utf-8") + "\0").encode("utf-16-le")
    assert parse_envelope(wide).value == parse_envelope(data).value
    assert parse_envelope(wide).error is None

"""Wireshark's dissector shows what Python decodes: the same values, the same rules broken."""

from __future__ import annotations

import re
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.capture.pcap import Frame
from msmq_wire.engines.codec import InspectResult, inspect
from msmq_wire.records.view import view
from msmq_wire.wire import registry
from msmq_wire.wire.fields import WireStruct, fields
from msmq_wire.wire.headers.user_header import QUEUES
from msmq_wire.wire.musts import Must
from msmq_wire.wire.types.wchar_text import WcharText
from tests.dissectors.wireshark.tshark_view import (
    Node,
    Shown,
    named_frame,
    show,
    tcp_frames,
    udp_frame,
    write,
)
from tests.effort import in_batches, share
from tests.hex_files import hex_bytes

pytestmark = pytest.mark.tshark

_FIXTURES = Path(__file__).parents[3] / "fixtures" / "packets"
_HEX = sorted(_FIXTURES.rglob("*.hex"))
_WHOLE = ("type", "error", "skipped", "request_in", "response_in", "acknowledges", "acknowledged_in")


def _expressions() -> set[str]:
    """The codes of all rules that are expressions, with the stems they are reported under."""
    todo: list[Any] = [cls for cls in registry.STRUCTURES.values() if issubclass(cls, WireStruct)]
    seen: set[Any] = set()
    while todo:
        cls = todo.pop()
        if cls in seen:
            continue
        seen.add(cls)
        for field in fields(cls):
            kinds = getattr(field.value_type, "__args__", (field.value_type,))
            todo += [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, WireStruct)]
    return {f"{cls.stem()}.{must.code}" for cls in seen for must in cls.MUSTS if isinstance(must, Must)}


_EXPRESSIONS = _expressions()


_SIMPLE = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\0": "␀"}


OF_QUEUE_NAMES = {f"{name}_raw" for name in (*QUEUES, "format_name")}
"""Bytes of a queue name that JSON has to go back to bytes; the tree has their fields."""


def _is_text(shown: str, text: str) -> bool:
    """Whether ``shown`` is a text as tshark prints it: what cannot be printed escaped, a symbol for NUL."""
    ways = []
    for character in text:
        code, simple = ord(character), _SIMPLE.get(character)
        escapes = (character, simple, rf"\x{code:x}", rf"\x{code:02x}", rf"\u{code:04x}", rf"\U{code:08x}")
        plain = character.isascii() and character.isprintable()
        shapes = (character,) if plain else tuple(way for way in escapes if way)
        ways.append("(?:" + "|".join(map(re.escape, shapes)) + ")")
    return re.fullmatch("".join(ways), shown) is not None


def _differences(expected: Any, value: Any, node: Node, path: str) -> list[str]:
    """Where a tree shows something else than the JSON view; ``value`` is what the view was made of."""
    found: list[str] = []
    for key, wanted in expected.items():
        if key in OF_QUEUE_NAMES:
            continue
        if key == "raw" and isinstance(value, int):
            found += [] if node.value == wanted else [f"{path}: {node.value} is not {wanted}"]
            continue
        found += _difference(key, wanted, getattr(value, key, None), node, f"{path}.{key}")
    for key in node.children:
        known = key in expected or key.removesuffix("_raw") in expected or (not path and key in _WHOLE)
        if known:
            continue
        # The view has a name of a queue, the tree also what the name was made of.
        part = getattr(value, key.removesuffix("_raw"), None)
        if key.endswith("_raw") and isinstance(part, WcharText) and not part.exact:
            part = bytes(part)
        found += _difference(key, view(part), part, node, f"{path}.{key}")
    return found


def _difference(key: str, wanted: Any, value: Any, node: Node, path: str) -> list[str]:
    children = node.children.get(key, [])
    if wanted is None or wanted in ("", []):
        # What is not there, or has no bytes, is not shown.
        shown = [child.value for child in children if child.value not in (None, "")]
        return [f"{path}: {shown} is not {wanted!r}"] if shown else []
    if isinstance(wanted, list):
        if len(children) != len(wanted):
            return [f"{path}: {len(children)} elements, not {len(wanted)}"]
        found: list[str] = []
        for index, (child, one) in enumerate(zip(children, wanted, strict=True)):
            if isinstance(one, dict):
                found += _differences(one, value[index], child, f"{path}[{index}]")
            elif child.value != one:
                found.append(f"{path}[{index}]: {child.value!r} is not {one!r}")
        return found
    if not children:
        raw = node.text(f"{key}_raw")
        return [] if raw is not None and raw == wanted else [f"{path}: nothing, not {wanted!r}"]
    if isinstance(wanted, dict):
        return _differences(wanted, value, children[0], path)
    shown = children[0].value
    same = shown == wanted or (isinstance(shown, str) and isinstance(wanted, str) and _is_text(shown, wanted))
    same = same and len(children) == 1
    found = [] if same else [f"{path}: {[child.value for child in children]} is not {wanted!r}"]
    if isinstance(value, WireStruct):
        found += _differences({}, value, children[0], path)
    return found


# Packets without a BaseHeader, and the UDP port that says what they are.
_PORTS = {"ping": 3527, "topology_client_request": 1801, "topology_server_reply": 1801}


def _compare(result: InspectResult, shown: Shown) -> list[str]:
    assert len(shown.trees) == 1, [name for name, _, _ in shown.trees]
    name, node, experts = shown.trees[0]
    found: list[str] = []
    if result.error is not None:
        error = node.children.get("error", [Node()])[0]
        reported = (error.text("code"), error.text("path"), error.text("offset"))
        wanted_error = (result.error.code, result.error.path, result.error.offset)
        found += [] if reported == wanted_error else [f"error {reported} is not {wanted_error}"]
    elif "error" in node.children:
        found.append(f"an error: {node.children['error'][0]}")
    value, expected = result.packet, view(result.packet)
    root = node
    if name == "msmq" and result.type in _PORTS:
        root = node.children.get(result.type, [Node()])[0]
    if not isinstance(value, WireStruct):
        if value is not None:
            found += _difference("value", expected, None, root, "value")
    else:
        found += _differences(expected, value, root, "")
    wanted = Counter(anomaly.code for anomaly in result.anomalies if anomaly.code in _EXPRESSIONS)
    own = Counter(code for code in experts if "." in code)
    if own != wanted:
        too_many, missing = sorted((own - wanted).elements()), sorted((wanted - own).elements())
        found.append(f"rules: {too_many} too many, {missing} missing")
    return found


@pytest.fixture(scope="module")
def by_name(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Shown]:
    """Every fixture, handed to the dissector of its structure; tshark runs once."""
    frames = [named_frame(number, path.parent.name, hex_bytes(path)) for number, path in enumerate(_HEX, 1)]
    capture = write(tmp_path_factory.mktemp("parity") / "named.pcap", frames)
    return dict(zip(_HEX, show(capture), strict=True))


@pytest.mark.slow
@in_batches(_HEX, every=1)
def test_every_field_and_every_broken_rule_of_a_fixture_is_shown(
    path: Path, by_name: dict[Path, Shown]
) -> None:
    assert _compare(inspect(hex_bytes(path), path.parent.name), by_name[path]) == []


def test_every_structure_of_the_registry_is_compared() -> None:
    assert {path.parent.name for path in _HEX} == set(registry.STRUCTURES)


_RECOGNISED = [path for path in _HEX if path.parent.name in set(registry.PACKETS) - {"message_packet"}]


def _framed(data: bytes) -> bytes:
    """The bytes that a stream gives to the packet at their start."""
    if data[4:8] != b"LIOR" or len(data) < 12:
        return data
    size = struct.unpack_from("<I", data, 8)[0] + (16 if data[2] & 0x18 == 0x10 else 0)
    return data[: max(16, size)]


@pytest.fixture(scope="module")
def on_the_wire(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[Path, int], tuple[bytes, Shown]]:
    """Packets in TCP and UDP, whole and cut by the capture at a few places; tshark runs once."""
    frames: list[Frame] = []
    keys: list[tuple[Path, bytes]] = []
    for path in _RECOGNISED:
        data = hex_bytes(path)
        places = {len(data), len(data) - 1, len(data) // 2, 30, 19, 15, 9}
        for kept in sorted(place for place in places if 9 <= place <= len(data)):
            number = len(frames) + 1
            if path.parent.name in _PORTS:
                if kept == len(data):
                    frames.append(udp_frame(number, number, data, port=_PORTS[path.parent.name]))
                    keys.append((path, data))
            else:
                # A packet that ends before its PacketSize is one that the capture has cut.
                size = max(len(data) + 16, 600)
                frames += tcp_frames(number, [(0, data.ljust(size, b"\0"))], first=number, cut=kept)
                keys.append((path, _framed(data[:kept])))
    shown = show(write(tmp_path_factory.mktemp("parity") / "wire.pcap", frames))
    return {(path, len(data)): (data, one) for (path, data), one in zip(keys, shown, strict=True)}


@pytest.mark.slow
@pytest.mark.parametrize("path", share(_RECOGNISED, 4), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_packet_on_the_wire_is_recognised_and_shown_as_far_as_it_was_captured(
    path: Path, on_the_wire: dict[tuple[Path, int], tuple[bytes, Shown]]
) -> None:
    problems = []
    for (own, _), (data, shown) in on_the_wire.items():
        if own == path:
            first = Shown(shown.trees[:1])
            result = inspect(data, path.parent.name if path.parent.name in _PORTS else None)
            problems += _compare(result, first)
            kind = first.trees[0][1].text("type")
            problems += [] if kind == result.type else [f"{kind} is not {result.type}"]
    assert problems == []

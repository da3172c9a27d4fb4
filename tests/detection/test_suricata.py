"""Suricata itself over the fixtures: every rule fires on its hits, and nowhere where there is no finding."""

from __future__ import annotations

import contextlib
import functools
import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from fixtures.build_findings_calls_rpc import OUTSIDE, QM2QM, QMCOMM, Rpc
from fixtures.build_findings_wire_packets import parameters, patched, session
from fixtures.build_scene import Scene
from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.reader import read_capture
from msmq_wire.detection import RULES, judge
from msmq_wire.detection.suricata_rules import FIRST_SID, RenderedSignature, rendered, rule_file
from msmq_wire.engines.codec import encode
from msmq_wire.errors import CaptureError
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.rpc.interfaces import INTERFACES, qmcomm2
from msmq_wire.wire.headers.base_header import BaseHeader
from msmq_wire.wire.packets.establish_connection import EstablishConnection
from msmq_wire.wire.packets.session_ack import SessionAck
from tests.detection.suricata_run import alerts, frames_of
from tests.detection.suricata_trials import ALSO, UNSEEN, UNSEEN_BY_7, captures, expected

pytestmark = pytest.mark.suricata

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_FOLDERS = ("findings", "captures", "diagnose", "digest", "rpc_captures", "sessions")
_CAPTURES = {
    path.relative_to(_FIXTURES).with_suffix("").as_posix(): path
    for folder in _FOLDERS
    for path in sorted((_FIXTURES / folder).rglob("*.pcap*"))
}
_CLEAN = [name for name in _CAPTURES if name.startswith("captures/clean_")] + ["captures/demo"]
_SEEN = [rule for rule in RULES.values() if rule.suricata]

_ESTABLISH = encode(EstablishConnection())
_SESSION_ACK = encode(SessionAck(base_header=BaseHeader(flags=0x1B, packet_size=36)))


def _beyond(interface: str) -> Scene:
    return _called(Rpc(interface), 200)


def _called(rpc: Rpc, opnum: int) -> Scene:
    rpc.call(opnum, bytes(24), bytes(24))
    return rpc.close()


def _uuid(name: str) -> str:
    return next(str(one.uuid) for one in INTERFACES.values() if one.name == name)


def _small(packet: bytes) -> bytes:
    return patched(packet, 8, "<I", 18)


def _sends(packet: bytes) -> Scene:
    scene = Scene()
    connection = scene.connect()
    connection.send(0, packet)
    connection.close()
    return scene


# Of what no fixture has.
_MADE: Mapping[int, Callable[[], Scene]] = {
    111: lambda: _sends(_small(_ESTABLISH)),
    112: lambda: session(last=_small(parameters())),
    113: lambda: session(_small(_SESSION_ACK)),
    421: lambda: session(last=patched(parameters(), 20, "<I", 120_001)),
    423: lambda: session(last=patched(parameters(), 24, "<I", 120_001)),
    611: lambda: _called(Rpc(str(qmcomm2.INTERFACE.uuid), client=OUTSIDE), 0),
    612: lambda: _called(Rpc(QM2QM, client=OUTSIDE), 0),
    **{
        number: functools.partial(_beyond, _uuid(name))
        for number, name in (
            (621, "qmcomm"),
            (622, "qmcomm2"),
            (623, "qm2qm"),
            (625, "dscomm"),
            (626, "dscomm2"),
        )
    },
    631: lambda: _called(Rpc(QMCOMM), 27),
    906: lambda: _called(Rpc(_uuid("dscomm")), 0),
    907: lambda: _called(Rpc(_uuid("dscomm2")), 0),
}


def _made(scene: Scene) -> list[Frame]:
    return [
        Frame(number, frame.time, scene.link_type, frame.data, frame.length, 0)
        for number, frame in enumerate(scene.frames, 1)
    ]


@functools.cache
def _fired() -> Mapping[int, set[str]]:
    """The captures in which each signature spoke, all rules and all captures in one run."""
    given = {name: frames_of(path) for name, path in _CAPTURES.items()}
    given |= {f"made/{number}": _made(build()) for number, build in _MADE.items()}
    with tempfile.TemporaryDirectory() as folder:
        found = alerts(given, rule_file(sightings=True), Path(folder))
    return {sid - FIRST_SID: names for sid, names in found.items()}


@functools.cache
def _judged() -> Mapping[str, set[str]]:
    """The captures in which each rule finds something."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, path in _CAPTURES.items():
        for one in judge(read_capture(path, streams=True)):
            found[one.id].add(name)
    return found


def _spoke(rule: str) -> set[str]:
    return {name for one in RULES[rule].suricata for name in _fired().get(one.number, ())}


@functools.cache
def _version() -> int:
    reported = subprocess.run(["suricata", "-V"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"version (\d+)\.", reported)
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize("rule", [rule.id for rule in _SEEN])
def test_a_rule_speaks_on_its_hits_and_is_silent_on_its_misses(rule: str) -> None:
    own = {f"findings/{name}" for kind in ("hit", "miss") for name in captures(rule, kind)}
    wanted = {f"findings/{name}" for name in expected(rule) if _version() > 7 or name not in UNSEEN_BY_7}
    assert _spoke(rule) & own == wanted


@pytest.mark.parametrize("rule", [rule.id for rule in _SEEN])
def test_a_rule_speaks_only_where_there_is_its_finding(rule: str) -> None:
    others = {name for name in _spoke(rule) if not name.startswith("made/")} - _judged()[rule]
    assert others == {f"findings/{name}" for name in ALSO if name.startswith(f"{rule}/")}


def test_no_rule_speaks_on_a_clean_capture() -> None:
    assert len(_CLEAN) > 10
    found = {name: rule.id for rule in _SEEN for name in _spoke(rule.id) if name in _CLEAN}
    assert found == {}


def test_every_signature_speaks_somewhere() -> None:
    builder = [one.signature.number for one in rendered() if not one.signature.silent]
    assert [number for number in builder if not _fired().get(number)] == []


@pytest.mark.parametrize("number", _MADE)
def test_a_signature_speaks_on_what_was_made_for_it(number: int) -> None:
    assert f"made/{number}" in _fired()[number]


def test_signatures_that_only_set_bits_say_nothing() -> None:
    silent = [one.signature.number for one in rendered() if one.signature.silent]
    assert silent
    assert [number for number in silent if _fired().get(number)] == []


def _calls_by_interface() -> Iterator[tuple[str, str]]:
    for name, path in _CAPTURES.items():
        with contextlib.suppress(CaptureError):
            for record in read_capture(path):
                if isinstance(record.packet, RpcCall) and record.packet.interface:
                    yield record.packet.interface, name


def test_an_interface_is_sighted_only_where_it_is_called() -> None:
    called: dict[str, set[str]] = defaultdict(set)
    for interface, name in _calls_by_interface():
        called[interface].add(name)
    sightings: dict[str, RenderedSignature] = {
        one.says.removeprefix("a call of "): one for one in rendered() if one.says.startswith("a call of ")
    }
    assert set(sightings) == {one.name for one in INTERFACES.values()}
    for interface, one in sightings.items():
        seen = {name for name in _fired()[one.signature.number] if not name.startswith("made/")}
        assert seen <= called[interface]


def test_what_is_expected_otherwise_is_a_capture_and_has_a_reason() -> None:
    for name, why in (UNSEEN | UNSEEN_BY_7 | ALSO).items():
        assert (_FIXTURES / "findings" / f"{name}.pcap").exists()
        assert why
        assert RULES[name.partition("/")[0]].suricata

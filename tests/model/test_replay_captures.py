"""What a replay says of every capture of the fixtures."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from fixtures.build_replay_scenes import SCENES
from msmq_wire.capture.reader import read_capture
from msmq_wire.model.replay import replay
from msmq_wire.rpc.unseal.negotiation import negotiator
from msmq_wire.rpc.unseal.secrets import Secrets

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_CAPTURES = sorted(
    path.relative_to(_FIXTURES).as_posix()
    for path in _FIXTURES.rglob("*")
    if path.name.endswith((".pcap", ".pcapng", ".pcap.gz")) and not path.parent.name.startswith("RPL-")
)
_CUT = "the reader has room for the whole body, and the server cuts it: the scene is about the sections alone"
_TOLD: dict[str, tuple[dict[str, int], str]] = {
    "diagnose/q09_remote_read.pcap": (
        {"time": 1},
        "a wait of 30 s that is answered at once stands for a wait",
    ),
    "findings/RPC-SEC-SIZE/hit_alloc.pcap": ({"size": 1}, _CUT),
    "findings/RPC-SEC-SIZE/miss_no_padding.pcap": ({"size": 1}, _CUT),
    "findings/RPC-SEC-SIZE/miss_padding.pcap": ({"size": 1}, _CUT),
    "rpc_captures/rpc_qmcomm_qm2qm.pcap": (
        {"action": 1},
        "the recorded server answers a lookup whose action is none",
    ),
    "rpc_captures/rpc_sections.pcap": (
        {"time": 2, "size": 2},
        "the recorded server does not wait, and answers once with no section at all",
    ),
}
"""Captures with deviations, by kind, and why they have them."""
_SEALED = sorted((_FIXTURES / "rpc_captures").glob("rpc_*.pcap*"))


@cache
def _kinds(name: str) -> Counter[str]:
    return Counter(str(one.kind) for one in replay(read_capture(_FIXTURES / name, streams=True)))


@pytest.mark.parametrize("name", _CAPTURES)
def test_a_capture_of_the_fixtures_deviates_only_where_it_is_known_why(name: str) -> None:
    assert _kinds(name) == _TOLD.get(name, ({}, ""))[0]


@pytest.mark.parametrize("path", _SEALED, ids=lambda path: path.name)
def test_a_recorded_conversation_says_the_same_when_it_is_opened(path: Path) -> None:
    password = "Passw0rd!"
    keytab = (_FIXTURES / "rpc_captures" / "rpc_kerberos.keytab").read_bytes()
    opener = negotiator(Secrets.of(passwords=[password], keytabs=[keytab]))
    found = Counter(str(one.kind) for one in replay(read_capture(path, streams=True, negotiator=opener)))
    assert found == _TOLD.get(f"rpc_captures/{path.name}", ({}, ""))[0]


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_gives_its_kind_once_or_nothing(name: str) -> None:
    rule, _, case = name.partition("/")
    kind = rule.removeprefix("RPL-").lower()
    assert _kinds(f"findings/{name}.pcap") == ({kind: 1} if case.startswith("hit_") else {})

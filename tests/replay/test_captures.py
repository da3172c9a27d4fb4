"""What a replay says of every capture of the fixtures."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from fixtures.build_replay_scenes import SCENES
from fixtures.build_replay_sessions import SCENES as SESSION_SCENES
from msmq_wire.capture.reader import read_capture
from msmq_wire.detection import judge
from msmq_wire.detection.conduct import CONDUCT, conduct_deviation
from msmq_wire.replay import replay
from msmq_wire.rpc.unseal.negotiation import negotiator
from msmq_wire.rpc.unseal.secrets import Secrets
from tests.effort import in_batches

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_CAPTURES = sorted(
    path.relative_to(_FIXTURES).as_posix()
    for path in _FIXTURES.rglob("*")
    if path.name.endswith((".pcap", ".pcapng", ".pcap.gz")) and not path.parent.name.startswith("RPL-")
)
_CUT = "the reader has room for the whole body, and the server cuts it: the scene is about the sections alone"
_OTHER_REQUEST = "the request is one that was published, the answer was made for another one"
_TIME_OUTS = "each side has time-outs of its own: the scene is about the limits"
_EMPTY = "a SessionAck of nothing: the scene is about what else it has, or when it comes"
_TOLD: dict[str, tuple[dict[str, int], str]] = {
    "captures/published.pcap": (
        {"echo": 1, "goeson": 1},
        "the printed answer has other GUIDs than the printed request, and than the text beside it",
    ),
    "findings/FPR-NUCLEI/miss_session.pcap": ({"echo": 2, "goeson": 1}, _OTHER_REQUEST),
    "findings/FPR-SAMPLE/hit_request.pcap": ({"echo": 2, "goeson": 1}, _OTHER_REQUEST),
    "findings/FPR-ZGRAB/hit_request.pcap": ({"echo": 3}, _OTHER_REQUEST),
    "findings/FPR-ZGRAB/miss_direct.pcap": ({"echo": 1}, _OTHER_REQUEST),
    "findings/SES-COUNT/hit_recoverable.pcap": ({"ackagain": 1}, _EMPTY),
    "findings/SES-ORDER/hit_ack_first.pcap": ({"ackagain": 1}, _EMPTY),
    "findings/SES-OS/hit_swapped.pcap": ({"echo": 1}, "SE is among the bits that are swapped"),
    "findings/SES-PARM/hit_ack_timeout.pcap": ({"echo": 1}, _TIME_OUTS),
    "findings/SES-PARM/hit_recoverable_ack_timeout.pcap": ({"echo": 1}, _TIME_OUTS),
    "findings/SES-PARM/miss_limits.pcap": ({"echo": 2}, _TIME_OUTS),
    "captures/structures.pcapng": ({"content": 31}, "one packet of every kind, most with one identifier"),
    "findings/SES-RESEND/miss_other_bytes.pcap": ({"content": 1}, "two messages with one identifier"),
    "findings/CNT-LOOPBACK/hit_plain.pcap": ({"action": 1}, "a name without a protocol is no format name"),
    "diagnose/q09_remote_read.pcap": (
        {"time": 1},
        "a wait of 30 s that is answered at once stands for a wait",
    ),
    "findings/RPC-FAILED/miss_read.pcap": ({"time": 1}, "the same"),
    "findings/RPC-SEC-SIZE/hit_alloc.pcap": ({"size": 1}, _CUT),
    "findings/RPC-SEC-SIZE/miss_no_padding.pcap": ({"size": 1}, _CUT),
    "findings/RPC-SEC-SIZE/miss_padding.pcap": ({"size": 1}, _CUT),
    "rpc_captures/rpc_qmcomm_qm2qm.pcap": (
        {"action": 4, "status": 5, "size": 2},
        "the recorded server grants what it is asked, whatever it is, with values that it was given before",
    ),
    "rpc_captures/rpc_sections.pcap": (
        {"time": 2, "size": 2},
        "the recorded server does not wait, and answers once with no section at all",
    ),
}
"""Captures with deviations, by kind, and why they have them."""
_CONDUCT: dict[str, tuple[dict[str, int], str]] = {
    "captures/published.pcap": (
        {"ses-guid": 1},
        "the printed answer has other GUIDs than the printed request, and than the text beside it",
    ),
    "captures/routed_addresses.pcap": (
        {"ses-naked": 4, "ses-order": 8},
        "four connections with what is not needed for the addresses left out",
    ),
    "captures/structures.pcapng": (
        {"ses-naked": 1, "ses-order": 4, "ses-ackback": 1, "ses-count": 2, "ses-recack": 1, "txn-ack": 1},
        "one packet of every kind, in no order",
    ),
    "diagnose/q13_probe_and_peer.pcap": ({"ses-naked": 1}, "a probe sends a message without a session"),
    "digest/attack_in_traffic.pcap": ({"ses-naked": 1}, "the attacker sends a message without a session"),
    "digest/fault_and_attack.pcap": ({"ses-naked": 1}, "the attacker sends a message without a session"),
    "sessions/naked_message.pcap": ({"ses-naked": 1}, "what it is about"),
    "sessions/second_establish.pcap": ({"ses-order": 1}, "what it is about"),
    "sessions/wrong_count.pcap": ({"ses-count": 1}, "what it is about"),
}
"""Captures with sessions that disobey, by kind, and why. Those of carriers, ``path_``, open no sessions."""
_SESSIONS = [
    name for name in _CAPTURES if not name.startswith(("findings/", "captures/path_", "packets/", "rpc"))
]
_SEALED = sorted((_FIXTURES / "rpc_captures").glob("rpc_*.pcap*"))


@cache
def _kinds(name: str) -> Counter[str]:
    return Counter(str(one.kind) for one in replay(read_capture(_FIXTURES / name, streams=True)))


@in_batches(_CAPTURES, name="name", every=1)
def test_a_capture_of_the_fixtures_deviates_only_where_it_is_known_why(name: str) -> None:
    assert _kinds(name) == _TOLD.get(name, ({}, ""))[0]


@pytest.mark.parametrize("path", _SEALED, ids=lambda path: path.name)
def test_a_recorded_conversation_says_the_same_when_it_is_opened(path: Path) -> None:
    password = "Passw0rd!"
    keytab = (_FIXTURES / "rpc_captures" / "rpc_kerberos.keytab").read_bytes()
    opener = negotiator(Secrets.of(passwords=[password], keytabs=[keytab]))
    found = Counter(str(one.kind) for one in replay(read_capture(path, streams=True, negotiator=opener)))
    assert found == _TOLD.get(f"rpc_captures/{path.name}", ({}, ""))[0]


@in_batches(_SESSIONS, name="name", every=1)
def test_a_session_of_the_fixtures_disobeys_only_where_it_is_known_why(name: str) -> None:
    found = judge(read_capture(_FIXTURES / name, streams=True), CONDUCT)
    kinds = Counter(one.kind for one in map(conduct_deviation, found) if one is not None)
    assert kinds == _CONDUCT.get(name, ({}, ""))[0]


@pytest.mark.parametrize("name", SESSION_SCENES)
def test_a_session_that_breaks_one_rule_gives_its_kind_once_and_one_that_obeys_nothing(name: str) -> None:
    rule, _, case = name.partition("/")
    kind = rule.removeprefix("RPL-").lower()
    # What is answered for another client does not repeat its identifier, too.
    more = {"echo": 1} if name == "RPL-GOESON/hit_another" else {}
    assert _kinds(f"findings/{name}.pcap") == ({kind: 1, **more} if case.startswith("hit_") else {})


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_gives_its_kind_once_or_nothing(name: str) -> None:
    rule, _, case = name.partition("/")
    kind = rule.removeprefix("RPL-").lower()
    assert _kinds(f"findings/{name}.pcap") == ({kind: 1} if case.startswith("hit_") else {})

"""Which groups of findings have one cause: the edges, one by one."""

from __future__ import annotations

import random

import msgspec
import pytest

from msmq_wire.detection import SEVERITIES, Finding
from msmq_wire.detection.causes import EDGES, causes, layer_of, layer_shown
from msmq_wire.detection.folding import FindingGroup, Fold
from tests.detection.test_folding import finding

_SERVER = "192.0.2.9:1801"


def reported(*findings: Finding) -> list[tuple[str, list[str]]]:
    """The rule of each cause, with those that it explains."""
    return [(one.lead.id, [part.lead.id for part in one.explained]) for one in caused(findings)]


def caused(findings: tuple[Finding, ...] | list[Finding]) -> list[FindingGroup]:
    fold = Fold()
    for one in findings:
        fold.add(one)
    return causes(fold.groups())


def test_all_that_comes_on_connections_of_an_attacker_is_the_attack() -> None:
    probe, answer, other = "192.0.2.1:1025", "192.0.2.9:1801", "192.0.2.1:1026"
    attack = finding("LEN-ENV", "high", src=probe, dst=_SERVER)
    beside = finding("FRM-SIG", "medium", src=other, dst=_SERVER, frame=2)
    reply = finding("SES-ORDER", "medium", src=answer, dst=probe, frame=3)
    assert reported(attack, beside, reply) == [("LEN-ENV", ["SES-ORDER"]), ("FRM-SIG", [])]


def test_what_an_attacker_sends_comes_from_a_host_and_what_a_peer_does_from_its_queue_manager() -> None:
    attack = finding("LEN-ENV", "high", src="192.0.2.1:1025", dst=_SERVER)
    peer = finding("SES-ORDER", "medium", src="192.0.2.2:1025", dst=_SERVER, frame=2)
    found = caused([attack, peer])
    assert {one.lead.id: layer_of(one) for one in found} == {"LEN-ENV": "host", "SES-ORDER": "queue manager"}
    # Only a cause of a diagnosis says its layer in a list of findings.
    assert [layer_shown(one) for one in found] == ["", ""]
    told = msgspec.structs.replace(peer, answered=("SES-ORDER",), layer="network")
    assert [layer_shown(one) for one in caused([told])] == ["network"]


def test_a_server_that_breaks_its_own_rules_is_no_attacker() -> None:
    reply = finding("RPL-CONTENT", "high", src=_SERVER, dst="192.0.2.1:1025")
    other = finding("FRM-SIG", "medium", dst=_SERVER, frame=2)
    assert reported(reply, other) == [("RPL-CONTENT", []), ("FRM-SIG", [])]


@pytest.mark.parametrize(
    ("lead", "effect", "together"),
    [
        # In its frames.
        (("FRM-PAD-LEN", 3, "a.pcap"), ("SES-OS", 3, "a.pcap"), True),
        (("FRM-PAD-LEN", 3, "a.pcap"), ("SES-OS", 4, "a.pcap"), False),
        (("FRM-PAD-LEN", 3, "a.pcap"), ("SES-OS", 3, "b.pcap"), False),
        # How a host is set up is no effect of what went wrong.
        (("FRM-PAD-LEN", 3, "a.pcap"), ("RPC-LEVEL", 3, "a.pcap"), False),
        # The answer that opens a session, and what follows from it.
        (("SES-GUID", 3, "a.pcap"), ("RPL-GOESON", 9, "a.pcap"), True),
        # A queue manager at two addresses, and what its messages look like.
        (("ID-CLONE", 3, "a.pcap"), ("RPL-CONTENT", 9, "a.pcap"), True),
        (("ID-CLONE", 3, "a.pcap"), ("RPL-ECHO", 9, "a.pcap"), False),
    ],
)
def test_what_tells_the_cause_takes_the_other_in(
    lead: tuple[str, int, str], effect: tuple[str, int, str], together: bool
) -> None:
    (id_, frame, capture), (other, behind, where) = lead, effect
    findings = (
        finding(id_, "medium", frame=frame, capture=capture),
        finding(other, "low", frame=behind, capture=where),
    )
    expected = [(lead[0], [effect[0]])] if together else [(lead[0], []), (effect[0], [])]
    assert sorted(reported(*findings)) == sorted(expected)


def test_what_an_answer_says_of_hosts_takes_in_what_its_rules_saw_of_them() -> None:
    answer = msgspec.structs.replace(finding("A", severity="medium"), answered=("A", "C"))
    seen = finding("A", "low"), answer, finding("C", "low")
    (group,) = caused(seen)
    assert (group.severity, group.count, group.occurrences, group.lead) == ("medium", 2, 3, answer)
    # Not what is graver than it.
    mild = msgspec.structs.replace(answer, severity="low")
    assert sorted(one.lead.id for one in caused([mild, finding("C", "medium", frame=9)])) == ["A", "C"]
    assert len(caused([answer, finding("B", "low")])) == 2


def test_a_note_stands_alone() -> None:
    assert len(reported(finding("FRM-PAD-LEN", "medium"), finding("CNT-CLEAR", "info"))) == 2


def test_the_graver_one_is_the_cause() -> None:
    assert reported(finding("SES-OS", "low"), finding("FRM-PAD-LEN", "medium")) == [
        ("FRM-PAD-LEN", ["SES-OS"])
    ]


@pytest.mark.parametrize("seed", range(8))
def test_every_finding_is_in_one_cause(seed: int) -> None:
    random_ = random.Random(seed)
    rules = ("LEN-ENV", "SES-NAKED", "RPL-ECHO", "SES-GUID", "ID-CLONE", "FPR-SAMPLE", "A")
    some = [
        finding(
            random_.choice(rules),
            random_.choice(SEVERITIES),
            src=f"192.0.2.{random_.randrange(4)}:1025",
            dst=_SERVER,
            frame=random_.randrange(6),
        )
        for _ in range(200)
    ]
    assert sum(one.occurrences for one in caused(some)) == len(some)


def test_each_edge_holds_for_some_and_not_for_all() -> None:
    clone, content = (
        caused([finding(id_, "medium", frame=at)])[0] for at, id_ in enumerate(("ID-CLONE", "RPL-CONTENT"))
    )
    assert [edge(clone, content) for edge in EDGES] == [False, False, False, True]

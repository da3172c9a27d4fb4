"""The JSON view of findings."""

from __future__ import annotations

from msmq_wire.detection import Evidence, Finding
from msmq_wire.detection.finding_view import finding_view
from tests.schemas import schema_of

_FINDING = Finding(
    id="FRM-SIG",
    title="A title",
    severity="medium",
    confidence="likely",
    message="something was seen",
    evidence=(
        Evidence(
            capture="a.pcap",
            record=3,
            frames=(4, 5),
            time=1_700_000_000_000_000_007,
            src="192.0.2.1:1025",
            dst="[2001:db8::1]:1801",
            path="base_header.signature",
            offset=4,
            length=4,
            data=b"LIOR",
        ),
    ),
    caveats=("a gap before it",),
    cves=("CVE-2023-21554",),
    spec="[MS-MQMQ] 2.2.19.1, [MS-MQQB] 3.1.5.1.2",
)


def test_a_finding_shows_all_it_has() -> None:
    assert finding_view(_FINDING) == {
        "id": "FRM-SIG",
        "title": "A title",
        "severity": "medium",
        "confidence": "likely",
        "layer": "queue manager",
        "message": "something was seen",
        "evidence": [
            {
                "capture": "a.pcap",
                "record": 3,
                "frames": [4, 5],
                "time": "2023-11-14T22:13:20.000000007Z",
                "src": "192.0.2.1:1025",
                "dst": "[2001:db8::1]:1801",
                "path": "base_header.signature",
                "offset": 4,
                "length": 4,
                "data": "TElPUg==",
                "src_ip": "192.0.2.1",
                "src_port": 1025,
                "dst_ip": "2001:db8::1",
                "dst_port": 1801,
                "community_id": None,
            }
        ],
        "caveats": ["a gap before it"],
        "cves": ["CVE-2023-21554"],
        "spec": ["[MS-MQMQ] 2.2.19.1", "[MS-MQQB] 3.1.5.1.2"],
        "event": None,
        "group": "FRM-SIG 192.0.2.1",
        "explained_by": None,
    }


def test_a_finding_fits_its_schema() -> None:
    assert schema_of("finding").faults(finding_view(_FINDING)) == []
    bare = Finding(
        id="ID-MANY", title="", severity="info", confidence="guess", message="", evidence=(Evidence(),)
    )
    assert schema_of("finding").faults(finding_view(bare)) == []


def test_what_a_finding_cannot_be_does_not_fit_its_schema() -> None:
    row = finding_view(_FINDING)
    for key, value in (("severity", "fatal"), ("evidence", []), ("spec", ["somewhere"]), ("cves", ["2023"])):
        assert not schema_of("finding").fits({**row, key: value})
    assert not schema_of("finding").fits({**row, "more": 1})

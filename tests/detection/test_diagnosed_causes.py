"""What the answers of a diagnosis call wrong is given as findings, each cause once."""

from __future__ import annotations

from pathlib import Path

from msmq_wire.capture.reader import read_capture
from msmq_wire.detection import RULES, Judge

_FIXTURES = Path(__file__).parents[2] / "fixtures"


def test_two_causes_of_one_rule_about_the_same_hosts_are_two_findings() -> None:
    judge = Judge({"MSG-UNACKED": RULES["MSG-UNACKED"]})
    path = _FIXTURES / "captures" / "path_srmp_chunked_response.pcap"
    for record in read_capture(path, streams=True):
        judge.feed(record)
    answered = [one.message.rpartition(" answered ")[2] for one in judge.finish()]
    assert answered == ["HTTP 400", "HTTP 503"]

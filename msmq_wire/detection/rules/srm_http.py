"""SRM-HTTP: the HTTP around a message can be read in more than one way."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.packet_fields import bytes_of
from msmq_wire.detection.rule import Context, Detection, Rule, broken
from msmq_wire.detection.suricata_signature import POSTS, SuricataSignature, posted
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef


def _check(record: Record, context: Context) -> Iterator[Detection]:
    found = list(broken(record, RULE.codes))
    if not found:
        # An error has one of these codes.
        return
    said = dict.fromkeys(anomaly.message for anomaly, _ in found)
    places = tuple(place for _, place in found)
    yield Detection(message="; ".join(said), evidence=places, needs=bytes_of(record))


RULE = Rule(
    id="SRM-HTTP",
    title="A message over HTTP breaks the rules of HTTP",
    severity="low",
    confidence="likely",
    spec=(SpecRef("MC-MQSRM", "2.1"),),
    meaning="The header of the request, or a field that says where the body ends, breaks the rules of HTTP. "
    "A proxy and the receiver may read two different messages from the same bytes.",
    action="Compare what a proxy logged with what the application got; find out what the sender is.",
    harmless="Old or home-made HTTP libraries.",
    needs=("record",),
    types=("srmp_message", "srmp_receipt"),
    codes=(
        "http.both-lengths",
        "http.transfer-encoding",
        "http.content-length",
        "http.chunk",
        "http.grammar",
        "http.header-line",
        "http.header-count",
        "http.header-size",
        "http.content-encoding",
    ),
    check=_check,
    suricata=(
        SuricataSignature(
            number=705,
            on=POSTS,
            match=(
                *posted(),
                'http.header_names; content:"|0d 0a|Content-Length|0d 0a|"; nocase; '
                'content:"|0d 0a|Transfer-Encoding|0d 0a|"; nocase',
            ),
            says="a message over HTTP with two lengths",
        ),
    ),
)

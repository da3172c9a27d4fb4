"""Hops that only report messages tell, beside those that were observed."""

from __future__ import annotations

import msgspec
import pytest

from msmq_wire.records.record import Record
from msmq_wire.routing import ObservedHop, QueueManager, Site, topology_of
from msmq_wire.routing.auditor import Auditor, audit
from msmq_wire.routing.topology import Topology
from msmq_wire.wire.types.guid import GUID
from tests.sessions.reports import (
    MONITOR,
    PATH,
    RECEIVED_BODY,
    ROUTER,
    SOURCE,
    TARGET,
    captured,
    report,
    reports,
    sent,
    traced,
)

_SITE = GUID.parse("00000001-0000-0000-0000-00000000000a")


def _topology(*, addresses: bool = True) -> Topology:
    """One site: the source sends through the router, and the target gets through it."""
    managers = (
        QueueManager(
            identifier=SOURCE, computer_name="A", site_identifier_list=(_SITE,),
            out_routing_server_identifier_list=(ROUTER,),
            addresses=("192.0.2.21",) if addresses else (),
        ),
        QueueManager(
            identifier=ROUTER, computer_name="R", site_identifier_list=(_SITE,), routing_server=True,
            addresses=("192.0.2.11",) if addresses else (),
        ),
        QueueManager(
            identifier=TARGET, computer_name="C", site_identifier_list=(_SITE,),
            addresses=("192.0.2.10",) if addresses else (),
        ),
        QueueManager(identifier=MONITOR, computer_name="M", site_identifier_list=(_SITE,)),
    )  # fmt: skip
    return topology_of(managers, (Site(identifier=_SITE, name="S"),), ())


def _hops(records: list[Record], *, addresses: bool = True) -> tuple[list[ObservedHop], list[ObservedHop]]:
    """The hops of the traced message: those that were observed, and those that were told."""
    found = [one for one in audit(records, _topology(addresses=addresses)) if one.sighting.message_id == 4162]
    return [one for one in found if one.told_by is None], [one for one in found if one.told_by is not None]


def _ends(hops: list[ObservedHop]) -> list[tuple[GUID | None, GUID | None, int]]:
    return [(one.source, one.target, one.sighting.hops) for one in hops]


def test_reports_tell_the_hops_that_no_capture_shows() -> None:
    observed, told = _hops(captured(*reports(0, 1, 2, 3)))
    assert _ends(observed) == [(SOURCE, ROUTER, 0)]
    assert _ends(told) == [(ROUTER, TARGET, 1)]
    (hop,) = told
    assert (hop.told_by, hop.verdict) == (ROUTER, "on_path")
    sighting = hop.sighting
    assert (sighting.src, sighting.dst) == ("192.0.2.11", "192.0.2.10")
    assert (sighting.time, sighting.frames, sighting.record) == (1_795_166_049_000_000_000, (4,), 4)
    assert (sighting.source_queue_manager, sighting.queue_manager_address) == (SOURCE, TARGET)


def test_a_hop_that_was_observed_is_not_told_once_more() -> None:
    second = traced()
    flags = second.user_header.flags | 1
    second = msgspec.structs.replace(
        second, user_header=msgspec.structs.replace(second.user_header, flags=flags)
    )
    records = [
        sent(traced(), 1, dst="192.0.2.11"),
        sent(second, 2, src="192.0.2.11", dst="192.0.2.10"),
        *(sent(packet, 3 + place) for place, packet in enumerate(reports(0, 1, 2, 3))),
    ]
    observed, told = _hops(records)
    assert _ends(observed) == [(SOURCE, ROUTER, 0), (ROUTER, TARGET, 1)]
    assert told == []


def test_the_whole_path_is_told_of_a_message_that_was_not_captured() -> None:
    observed, told = _hops(captured(*reports(3, 2, 1, 0), message=False))
    assert observed == []
    assert _ends(told) == [(SOURCE, ROUTER, 0), (ROUTER, TARGET, 1)]
    assert [one.verdict for one in told] == ["on_path", "on_path"]


def test_a_receiver_whose_address_nothing_shows_is_the_one_that_reports_next() -> None:
    # The reports come over another host, which counts: no address is known.
    packets = []
    for packet in reports(0, 1, 2, 3):
        user = msgspec.structs.replace(packet.user_header, flags=packet.user_header.flags | 1)
        packets.append(msgspec.structs.replace(packet, user_header=user))
    records = [sent(packet, 1 + place, src="192.0.2.99") for place, packet in enumerate(packets)]
    _, told = _hops(records, addresses=False)
    assert _ends(told) == [(SOURCE, ROUTER, 0), (ROUTER, TARGET, 1)]
    assert [one.sighting.src for one in told] == ["", ""]


def test_a_report_tells_the_address_of_its_queue_manager() -> None:
    _, told = _hops(captured(*reports(0, 1), message=False), addresses=False)
    assert _ends(told) == [(SOURCE, ROUTER, 0)]


def test_who_received_a_message_is_told_where_the_report_of_its_sender_is_lost() -> None:
    _, told = _hops(captured(*reports(3), message=False))
    assert _ends(told) == [(None, TARGET, 1)]
    assert told[0].reason == "its sender is not known"


def test_a_told_hop_is_judged_as_observed_ones_are() -> None:
    _, told = _hops(captured(report(SOURCE, PATH[0][1], PATH[0][2].replace("192.0.2.11", "192.0.2.10"))))
    assert _ends(told) == [(SOURCE, TARGET, 0)]
    assert told[0].verdict == "off_path"


def test_a_report_that_fits_two_messages_is_not_judged() -> None:
    label = f"A1D3:00001042:01 received by {str(ROUTER).upper()} at 09:14:08 AM Fri,Nov 20 26"
    twin = GUID.parse("a1d3ffff-247e-4f45-9a31-c5d20e6f7788")
    records = [
        sent(traced(), 1, dst="192.0.2.11"),
        sent(traced(source=twin), 2, src="192.0.2.22", dst="192.0.2.11"),
        sent(report(ROUTER, label, PATH[2][2]), 3),
    ]
    _, told = _hops(records)
    assert [one.sighting.source_queue_manager for one in told] == [SOURCE, twin]
    assert {one.reason for one in told} == {"the report may be about another message"}


@pytest.mark.parametrize(
    ("queue", "reason"),
    [
        (f"PUBLIC={_SITE}", "a report does not say which queue manager has a public queue"),
        ("DIRECT=OS:msg01\\private$\\orders", "a direct format name is not routed"),
        ("orders", "a report names a queue that is none"),
    ],
)
def test_a_told_hop_to_a_queue_of_an_unknown_queue_manager_is_not_judged(queue: str, reason: str) -> None:
    body = PATH[0][2].replace("PRIVATE=c277e190-3d6a-4c4b-8d05-f21b9ac83e44\\0000000f", queue)
    _, told = _hops(captured(report(SOURCE, PATH[0][1], body), message=False))
    assert [one.reason for one in told] == [reason]


def test_an_end_without_a_port_has_an_address_of_ipv6_in_brackets() -> None:
    body = PATH[0][2].replace("192.0.2.11", "2001:db8::11")
    record = sent(report(SOURCE, PATH[0][1], body), 1, src="[2001:db8::21]")
    _, (hop,) = _hops([record])
    assert (hop.sighting.src, hop.sighting.dst) == ("[2001:db8::21]", "[2001:db8::11]")


def test_a_report_that_comes_twice_tells_a_hop_once() -> None:
    _, told = _hops([*captured(*reports(2), message=False), sent(reports(2)[0], 5, src="192.0.2.77")])
    assert _ends(told) == [(ROUTER, TARGET, 1)]


def test_what_was_told_does_not_change_how_observed_hops_are_judged() -> None:
    body = RECEIVED_BODY.replace("00001042", "00001043")
    forged = report(ROUTER, PATH[1][1].replace("1042", "1043"), body)
    records = [sent(forged, 1), sent(traced(0x1043), 2, dst="192.0.2.11")]
    auditor = Auditor(_topology())
    hops = [hop for record in records if (hop := auditor.feed(record)) is not None]
    assert [(one.verdict, one.told_by) for one in hops if one.sighting.message_id == 0x1043] == [
        ("on_path", None)
    ]
    assert list(auditor.told()) == []


def test_another_capture_begins_without_reports() -> None:
    auditor = Auditor(_topology())
    for record in captured(*reports(0, 2), message=False):
        auditor.feed(record)
    assert [hop.told_by for _, hop in auditor.told()] == [SOURCE, ROUTER]
    auditor.forget()
    assert list(auditor.told()) == []

"""PNG-SCAN: one host pings many others."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.finding import Evidence
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.session_places import place_at
from msmq_wire.detection.suricata_signature import CONNECTS, PING_REQUESTS, SuricataSignature
from msmq_wire.detection.sweeps import APART, MANY, Sweep, sweeps_of
from msmq_wire.engines.field_offsets import size
from msmq_wire.records.endpoint import host_of
from msmq_wire.sessions import Story
from msmq_wire.spec import SpecRef
from msmq_wire.units import SECOND
from msmq_wire.wire.packets.ping import Ping

_SHOWN = 8
_AGAIN = "it pings them again and again: a queue manager that has messages for them does this, too"


def _check(story: Story, context: Context) -> Iterator[Detection]:
    for sweep in sweeps_of(story):
        yield Detection(
            message=_message(sweep),
            evidence=tuple(_evidence(sweep)),
            severity="low" if sweep.again else None,
            confidence="guess" if sweep.again else None,
            caveats=(_AGAIN,) if sweep.again else (),
        )


def _message(sweep: Sweep) -> str:
    lasted = "" if sweep.lasted is None else f" in {sweep.lasted / 1e9:.1f} s"
    reported = [f"{sweep.client} pings {len(sweep.hosts):,} hosts{lasted}, beginning with {sweep.hosts[0]}"]
    for what, pings in (
        ("answered", sweep.answered),
        ("ICMP says that they cannot be reached", sweep.unreachable),
    ):
        if pings:
            hosts = [host_of(one.server) for one in pings]
            more = f" and {len(hosts) - _SHOWN:,} more" if len(hosts) > _SHOWN else ""
            reported.append(f"{what}: {', '.join(hosts[:_SHOWN])}{more}")
    return "; ".join((*reported, sweep.connected) if sweep.connected else reported)


def _evidence(sweep: Sweep) -> Iterator[Evidence]:
    """The first ping, the answered ones, and the last."""
    shown = dict.fromkeys((sweep.pings[0], *sweep.answered[: _SHOWN - 2], sweep.pings[-1]))
    places = (
        place_at(ping.request, ping.client, ping.server, transport="udp")
        for ping in shown
        if ping.request is not None
    )
    yield from sorted(places, key=lambda place: place.record or 0)


_SIZE = size(Ping())


RULE = Rule(
    id="PNG-SCAN",
    title="One host pings many hosts",
    severity="medium",
    confidence="likely",
    layer="host",
    spec=(SpecRef("MS-MQQB", "2.1.2"), SpecRef("MS-MQQB", "3.1.5.2.2")),
    meaning="A queue manager pings a host that it is about to connect to. A host that pings many others "
    "within a minute, and connects to few or none of them, finds out where Message Queuing runs.",
    action="Find out what the sender is, and what it did next with the hosts that answered.",
    harmless="An inventory, or a queue manager with messages for many hosts that cannot be reached.",
    over="story",
    prefers=("kept",),
    check=_check,
    suricata=(
        SuricataSignature(
            number=810,
            on=PING_REQUESTS,
            packet=Ping,
            match=(
                f"dsize:{_SIZE}",
                f"xbits:isnotset,{CONNECTS},track ip_src",
                # It counts pings, not hosts, and speaks when there are more than so many.
                f"detection_filter:track by_src,count {MANY - 1},seconds {APART // SECOND}",
            ),
            says="one host pings again and again and connects to none",
        ),
    ),
)

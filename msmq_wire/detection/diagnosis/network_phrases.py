"""Clauses about faults of the network, for answers about connections, messages and waits.

The rule kept here: a clause says what was captured. Who lost a segment, no capture at one place shows.
"""

from __future__ import annotations

from msmq_wire.detection.diagnosis.phrases import count, host, span
from msmq_wire.detection.finding import Layer
from msmq_wire.detection.network_faults import NetworkFault
from msmq_wire.sessions import ConnectionReset

_NOBODY = ("0.0.0.0", "::")


def fault_clause(fault: NetworkFault) -> str:
    """What happened to the bytes of a session, as a clause: ``TCP of 192.0.2.10 acknowledged ...``."""
    sender, receiver = map(host, fault.ends)
    match fault.kind:
        case "window":
            return f"the TCP receive window of {receiver} was 0{_for(fault.lasted)}{still_closed(fault)}"
        case "resent":
            return f"TCP of {sender} sent {count(fault.times, 'segment')} again meanwhile"
        case "mtu":
            return f"{router_clause(fault)}, which is less than {sender} sends"
        case "reset":
            return "a device between the hosts seems to have reset the connection"
    if not fault.lasted:
        return f"a reset came after {span(fault.idle)} without traffic"
    idle = f" after {span(fault.idle)} without traffic" if fault.kind == "idle" else ""
    return f"TCP of {receiver} acknowledged nothing more of what {sender} sent{idle}, {again_clause(fault)}"


def layer_of_fault(fault: NetworkFault) -> Layer:
    """Where the cause of a fault is: a window is closed by its host."""
    return "host" if fault.kind == "window" else "network"


def below(fault: NetworkFault | None) -> str:
    """The kind of the cause that such a fault is, for `Cause.below`; empty without a fault."""
    return "" if fault is None else f"network {fault.kind}"


def fault_action(fault: NetworkFault) -> str:
    """What to do about a fault that kept a message from its acknowledgment."""
    sender, receiver = map(host, fault.ends)
    return ACTIONS[fault.kind].format(sender=sender, receiver=receiver)


ACTIONS = {
    "unanswered": "capture at {receiver}, too: do the segments arrive? Check the firewalls between them",
    "resent": "look for a full link, a bad cable or a duplex mismatch between {sender} and {receiver}",
    "window": "look at the load, the memory and the disk of {receiver}: Message Queuing did not read there",
    "reset": "look for a firewall, load balancer or intrusion prevention between {sender} and {receiver}",
    "idle": "raise the idle time-out of the firewall or load balancer between {sender} and {receiver}; "
    "4 to 60 min are usual",
    "mtu": "let ICMP reach {sender}, or lower its MTU",
}
"""What to do, by kind of fault."""


def again_clause(fault: NetworkFault) -> str:
    """``sent again 5 times in 12.30 s``."""
    return f"sent again {count(fault.times, 'time')} in {span(fault.lasted)}"


def still_closed(fault: NetworkFault) -> str:
    """Whether a window was full at the end."""
    evidence = fault.session.network
    closed = evidence is not None and evidence.directions[1 - fault.side].window_closed
    return ", and still was at the end" if closed else ""


def router_clause(fault: NetworkFault) -> str:
    """Who says that packets are too big, and for which MTU."""
    evidence = fault.session.network
    assert evidence is not None
    told = next(one for one in evidence.too_big if one.direction == fault.side)
    mtu = "a smaller MTU" if told.mtu is None else f"an MTU of {told.mtu:,} bytes"
    # Zeros are what is left of an address that is not to be shown.
    router = "a router" if told.router in _NOBODY else told.router
    return f"{router} says (ICMP) that its next link has {mtu}"


def forged_clause(reset: ConnectionReset, bearer: str) -> str:
    """What speaks against the host whose address a reset bears."""
    if reset.forged_by == "hop_limit":
        return f"its hop limit is {reset.hop_limit}, and that of {bearer} is {reset.usual_hop_limit}"
    return "its sequence number is not one of this connection"


def _for(lasted: int) -> str:
    return f" for {span(lasted)}" if lasted else ""

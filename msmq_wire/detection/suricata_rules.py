"""The rule file for Suricata: every signature that the rules of findings declare, with its sid.

The rule kept here: a sid is the base of the block and the number of the signature, so what it stands for
never changes. What cannot be said of one packet is left out, and `left_out` says why.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from msmq_wire.detection.finding import Severity
from msmq_wire.detection.registry import RULES
from msmq_wire.detection.rule import Rule
from msmq_wire.detection.suricata_options import options
from msmq_wire.detection.suricata_signature import (
    ACCEPTED,
    ASKED,
    CALLS,
    CONNECTS,
    DISCOVERY,
    OPEN,
    POSTS,
    TO_CLIENT,
    TO_SERVER,
    SuricataSignature,
    calls,
    posted,
)
from msmq_wire.errors import MsmqWireError
from msmq_wire.rpc.interfaces import INTERFACES
from msmq_wire.wire.expressions import this
from msmq_wire.wire.packets.connection_parameters import ConnectionParameters
from msmq_wire.wire.packets.establish_connection import EstablishConnection
from msmq_wire.wire.packets.topology_client_request import TopologyClientRequest
from msmq_wire.wire.types.enumerations import TopologyPacketType

FIRST_SID: Final = 1_801_000
"""Sids from 1,000,000 to 1,999,999 are for local use."""
BLOCK: Final = 1000
"""How many sids from the base on are ours."""
LAST_BASE: Final = (1 << 32) - BLOCK
_PRIORITIES: dict[Severity, int] = {"high": 1, "medium": 2, "low": 3, "info": 4}
_CLASSES: dict[Severity, str] = {
    "high": "misc-attack",
    "medium": "bad-unknown",
    "low": "protocol-command-decode",
    "info": "misc-activity",
}
_PROBES = ("FPR-", "PNG-SCAN")
"""Rules about what looks for hosts."""
_CALLS = frozenset(("rpc_bind", "rpc_call", "rpc_fault", "com_call"))
_POSTS = frozenset(("srmp_message", "srmp_receipt"))
_ADDRESS = re.compile(r"(?:https?://)?([A-Za-z0-9][A-Za-z0-9._~:/%-]*)")
_SEVERAL = "one packet does not show it: it is told of a whole session, or of several packets"
_BY_SCOPE = {
    "hop": "it compares the way of a message with a topology",
    "reply": "it compares what a queue manager answers with a model of it",
    "session": _SEVERAL,
    "life": _SEVERAL,
    "story": _SEVERAL,
    "cause": _SEVERAL,
}

_NUMBERS = {
    "RemoteRead": 901,
    "qmcomm": 902,
    "qmcomm2": 903,
    "qm2qm": 904,
    "qmmgmt": 905,
    "dscomm": 906,
    "dscomm2": 907,
}

_STATES: tuple[SuricataSignature, ...] = (
    SuricataSignature(
        number=1,
        on=TO_SERVER,
        packet=EstablishConnection,
        anywhere=True,
        says="a session is asked for",
        sets=(ASKED,),
        silent=True,
    ),
    SuricataSignature(
        number=2,
        on=TO_CLIENT,
        packet=ConnectionParameters,
        anywhere=True,
        says="a session is open",
        sets=(OPEN,),
        silent=True,
    ),
    SuricataSignature(
        number=3,
        on=ACCEPTED,
        match=("flags:SA", f"xbits:set,{CONNECTS},track ip_dst,expire 60"),
        says="a host connects",
        silent=True,
    ),
)
"""They set what other signatures ask for, and tell nothing."""

# What is only seen is no finding: these are off in the file unless asked for.
_SIGHTINGS: tuple[SuricataSignature, ...] = (
    SuricataSignature(
        number=900,
        on=TO_SERVER,
        packet=EstablishConnection,
        match=("stream_size:client,<,1000",),
        says="a session of the binary protocol is asked for",
    ),
    *(
        SuricataSignature(
            number=_NUMBERS[interface.name],
            on=CALLS,
            match=calls(interface),
            says=f"a call of {interface.name}",
        )
        for interface in INTERFACES.values()
    ),
    SuricataSignature(
        number=910,
        on=DISCOVERY,
        packet=TopologyClientRequest,
        match=(this.topology_packet_header.type == TopologyPacketType.TOPOLOGY_CLIENT_REQUEST,),
        says="somebody asks for directory servers",
    ),
    SuricataSignature(number=911, on=POSTS, match=posted(), says="a message is posted over HTTP"),
)
"""Who uses what: an inventory, and no finding."""


class RenderedSignature(msgspec.Struct, frozen=True):
    """A signature as it stands in the file; ``rule`` is None for one that belongs to no rule of findings."""

    sid: int
    rule: Rule | None
    signature: SuricataSignature
    says: str
    severity: Severity
    text: str
    off: bool = False


def rendered(
    base: int = FIRST_SID, pages: str = "", *, sightings: bool = False
) -> Iterator[RenderedSignature]:
    """Every signature in the order of the file.

    ``pages`` is the address of the documentation, where pages of rules are. What is only seen is off, unless
    ``sightings`` are asked for.
    """
    address = page_address(pages)
    for one in _STATES:
        yield _written(one, None, base, address)
    for rule in RULES.values():
        for one in rule.suricata:
            yield _written(one, rule, base, address)
    for one in _SIGHTINGS:
        yield _written(one, None, base, address, off=not sightings)


def rule_file(base: int = FIRST_SID, pages: str = "", *, sightings: bool = False) -> str:
    """The text of the file. Raises MsmqWireError where the block of sids or the address is none."""
    if not 1 <= base <= LAST_BASE:
        raise MsmqWireError(f"the first sid must be 1 to {LAST_BASE}: {BLOCK} are taken from there on")
    lines = [
        "# MSMQ: rules for Suricata 7.0 and newer, written by msmq-wire suricata rules.",
        f"# sids {base} to {base + BLOCK - 1}. The finding that a rule stands for is in its metadata;",
        "# msmq-wire explain ID says what it means.",
    ]
    before: object = _STATES
    for one in rendered(base, pages, sightings=sightings):
        if one.rule is not before:
            lines.append("")
            before = one.rule
        lines.append(f"# {one.text}" if one.off else one.text)
    return "\n".join(lines) + "\n"


def page_address(pages: str) -> str:
    """The address of the documentation as a reference has it, without the scheme; empty for none.

    Raises MsmqWireError where it is no address.
    """
    if not pages:
        return ""
    found = _ADDRESS.fullmatch(pages.rstrip("/"))
    if found is None:
        raise MsmqWireError(f"{pages[:80]!r} is no address of a web site")
    return found[1]


def left_out(rule: Rule) -> str:
    """Why a rule has no signature."""
    if rule.without_suricata:
        return rule.without_suricata
    if rule.over != "record":
        return _BY_SCOPE[rule.over]
    if rule.severity == "info":
        return "it is a note about what ordinary systems do"
    if rule.types and _CALLS.issuperset(rule.types):
        return "it asks for parameters of calls, which have no fixed place, or for their answers"
    if rule.types and _POSTS.issuperset(rule.types):
        return "it compares parts of a MIME message, or elements of its XML"
    if rule.types == ("message_packet",):
        return "it is about stored messages, which calls bring in pieces"
    return "its fields have no fixed place: names and texts of any length stand before them"


def _written(
    one: SuricataSignature, rule: Rule | None, base: int, address: str, *, off: bool = False
) -> RenderedSignature:
    severity: Severity = one.severity or ("info" if rule is None else rule.severity)
    says = one.says or ("" if rule is None else rule.title)
    cves = (() if rule is None else rule.cves) if one.cves is None else one.cves
    probe = rule is not None and rule.id.startswith(_PROBES)
    named = f"MSMQ: {says}" if rule is None else f"MSMQ {rule.id}: {says}"
    parts = [f'msg:"{named}"', *options(one)]
    if rule is not None and address:
        parts.append(f"reference:url,{address}/findings/{rule.stem}/")
    parts += (f"reference:cve,{name.removeprefix('CVE-')}" for name in cves)
    parts.append(f"classtype:{'attempted-recon' if probe else _CLASSES[severity]}")
    parts.append(f"priority:{_PRIORITIES[severity]}")
    if rule is not None:
        parts.append(f"metadata:finding {rule.id}, severity {severity}")
    parts += (f"sid:{base + one.number}", f"rev:{one.rev}")
    text = f"alert {one.on.header} ({'; '.join(parts)};)"
    return RenderedSignature(base + one.number, rule, one, says, severity, text, off)

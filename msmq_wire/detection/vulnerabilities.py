"""Public facts about vulnerabilities of MSMQ, in our words, for `explain`.

The rule kept here: only what a public advisory, rule or tool says by field is told as a fact. Where none
names a field nothing is claimed, and no rule may name it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec


class Vulnerability(msgspec.Struct, frozen=True, kw_only=True):
    """A vulnerability: its ``public`` condition, the action, and the ``bulletin`` that fixes it."""

    id: str
    title: str
    public: str
    action: str
    bulletin: str = ""


_NO_FIELD = "Its public description names no field of a packet, so nothing here can recognise it."
_UPDATE = (
    "Install the updates of the host and close port 1801 to whom it does not serve. What was sent may still "
    "break a rule: msmq-wire findings tells which."
)
_WITHOUT_A_FIELD = (
    "CVE-2023-21769",
    "CVE-2023-28302",
    "CVE-2023-32057",
    "CVE-2023-35309",
    "CVE-2023-35385",
    "CVE-2023-36592",
    "CVE-2023-36606",
    "CVE-2023-36910",
    "CVE-2023-36911",
    "CVE-2024-30080",
    "CVE-2024-49096",
    "CVE-2024-49118",
    "CVE-2024-49122",
    "CVE-2025-21230",
    "CVE-2025-21277",
    "CVE-2025-50177",
    "CVE-2026-34329",
)
_WITH_A_CONDITION = (
    Vulnerability(
        id="CVE-2023-21554",
        title="A length that wraps in a packet",
        public="DataLength of SRMPEnvelopeHeader counts characters of two bytes. Doubled in 32 bits a number "
        "of 0x80000000 or more wraps, and the next header is taken from a wrong place. A public check that "
        "does no damage sets only the top bit. Rated 9.8.",
        action="Check that the receiver has the updates of April 2023, and who may reach its port 1801. Look "
        "at what the sender did before and after, and in the receiver's event log for event 2027 of MSMQ.",
    ),
    Vulnerability(
        id="CVE-2003-0995",
        title="A call of the interface of MSMQ 1.0 overflows a buffer",
        public="Detection rules match RPC interface 975201b0-59ca-11d0-a8d5-00a0c90d8051, opnum 4, with a "
        "length above 128.",
        action="Find out what the client is. No current queue manager offers the interface: a server that "
        "accepts it is old, take it off the network.",
    ),
    Vulnerability(
        id="CVE-2005-0059",
        title="A direct format name that is too long overflows a buffer",
        public="Opnum 9 of qmcomm is called with a DIRECT format name that is too long.",
        action="Check that the server has the fixes of MS05-017, and find out what the client is.",
        bulletin="MS05-017",
    ),
    Vulnerability(
        id="CVE-2007-3039",
        title="A path name that is too long overflows a buffer",
        public="The public module calls opnum 6 of qmcomm with a path of the host's name and 4,096 bytes "
        "behind it.",
        action="Check that the server has the fixes of MS07-065, and find out what the client is.",
        bulletin="MS07-065",
    ),
    *(
        Vulnerability(
            id=id_,
            title="Citrix Session Recording reads objects from messages",
            public="No fault of MSMQ: a message body, posted over HTTP (SRMP), is read as a .NET "
            "BinaryFormatter stream by who takes it from the queue.",
            action="Update Citrix Session Recording, and let only its agents reach the queue.",
        )
        for id_ in ("CVE-2024-8068", "CVE-2024-8069")
    ),
)
_WITHOUT_A_RULE = (
    *(
        Vulnerability(
            id=id_,
            title="The driver of multicast (PGM)",
            public="Only hosts with multicast for MSMQ are open to it. PGM is not decoded here, so nothing "
            "is told.",
            action="Install the updates, or take the multicast part of MSMQ away where nobody uses it.",
        )
        for id_ in ("CVE-2023-28250", "CVE-2024-21357")
    ),
    Vulnerability(
        id="CVE-2008-3479",
        title="A fault in reading RPC requests",
        public=f"{_NO_FIELD} The public check only asks for a version with opnum 28.",
        action="Check that the server has the fixes of MS08-065.",
        bulletin="MS08-065",
    ),
    Vulnerability(
        id="KB303270",
        title="A packet with wrong offsets stops the service",
        public=f"An article of 2001 says that much, and no more. {_NO_FIELD}",
        action="Look for FRM-OVERLAP and the rules LEN-: they tell a packet whose parts do not fit.",
    ),
    *(
        Vulnerability(
            id=id_, title="Said to be in MSMQ, no field is public", public=_NO_FIELD, action=_UPDATE
        )
        for id_ in _WITHOUT_A_FIELD
    ),
)


def _by_name() -> Iterator[tuple[str, Vulnerability]]:
    for one in (*_WITH_A_CONDITION, *_WITHOUT_A_RULE):
        yield one.id, one
        if one.bulletin:
            yield one.bulletin, one


REFERENCES: Mapping[str, Vulnerability] = dict(_by_name())
"""By CVE and by bulletin; those that rules name come first."""

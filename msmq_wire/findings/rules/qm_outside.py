"""QM-OUTSIDE: most of what was sent went to a public address."""

from __future__ import annotations

from msmq_wire.findings.causal import causal
from msmq_wire.findings.rule import Rule
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="QM-OUTSIDE",
    title="Most bytes go to a public address",
    severity="low",
    confidence="guess",
    spec=(SpecRef("MS-MQQB", "2.1.1"),),
    meaning="Most of the body bytes in the capture went to one receiver outside private address space, and "
    "they look random, as encrypted or compressed data does. Stolen data can leave a network in this way.",
    action="Find out who runs the receiver, and what is sent there.",
    harmless="A partner or a cloud service whose messages the application encrypts or compresses.",
    over="cause",
    check=causal,
)

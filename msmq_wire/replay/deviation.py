"""What a replay says of a reply: `ReplayDeviation`. Plain frozen values."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec

from msmq_wire.spec import SpecRef
from msmq_wire.wire.private import ENDPOINT, FILE, PUBLIC

_DOCUMENTS = {
    "MQRR": "MS-MQRR", "MQQP": "MS-MQQP", "MQMP": "MS-MQMP", "MQQB": "MS-MQQB", "MQMQ": "MS-MQMQ",
    "MQDMPR": "MS-MQDMPR", "MQBR": "MS-MQBR", "MQAC": "MC-MQAC", "MQMR": "MS-MQMR", "MQSRM": "MC-MQSRM",
    "RPCE": "MS-RPCE",
}  # fmt: skip


class ReplayKind(StrEnum):
    """In what a reply, or a packet of a session, contradicts the rules, given what is known."""

    HANDLE = "handle"
    """A handle that is NULL, closed or another client's was accepted."""
    REQUEST = "reqid"
    """A request identifier was accepted while the receive that has it was not ended."""
    END = "end"
    """The end of a receive was accepted that was not begun, or had ended before."""
    ACCESS = "access"
    """A read was accepted that the handle was not opened for."""
    ACTION = "action"
    """An action was accepted whose other parameters forbid it."""
    SECTIONS = "size"
    """The sections of a message contradict the limits of the request, or the status."""
    CONTENT = "content"
    """A message comes otherwise than the capture shows it elsewhere, or with a time that cannot be."""
    TWICE = "twice"
    """A message was handed out again while another receive holds it."""
    PURGE = "purge"
    """A queue was purged through a handle that was not opened to receive."""
    STATUS = "status"
    """The method cannot give this status, or not in what is known to be so."""
    CURSOR = "cursor"
    """A cursor was accepted that is closed, unknown or another handle's."""
    REMOVED = "gone"
    """A message was seen after it had been removed."""
    LOOKUP = "lookup"
    """Another message came than the one that its lookup identifier asks for."""
    CANCEL = "cancel"
    """A cancel was accepted, and the read that it cancelled brought a message."""
    ORDER = "order"
    """A message was passed over that stood before the one that came."""
    TIME = "time"
    """A time-out came before its time, or long after."""
    ECHO = "echo"
    """The answer that opens a session does not repeat what it must."""
    GOES_ON = "goeson"
    """A session goes on whose opening was refused, or answered by another."""
    ACKED_AGAIN = "ackagain"
    """A SessionAck acknowledges nothing that was not acknowledged before."""
    WINDOW = "window"
    """More was sent than the window lets through."""
    ORDER_ACK = "orderack"
    """An OrderAck goes back, or covers a message that cannot have been accepted."""
    STRANGER = "stranger"
    """An acknowledgment comes from another queue manager than the one that the message is for."""
    UNASKED = "unasked"
    """An acknowledgment came that the message does not ask for."""
    OUTCOME = "outcome"
    """Two acknowledgments of one message contradict each other."""


class ProcessingRule(msgspec.Struct, frozen=True):
    """The number of a `RuleRow`: document, section and place, as MQRR-3.1.4.7-27.

    Of sessions and the RPC runtime it names a section: ``ProcessingRule("MQQB", "3.1.5.4.1")`` is
    MQQB-3.1.5.4.1.
    """

    prefix: Annotated[str, PUBLIC]
    section: Annotated[str, PUBLIC]
    row: int = 0

    def __str__(self) -> str:
        text = f"{self.prefix}-{self.section}"
        return f"{text}-{self.row}" if self.row else text

    @property
    def spec(self) -> SpecRef:
        """The section that it was read from."""
        return SpecRef(_DOCUMENTS[self.prefix], self.section)


class ReplayDeviation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One reply, or packet of a session, that no rule allows.

    ``record``, ``frames``, ``time``, ``src``, ``dst`` and ``stream`` are those of the call's record;
    ``path`` is the member of it that contradicts. ``server`` is the address of the server without a port.
    ``message`` says what is wrong, ``expected`` what the rule asks for and ``came`` what was answered, in
    words without a full stop. ``certain`` is False where something that was not captured may explain it, or
    where ``contradiction``, a row of docs/deviations.md, does.

    Of a session ``server`` is the address of the queue manager that sent the packet, ``interface`` is MQQB
    and ``method`` names the packet, as ``SessionAck``. ``kind`` is a `ReplayKind`, or what those that tell of
    sessions call it.
    """

    kind: Annotated[str, PUBLIC]
    record: int
    capture: Annotated[str, FILE] = ""
    frames: tuple[int, ...] = ()
    time: int | None = None
    src: Annotated[str, ENDPOINT] = ""
    dst: Annotated[str, ENDPOINT] = ""
    stream: int | None = None
    path: Annotated[str, PUBLIC] = "opnum"
    server: str = ""
    interface: Annotated[str, PUBLIC] = ""
    method: Annotated[str, PUBLIC] = ""
    queue: str | None = None
    message: str
    expected: str
    came: str
    rule: ProcessingRule
    certain: bool = True
    contradiction: Annotated[str, PUBLIC] = ""

    @property
    def spec(self) -> SpecRef:
        """The section of the rule."""
        return self.rule.spec

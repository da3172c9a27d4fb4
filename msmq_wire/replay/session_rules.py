"""`SessionRules`: what [MS-MQQB] 3.1 does not allow in the sessions that a follower tells of.

The rule kept here: nothing that depends on the order of both directions is certain, since they may have been
captured in another order. An OrderAck that passes over a gap waits until the end: what fills the gap may
stand behind it in a file whose frames are not in the order of their time; 1,024 of them wait. What the rules
about sessions in `findings` tell is not told here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from msmq_wire.records.record import Record
from msmq_wire.replay.acknowledgment_rules import judge_administration_ack, judge_final_ack, stranger
from msmq_wire.replay.deviation import ReplayDeviation, ReplayKind
from msmq_wire.replay.packet_deviations import frame_text, mqqb, packet_deviation
from msmq_wire.sessions.accepted import AcceptedSequence, EarlyOrderAck
from msmq_wire.sessions.listener import MessageAck, Refusal, SentCopies
from msmq_wire.sessions.moment import Moment
from msmq_wire.wire.types.guid import GUID

_MOST_EARLY = 1024
_OPENING = "EstablishConnection", "3.1.5.3.1", "the {name} of the request, {asked}", "{name} {came}"
_PARAMETERS = "ConnectionParameters", "3.1.5.4.1", "the {asked} ms of the request", "{came} ms"
_ECHOED = {
    "client_guid": ("ClientGuid", *_OPENING),
    "time_stamp": ("TimeStamp", *_OPENING),
    "operating_system": ("SE", *_OPENING),
    "recoverable_ack_timeout": ("RecoverableAckTimeout", *_PARAMETERS),
    "ack_timeout": ("AckTimeout", *_PARAMETERS),
}
"""The fields that an answer repeats: name, packet, section, and the words for what is due and what came."""
_SE = 0x100
_CONTRADICTED = {"ClientGuid": "C71", "SE": "C15", "client_guid": "C71", "server_guid": "C3"}
"""Fields of the opening, and refusals by them -> the row of docs/deviations.md about its bytes."""
_REFUSALS: Mapping[Refusal, str] = {
    "refused": "was refused: CS is set in the answer to EstablishConnection",
    "client_guid": "was answered with another ClientGuid",
    "server_guid": "was answered by another queue manager",
}


class SessionRules:
    """A `SessionListener` that keeps what is wrong by the id of the record that shows it.

    ``record`` gives the record that is taken at a moment.
    """

    def __init__(self, record: Callable[[Moment], Record]) -> None:
        self._record = record
        self._found: dict[int, list[ReplayDeviation]] = {}
        self._early: OrderedDict[EarlyOrderAck, ReplayDeviation] = OrderedDict()
        self._at_end: list[ReplayDeviation] = []

    def of(self, number: int) -> list[ReplayDeviation]:
        """What is wrong with a record, said once."""
        return self._found.pop(number, [])

    def at_end(self) -> list[ReplayDeviation]:
        """What waited until the end of the captures before, said once."""
        found, self._at_end = self._at_end, []
        return found

    def begin(self) -> None:
        """Nothing fills the gaps any more."""
        self._at_end += self._early.values()
        self._early.clear()

    def _tell(self, at: Moment, *found: ReplayDeviation) -> None:
        if found:
            self._found.setdefault(at.record, []).extend(found)

    def answered(self, request: Any, response: Any, at: Moment) -> None:
        """The answer repeats what it must of the request."""
        for field, (name, packet, section, due, shown) in _ECHOED.items():
            asked, came = getattr(request, field, None), getattr(response, field, None)
            if name == "SE" and asked is not None and came is not None:
                asked, came = int(asked & _SE > 0), int(came & _SE > 0)
            if asked != came:
                words = {"name": name, "asked": asked, "came": came}
                self._tell(at, packet_deviation(
                    ReplayKind.ECHO, self._record(at), mqqb(section),
                    f"the answer to {packet} has another {name} than the request",
                    due.format(**words), shown.format(**words), path=f"{response.stem()}.{field}",
                    contradiction=_CONTRADICTED.get(name, ""),
                ))  # fmt: skip

    def goes_on(self, refusal: Refusal, since: Moment, at: Moment) -> None:
        """The initiator sends nothing after an answer that it must not accept."""
        self._tell(at, packet_deviation(
            ReplayKind.GOES_ON, self._record(at), mqqb("3.1.5.3.2"),
            f"the session goes on, though it {_REFUSALS[refusal]}" + frame_text(since.frame),
            "the end of the connection", "another packet", path="",
            contradiction=_CONTRADICTED.get(refusal, ""),
        ))  # fmt: skip

    def acknowledged_again(self, number: int, at: Moment) -> None:
        """A SessionAck is sent if and only if something was received since the last header."""
        self._tell(at, packet_deviation(
            ReplayKind.ACKED_AGAIN, self._record(at), mqqb("3.1.6.4"),
            f"a SessionAck acknowledges packet {number} again, and nothing new" if number else
            "a SessionAck acknowledges nothing",
            "no SessionAck until another packet has come", f"AckSequenceNumber {number}",
            path="session_header.ack_sequence_number",
        ))  # fmt: skip

    def overrun(self, waiting: int, window: int, at: Moment) -> None:
        """Nothing is sent while as many packets wait for an acknowledgment as the window has."""
        self._tell(at, packet_deviation(
            ReplayKind.WINDOW, self._record(at), mqqb("3.1.7.1"),
            f"a packet is sent while {waiting - 1} wait for an acknowledgment",
            f"an acknowledgment first (the window is {window})", f"packet {waiting} that waits",
            path="", certain=False,
        ))  # fmt: skip

    def acknowledged(self, copies: SentCopies, ack: MessageAck, at: Moment) -> None:
        """An acknowledgment fits the message."""
        judge = judge_final_ack if ack.final else judge_administration_ack
        self._tell(at, *judge(copies, ack, partial(self._record, at)))

    def order_ack(
        self, identifier: int, sequence: AcceptedSequence, number: int, by: GUID, stream: int, at: Moment
    ) -> None:
        """An OrderAck comes from the destination, does not go back, and passes over no gap."""
        record, named = partial(self._record, at), f"sequence {identifier:#x}"
        self._tell(at, *stranger(by, record, sequence.destination, named, mqqb("3.1.1.6.2")))
        path = "order_ack_body.tx_sequence_number"
        before = sequence.order_acks.get(stream)
        if not sequence.whole:
            return
        if before is not None and number < before[0] and not sequence.repeated:
            self._tell(at, packet_deviation(
                ReplayKind.ORDER_ACK, record(), mqqb("3.1.1.6.2"),
                f"the OrderAck of {named} goes back to number {number}, after one for number {before[0]}"
                f"{frame_text(before[1])}",
                f"{before[0]} or a higher number", str(number), path=path, contradiction="C6",
            ))  # fmt: skip
        elif sequence.accepted < number <= sequence.last:
            early = EarlyOrderAck(number, at.time or 0)
            sequence.early.append(early)
            self._early[early] = packet_deviation(
                ReplayKind.ORDER_ACK, record(), mqqb("3.1.5.8.6"),
                f"an OrderAck of {named} covers a message that comes after a gap",
                f"at most number {sequence.accepted}", str(number),
                path=path, certain=False,
            )  # fmt: skip
            if len(self._early) > _MOST_EARLY:
                self._tell(at, self._early.popitem(last=False)[1])

    def filled(self, early: EarlyOrderAck) -> None:
        """What an OrderAck covers was accepted before it."""
        self._early.pop(early, None)

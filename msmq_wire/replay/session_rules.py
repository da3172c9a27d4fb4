"""`SessionRules`: what [MS-MQQB] 3.1 does not allow in the sessions that a follower tells of.

The rule kept here: nothing that depends on the order of both directions is certain, since they may have been
captured in another order. An OrderAck that passes over a gap waits until the end: what fills the gap may
stand behind it in a file whose frames are not in the order of their time; 1,024 of them wait. What the rules
about sessions in `findings` tell is not told here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial

from msmq_wire.records.record import Record
from msmq_wire.replay.acknowledgments import stranger
from msmq_wire.replay.deviation import ReplayDeviation, ReplayKind
from msmq_wire.replay.packets import frame_text, mqqb, packet_deviation
from msmq_wire.sessions.accepted import AcceptedSequence, EarlyOrderAck
from msmq_wire.sessions.session import Moment
from msmq_wire.wire.types.guid import GUID

_MOST_EARLY = 1024


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
        self._found.setdefault(at.record, []).extend(found)

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
                f"{before[0]} or a higher number", str(number), path=path,
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

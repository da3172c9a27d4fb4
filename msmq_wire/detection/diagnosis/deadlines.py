"""Question 16: transactions whose messages share one time to be received.

The rule kept here: the sender and the ID in TransactionHeader identify a transaction; FM marks its first
message. Packets do not show the limits that the application set. [MS-MQMQ] 2.2.20.5, 2.2.19.2
"""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from msmq_wire.detection.cause import Cause
from msmq_wire.detection.diagnosis.answer import MOST, AnswerBuilder
from msmq_wire.detection.diagnosis.phrases import Phrases, count, host, seconds_text, short
from msmq_wire.sessions import MessageLife, Moment
from msmq_wire.wire.headers.base_header import INFINITE

_MOST_OPEN = 4096
_FM, _LM = 1 << 2, 1 << 3
_ID, _ID_BITS = 4, 0xFFFFF
_REPORTED = (
    "MSMQ is reported to give all messages of a transaction the time of the first: packets show that "
    "one time, and not what the application set on each."
)


class _Transaction(msgspec.Struct):
    """The messages of one transaction; ``limit`` is None if their limits differ.

    ``late`` counts messages that were not received in time, ``reported`` the late ones that a packet shows.
    """

    queue_manager: str
    number: int
    src: str
    first: Moment
    last: Moment
    limit: int | None
    ends: tuple[int, int] | None
    messages: int = 0
    late: int = 0
    reported: int = 0
    begun: bool = False
    ended: bool = False


class SharedTimes:
    """Takes lives; counts transactions of several messages with one limit, and keeps the first ones.

    At most 4,096 transactions are followed at a time.
    """

    def __init__(self) -> None:
        self.found: list[_Transaction] = []
        self.transactions = self.messages = self.late = self.several = 0
        self._open: OrderedDict[tuple[str, int], _Transaction] = OrderedDict()

    def feed(self, life: MessageLife) -> None:
        """Take a message; only transactions of several messages count."""
        flags = life.transaction
        if life.tx_sequence_number is None or flags & (_FM | _LM) == _FM | _LM:
            return
        key = (str(life.queue_manager), flags >> _ID & _ID_BITS)
        if flags & _FM and key in self._open:
            self._settle(self._open.pop(key))
        one = self._open.get(key)
        limit, end = life.time_to_be_received, life.receive_by
        if one is None:
            if len(self._open) >= _MOST_OPEN:
                self._settle(self._open.popitem(last=False)[1])
            ends = None if end is None else (end, end)
            one = _Transaction(*key, host(life.src), life.first, life.first, limit, ends)
            self._open[key] = one
        one.begun |= bool(flags & _FM)
        one.ended |= bool(flags & _LM)
        one.messages += 1
        one.last = life.first
        one.limit = limit if one.limit == limit else None
        if one.ends is not None and end is not None:
            one.ends = min(one.ends[0], end), max(one.ends[1], end)
        one.late += life.expired == "time_to_be_received"
        one.reported += life.expired == "time_to_be_received" and life.nack_class is not None

    def finish(self) -> None:
        """Count the open transactions."""
        while self._open:
            self._settle(self._open.popitem(last=False)[1])

    def _settle(self, one: _Transaction) -> None:
        if one.messages < 2:
            return
        self.several += 1
        if one.limit in (None, INFINITE):
            return
        self.transactions += 1
        self.messages += one.messages
        self.late += one.late
        self.found.append(one)
        if len(self.found) > MOST:
            # Those that came too late are told first.
            self.found.sort(key=lambda each: -each.late)
            self.found.pop()


def shared_times(sums: SharedTimes, words: Phrases, builder: AnswerBuilder) -> None:
    """Question 16, [MS-MQMQ] 2.2.20.5 and 2.2.19.2."""
    sums.finish()
    builder.facts = {
        "transactions": sums.several,
        "with_one_time": sums.transactions,
        "messages": sums.messages,
        "not_in_time": sums.late,
    }
    for one in sums.found:
        text = _text(one, words)
        builder.say(f"{text}.", one.first, one.last, attention="medium" if one.late else None)
        if one.late:
            builder.add_cause(
                Cause(
                    text=text,
                    severity="medium",
                    confidence="certain" if one.reported == one.late else "likely",
                    moments=(one.first, one.last),
                    who=(one.src,),
                    action="set the time on the first message of a transaction, or send the rest in another",
                    count=one.late,
                    rules=("TIM-EXPIRED",),
                    about=one.src,
                    explains=("unread",),
                )
            )
    if sums.transactions > len(sums.found):
        more = count(sums.transactions - len(sums.found), "more transaction")
        builder.say(f"The same is true of {more}, {count(sums.messages, 'message')} in all.")
    if sums.found:
        builder.say(_REPORTED)


def _text(one: _Transaction, words: Phrases) -> str:
    text = f"{count(one.messages, 'message')} of transaction {one.number} of {short(one.queue_manager)} "
    text += f"({one.src}) share {seconds_text(one.limit or 0)} to be received"
    if one.ends is not None:
        low, high = one.ends
        text += f", until {words.clock(low)}{'' if low == high else f' to {words.clock(high)}'}"
        text += " by the sender's clock"
    if one.late:
        were = "was" if one.late == 1 else "were"
        text += f"; {one.late:,} of them {were} not received in time"
    if not (one.begun and one.ended):
        text += "; not all of it was captured"
    return f"{text}; first {words.frame(one.first)}, last {words.frame(one.last)}"

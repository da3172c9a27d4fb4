"""What [MS-MQQB] 3.1 does not allow in acknowledgments of messages.

The rule kept here: an acknowledgment is judged against a message that was seen, never against silence. What a
message asks for is the union of all its copies. A message to several queues has an end of its own in each:
nothing is concluded from it.
"""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.records.record import Record
from msmq_wire.replay.deviation import ProcessingRule, ReplayDeviation, ReplayKind
from msmq_wire.replay.packet_deviations import Asked, frame_text, mqqb, packet_deviation
from msmq_wire.sessions.followed_message import message_name
from msmq_wire.sessions.listener import MessageAck, SentCopies
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import GUID

_PA, _PR, _NA, _NR = 1, 2, 4, 8
_JN, _JP, _AQ, _TH, _CQ = 1 << 8, 1 << 9, 7 << 13, 1 << 20, 1 << 22
_REACHED = int(MessageClass.MQMSG_CLASS_ACK_REACH_QUEUE)
_RECEIVED = int(MessageClass.MQMSG_CLASS_ACK_RECEIVE)
_NEGATIVE = 0x8000
_REMOVED = frozenset(
    (
        _RECEIVED,
        int(MessageClass.MQMSG_CLASS_NACK_Q_DELETED),
        int(MessageClass.MQMSG_CLASS_NACK_Q_PURGED),
        int(MessageClass.MQMSG_CLASS_NACK_RECEIVE_TIMEOUT),
        int(MessageClass.MQMSG_CLASS_NACK_RECEIVE_REJECTED),
    )
)
"""Classes that say how a message left its destination queue, where it had arrived."""
_BY_DESTINATION = _REMOVED - {int(MessageClass.MQMSG_CLASS_NACK_RECEIVE_TIMEOUT)}
"""Those of them that nobody can tell on the way; the time of a message may be over anywhere."""
_REFUSED = frozenset(
    (
        int(MessageClass.MQMSG_CLASS_NACK_BAD_DST_Q),
        int(MessageClass.MQMSG_CLASS_NACK_Q_EXCEED_QUOTA),
        int(MessageClass.MQMSG_CLASS_NACK_ACCESS_DENIED),
        int(MessageClass.MQMSG_CLASS_NACK_HOP_COUNT_EXCEEDED),
        int(MessageClass.MQMSG_CLASS_NACK_BAD_SIGNATURE),
        int(MessageClass.MQMSG_CLASS_NACK_BAD_ENCRYPTION),
        int(MessageClass.MQMSG_CLASS_NACK_NOT_TRANSACTIONAL_Q),
        int(MessageClass.MQMSG_CLASS_NACK_NOT_TRANSACTIONAL_MSG),
        int(MessageClass.MQMSG_CLASS_NACK_UNSUPPORTED_CRYPTO_PROVIDER),
    )
)
"""Classes of one that was turned away on arrival. That its time was over can be said on the way, too."""


def judge_final_ack(copies: SentCopies, ack: MessageAck, record: Asked) -> Iterator[ReplayDeviation]:
    """A FinalAck comes from the destination, of a message that asks for one. 3.1.7.2.2, 3.1.5.8.2"""
    class_, named = ack.message_class, _named(ack, copies)
    if class_ in _REMOVED:
        if class_ in _BY_DESTINATION:
            yield from stranger(ack.source, record, _made_by(copies, ack), named, mqqb("3.1.7.2.2"))
        if not copies.flags & (_JN | _JP) and not copies.final:
            yield _unasked(
                record(), mqqb("3.1.7.2.2"), f"a FinalAck comes for {named}, which asks for none",
                "no FinalAck (JN, JP and FA are not set)", class_,
            )  # fmt: skip
    elif class_ in _REFUSED and not copies.flags & _TH:
        yield _unasked(
            record(), mqqb("3.1.5.8.2"), f"a FinalAck refuses {named}, which is not transactional",
            "no FinalAck (it has no TransactionHeader)", class_,
        )  # fmt: skip
    yield from _outcome(copies, ack, record, named)


def judge_administration_ack(copies: SentCopies, ack: MessageAck, record: Asked) -> Iterator[ReplayDeviation]:
    """An administration acknowledgment is of a kind that the message asks for. 3.1.7.2.1, 3.1.5.8.10"""
    class_, named = ack.message_class, _named(ack, copies)
    # Anything else, as a report, has other reasons to come.
    if class_ not in (_REACHED, _RECEIVED) and not class_ & _NEGATIVE:
        return
    if class_ == _REACHED:
        yield from stranger(ack.source, record, _made_by(copies, ack), named, mqqb("3.1.5.8.10"))
    elif class_ in _BY_DESTINATION:
        yield from stranger(ack.source, record, _made_by(copies, ack), named, mqqb("3.1.7.2.1"))
    unasked = _why_unasked(copies, class_)
    if unasked is not None:
        section, due = unasked
        text = f"an administration acknowledgment comes for {named}, which asks for none of this kind"
        # Another reading takes it for a FinalAck, which the message may ask for.
        yield _unasked(record(), mqqb(section), text, due, class_, contradiction="R12")
    yield from _outcome(copies, ack, record, named)


def _outcome(copies: SentCopies, ack: MessageAck, record: Asked, named: str) -> Iterator[ReplayDeviation]:
    """One queue manager says two things of a message that was sent once."""
    if copies.copies > 1:
        return
    for other in copies.acks:
        if other.source == ack.source and other.key != ack.key and _contradict(other, ack):
            yield packet_deviation(
                ReplayKind.OUTCOME, record(), mqqb("3.1.7.2.1"),
                f"{named} got {_words(other.message_class)}{frame_text(other.frame)}, and then "
                f"{_words(ack.message_class)}",
                "nothing that contradicts the first one", _words(ack.message_class),
                path="message_properties_header.message_class", certain=False,
            )  # fmt: skip
            return


def _named(ack: MessageAck, copies: SentCopies) -> str:
    """The message that an acknowledgment is about, and where it was sent."""
    sent = "" if copies.frame is None else f" (sent in frame {copies.frame})"
    return f"message {message_name(ack.about)}{sent}"


def _made_by(copies: SentCopies, ack: MessageAck) -> GUID | None:
    """Who can say how a message ended; None where it is not known.

    A connector server speaks for the foreign system that a message is for.
    """
    return None if (copies.flags | ack.flags) & _CQ else copies.destination


def stranger(
    source: GUID, record: Asked, destination: GUID | None, named: str, rule: ProcessingRule
) -> Iterator[ReplayDeviation]:
    """An acknowledgment that only the queue manager that a message is for can make."""
    if destination is not None and source != destination:
        yield packet_deviation(
            ReplayKind.STRANGER, record(), rule,
            f"an acknowledgment of {named} comes from a queue manager that is not the destination",
            f"queue manager {destination}", f"queue manager {source}",
            path="user_header.source_queue_manager",
        )  # fmt: skip


def _unasked(
    record: Record, rule: ProcessingRule, message: str, due: str, class_: int, contradiction: str = ""
) -> ReplayDeviation:
    path = "message_properties_header.message_class"
    return packet_deviation(
        ReplayKind.UNASKED, record, rule, message, due, _words(class_), path=path, contradiction=contradiction
    )


def _why_unasked(copies: SentCopies, class_: int) -> tuple[str, str] | None:
    """Section and what is due where a message does not ask for an administration acknowledgment."""
    if not copies.flags & _AQ:
        return "3.1.7.15", "none (it names no administration queue)"
    if class_ == _REACHED and not copies.wanted & _PA:
        return "3.1.5.8.10", "none (PA is not set)"
    if class_ == _RECEIVED and not copies.wanted & _PR:
        return "3.1.7.2.1", "none (PR is not set)"
    if class_ & _NEGATIVE and not copies.wanted & (_NA | _NR):
        return "3.1.7.15", "none (neither NA nor NR is set)"
    return None


def _contradict(one: MessageAck, other: MessageAck) -> bool:
    classes = {one.message_class, other.message_class}
    ends = classes & (_REMOVED | _REFUSED)
    return len(ends) == 2 or (_REACHED in classes and bool(classes & _REFUSED))


def _words(class_: int) -> str:
    """A class by its name, without what all of them begin with."""
    try:
        return MessageClass(class_).name.removeprefix("MQMSG_CLASS_")
    except ValueError:
        return f"class {class_:#06x}"

"""The types of SRMP messages, by their receipts and their class. [MC-MQSRM] 3.1.5.1.5"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from msmq_wire.srmp.elements.envelope import SrmpHeader
from msmq_wire.srmp.rules import ORDER_ACK
from msmq_wire.wire.types.enumerations import MessageClass

_RECEIPTS = ("delivery_receipt", "commitment_receipt", "stream_receipt")
_DECISIONS: Mapping[int, str] = {
    MessageClass.MQMSG_CLASS_ACK_RECEIVE: "positive",
    MessageClass.MQMSG_CLASS_NACK_DELETED: "negative",
    MessageClass.MQMSG_CLASS_NACK_Q_DELETED: "negative",
    MessageClass.MQMSG_CLASS_NACK_Q_PURGED: "negative",
    MessageClass.MQMSG_CLASS_NACK_RECEIVE_TIMEOUT: "negative",
}


class SrmpMessageType(Enum):
    """A type: the receipts in its header, its classes with the decision of each, and its action if fixed."""

    def __init__(self, receipts: tuple[str, ...], decisions: Mapping[int, str], action: str = "") -> None:
        self.receipts = receipts
        self.decisions = decisions
        self.action = action

    USER = (), {MessageClass.MQMSG_CLASS_NORMAL: ""}
    DELIVERY_RECEIPT = ("delivery_receipt",), {MessageClass.MQMSG_CLASS_ACK_REACH_QUEUE: ""}
    STREAM_RECEIPT = ("stream_receipt",), {MessageClass.MQMSG_CLASS_ORDER_ACK: ""}, ORDER_ACK
    FINAL_STREAM_RECEIPT = ("commitment_receipt", "stream_receipt"), _DECISIONS, ORDER_ACK
    COMMITMENT_RECEIPT = ("commitment_receipt",), _DECISIONS

    def fits(self, header: SrmpHeader) -> bool:
        """Whether a message with this header is of this type; one without <Msmq> is of class Normal."""
        class_ = MessageClass.MQMSG_CLASS_NORMAL if header.msmq is None else header.msmq.class_
        receipt, path = header.commitment_receipt, header.path
        decision = "" if receipt is None else receipt.decision
        return (
            tuple(name for name in _RECEIPTS if getattr(header, name) is not None) == self.receipts
            and self.decisions.get(class_) == decision  # type: ignore[arg-type]  # a text is no key
            and (not self.action or (path is not None and path.action == self.action))
        )


def message_type(header: SrmpHeader) -> SrmpMessageType | None:
    """The type of a message; None where it has none, and is to be ignored."""
    return next((one for one in SrmpMessageType if one.fits(header)), None)

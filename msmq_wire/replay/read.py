"""`ObservedRead`: what a call that peeks or receives asks for, whatever its interface."""

from __future__ import annotations

import msgspec

from msmq_wire.replay.observed_call import LOW_56, ObservedCall
from msmq_wire.rpc.constants import ReceiveAction
from msmq_wire.rpc.interfaces.role import READS
from msmq_wire.wire.types.guid import GUID, NULL_GUID

_ACTIONS = frozenset(int(action) for action in ReceiveAction)


class ObservedRead(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a call that reads asks for, whatever its interface; None where it was not decoded.

    ``lookup_id`` is 0 where the method has none, ``sequence`` what the reply says of the lookup identifier of
    the message, 0 where it says nothing. ``transaction`` is None for none.
    """

    action: int
    cursor: int | None
    timeout: int | None
    request_id: int | None
    lookup_id: int | None = 0
    transaction: GUID | None = None
    sequence: int = 0

    @property
    def removes(self) -> bool | None:
        """Whether it receives; None for an action that there is not."""
        return None if self.action not in _ACTIONS else ReceiveAction(self.action).removes

    @property
    def lookup(self) -> bool:
        """Whether it asks for a message by its lookup identifier."""
        return self.action in _ACTIONS and ReceiveAction(self.action).lookup


def read_of(call: ObservedCall) -> ObservedRead | None:
    """What a call reads; None for one that reads nothing, or does not say how."""
    members, asked = call.members, call.call.asked
    action = asked(members.action)
    if call.role not in READS or action is None:
        return None
    buffer = getattr(getattr(call.request, "ptb", None), "old", None)
    transaction = getattr(call.request, members.transaction, getattr(buffer, "p_uow", None))
    return ObservedRead(
        action=action,
        cursor=asked(members.cursor),
        timeout=asked(members.timeout),
        request_id=asked(members.request_id),
        lookup_id=asked(members.lookup_id) if members.lookup_id else 0,
        transaction=transaction if isinstance(transaction, GUID) and transaction != NULL_GUID else None,
        sequence=(call.call.number_at(members.found) or 0) & LOW_56,
    )

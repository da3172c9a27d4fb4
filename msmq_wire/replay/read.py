"""`ObservedRead`: what a call that peeks or receives asks for, whatever its interface."""

from __future__ import annotations

import msgspec

from msmq_wire.records.open_queues import read_descriptor
from msmq_wire.replay.call import LOW_56, ObservedCall, number
from msmq_wire.rpc.constants import ReceiveAction
from msmq_wire.wire.types.guid import GUID, NULL_GUID

__all__ = ["ObservedRead", "read_of"]

_ACTIONS = frozenset(int(action) for action in ReceiveAction)


class ObservedRead(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a call that reads asks for, whatever its interface; None where it was not decoded.

    ``lookup_id`` is 0 where the method has none, ``sequence`` what the reply says of the lookup identifier of
    the message, 0 where it says nothing. ``transaction`` is None for none.
    """

    action: int | None
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
    """What a call reads; None for one that reads nothing."""
    request = call.request
    if call.method in ("R_StartReceive", "R_StartTransactionalReceive"):
        transaction = getattr(request, "p_transaction_id", None)
        return ObservedRead(
            action=number(request, "ul_action"),
            cursor=number(request, "h_cursor"),
            timeout=number(request, "ul_timeout"),
            request_id=number(request, "dw_request_id"),
            lookup_id=number(request, "lookup_id"),
            transaction=transaction if isinstance(transaction, GUID) and transaction != NULL_GUID else None,
            sequence=(number(call.response, "p_sequence_id") or 0) & LOW_56,
        )
    if call.method == "rpc_ACReceiveMessageEx":
        old = getattr(getattr(request, "ptb", None), "old", None)
        arm, transaction = getattr(old, "arm", None), getattr(old, "p_uow", None)
        return ObservedRead(
            action=number(arm, "action"),
            cursor=number(arm, "cursor"),
            timeout=number(arm, "request_timeout"),
            request_id=None,
            transaction=transaction if isinstance(transaction, GUID) else None,
        )
    asked = read_descriptor(request)
    if asked is None:
        return None
    second = getattr(call.response, "lp_remote_read_desc2", None)
    by_lookup = call.method == "RemoteQMStartReceiveByLookupId"
    return ObservedRead(
        action=number(asked, "ul_action"),
        cursor=number(asked, "h_cursor"),
        timeout=number(asked, "ul_timeout"),
        request_id=number(asked, "dw_request_id"),
        lookup_id=number(request, "lookup_id") if by_lookup else 0,
        sequence=(number(second, "sequential_id") or 0) & LOW_56,
    )

"""Transactions, from the client's side. [MS-MQMP] 2.2.1.1.1, 2.2.3.1, 3.1.4.12 to 3.1.4.16

The rule kept here: an internal transaction is ended once, by who began it; an external one by its
coordinator.
"""

from __future__ import annotations

from msmq_wire.lab.model.qmcomm.client.machine import MachineOperations
from msmq_wire.lab.model.qmcomm.client.planned_calls import (
    ATTEMPTS,
    EnlistedTransaction,
    PlannedCall,
    Result,
    Steps,
    answered,
)
from msmq_wire.rpc.interfaces.qmcomm_objects import (
    EnlistInternalTransactionRequest,
    EnlistTransactionRequest,
    GetTmWhereaboutsRequest,
    TransactionRequest,
)
from msmq_wire.rpc.statuses import Status
from msmq_wire.wire.types.guid import GUID

_LARGEST = 131_072


class TransactionOperations(MachineOperations):
    """Begin, join and end transactions."""

    def begin_transaction(self) -> Steps[Result[EnlistedTransaction]]:
        """Begin an internal transaction with an identifier of its own. [MS-MQMP] 3.1.4.14"""
        identifier, endpoint = self.new_guid(), self.endpoint
        request = EnlistInternalTransactionRequest(p_uow=identifier)
        answer = yield from self.call("R_QMEnlistInternalTransaction", request)
        status = answered(answer)
        if status != Status.MQ_OK:
            return Result(status=status)
        if answer.response.ph_int_xact.null:
            return Result(status=Status.MQ_ERROR)
        begun = EnlistedTransaction(
            identifier=identifier, endpoint=endpoint, handle=answer.response.ph_int_xact
        )
        self.transactions.append(begun)
        return Result(status=status, value=begun)

    def commit(self, transaction: EnlistedTransaction) -> Steps[int]:
        """Have all happen that an internal transaction holds; the status. [MS-MQMP] 3.1.4.15"""
        return (yield from self._end("R_QMCommitTransaction", transaction))

    def abort(self, transaction: EnlistedTransaction) -> Steps[int]:
        """Have nothing happen of what an internal transaction holds; the status. [MS-MQMP] 3.1.4.16"""
        return (yield from self._end("R_QMAbortTransaction", transaction))

    def _end(self, name: str, transaction: EnlistedTransaction) -> Steps[int]:
        if transaction.handle.null:
            raise ValueError("an external transaction is ended by its coordinator")
        self.ended(transaction)
        request = TransactionRequest(ph_int_xact=transaction.handle)
        return answered((yield PlannedCall.of(name, request, transaction.endpoint)))

    def ended(self, transaction: EnlistedTransaction) -> None:
        """A transaction was ended, and is not used again; ValueError where it was before."""
        if transaction.ended:
            raise ValueError("the transaction has ended")
        self.transactions.remove(transaction)
        transaction.ended = True

    def get_tm_whereabouts(self, room: int = 0) -> Steps[Result[bytes]]:
        """Ask where the server's transaction manager is, with ``room`` bytes at first.

        [MS-MQMP] 3.1.4.12. A coordinator makes of it the cookie for `enlist_transaction`.
        """
        if not 0 <= room <= _LARGEST:
            raise ValueError(f"room for whereabouts is 0 to {_LARGEST} bytes")
        status = int(Status.MQ_ERROR)
        for _ in range(ATTEMPTS):
            request = GetTmWhereaboutsRequest(cb_buf_size=room)
            answer = yield from self.call("R_QMGetTmWhereabouts", request)
            status = answered(answer)
            if answer.fault is not None:
                break
            length: int = answer.response.pcb_whereabouts
            if status == Status.MQ_OK:
                whereabouts = bytes(answer.response.pb_whereabouts[:length])
                if len(whereabouts) < length:
                    return Result(status=Status.MQ_ERROR)
                return Result(status=status, value=whereabouts)
            if status != Status.MQ_ERROR_USER_BUFFER_TOO_SMALL or not room < length <= _LARGEST:
                break
            room = length
        return Result(status=status)

    def enlist_transaction(self, identifier: GUID, cookie: bytes) -> Steps[Result[EnlistedTransaction]]:
        """Have the server take part in an external transaction. [MS-MQMP] 3.1.4.13

        ``identifier`` is the XACTUOW that the coordinator gave it, ``cookie`` what it exported for the
        server ([MS-DTCO] 3.3.4.14).
        """
        if not 0 < len(cookie) <= _LARGEST:
            raise ValueError(f"a cookie has 1 to {_LARGEST} bytes")
        endpoint = self.endpoint
        request = EnlistTransactionRequest(p_uow=identifier, cb_cookie=len(cookie), pb_cookie=cookie)
        status = answered((yield from self.call("R_QMEnlistTransaction", request)))
        if status != Status.MQ_OK:
            return Result(status=status)
        enlisted = EnlistedTransaction(identifier=identifier, endpoint=endpoint)
        self.transactions.append(enlisted)
        return Result(status=status, value=enlisted)

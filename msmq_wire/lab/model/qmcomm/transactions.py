"""Methods of qmcomm about transactions, internal and external. [MS-MQMP] 3.1.4.12 to 3.1.4.16"""

from __future__ import annotations

import msgspec

from msmq_wire.lab.model.data.elements import Transaction
from msmq_wire.lab.model.events.transaction import (
    create_transaction,
    transaction_abort,
    transaction_commit,
    transaction_prepare,
)
from msmq_wire.lab.model.interface_server import ClientAssociation, ServerCall
from msmq_wire.lab.model.qmcomm.methods import QmcommMethods, fail
from msmq_wire.rpc.interfaces.qmcomm_objects import (
    EnlistInternalTransactionRequest,
    EnlistTransactionRequest,
    GetTmWhereaboutsRequest,
    GetTmWhereaboutsResponse,
    TransactionRequest,
    TransactionResponse,
)
from msmq_wire.rpc.interfaces.shared_parameters import StatusResponse
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.context_handle import ContextHandle


class TransactionHandle(msgspec.Struct, eq=False, kw_only=True):
    """An RPC_INT_XACT_HANDLE. [MS-MQMP] 3.1.1.10"""

    handle: ContextHandle = ContextHandle()
    transaction_reference: Transaction


class TransactionMethods(QmcommMethods):
    """R_QMGetTmWhereabouts to R_QMAbortTransaction."""

    def r_qm_get_tm_whereabouts(self, call: ServerCall, request: GetTmWhereaboutsRequest) -> None:
        """Give where the transaction manager is. [MS-MQMP] 3.1.4.12"""
        room = bytes(request.cb_buf_size)
        manager = self.environment.transaction_manager
        whereabouts = None if manager is None else manager.extended_whereabouts()
        if whereabouts is None:
            return fail(call, Status.MQ_ERROR_DTC_CONNECT, pb_whereabouts=room)
        size = len(whereabouts)
        if size > len(room):
            status = Status.MQ_ERROR_USER_BUFFER_TOO_SMALL
            return fail(call, status, pb_whereabouts=room, pcb_whereabouts=size)
        call.reply(GetTmWhereaboutsResponse(pb_whereabouts=whereabouts + room[size:], pcb_whereabouts=size))

    def r_qm_enlist_transaction(self, call: ServerCall, request: EnlistTransactionRequest) -> None:
        """Take part in a transaction of the DTC, which ends it. [MS-MQMP] 3.1.4.13"""
        identifier = bytes(request.p_uow)
        if identifier in self.manager.transaction_collection:
            return call.reply(StatusResponse())
        if self._full():
            return fail(call, Status.MQ_ERROR_INSUFFICIENT_RESOURCES)
        manager = self.environment.transaction_manager
        transaction = None if manager is None else manager.import_transaction(request.pb_cookie)
        if manager is None or transaction is None or not manager.enlist(transaction):
            return fail(call, Status.MQ_ERROR_TRANSACTION_ENLIST)
        create_transaction(self.manager, identifier)
        call.reply(StatusResponse())

    def _full(self) -> bool:
        return len(self.manager.transaction_collection) >= self.environment.transaction_limit

    def r_qm_enlist_internal_transaction(
        self, call: ServerCall, request: EnlistInternalTransactionRequest
    ) -> None:
        """Begin a transaction that the client ends. [MS-MQMP] 3.1.4.14"""
        identifier = bytes(request.p_uow)
        if identifier in self.manager.transaction_collection:
            return fail(call, Status.MQ_ERROR_TRANSACTION_SEQUENCE)
        if self._full():
            return fail(call, Status.MQ_ERROR_INSUFFICIENT_RESOURCES)
        begun = TransactionHandle(transaction_reference=create_transaction(self.manager, identifier))
        begun.handle = call.association.handle(self.manager, begun)
        call.reply(TransactionResponse(ph_int_xact=begun.handle))

    def r_qm_commit_transaction(self, call: ServerCall, request: TransactionRequest) -> None:
        """Have all happen that the transaction holds. [MS-MQMP] 3.1.4.15"""
        self._end(call, request, commit=True)

    def r_qm_abort_transaction(self, call: ServerCall, request: TransactionRequest) -> None:
        """Have nothing happen of what the transaction holds. [MS-MQMP] 3.1.4.16"""
        self._end(call, request, commit=False)

    def _end(self, call: ServerCall, request: TransactionRequest, *, commit: bool) -> None:
        begun = call.association.thing(request.ph_int_xact, TransactionHandle)
        if begun is None:
            return fail(call, Status.MQ_ERROR_INVALID_HANDLE, ph_int_xact=request.ph_int_xact)
        call.association.forget(begun.handle)
        status = self._end_transaction(begun.transaction_reference, commit=commit)
        call.reply(TransactionResponse(status=status))

    def _end_transaction(self, transaction: Transaction, *, commit: bool) -> int:
        identifier = transaction.identifier
        # One that ended otherwise can have been begun anew by somebody else.
        if self.manager.transaction_collection.get(identifier) is not transaction:
            return Status.MQ_ERROR_TRANSACTION_SEQUENCE
        if not commit:
            return transaction_abort(self.manager, identifier)
        # By the letter nobody prepares an internal transaction, and no message would be its first or last.
        transaction_prepare(self.manager, identifier)
        return transaction_commit(self.manager, identifier)

    def rundown_transactions(self, association: ClientAssociation) -> None:
        """Abort what a client that is gone has begun. [MS-MQMP] 3.1.7.3"""
        for identifier, thing in list(association.handles.items()):
            if isinstance(thing, TransactionHandle):
                del association.handles[identifier]
                self._end_transaction(thing.transaction_reference, commit=False)

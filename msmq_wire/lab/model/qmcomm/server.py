"""`QmcommServer`: qmcomm as a function of the model. [MS-MQMP] 3.1.4"""

from __future__ import annotations

from msmq_wire.lab.model.interface_server import ClientAssociation
from msmq_wire.lab.model.qmcomm.local_queue_context import rundown_queue_handles
from msmq_wire.lab.model.qmcomm.objects import ObjectMethods
from msmq_wire.lab.model.qmcomm.queue_uses import QueueUseMethods
from msmq_wire.lab.model.qmcomm.queues import QueueMethods
from msmq_wire.lab.model.qmcomm.remote_queues import RemoteQueueMethods
from msmq_wire.lab.model.qmcomm.transactions import TransactionMethods


class QmcommServer(RemoteQueueMethods, ObjectMethods, TransactionMethods, QueueMethods, QueueUseMethods):
    """The interface by which applications use queues through their supporting server.

    ``QmcommServer(manager, environment)``: see `QmcommEnvironment` for what it needs besides the queue
    manager. The tables of the document are the context handles of each client.
    """

    def rundown(self, association: ClientAssociation) -> None:
        """The client is gone: close what it opened, abort what it began. [MS-MQMP] 3.1.7.1 to 3.1.7.3"""
        self.rundown_questions(association)
        self.rundown_transactions(association)
        rundown_queue_handles(self.manager, association)
        self.rundown_remote_queues(association)

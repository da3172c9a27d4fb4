"""`QmcommClient`: the client of qmcomm and qmcomm2, without I/O. [MS-MQMP] 3.2

The rule kept here: an operation is a generator that yields a `PlannedCall` and is sent its `CallResult`; it
returns what the application gets. Whoever drives it owns the connections, one for each `Endpoint` of a step,
and may drive several operations at once: a receive that waits keeps no other from going on.
"""

from __future__ import annotations

from msmq_wire.lab.model.qmcomm.client.messages import MessageOperations
from msmq_wire.lab.model.qmcomm.client.objects import ObjectOperations
from msmq_wire.lab.model.qmcomm.client.queues import QueueOperations
from msmq_wire.lab.model.qmcomm.client.transactions import TransactionOperations


class QmcommClient(ObjectOperations, QueueOperations, MessageOperations, TransactionOperations):
    """An application that uses queues through its supporting server.

    See `MachineOperations` for what it is made of. Operations raise ValueError, before their first call, for
    what an application must not ask for; what a server refuses is a status. All failures mean the same.

    >>> import random
    >>> from msmq_wire.lab.model.interface_server import Answer
    >>> from msmq_wire.rpc.interfaces.shared_parameters import PortResponse
    >>> client = QmcommClient("host", computer_name="desk", randomness=random.Random(1))
    >>> asking = client.get_server_port()
    >>> next(asking).name
    'R_QMGetRTQMServerPort'
    >>> try:
    ...     asking.send(Answer(PortResponse(return_value=2103)))
    ... except StopIteration as end:
    ...     end.value, client.endpoint
    (2103, Endpoint(computer='host', port=2103))
    """

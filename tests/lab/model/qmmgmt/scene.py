"""A queue manager with queues of all kinds, and an administrator of it."""

from __future__ import annotations

from typing import Any

from msmq_wire.lab.model.data.elements import OutgoingQueue
from msmq_wire.lab.model.data.enumerations import QueueAccessType
from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.lab.model.qmmgmt.client import act, get_info
from msmq_wire.lab.model.qmmgmt.server import QmmgmtServer
from msmq_wire.rpc.constants import ManagementAction
from msmq_wire.rpc.properties import PropertyKind, find_property
from msmq_wire.rpc.statuses import Status
from tests.lab.model.scene import ServerScene, run

FAR = "DIRECT=OS:far\\private$\\bills"
ORDERS = "DIRECT=OS:host\\private$\\orders"
MACHINE, QUEUE = PropertyKind.MANAGEMENT_MACHINE, PropertyKind.MANAGEMENT_QUEUE


class Scene(ServerScene[QmmgmtServer]):
    """The queue ``orders`` here, an outgoing queue to ``bills`` elsewhere, and an administrator."""

    def __init__(self, **how: Any) -> None:
        super().__init__(QmmgmtServer, **how)

    def outgoing(self, name: str = FAR) -> OutgoingQueue:
        """An outgoing queue that is not open any more."""
        queue = self.opened(QueueAccessType.SEND_ACCESS, name).queue_reference
        assert isinstance(queue, OutgoingQueue)
        queue.open_queue_descriptor_collection.clear()
        return queue

    def run(self, steps: Any) -> Any:
        """Make the calls of an operation of the client."""
        return run(self.client.call, steps)

    def get(self, propid: int, name: str | None = None) -> Any:
        """A property of a queue, or without a name of the computer."""
        result = self.run(get_info(name, (propid,)))
        assert result.status == Status.MQ_OK
        return result.values[propid]

    def raw(self, propid: int, name: str | None = None) -> Any:
        """The variant of a property as it comes."""
        steps = get_info(name, (propid,))
        answer: CallResult = self.client.call(*next(steps))
        (value,) = answer.response.ap_var
        return value

    def act(self, action: str, name: str | None = None) -> int:
        """Have the computer or a queue do something; the status."""
        status: int = self.run(act(ManagementAction(action), name))
        return status


def type_of(propid: int, kind: PropertyKind) -> int:
    """The variant type of a property."""
    found = find_property(propid, kind)
    assert found is not None
    assert found.vt is not None
    return found.vt

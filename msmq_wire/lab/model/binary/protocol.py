"""`BinaryProtocol`: the sessions of a queue manager, and what waits for those who came. [MS-MQQB] 3.1.1.3

The rule kept here: what a peer can make up, such as queue managers that do not exist, is bounded; the oldest
goes first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from msmq_wire.lab.model.binary.binary_session import BinarySession
from msmq_wire.lab.model.binary.delivery import Delivery
from msmq_wire.lab.model.binary.ledger import Ledger
from msmq_wire.lab.model.binary.outgoing import ByteQuota, TransmissionQueue
from msmq_wire.lab.model.binary.outgoing_message import Outcome, OutgoingMessage
from msmq_wire.lab.model.binary.settings import BinarySettings
from msmq_wire.lab.model.data.elements import ModelQueueManager
from msmq_wire.wire.types.guid import GUID, NULL_GUID

_MOST_RETURNS = 1 << 12
"""Queue managers that came here and for which something may wait."""
_MOST_RETURN_BYTES = 1 << 25


class BinaryProtocol:
    """The binary protocol of one queue manager: makes its sessions and its outgoing queues.

    ``accepting`` says whether sessions are accepted. ``message_id_ordinal`` is the number of the last message
    that was sent before (MessageIdOrdinal of the queue manager); who is started again under the same
    identifier goes on where it was, since receivers drop numbers that they saw. ``connect_back`` is the
    ``connect`` of the queues that hold acknowledgments for those who came; without it they wait until these
    come again.
    """

    def __init__(
        self,
        manager: ModelQueueManager,
        settings: BinarySettings | None = None,
        *,
        message_id_ordinal: int = 0,
        connect_back: Callable[[TransmissionQueue], None] | None = None,
    ) -> None:
        self.manager = manager
        manager.message_id_ordinal = message_id_ordinal or manager.message_id_ordinal
        self.accepting = True
        self.connect_back = connect_back
        self.sessions: list[BinarySession] = []
        self.ledger = Ledger(manager, BinarySettings() if settings is None else settings)
        self.delivery = Delivery(self.ledger)
        self._returns: OrderedDict[GUID, TransmissionQueue] = OrderedDict()
        self._return_budget = ByteQuota(most=_MOST_RETURN_BYTES)

    def accept(
        self, remote_address: str = "", *, changed: Callable[[BinarySession], None] | None = None
    ) -> BinarySession:
        """Handling an Incoming Transport Connection from an IP address. [MS-MQQB] 3.1.5.10"""
        session = BinarySession(self, "acceptor", remote_address=remote_address, changed=changed)
        self.sessions.append(session)
        return session

    def initiate(
        self,
        outgoing: TransmissionQueue,
        *,
        peer_address: str = "",
        ping_sent: bool = False,
        changed: Callable[[BinarySession], None] | None = None,
    ) -> BinarySession:
        """Establish a Protocol Session on a connection that was made; its first bytes are there at once.

        ``peer_address`` is the IP address at the other end. [MS-MQQB] 3.1.5.2.3
        """
        if peer_address:
            outgoing.addresses = (peer_address,)
        session = BinarySession(
            self,
            "initiator",
            outgoing=outgoing,
            remote_address=outgoing.remote_address,
            ping_sent=ping_sent,
            changed=changed,
        )
        self.sessions.append(session)
        return session

    def outgoing_queue(
        self,
        *,
        remote_queue_manager: GUID = NULL_GUID,
        remote_host_name: str = "",
        connect: Callable[[TransmissionQueue], None] | None = None,
        settled: Callable[[OutgoingMessage, Outcome], None] | None = None,
    ) -> TransmissionQueue:
        """A queue for what is sent to one queue manager; NULL where only its name or address is known."""
        return TransmissionQueue(
            self.ledger,
            remote_queue_manager=remote_queue_manager,
            remote_host_name=remote_host_name,
            connect=connect,
            settled=settled,
        )

    def stop(self) -> None:
        """Queue Manager Stopped: all sessions are closed. [MS-MQQB] 3.1.4.2"""
        self.accepting = False
        for session in list(self.sessions):
            session.close("stopped")

    def opened(self, session: BinarySession) -> TransmissionQueue:
        """The queue that a session sends from: its own, or what waits for who came."""
        if session.outgoing is not None:
            return session.outgoing
        who = session.remote_queue_manager
        queue = self._returns.get(who)
        if queue is None:
            self._make_room()
            queue = self._returns[who] = TransmissionQueue(
                self.ledger,
                remote_queue_manager=who,
                connect=self.connect_back,
                budget=self._return_budget,
            )
        self._returns.move_to_end(who)
        return queue

    def _make_room(self) -> None:
        """Give up what waits for those who came first and are not here, where there is too much of it."""
        budget = self._return_budget
        while len(self._returns) >= _MOST_RETURNS or budget.used > budget.most // 2:
            idle = next((who for who, queue in self._returns.items() if queue.session is None), None)
            if idle is None:
                return
            self._returns.pop(idle).clear()

    def ended(self, session: BinarySession) -> None:
        """A session was closed."""
        if session in self.sessions:
            self.sessions.remove(session)
        if session.outgoing is not None:
            session.outgoing.lost(session, refused=session.close_reason == "refused")

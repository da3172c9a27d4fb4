"""Two queue managers, and between them a network that cuts bytes anywhere and loses connections."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from msmq_wire import GUID, build_message
from msmq_wire.engines.codec import decode
from msmq_wire.lab.model.binary.binary_session import BinarySession
from msmq_wire.lab.model.binary.outgoing import TransmissionQueue
from msmq_wire.lab.model.binary.outgoing_message import Outcome, OutgoingMessage
from msmq_wire.lab.model.binary.protocol import BinaryProtocol
from msmq_wire.lab.model.binary.session_opening import SessionState
from msmq_wire.lab.model.binary.settings import BinarySettings
from msmq_wire.lab.model.data.elements import ModelMessage, ModelQueueManager, Queue
from msmq_wire.lab.model.data.enumerations import ModelQueueType as KindOfQueue
from msmq_wire.lab.model.data.timers import Timers
from msmq_wire.lab.model.events.message import dequeue_message
from msmq_wire.reassembly.packet_framer import FramedPacket, PacketFramer
from msmq_wire.records.record import FoundPacket, Record
from msmq_wire.sessions import Story, follow
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from msmq_wire.wire.packets.user_message import UserMessage
from tests.hex_files import hex_bytes
from tests.lab.model.scene import make_manager, make_queue, open_descriptor

START = 1_795_166_047
"""Seconds since 1970 when the timers are at 0."""
SENDER = GUID.parse("a1d30c5b-247e-4f45-9a31-c5d20e6f7788")
RECEIVER = GUID.parse("c277e190-3d6a-4c4b-8d05-f21b9ac83e44")
ORDERS = "DIRECT=OS:receiver\\private$\\orders"
ORDERS_TX = "DIRECT=OS:receiver\\private$\\orders_tx"
ADMIN = "DIRECT=OS:sender\\private$\\admin"
Kind = Literal["express", "recoverable", "transactional"]
PACKETS = Path(__file__).parents[4] / "fixtures" / "packets"
USER = ("user_message", "order_ack", "final_ack")


def system_queue(manager: ModelQueueManager, name: str) -> Queue:
    return Queue(
        queue_manager=manager,
        pathname=f"{manager.computer_name}\\system$;{name}",
        queue_type=KindOfQueue.SYSTEM,
    )


def queue_manager(name: str, identifier: GUID, timers: Timers) -> ModelQueueManager:
    manager = make_manager(name=name, identifier=identifier, start=START, timers=timers)
    manager.system_journal_queue = system_queue(manager, "JOURNAL")
    manager.system_deadletter_queue = system_queue(manager, "DEADLETTER")
    manager.system_transactional_deadletter_queue = system_queue(manager, "DEADXACT")
    return manager


def transaction(**flags: int) -> TransactionHeader:
    return TransactionHeader().with_bits(fm=1, lm=1, **flags)


def message(
    kind: Kind = "express", body: bytes = b"body", *, jn: int = 0, jp: int = 0, **more: Any
) -> UserMessage:
    """A message of the sender to its queue at the receiver."""
    queue = more.pop("queue", ORDERS_TX if kind == "transactional" else ORDERS)
    if kind == "transactional":
        more.setdefault("transaction", transaction())
    else:
        more["delivery"] = kind
    packet = build_message(queue, body, source_queue_manager=SENDER, **more)
    user = packet.user_header.with_bits(jn=jn, jp=jp)
    return replace(packet, user_header=user)


def bodies(queue: Queue) -> list[bytes]:
    """The bodies in a queue, in the order in which they would be received."""
    return [position.message_reference.properties.body for position in queue.message_position_list]


def classes(queue: Queue) -> list[int]:
    return [position.message_reference.message_class for position in queue.message_position_list]


def journal(manager: ModelQueueManager) -> list[bytes]:
    """The bodies in the journal of a queue manager."""
    assert manager.system_journal_queue is not None
    return bodies(manager.system_journal_queue)


def dead(manager: ModelQueueManager, *, transactional: bool = False) -> list[bytes]:
    """The bodies in one of the dead-letter queues of a queue manager."""
    queue = manager.system_deadletter_queue
    if transactional:
        queue = manager.system_transactional_deadletter_queue
    assert queue is not None
    return bodies(queue)


def frame(name: str) -> bytes:
    """A packet of the fixtures, written as commented hex."""
    return hex_bytes(PACKETS / f"{name}.hex")


def receive(queue: Queue) -> ModelMessage:
    """Take the first message of a queue."""
    got: list[tuple[int, ModelMessage | None]] = []
    descriptor = open_descriptor(queue.queue_manager, f"DIRECT=OS:{queue.pathname}")
    dequeue_message(descriptor, lambda status, found: got.append((status, found)), timeout=0)
    ((status, found),) = got
    assert status == 0
    assert found is not None
    return found


class Wire:
    """A connection; the first session initiated it. What arrives is written down, packet by packet."""

    def __init__(
        self, world: World, number: int, client: BinarySession, server: BinarySession, *, back: bool = False
    ) -> None:
        self.world = world
        self.back = back
        self.number = number
        self.ends = (client, server)
        self.up = True
        self._flying = [bytearray(), bytearray()]
        self._sent = (PacketFramer(), PacketFramer())
        self._arrived = (PacketFramer(), PacketFramer())
        self.user_sent = [0, 0]
        self.user_acknowledged = [0, 0]
        world.record(self, 0, event="syn")
        world.record(self, 1, event="syn_ack")
        world.record(self, 0, event="established")

    def drop(self, event: str = "rst") -> None:
        if self.up:
            self.up = False
            self.world.record(self, 0, event=event)
            self.world.record(self, 0, event="closed")
            for end in self.ends:
                end.disconnected()

    def step(self, largest: int) -> bool:
        """Carry a piece each way; False when there was nothing to carry."""
        moved = False
        for side in (0, 1):
            data = self.ends[side].take()
            self._flying[side] += data
            for event in self._sent[side].feed(data, 0, 0):
                assert isinstance(event, FramedPacket)
                assert event.complete
                if not decode(event.data).base_header.bit("in"):
                    self.user_sent[side] += 1
            self.check_window(side)
            size = self.world.random.randint(1, largest)
            piece = bytes(self._flying[side][:size])
            del self._flying[side][:size]
            if piece and self.up:
                moved = True
                self._deliver(side, piece)
        if self.up and not moved and any(end.closed for end in self.ends):
            self.drop("fin")
        return moved

    def _deliver(self, side: int, piece: bytes) -> None:
        for event in self._arrived[side].feed(piece, 0, 0):
            assert isinstance(event, FramedPacket)
            record = self.world.record(self, side, data=event.data)
            header = getattr(record.packet, "session_header", None)
            if header is not None:
                number = header.ack_sequence_number
                self.user_acknowledged[1 - side] = max(self.user_acknowledged[1 - side], number)
        self.ends[1 - side].feed(piece)

    def check_window(self, side: int) -> None:
        window = min(end.window_size for end in self.ends)
        assert self.user_sent[side] - self.user_acknowledged[side] <= window


class World:
    """A sender and a receiver on one clock; ``drops`` is the chance that a step ends the connection."""

    def __init__(
        self,
        seed: int = 0,
        settings: BinarySettings | None = None,
        *,
        largest: int = 4096,
        drops: float = 0,
        receiver_settings: BinarySettings | None = None,
        known: bool = False,
        connect_back: bool = False,
    ) -> None:
        self.random = random.Random(seed)
        self.timers = Timers()
        self.largest = largest
        self.drops = drops
        self.reachable = True
        self.records: list[Record] = []
        self.wires: list[Wire] = []
        self.settled: list[tuple[OutgoingMessage, Outcome]] = []
        self.sender = queue_manager("sender", SENDER, self.timers)
        self.receiver = queue_manager("receiver", RECEIVER, self.timers)
        self.admin = make_queue(self.sender, "admin")
        self.orders = make_queue(self.receiver, "orders")
        self.orders_tx = make_queue(self.receiver, "orders_tx", transactional=True)
        self.local = BinaryProtocol(self.sender, settings)
        self.remote = BinaryProtocol(
            self.receiver,
            receiver_settings or settings,
            connect_back=self.connect_back if connect_back else None,
        )
        self.outgoing = self.local.outgoing_queue(
            remote_queue_manager=RECEIVER if known else GUID(bytes(16)),
            remote_host_name="192.0.2.10",
            connect=self.connect,
            settled=lambda one, outcome: self.settled.append((one, outcome)),
        )

    @property
    def wire(self) -> Wire:
        return self.wires[-1]

    @property
    def outcomes(self) -> list[Outcome]:
        return [outcome for _, outcome in self.settled]

    def sent(self, packet: UserMessage | None = None) -> OutgoingMessage:
        """A message that the sender's queue takes."""
        sent = self.outgoing.send(message() if packet is None else packet)
        assert sent is not None
        return sent

    def connect(self, outgoing: TransmissionQueue) -> None:
        if not self.reachable:
            outgoing.failed()
            return
        client = self.local.initiate(outgoing, peer_address="192.0.2.10")
        server = self.remote.accept("192.0.2.21")
        self.wires.append(Wire(self, len(self.wires), client, server))

    def connect_back(self, outgoing: TransmissionQueue) -> None:
        client = self.remote.initiate(outgoing, peer_address="192.0.2.21")
        server = self.local.accept("192.0.2.10")
        self.wires.append(Wire(self, len(self.wires), client, server, back=True))

    def record(self, wire: Wire, side: int, *, event: str | None = None, data: bytes = b"") -> Record:
        number = len(self.records) + 1
        hosts = ("192.0.2.10", "192.0.2.21") if wire.back else ("192.0.2.21", "192.0.2.10")
        ends = f"{hosts[0]}:{40000 + wire.number}", f"{hosts[1]}:1801"
        src, dst = ends if side == 0 else ends[::-1]
        time = (START * 1000 + self.timers.now) * 1_000_000 + number
        if event is not None:
            made = Record(
                id=number, type="tcp_stream", frames=(number,), time=time, src=src, dst=dst,
                stream=wire.number, event=event,
            )  # fmt: skip
        else:
            made = FoundPacket(number, "", data, (number,), time, src, dst, wire.number, 0).record()
        self.records.append(made)
        return made

    def settle(self) -> None:
        """Carry what there is to carry, at this moment."""
        moving = True
        while moving:
            moving = False
            for wire in [wire for wire in self.wires if wire.up]:
                moving |= wire.step(self.largest)
                if wire.up and self.random.random() < self.drops:
                    wire.drop()
                    moving = True

    def run(self, milliseconds: int = 3_600_000) -> None:
        """Let so much time pass, timer by timer."""
        end = self.timers.now + milliseconds
        self.settle()
        while (due := self.timers.next_due) is not None and due <= end:
            self.timers.advance(due)
            self.settle()
        self.timers.advance(end)
        self.settle()

    def open(self) -> Wire:
        """Open a session with the first message of the sender."""
        self.outgoing.send(message())
        self.settle()
        assert self.wire.ends[0].state is SessionState.OPEN
        assert self.wire.ends[1].state is SessionState.OPEN
        return self.wire

    def types(self, side: int | None = None) -> list[str]:
        """The packets that arrived, from the client (0) or the server (1)."""
        found = [record for record in self.records if record.type != "tcp_stream"]
        return [one.type for one in found if side is None or (one.dst or "").endswith(":1801") == (side == 0)]

    def story(self) -> Story:
        return follow(self.records)

"""Sessions, transactional sequences, remote reads and the life of every message, told from records.

``follow(read_capture(path, streams=True))`` gives a `Story`; `StoryFollower` takes records one by one, or
runs of them by column.
"""

from __future__ import annotations

from msmq_wire.sessions.budget import BUDGET
from msmq_wire.sessions.clocks import Clocks, HostClock
from msmq_wire.sessions.discoveries import DiscoveryReply, ServerDiscovery
from msmq_wire.sessions.life import Hop, MessageAcknowledgment, MessageLife
from msmq_wire.sessions.message_lives import MessageLives
from msmq_wire.sessions.moment import Moment
from msmq_wire.sessions.network_evidence import ConnectionReset, NetworkEvidence, PacketTooBig, SentEvidence
from msmq_wire.sessions.outcomes import NACK_REASONS, UNLISTED_REASONS, class_words
from msmq_wire.sessions.reads import RemoteQueue, RemoteRead
from msmq_wire.sessions.session import OfferedParameters, PingExchange, Session, SessionDirection, SessionNote
from msmq_wire.sessions.story import Leaving, LeftOut, Story, StoryFollower, follow
from msmq_wire.sessions.streams import StrayAck, TransactionalStream, TransactionBridge, TransactionGap
from msmq_wire.sessions.trace_step import Trace, TraceStep

__all__ = [
    "BUDGET",
    "NACK_REASONS",
    "UNLISTED_REASONS",
    "Clocks",
    "ConnectionReset",
    "DiscoveryReply",
    "Hop",
    "HostClock",
    "Leaving",
    "LeftOut",
    "MessageAcknowledgment",
    "MessageLife",
    "MessageLives",
    "Moment",
    "NetworkEvidence",
    "OfferedParameters",
    "PacketTooBig",
    "PingExchange",
    "RemoteQueue",
    "RemoteRead",
    "SentEvidence",
    "ServerDiscovery",
    "Session",
    "SessionDirection",
    "SessionNote",
    "Story",
    "StoryFollower",
    "StrayAck",
    "Trace",
    "TraceStep",
    "TransactionBridge",
    "TransactionGap",
    "TransactionalStream",
    "class_words",
    "follow",
]

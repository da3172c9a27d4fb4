"""Values that the abstract data model counts with. [MS-MQDMPR] 3.1.1"""

from __future__ import annotations

from enum import Enum


class ModelQueueType(Enum):
    """What kind of queue it is. [MS-MQDMPR] 3.1.1.2"""

    PRIVATE = "Private"
    PUBLIC = "Public"
    SYSTEM = "System"
    CONNECTOR = "Connector"


class OutgoingQueueState(Enum):
    """What is done about an outgoing queue. [MS-MQDMPR] 3.1.1.3"""

    CONNECTED = "Connected"
    DISCONNECTED = "Disconnected"
    DISCONNECTING = "Disconnecting"
    INACTIVE = "Inactive"
    LOCKED = "Locked"
    NEED_VALIDATION = "NeedValidation"
    WAITING = "Waiting"
    ON_HOLD = "OnHold"


class AdministrativeAction(Enum):
    """What an administrator does to an outgoing queue. [MS-MQDMPR] 3.1.7.2.3, 3.1.7.2.4, [MS-MQMR] 3.1.4.2"""

    PAUSE = "Pause"
    RESUME = "Resume"
    RESEND = "Resend"


class PositionState(Enum):
    """What can be done with the message in a slot of a queue. [MS-MQDMPR] 3.1.1.11"""

    AVAILABLE = "Available"
    LOCKED = "Locked"
    DELETED = "Deleted"
    PURGE_PENDING = "PurgePending"


class OperationType(Enum):
    """What a transaction does to a slot. [MS-MQDMPR] 3.1.1.13"""

    ENQUEUE = "Enqueue"
    DEQUEUE = "Dequeue"
    MOVE = "Move"


class QueueAccessType(Enum):
    """What a queue was opened for. [MS-MQDMPR] 3.1.1.17"""

    RECEIVE_ACCESS = "ReceiveAccess"
    SEND_ACCESS = "SendAccess"
    PEEK_ACCESS = "PeekAccess"
    MOVE_ACCESS = "MoveAccess"
    RECEIVE_ADMIN_ACCESS = "ReceiveAdminAccess"
    PEEK_ADMIN_ACCESS = "PeekAdminAccess"


class QueueShareMode(Enum):
    """Whether others may receive meanwhile. [MS-MQDMPR] 3.1.1.17"""

    DENY_NONE = "DenyNone"
    DENY_RECEIVE = "DenyReceive"


class RemoteReadState(Enum):
    """Whether a descriptor serves remote reads. [MS-MQDMPR] 3.1.1.16"""

    NONE = "None"
    OPENED = "Opened"
    READY_FOR_READ = "ReadyForRead"


class MessageSeekAction(Enum):
    """Which message a seek gives, relative to another one. [MS-MQDMPR] 3.1.1.17"""

    SEEK_FIRST = "SeekFirst"
    SEEK_PREVIOUS = "SeekPrevious"
    SEEK_CURRENT = "SeekCurrent"
    SEEK_NEXT = "SeekNext"
    SEEK_LAST = "SeekLast"


class CursorState(Enum):
    """What a cursor did last. [MS-MQDMPR] 3.2.1.2"""

    UNREAD = "Unread"
    WAIT_RECEIVE = "WaitReceive"
    WAIT_PEEK = "WaitPeek"
    READ = "Read"

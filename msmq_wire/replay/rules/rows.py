"""The rows about messages by what is asked for: what comes first, what is locked, removed or passed over.

[MS-MQRR] 3.1.4.6 to 3.1.4.15, [MS-MQQP] 3.1.4, [MS-MQMP] 3.1.5.3. A number alone is a row of the method.
"""

from __future__ import annotations

from msmq_wire.rpc.constants import ReceiveAction

__all__ = [
    "FIRST_BY_CURSOR_ROWS",
    "FIRST_ROWS",
    "LOCK_ROWS",
    "PUT_BACK_ROWS",
    "REMOVE_ROWS",
    "SEEK_FIRST_ROWS",
    "SEEK_LAST_ROWS",
    "SEEK_ROWS",
    "WAIT_ROWS",
]

FIRST_ROWS = {
    "R_StartReceive": 90,
    "R_StartTransactionalReceive": 85,
    "RemoteQMStartReceive": 24,
    "RemoteQMStartReceive2": 26,
    "rpc_ACReceiveMessageEx": 167,
}
FIRST_BY_CURSOR_ROWS = {
    ("R_StartReceive", ReceiveAction.MQ_ACTION_RECEIVE): 95,
    ("R_StartReceive", ReceiveAction.MQ_ACTION_PEEK_CURRENT): 99,
    ("R_StartTransactionalReceive", ReceiveAction.MQ_ACTION_RECEIVE): 90,
    ("RemoteQMStartReceive", ReceiveAction.MQ_ACTION_RECEIVE): 25,
    ("RemoteQMStartReceive2", ReceiveAction.MQ_ACTION_RECEIVE): 27,
}
"""The rows about the first message that comes by a cursor."""
SEEK_ROWS = {
    ("R_StartReceive", ReceiveAction.MQ_LOOKUP_PEEK_NEXT): 68,
    ("R_StartReceive", ReceiveAction.MQ_LOOKUP_PEEK_PREV): 71,
    ("R_StartReceive", ReceiveAction.MQ_LOOKUP_RECEIVE_NEXT): 79,
    ("R_StartReceive", ReceiveAction.MQ_LOOKUP_RECEIVE_PREV): 84,
    ("R_StartTransactionalReceive", ReceiveAction.MQ_LOOKUP_RECEIVE_NEXT): 73,
    ("R_StartTransactionalReceive", ReceiveAction.MQ_LOOKUP_RECEIVE_PREV): 79,
    ("RemoteQMStartReceiveByLookupId", ReceiveAction.MQ_LOOKUP_PEEK_NEXT): 28,
    ("RemoteQMStartReceiveByLookupId", ReceiveAction.MQ_LOOKUP_PEEK_PREV): 26,
    ("RemoteQMStartReceiveByLookupId", ReceiveAction.MQ_LOOKUP_RECEIVE_NEXT): 28,
    ("RemoteQMStartReceiveByLookupId", ReceiveAction.MQ_LOOKUP_RECEIVE_PREV): 26,
}
"""The rows about what stands before a message, and after it."""
WAIT_ROWS = {
    ("R_StartReceive", ReceiveAction.MQ_ACTION_RECEIVE): 92,
    ("R_StartReceive", ReceiveAction.MQ_ACTION_PEEK_CURRENT): 101,
    ("R_StartTransactionalReceive", ReceiveAction.MQ_ACTION_RECEIVE): 87,
    ("RemoteQMStartReceive", ReceiveAction.MQ_ACTION_RECEIVE): 34,
    ("RemoteQMStartReceive", ReceiveAction.MQ_ACTION_PEEK_CURRENT): 34,
    ("RemoteQMStartReceive2", ReceiveAction.MQ_ACTION_RECEIVE): 36,
    ("RemoteQMStartReceive2", ReceiveAction.MQ_ACTION_PEEK_CURRENT): 36,
}
"""The rows about a message that comes while a read without a cursor waits."""
PUT_BACK_ROWS = {
    "R_EndReceive": ("MQRR", "3.1.4.9", 19),
    "R_EndTransactionalReceive": ("MQRR", "3.1.4.15", 21),
    "RemoteQMEndReceive": ("MQQP", "3.1.4.2", 13),
}
"""The rows about a message that is put back after its queue was purged."""
LOCK_ROWS = {
    "R_StartReceive": ("MQRR", "3.1.4.7", 89),
    "R_StartTransactionalReceive": ("MQRR", "3.1.4.13", 84),
    "RemoteQMStartReceive": ("MQQP", "3.1.4.1", 2),
    "RemoteQMStartReceive2": ("MQQP", "3.1.4.10", 3),
    "RemoteQMStartReceiveByLookupId": ("MQQP", "3.1.4.11", 30),
}
REMOVE_ROWS = {
    "R_EndReceive": ("MQRR", "3.1.4.9", 17),
    "R_MoveMessage": ("MQRR", "3.1.4.10", 23),
    "RemoteQMEndReceive": ("MQQP", "3.1.4.2", 10),
    "R_PurgeQueue": ("MQRR", "3.1.4.6", 5),
    "RemoteQMPurgeQueue": ("MQQP", "3.1.4.7", 6),
    "rpc_ACPurgeQueue": ("MQMP", "3.1.4.22", 5),
    "rpc_ACReceiveMessageEx": ("MQMP", "3.1.5.3", 167),
}

SEEK_FIRST_ROWS = {"RemoteQMStartReceiveByLookupId": 24}
"""The rows about a message that is asked for as the first one of its queue."""
SEEK_LAST_ROWS = {"RemoteQMStartReceiveByLookupId": 25}
"""The rows about a message that is asked for as the last one of its queue."""

"""What a method does for its client, and which members say what it is done with: `Role` and `Members`.

The rule kept here: whoever wants to know what a call does asks its method's role, and never its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec


class Role(StrEnum):
    """What a method does for its client; methods of one role differ in their interface and their members."""

    OPEN = "open"
    OPEN_FOR_MOVE = "open-for-move"
    OPEN_FOR_ANOTHER = "open-for-another"
    """Opens a queue for another computer, which begins to read it with `BEGIN_READING`."""
    BEGIN_READING = "begin-reading"
    CLOSE = "close"
    CLOSE_FOR_ANOTHER = "close-for-another"
    CREATE_CURSOR = "create-cursor"
    CREATE_CURSOR_FOR_ANOTHER = "create-cursor-for-another"
    TIE_CURSOR = "tie-cursor"
    """Ties a cursor to the one that was created for another computer."""
    CLOSE_CURSOR = "close-cursor"
    START = "start"
    """Peeks, or begins to receive: `END` says whether the client has it, `CANCEL` gives up waiting."""
    RECEIVE = "receive"
    """Peeks or receives in one call."""
    CANCEL = "cancel"
    END = "end"
    CLASSIFY = "classify"
    """Sets the class of the acknowledgment of a message."""
    SEND = "send"
    MOVE = "move"
    PURGE = "purge"
    ENLIST = "enlist"
    BEGIN = "begin"
    COMMIT = "commit"
    ABORT = "abort"
    CREATE_QUEUE = "create-queue"
    DELETE_QUEUE = "delete-queue"
    GET_SECURITY = "get-security"
    SET_SECURITY = "set-security"
    GET_PROPERTIES = "get-properties"
    SET_PROPERTIES = "set-properties"
    ASK_FORMAT_NAME = "ask-format-name"
    """Asks for the format name of a path name."""
    ASK_OPEN_NAME = "ask-open-name"
    """Asks for the format name of an open queue."""
    ASK_OTHER_NAME = "ask-other-name"
    """Asks for the name of the queue at another computer."""
    ASK_COORDINATOR = "ask-coordinator"
    ASK_SETTING = "ask-setting"
    ASK_PORT = "ask-port"
    ASK_VERSION = "ask-version"
    ASK_STATE = "ask-state"
    """Asks how a computer or a queue is."""
    MANAGE = "manage"
    """Tells a computer, or a queue of it, what to do."""
    BEGIN_LOOKUP = "begin-lookup"
    """Begins a query of the directory, whose result `LOOK_UP` reads."""
    LOOK_UP = "look-up"
    ASK_DIRECTORY = "ask-directory"
    """Asks for properties of one object of the directory."""
    CHANGE_DIRECTORY = "change-directory"
    """Makes an object of the directory, or changes its properties."""


OPENS = frozenset((Role.OPEN, Role.OPEN_FOR_MOVE, Role.OPEN_FOR_ANOTHER, Role.BEGIN_READING))
CLOSES = frozenset((Role.CLOSE, Role.CLOSE_FOR_ANOTHER))
CREATES_CURSOR = frozenset((Role.CREATE_CURSOR, Role.CREATE_CURSOR_FOR_ANOTHER))
READS = frozenset((Role.START, Role.RECEIVE))


class Members(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Which members of a method's parameter lists are what; an empty name: it has none.

    A name with dots is a path. ``gives`` and ``creates`` are members of the response, ``message`` is one of
    the response, or of the request of what sends; all others are members of the request. ``numbers`` are
    members of the response whose values stand for the open queue, with the name by which requests have each.
    """

    handle: str = ""
    gives: str = ""
    request_id: str = ""
    """The number that the client gives a receive, to cancel it or to end it."""
    receive: str = ""
    """The handle of a receive: in the response of what starts it, and in the request of what ends it."""
    numbers: Mapping[str, str] = {}
    queue: str = ""
    access: str = ""
    cursor: str = ""
    creates: str = ""
    lookup_id: str = ""
    action: str = ""
    timeout: str = ""
    found: str = ""
    """The lookup identifier of the message in the response."""
    message: str = ""
    transaction: str = ""
    in_transaction: bool = False
    """Whether it ends what was begun in a transaction."""
    port: str = ""
    """Which port is asked for."""
    object_type: str = ""
    """What kind of object of the directory it is about."""
    object: str = ""
    """Which object, by its path name or its identifier."""
    properties: str = ""
    """The properties that are asked for, or set."""
    values: str = ""
    """Their values, in the response of what asks for them and in the request of what sets them."""

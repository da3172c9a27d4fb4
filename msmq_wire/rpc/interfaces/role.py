"""What a method does for its client, and which members say what it is done with: `Role` and `Members`.

The rule kept here: whoever wants to know what a call does asks its method's role, and never its name. What a
call uses, opens, closes, begins and ends it asks its members: `HandleKey` and `ReceiveKey`. A member
says what it is by a `MemberRole` in its annotation: ``Annotated[int, DWORD, CURSOR, "The cursor."]``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from enum import StrEnum
from typing import Any, Final, Literal, TypeAlias

import msgspec

from msmq_wire.rpc.ndr import members
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.partial import reached_at, reached_number
from msmq_wire.wire.types.guid import GUID

HandleKey: TypeAlias = tuple[str, Hashable]
"""A context handle of a server, or a number that stands for one: its kind and its value."""
ReceiveKey: TypeAlias = tuple[HandleKey, int | None]
"""What a receive is ended by: the handle of its queue and its request identifier, or a handle of its own."""


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
_SERVER_AUTH = "ph_server_auth"
"""The handle of requests to the directory that have no other."""
_KINDS = {"h_remote_queue": "h_queue"}
"""The kind of a number that is called otherwise in a request."""
_ANY_NUMBER = "h_qm_context"
"""The kind of the numbers that may be 0, which stands for nothing else."""


class Members(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Which members of a method's parameter lists are what; an empty name: it has none.

    A name with dots is a path. Each `MemberRole` says in which parameter list it counts. ``numbers`` are
    members whose values stand for the open queue, with the name by which requests have each. ``target`` is
    such a number: the queue that a message is moved to.
    """

    handle: str = ""
    gives: str = ""
    request_id: str = ""
    """The number that the client gives a receive, to cancel it or to end it."""
    receive: str = ""
    """The handle of a receive: in the response of what starts it, and in the request of what ends it."""
    numbers: Mapping[str, str] = {}
    target: str = ""
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

    def used(self, request: Any) -> HandleKey | None:
        """What a request is about: an open queue, a receive, a transaction or a query."""
        return _key(request, self.handle or _SERVER_AUTH)

    def moved_to(self, request: Any) -> HandleKey | None:
        """The queue that a request moves a message to."""
        return _key(request, self.target)

    def given(self, response: Any) -> tuple[HandleKey, ...]:
        """What a response gives or leaves: the handle of what was opened or begun, then its numbers."""
        handle = _key(response, self.gives or self.receive or self.handle)
        if handle is None:
            return ()
        numbers = ((kind, reached_number(response, name)) for name, kind in self.numbers.items())
        return (handle, *(key for key in numbers if key[1]))

    def closed(self, request: Any, response: Any) -> HandleKey | None:
        """The handle that came back as another, or as none; what is not given back stays."""
        if not isinstance(reached_at(response, self.handle), ContextHandle):
            return None
        used = self.used(request)
        return None if used in self.given(response) else used

    def begun(self, request: Any, response: Any) -> tuple[ReceiveKey, ...]:
        """What the receive that a call begins is ended or cancelled by."""
        ended = self.ended(request)
        by_handle = tuple((key, None) for key in self.given(response))
        return by_handle if ended is None else (ended, *by_handle)

    def ended(self, request: Any) -> ReceiveKey | None:
        """The receive that a request ends or cancels."""
        used = self.used(request)
        return None if used is None else (used, reached_number(request, self.request_id))


def _key(value: Any, path: str) -> HandleKey | None:
    """A handle in a request or a response, or a number; None for NULL and 0."""
    found, name = reached_at(value, path), path.rpartition(".")[2]
    if isinstance(found, ContextHandle):
        return None if found.null or not isinstance(found.uuid, GUID) else ("handle", found.uuid)
    kind = _KINDS.get(name, name)
    return (kind, found) if isinstance(found, int) and (found or kind == _ANY_NUMBER) else None


class MemberRole(msgspec.Struct, frozen=True):
    """A marker in the annotation of a member: which field of `Members` names it.

    It counts in the list of ``side``, or in both. ``path`` leads to a member inside the annotated one.
    ``number`` is the name by which requests have a number of ``numbers``.
    """

    name: str
    side: Literal["request", "response", "both"] = "request"
    path: str = ""
    number: str = ""

    def at(self, path: str) -> MemberRole:
        """The same marker for a member inside the annotated one."""
        return msgspec.structs.replace(self, path=f".{path}")


HANDLE: Final = MemberRole("handle")
GIVES: Final = MemberRole("gives", "response")
REQUEST_ID: Final = MemberRole("request_id")
RECEIVE: Final = MemberRole("receive", "both")
TARGET: Final = MemberRole("target")
QUEUE: Final = MemberRole("queue")
ACCESS: Final = MemberRole("access")
CURSOR: Final = MemberRole("cursor")
CREATES: Final = MemberRole("creates", "response")
LOOKUP_ID: Final = MemberRole("lookup_id")
ACTION: Final = MemberRole("action")
TIMEOUT: Final = MemberRole("timeout")
FOUND: Final = MemberRole("found", "response")
MESSAGE: Final = MemberRole("message", "both")
TRANSACTION: Final = MemberRole("transaction")
PORT: Final = MemberRole("port")
OBJECT_TYPE: Final = MemberRole("object_type")
OBJECT: Final = MemberRole("object")
PROPERTIES: Final = MemberRole("properties")
VALUES: Final = MemberRole("values", "both")


def number(name: str) -> MemberRole:
    """The marker of a number that stands for the open queue; requests have it by this name."""
    return MemberRole("numbers", "response", number=name)


def members_of(request: type[WireStruct], response: type[WireStruct], in_transaction: bool) -> Members:
    """The `Members` that the annotations of two parameter lists declare."""
    found: dict[str, Any] = {}
    numbers: dict[str, str] = {}
    for side, cls in (("request", request), ("response", response)):
        for member in members(cls):
            for one in member.extras:
                if not isinstance(one, MemberRole) or one.side not in (side, "both"):
                    continue
                path = member.name + one.path
                if one.number:
                    numbers[path] = one.number
                else:
                    found[one.name] = path
    if found.get("gives") == found.get("handle"):
        # The handle of the request comes back.
        found.pop("gives", None)
    return Members(**found, numbers=numbers, in_transaction=in_transaction)

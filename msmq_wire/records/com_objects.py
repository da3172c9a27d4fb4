"""Which interface of which object an IPID is, as the interface pointers of a capture tell.

The rule kept here: an IPID is unique, so neither address nor connection is asked. What is remembered is
bounded; what was forgotten is only not told.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

import msgspec

from msmq_wire.rpc.com.activation import GIVERS, PointerGiven, pointer_of, pointers_given
from msmq_wire.rpc.com.orpc import MInterfacePointer
from msmq_wire.rpc.com.queue_interfaces import COM_INTERFACES, ReceiveCurrentRequest, ReceiveCurrentResponse
from msmq_wire.rpc.com.variant import pointed_at
from msmq_wire.rpc.decoding import NDR64_SYNTAX, DecodedCall
from msmq_wire.rpc.events import CallEvent
from msmq_wire.rpc.ndr import NDR, NDR64, NDR_BIG_ENDIAN
from msmq_wire.wire.types.guid import GUID

_KEPT = 1 << 14


class KnownObject(msgspec.Struct, frozen=True, gc=False):
    """An interface of an object: its IID, the frame that completed the call which gave it.

    ``followed`` says that the object is a queue, or went in or out of a method of one.
    """

    iid: GUID
    frame: int
    followed: bool = False


class ComObjects:
    """Follows the interface pointers of all connections in a capture."""

    def __init__(self) -> None:
        self._known: OrderedDict[GUID, KnownObject] = OrderedDict()

    def find(self, event: CallEvent) -> KnownObject | None:
        """The object that a request names by its IPID; None where it is not known."""
        request = event.request
        if request is None or request.object_uuid is None:
            return None
        return self._known.get(request.object_uuid)

    def learn(self, event: CallEvent, iid: GUID, frame: int) -> None:
        """Take what a call of another interface gives: activation, QueryInterface, Open of a queue."""
        opnum, request, response = event.opnum, event.request, event.response
        if opnum is None or opnum not in GIVERS.get(iid, ()) or request is None or response is None:
            return
        if request.sealed or response.sealed or not response.complete:
            return
        wide = event.syntax is not None and event.syntax.uuid == NDR64_SYNTAX
        syntax = NDR64 if wide else NDR_BIG_ENDIAN if response.big_endian else NDR
        given = pointers_given(iid, opnum, request.data, response.data, syntax)
        self._remember(given, frame, followed=False)

    def take(self, call: DecodedCall, frame: int) -> None:
        """Take the interface pointers of a call on a queue object."""
        request = None if call.request is None else call.request.value
        response = None if call.response is None else call.response.value
        pointers = []
        if isinstance(request, ReceiveCurrentRequest):
            found = pointed_at(request.transaction)
            pointers.append(None if found is None else found[1])
        if isinstance(response, ReceiveCurrentResponse):
            pointers.append(response.ppmsg)
        given = [pointer_of(one) for one in pointers if isinstance(one, MInterfacePointer)]
        self._remember([one for one in given if one is not None], frame, followed=True)

    def _remember(self, given: Iterable[PointerGiven], frame: int, *, followed: bool) -> None:
        for ipid, iid, asked in given:
            before = self._known.get(asked)
            ours = followed or iid in COM_INTERFACES or (before is not None and before.followed)
            self._known[ipid] = KnownObject(iid, frame, ours)
            self._known.move_to_end(ipid)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)

"""An object exporter for queue objects: activation, references, and ReceiveCurrent_v1 over ORPC.

[MS-DCOM] 3.1.1, [MC-MQAC] 3.10, 3.11, 3.17. The rule kept here: an IPID stands for one interface of one
object, for whichever client has it. An object that nobody calls for longer than a client may forget to ping
it is let go, and so is the oldest where there are too many: nothing is pinged here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, ClassVar, Self

import msgspec

from msmq_wire.errors import FormatNameError
from msmq_wire.lab.model.com.receive_current import (
    E_INVALIDARG,
    Argument,
    MsmqMessage,
    MsmqQueue,
    open_msmq_queue,
    receive_current_v1,
)
from msmq_wire.lab.model.data.elements import ModelQueueManager, OpenQueueDescriptor
from msmq_wire.lab.model.data.timers import Timer
from msmq_wire.lab.model.events.position import cancel_all_waiting
from msmq_wire.lab.model.events.queue import close_queue, open_queue
from msmq_wire.lab.model.interface_server import ClientAssociation, InterfaceServer, ServerCall
from msmq_wire.lab.model.qmcomm.queues import ACCESS_TYPES
from msmq_wire.lab.model.qmcomm.remote_queues import SHARE_MODES
from msmq_wire.rpc.com.activation import (
    DualStringArrayNdr,
    PointerResponse,
    QueryInterfaceRequest,
    QueryInterfaceResponse,
    RemoteActivationRequest,
    RemoteActivationResponse,
    RemQiResult,
    StdObjRefNdr,
)
from msmq_wire.rpc.com.exported import (
    ACTIVATION,
    MESSAGE,
    QUEUE_INFO,
    REM_UNKNOWN,
    InterfaceReferencesRequest,
    OpenRequest,
    OrpcStatusResponse,
    RemAddRefResponse,
    TextRequest,
    TextResponse,
)
from msmq_wire.rpc.com.objref import DualStringArray, ObjRef, ObjRefKind, StdObjRef, encode_objref
from msmq_wire.rpc.com.orpc import MInterfacePointer
from msmq_wire.rpc.com.queue_interfaces import (
    COM_INTERFACES,
    OrpcRequest,
    ReceiveCurrentRequest,
    ReceiveCurrentResponse,
)
from msmq_wire.rpc.com.variant import FlaggedWordBlob, Variant, pointed_at
from msmq_wire.rpc.interfaces.method import Interface
from msmq_wire.rpc.statuses import Status
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.wchar_text import WcharText

MSMQ_QUEUE_INFO = GUID.parse("d7d6e07c-dccd-11d0-aa4b-0060970debae")
MSMQ_QUEUE = GUID.parse("d7d6e079-dccd-11d0-aa4b-0060970debae")
"""The classes of MSMQQueueInfo and of MSMQQueue. [MC-MQAC] 1.9"""

_S_OK = 0
_E_NOINTERFACE = 0x80004002
_RPC_E_DISCONNECTED = 0x80010108
_REGDB_E_CLASSNOTREG = 0x80040154
_SORF_NOPING = 0x1000
_TCP, _WINNT, _NO_AUTHENTICATION = 7, 10, 1
_PUBLIC_REFS = 5
_UNUSED_FOR = 480_000
_MOST_OBJECTS = 1000
_QUEUES = {one.name: one for one in COM_INTERFACES.values()}


class _QueueInfo(msgspec.Struct, eq=False):
    """An MSMQQueueInfo, as far as it is here. [MC-MQAC] 3.10.1"""

    format_name: str = ""


_INTERFACES: Mapping[type, Sequence[Interface]] = {
    _QueueInfo: (QUEUE_INFO,),
    MsmqQueue: tuple(_QUEUES.values()),
    MsmqMessage: (MESSAGE,),
}
"""The interfaces of each kind of object."""
_CLASSES: Mapping[GUID, type] = {MSMQ_QUEUE_INFO: _QueueInfo, MSMQ_QUEUE: MsmqQueue}


def _interface_of(thing: Any, iid: GUID) -> Interface | None:
    return next((one for one in _INTERFACES[type(thing)] if one.uuid == iid), None)


class _Exported(msgspec.Struct, eq=False, kw_only=True):
    """One interface of one object: an IPID entry. [MS-DCOM] 3.1.1.1"""

    thing: Any
    interface: Interface
    oid: int
    references: int = 0
    timer: Timer | None = None


class ObjectExporter:
    """The objects of a queue manager that clients hold, by IPID; ``address`` is where they are called."""

    def __init__(self, manager: ModelQueueManager, address: str = "127.0.0.1[135]") -> None:
        self.manager = manager
        self.address = address
        self._exported: OrderedDict[GUID, _Exported] = OrderedDict()
        self._last_oid = 0

    # Made up when they are asked for: who activates nothing gets the identifiers that it got without this.
    @cached_property
    def oxid(self) -> int:
        """The exporter's OXID."""
        return self.manager.randomness.getrandbits(63) | 1

    @cached_property
    def ipid_rem_unknown(self) -> GUID:
        """The IPID of its IRemUnknown."""
        return self.manager.new_guid()

    def export(self, thing: Any, interface: Interface) -> StdObjRef:
        """A new object, by one interface."""
        self._last_oid += 1
        return self._export(thing, interface, self._last_oid)

    def _export(self, thing: Any, interface: Interface, oid: int) -> StdObjRef:
        if len(self._exported) >= _MOST_OBJECTS:
            self._forget(next(iter(self._exported)))
        ipid = self.manager.new_guid()
        self._exported[ipid] = _Exported(thing=thing, interface=interface, oid=oid, references=_PUBLIC_REFS)
        self.find(ipid)
        return StdObjRef(_SORF_NOPING, _PUBLIC_REFS, self.oxid, oid, ipid)

    def pointer(self, thing: Any, interface: Interface) -> MInterfacePointer:
        """A new object as an interface pointer."""
        data = encode_objref(
            ObjRef(
                kind=ObjRefKind.OBJREF_STANDARD,
                iid=interface.uuid,
                std=self.export(thing, interface),
                resolver=self.bindings,
            )
        )
        return MInterfacePointer(ul_cnt_data=len(data), ab_data=data)

    @property
    def bindings(self) -> DualStringArray:
        """Where the exporter is, and that nobody is authenticated there. [MS-DCOM] 2.2.19"""
        strings = _word(_TCP) + f"{self.address}\0".encode("utf-16-le") + _word(0)
        security = _word(_WINNT) + _word(0xFFFF) + _word(0) + _word(0)
        return DualStringArray(len(strings) // 2, strings + security)

    def find(self, ipid: GUID) -> _Exported | None:
        """What an IPID stands for; it is in use from now on."""
        found = self._exported.get(ipid)
        if found is not None:
            self._exported.move_to_end(ipid)
            if found.timer is not None:
                found.timer.cancel()
            found.timer = self.manager.timers.start(_UNUSED_FOR, lambda: self._forget(ipid))
        return found

    def another(self, found: _Exported, iid: GUID) -> StdObjRef | None:
        """Another interface of an object; None where it has no such one."""
        interface = _interface_of(found.thing, iid)
        return None if interface is None else self._export(found.thing, interface, found.oid)

    def add(self, ipid: GUID, references: int) -> int:
        """Count references to an interface; with the last one it goes. The HRESULT."""
        found = self.find(ipid)
        if found is None:
            return _RPC_E_DISCONNECTED
        found.references += references
        if found.references <= 0:
            self._forget(ipid)
        return _S_OK

    def _forget(self, ipid: GUID) -> None:
        found = self._exported.pop(ipid)
        if found.timer is not None:
            found.timer.cancel()
        thing = found.thing
        if isinstance(thing, MsmqQueue) and all(one.thing is not thing for one in self._exported.values()):
            thing.is_closed = True
            if thing.open_queue_descriptor is not None:
                close_queue(self.manager, thing.open_queue_descriptor)


def _word(value: int) -> bytes:
    return value.to_bytes(2, "little")


class ObjectServer(InterfaceServer):
    """Calls of an interface on objects: ``ipid`` is the one that a call names."""

    ipid: GUID = NULL_GUID

    def __init__(self, exporter: ObjectExporter) -> None:
        super().__init__(exporter.manager)
        self.exporter = exporter

    def at(self, object_uuid: GUID | None) -> Self:
        """The server of the object that a call is for."""
        made = copy(self)
        made.ipid = NULL_GUID if object_uuid is None else object_uuid
        return made

    def thing(self, call: ServerCall, kind: type) -> Any:
        """The object that is called; None where there is none, and then the call is answered.

        [MS-DCOM] 3.1.1.5.4: an IPID that is not found gives RPC_E_DISCONNECTED.
        """
        found = self.exporter.find(self.ipid)
        if found is None or found.interface.uuid != self.INTERFACE.uuid or not isinstance(found.thing, kind):
            call.throw(_RPC_E_DISCONNECTED)
            return None
        return found.thing

    def rundown(self, association: ClientAssociation) -> None:
        """Objects are no client's alone."""


class ActivationServer(ObjectServer):
    """IActivation: makes an MSMQQueueInfo or an MSMQQueue. [MS-DCOM] 3.1.2.5.2.3"""

    INTERFACE: ClassVar[Interface] = ACTIVATION

    def remote_activation(self, call: ServerCall, request: RemoteActivationRequest) -> None:
        """RemoteActivation. [MS-DCOM] 3.1.2.5.2.3.1"""
        exporter, wanted = self.exporter, request.p_iids or ()
        kind = _CLASSES.get(request.clsid)
        made = None if kind is None else kind()
        interfaces = [None if made is None else _interface_of(made, iid) for iid in wanted]
        pointers = tuple(None if one is None else exporter.pointer(made, one) for one in interfaces)
        results = tuple(_E_NOINTERFACE if one is None else _S_OK for one in pointers)
        bindings = exporter.bindings
        call.reply(
            RemoteActivationResponse(
                p_oxid=exporter.oxid,
                ppdsa_oxid_bindings=DualStringArrayNdr(
                    w_num_entries=len(bindings.data) // 2,
                    w_security_offset=bindings.security_offset,
                    a_string_array=WcharText(bindings.data),
                ),
                pipid_rem_unknown=exporter.ipid_rem_unknown,
                p_authn_hint=_NO_AUTHENTICATION,
                phr=_REGDB_E_CLASSNOTREG if made is None else _S_OK if any(interfaces) else _E_NOINTERFACE,
                pp_interface_data=pointers,
                p_results=results,
            )
        )


class RemUnknownServer(ObjectServer):
    """IRemUnknown: references and interfaces of all objects here. [MS-DCOM] 3.1.1.5.6.1"""

    INTERFACE: ClassVar[Interface] = REM_UNKNOWN

    def _is_here(self, call: ServerCall) -> bool:
        if self.ipid != self.exporter.ipid_rem_unknown:
            call.throw(_RPC_E_DISCONNECTED)
        return self.ipid == self.exporter.ipid_rem_unknown

    def rem_query_interface(self, call: ServerCall, request: QueryInterfaceRequest) -> None:
        """RemQueryInterface. [MS-DCOM] 3.1.1.5.6.1.1"""
        if not self._is_here(call):
            return
        found = self.exporter.find(request.ripid)
        if found is None:
            call.throw(_RPC_E_DISCONNECTED)
            return
        results = []
        for iid in request.iids:
            std = self.exporter.another(found, iid)
            results.append(
                RemQiResult(h_result=_E_NOINTERFACE) if std is None else RemQiResult(std=_ndr(std))
            )
        missing = any(one.h_result for one in results)
        call.reply(
            QueryInterfaceResponse(pp_qi_results=tuple(results), status=_E_NOINTERFACE if missing else _S_OK)
        )

    def rem_add_ref(self, call: ServerCall, request: InterfaceReferencesRequest) -> None:
        """RemAddRef. [MS-DCOM] 3.1.1.5.6.1.2"""
        if self._is_here(call):
            results = tuple(
                self.exporter.add(one.ipid, max(0, one.c_public_refs)) for one in request.interface_refs
            )
            call.reply(RemAddRefResponse(p_results=results))

    def rem_release(self, call: ServerCall, request: InterfaceReferencesRequest) -> None:
        """RemRelease. [MS-DCOM] 3.1.1.5.6.1.3"""
        if self._is_here(call):
            for one in request.interface_refs:
                self.exporter.add(one.ipid, -max(0, one.c_public_refs))
            call.reply(OrpcStatusResponse())


def _ndr(std: StdObjRef) -> StdObjRefNdr:
    return StdObjRefNdr(
        flags=std.flags, c_public_refs=std.public_refs, oxid=std.oxid, oid=std.oid, ipid=std.ipid
    )


class QueueInfoServer(ObjectServer):
    """IMSMQQueueInfo: names a queue and opens it. [MC-MQAC] 3.10.4.1"""

    INTERFACE: ClassVar[Interface] = QUEUE_INFO

    def get_format_name(self, call: ServerCall, request: OrpcRequest) -> None:
        """FormatName. [MC-MQAC] 3.10.4.1.8"""
        info = self.thing(call, _QueueInfo)
        if info is not None:
            call.reply(TextResponse(text=_bstr(info.format_name)))

    def put_format_name(self, call: ServerCall, request: TextRequest) -> None:
        """FormatName. [MC-MQAC] 3.10.4.1.9"""
        info = self.thing(call, _QueueInfo)
        if info is not None:
            text = request.text
            info.format_name = text.as_data.text if isinstance(text, FlaggedWordBlob) else ""
            call.reply(OrpcStatusResponse())

    def open(self, call: ServerCall, request: OpenRequest) -> None:
        """Open. [MC-MQAC] 3.10.4.1.28"""
        info = self.thing(call, _QueueInfo)
        if info is None:
            return
        access, mode = ACCESS_TYPES.get(request.access), SHARE_MODES.get(request.share_mode)
        status, descriptor = int(E_INVALIDARG), None
        if info.format_name and access is not None and mode is not None:
            try:
                status, descriptor = open_queue(self.manager, info.format_name, access, mode)
            except FormatNameError:
                status = Status.MQ_ERROR_ILLEGAL_FORMATNAME
        if descriptor is None:
            call.reply(PointerResponse(status=status))
            return
        queue = open_msmq_queue(self.manager, descriptor, info)
        call.reply(PointerResponse(pointer=self.exporter.pointer(queue, QueueServer.INTERFACE)))


def _bstr(text: str) -> FlaggedWordBlob:
    data = WcharText(text.encode("utf-16-le", "surrogatepass"))
    return FlaggedWordBlob(c_bytes=len(data), cl_size=len(data) // 2, as_data=data)


class _ReceivingServer(ObjectServer):
    """What the four interfaces of a queue have in common. [MC-MQAC] 3.11.4"""

    def __init__(self, exporter: ObjectExporter) -> None:
        super().__init__(exporter)
        self._waiting: list[tuple[ServerCall, OpenQueueDescriptor | None]] = []

    def _receive(self, call: ServerCall, request: ReceiveCurrentRequest) -> None:
        """ReceiveCurrent_v1. [MC-MQAC] 3.11.4.1.11"""
        queue = self.thing(call, MsmqQueue)
        if queue is None:
            return
        waiting = (call, queue.open_queue_descriptor)

        def done(status: int, message: MsmqMessage | None) -> None:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
            pointer = None if message is None else self.exporter.pointer(message, MESSAGE)
            call.reply(ReceiveCurrentResponse(ppmsg=pointer, status=status))

        self._waiting.append(waiting)
        receive_current_v1(
            self.manager,
            queue,
            done,
            transaction=_argument(request.transaction),
            want_destination_queue=_argument(request.want_destination_queue),
            want_body=_argument(request.want_body),
            receive_timeout=_argument(request.receive_timeout),
        )

    def rundown(self, association: ClientAssociation) -> None:
        """Who is gone waits for no message; the object stays."""
        for call, descriptor in list(self._waiting):
            if call.association is association and descriptor is not None:
                cancel_all_waiting(descriptor)


class QueueServer(_ReceivingServer):
    """IMSMQQueue, which calls the method ReceiveCurrent."""

    INTERFACE: ClassVar[Interface] = _QUEUES["IMSMQQueue"]

    def receive_current(self, call: ServerCall, request: ReceiveCurrentRequest) -> None:
        """ReceiveCurrent_v1. [MC-MQAC] 3.11.4.1.11"""
        self._receive(call, request)


class QueueServer2(_ReceivingServer):
    """IMSMQQueue2."""

    INTERFACE: ClassVar[Interface] = _QUEUES["IMSMQQueue2"]

    def receive_current_v1(self, call: ServerCall, request: ReceiveCurrentRequest) -> None:
        """ReceiveCurrent_v1. [MC-MQAC] 3.11.4.1.11"""
        self._receive(call, request)


class QueueServer3(QueueServer2):
    """IMSMQQueue3."""

    INTERFACE: ClassVar[Interface] = _QUEUES["IMSMQQueue3"]


class QueueServer4(QueueServer2):
    """IMSMQQueue4."""

    INTERFACE: ClassVar[Interface] = _QUEUES["IMSMQQueue4"]


def _argument(variant: Any) -> Argument:
    return pointed_at(variant) if isinstance(variant, Variant) else None


class MessageServer(ObjectServer):
    """IMSMQMessage: what a receive gave. [MC-MQAC] 3.17.4.1"""

    INTERFACE: ClassVar[Interface] = MESSAGE

    def get_label(self, call: ServerCall, request: OrpcRequest) -> None:
        """Label. [MC-MQAC] 3.17.4.1.30"""
        message = self.thing(call, MsmqMessage)
        if message is not None:
            call.reply(TextResponse(text=_bstr(message.message.label)))

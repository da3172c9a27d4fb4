"""Methods of qmcomm that use an open queue, and those that ask the server. [MS-MQMP] 3.1.4.21 to 3.1.4.24"""

from __future__ import annotations

from msmq_wire.lab.model.data.elements import OpenQueueDescriptor
from msmq_wire.lab.model.data.enumerations import QueueAccessType
from msmq_wire.lab.model.events.message import purge_queue
from msmq_wire.lab.model.interface_server import ServerCall
from msmq_wire.lab.model.qmcomm.local_queue_context import LocalQueueContextHandle, RemoteQueueProxyHandle
from msmq_wire.lab.model.qmcomm.methods import QmcommMethods, fail, remote_status
from msmq_wire.rpc.constants import RegistryQueryType
from msmq_wire.rpc.interfaces.qm2qm import RemoteQMPurgeQueueRequest
from msmq_wire.rpc.interfaces.qmcomm_queues import (
    ACHandleToFormatNameRequest,
    ACHandleToFormatNameResponse,
    GetServerPortRequest,
    QueryRegistryRequest,
    QueryRegistryResponse,
    QueueRequest,
)
from msmq_wire.rpc.interfaces.shared_parameters import PortResponse, StatusResponse
from msmq_wire.rpc.statuses import Status
from msmq_wire.wire.types.wchar_text import WcharText

_MAY_PURGE = (QueueAccessType.RECEIVE_ACCESS, QueueAccessType.RECEIVE_ADMIN_ACCESS)
_TERMINATOR = b"\0\0"


def _deleted(descriptor: OpenQueueDescriptor) -> bool:
    return descriptor.queue_reference is None and not descriptor.multiple


class QueueUseMethods(QmcommMethods):
    """rpc_ACHandleToFormatName to R_QMGetRTQMServerPort."""

    def rpc_ac_handle_to_format_name(self, call: ServerCall, request: ACHandleToFormatNameRequest) -> None:
        """Give the format name that a queue was opened with. [MS-MQMP] 3.1.4.21"""
        room = request.dw_format_name_rpc_buffer_len
        buffer = request.lpwcs_format_name

        def refuse(status: int) -> None:
            fail(call, status, lpwcs_format_name=buffer, pdw_length=request.pdw_length)

        if request.pdw_length != room:
            return refuse(Status.MQ_ERROR_INVALID_PARAMETER)
        thing = call.association.thing(request.h_queue)
        if isinstance(thing, LocalQueueContextHandle):
            descriptor = thing.open_queue_descriptor_reference
            if _deleted(descriptor):
                return refuse(Status.MQ_ERROR_QUEUE_DELETED)
            name = descriptor.format_name
        elif isinstance(thing, RemoteQueueProxyHandle):
            name = thing.format_name
        else:
            return refuse(Status.MQ_ERROR_INVALID_HANDLE)
        text = WcharText.of(name)
        length, size = len(text) // 2, 2 * room
        fits = length <= room
        if buffer is not None and room:
            cut = text if fits else text[: size - 2] + _TERMINATOR
            buffer = WcharText(cut + buffer[len(cut) :])
        call.reply(
            ACHandleToFormatNameResponse(
                lpwcs_format_name=buffer,
                pdw_length=length,
                status=Status.MQ_OK if fits else Status.MQ_ERROR_FORMATNAME_BUFFER_TOO_SMALL,
            )
        )

    def rpc_ac_purge_queue(self, call: ServerCall, request: QueueRequest) -> None:
        """Remove all messages of a queue, here or at another queue manager. [MS-MQMP] 3.1.4.22"""
        thing = call.association.thing(request.h_queue)
        if isinstance(thing, RemoteQueueProxyHandle):
            return self.ask(
                call,
                thing.remote_binding_handle,
                "RemoteQMPurgeQueue",
                RemoteQMPurgeQueueRequest(h_queue=thing.remote_context),
                lambda answer: fail(call, remote_status(answer)),
            )
        if not isinstance(thing, LocalQueueContextHandle):
            return fail(call, Status.MQ_ERROR_INVALID_HANDLE)
        descriptor = thing.open_queue_descriptor_reference
        if _deleted(descriptor):
            return fail(call, Status.MQ_ERROR_QUEUE_DELETED)
        if descriptor.access_type not in _MAY_PURGE or descriptor.queue_reference is None:
            return fail(call, Status.MQ_ERROR_ACCESS_DENIED)
        purge_queue(descriptor.queue_reference)
        call.reply(StatusResponse())

    def r_qm_query_qm_registry_internal(self, call: ServerCall, request: QueryRegistryRequest) -> None:
        """Give a setting of the server as text. [MS-MQMP] 3.1.4.23"""
        forest = self.environment.forest
        known = {
            RegistryQueryType.DIRECTORY_SERVER_LIST: ",".join(self.manager.directory_server_list),
            RegistryQueryType.DEFAULT_TIME_TO_REACH_QUEUE: str(self.environment.default_time_to_reach_queue),
            RegistryQueryType.FOREST_GUID: None if forest is None else str(forest),
            RegistryQueryType.SERVER_VERSION: self.environment.server_version,
            RegistryQueryType.QUEUE_MANAGER_GUID: str(self.manager.identifier),
        }
        if request.dw_query_type not in known:
            return fail(call, Status.MQ_ERROR_INVALID_PARAMETER)
        text = known[RegistryQueryType(request.dw_query_type)]
        if text is None:
            return fail(call, Status.MQ_ERROR)
        call.reply(QueryRegistryResponse(lplp_mqis_server=WcharText.of(text)))

    def r_qm_get_rtqm_server_port(self, call: ServerCall, request: GetServerPortRequest) -> None:
        """Give the port of an interface; 0 where there is none. [MS-MQMP] 3.1.4.24"""
        tcp = (self.environment.handshake_port, self.environment.read_port)
        # In the order of fIP: IP_HANDSHAKE, IP_READ, IPX_HANDSHAKE, IPX_READ.
        ports = tcp + (tcp if self.environment.spx else (0, 0))
        call.reply(PortResponse(return_value=ports[request.f_ip] if request.f_ip < len(ports) else 0))

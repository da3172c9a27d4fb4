"""Methods of qmcomm about private queues as objects. [MS-MQMP] 3.1.4.5 to 3.1.4.11

The rule kept here: all of a request is checked before a queue is made or changed.
"""

from __future__ import annotations

from msmq_wire.errors import DecodeError, FormatNameError
from msmq_wire.lab.model.data.elements import Queue
from msmq_wire.lab.model.data.queue_attributes import get_property, set_properties, set_queue_defaults
from msmq_wire.lab.model.events.queue import create_queue, delete_queue
from msmq_wire.lab.model.interface_server import ServerCall
from msmq_wire.lab.model.qmcomm.methods import QmcommMethods, fail
from msmq_wire.lab.model.qmcomm.queue_path import get_queue_path, queue_of_path
from msmq_wire.rpc.constants import ObjectType, SecurityInformation
from msmq_wire.rpc.interfaces.qmcomm_objects import (
    CreateObjectInternalRequest,
    GetObjectPropertiesRequest,
    GetObjectPropertiesResponse,
    GetObjectSecurityRequest,
    GetObjectSecurityResponse,
    ObjectPathToObjectFormatRequest,
    ObjectPathToObjectFormatResponse,
    ObjectRequest,
    SetObjectPropertiesRequest,
    SetObjectSecurityRequest,
)
from msmq_wire.rpc.interfaces.shared_parameters import StatusResponse
from msmq_wire.rpc.queue_properties import check_properties
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.queue_format import ObjectFormat, QueueFormat
from msmq_wire.rpc.types.security_descriptor import SecurityDescriptor
from msmq_wire.wire.names import FormatName, PathName, QueueFormatType, QueueSuffixType
from msmq_wire.wire.types.wchar_text import WcharText

_ALL_PARTS = sum(SecurityInformation)


def _private_path(text: WcharText) -> PathName | None:
    """A path name, if it is that of a private queue."""
    try:
        path = PathName.parse(text.text) if text.exact else None
    except FormatNameError:
        return None
    return path if path is not None and path.is_private and path.suffix is QueueSuffixType.NONE else None


def _descriptor(data: bytes | None) -> SecurityDescriptor | None:
    try:
        return SecurityDescriptor.parse(data) if data else None
    except DecodeError:
        return None


class ObjectMethods(QmcommMethods):
    """R_QMCreateObjectInternal to R_QMObjectPathToObjectFormat."""

    def r_qm_create_object_internal(self, call: ServerCall, request: CreateObjectInternalRequest) -> None:
        """Make a private queue with its properties. [MS-MQMP] 3.1.4.5"""
        descriptor = request.p_security_descriptor
        if request.dw_object_type != ObjectType.QUEUE:
            return fail(call, Status.MQ_ERROR_INVALID_PARAMETER)
        path = _private_path(request.lpwcs_path_name)
        if path is None or not self.manager.is_called(path.computer):
            return fail(call, Status.MQ_ERROR_ILLEGAL_QUEUE_PATHNAME)
        if descriptor is not None and _descriptor(descriptor) is None:
            return fail(call, Status.MQ_ERROR_ILLEGAL_SECURITY_DESCRIPTOR)
        status = check_properties(request.a_prop, request.ap_var, "create")
        if status != Status.MQ_OK:
            return fail(call, status)
        if queue_of_path(self.manager, path) is not None:
            return fail(call, Status.MQ_ERROR_QUEUE_EXISTS)
        if not self.environment.permits(call.association, "create", None):
            return fail(call, Status.MQ_ERROR_ACCESS_DENIED)
        computer = self.manager.computer_name if path.computer == "." else path.computer
        queue = Queue(
            queue_manager=self.manager,
            pathname=computer + path.path,
        )
        set_queue_defaults(queue)
        if descriptor is not None:
            queue.security = descriptor
        set_properties(queue, request.a_prop, request.ap_var)
        call.reply(StatusResponse(status=create_queue(self.manager, queue)))

    def r_qm_set_object_security_internal(self, call: ServerCall, request: SetObjectSecurityRequest) -> None:
        """Exchange parts of a queue's security descriptor. [MS-MQMP] 3.1.4.6"""
        status, name = self.object_name(request.p_object_format)
        if name is None:
            return fail(call, status)
        given = _descriptor(request.p_security_descriptor)
        if request.security_information & ~_ALL_PARTS or given is None:
            return fail(call, Status.MQ_ERROR_INVALID_PARAMETER)
        status, queue = self.private_queue(request.p_object_format)
        if queue is None:
            return fail(call, status)
        if not self.environment.permits(call.association, "set security", queue):
            return fail(call, Status.MQ_ERROR_ACCESS_DENIED)
        before = SecurityDescriptor.parse(queue.security)
        queue.security = before.with_parts(given, request.security_information).to_bytes()
        call.reply(StatusResponse())

    def r_qm_get_object_security_internal(self, call: ServerCall, request: GetObjectSecurityRequest) -> None:
        """Give parts of a queue's security descriptor. [MS-MQMP] 3.1.4.7"""
        room = bytes(request.n_length)

        def refuse(status: int, needed: int = 0) -> None:
            fail(call, status, p_security_descriptor=room, lpn_length_needed=needed)

        status, name = self.object_name(request.p_object_format)
        if name is None:
            return refuse(status)
        if request.requested_information & ~_ALL_PARTS:
            return refuse(Status.MQ_ERROR_INVALID_PARAMETER)
        status, queue = self._queue_at_path(name)
        if queue is None:
            return refuse(status)
        if not self.environment.permits(call.association, "get security", queue):
            return refuse(Status.MQ_ERROR_ACCESS_DENIED)
        descriptor = SecurityDescriptor.parse(queue.security).parts(request.requested_information).to_bytes()
        if len(descriptor) > request.n_length:
            return refuse(Status.MQ_ERROR_SECURITY_DESCRIPTOR_TOO_SMALL, len(descriptor))
        call.reply(
            GetObjectSecurityResponse(
                p_security_descriptor=descriptor + room[len(descriptor) :], lpn_length_needed=len(descriptor)
            )
        )

    def _queue_at_path(self, name: FormatName) -> tuple[int, Queue | None]:
        """The private queue of a format name by way of its path name, or a status."""
        found = get_queue_path(self.manager, self.environment.directory, name)
        if found.status != Status.MQ_OK:
            return found.status, None
        # A private format name gives the path of the queue also where its journal is meant.
        if not found.path_name or name.suffix is not QueueSuffixType.NONE:
            return Status.MQ_ERROR_QUEUE_NOT_FOUND, None
        try:
            path = PathName.parse(found.path_name)
        except FormatNameError:
            return Status.MQ_ERROR_QUEUE_NOT_FOUND, None
        queue = queue_of_path(self.manager, path)
        if queue is None:
            return Status.MQ_ERROR_QUEUE_NOT_FOUND, None
        if not path.is_private:
            return Status.MQ_ERROR_UNSUPPORTED_FORMATNAME_OPERATION, None
        return Status.MQ_OK, queue

    def r_qm_delete_object(self, call: ServerCall, request: ObjectRequest) -> None:
        """Delete a private queue with its messages. [MS-MQMP] 3.1.4.8"""
        status, queue = self.private_queue(request.p_object_format)
        if queue is None:
            return fail(call, status)
        if not self.environment.permits(call.association, "delete", queue):
            return fail(call, Status.MQ_ERROR_ACCESS_DENIED)
        call.reply(StatusResponse(status=delete_queue(self.manager, queue)))

    def r_qm_get_object_properties(self, call: ServerCall, request: GetObjectPropertiesRequest) -> None:
        """Give properties of a queue. [MS-MQMP] 3.1.4.9"""

        def refuse(status: int) -> None:
            fail(call, status, ap_var=request.ap_var)

        status, name = self.object_name(request.p_object_format)
        if name is None:
            return refuse(status)
        if check_properties(request.a_prop, request.ap_var, "get") != Status.MQ_OK:
            return refuse(Status.MQ_ERROR_PROPERTY)
        status, queue = self.private_queue(request.p_object_format)
        if queue is None:
            return refuse(status)
        if not self.environment.permits(call.association, "get properties", queue):
            return refuse(Status.MQ_ERROR_ACCESS_DENIED)
        values = tuple(get_property(queue, propid) for propid in request.a_prop)
        call.reply(GetObjectPropertiesResponse(ap_var=values))

    def r_qm_set_object_properties(self, call: ServerCall, request: SetObjectPropertiesRequest) -> None:
        """Change properties of a queue. [MS-MQMP] 3.1.4.10"""
        status, name = self.object_name(request.p_object_format)
        if name is None:
            return fail(call, status)
        # They are never NULL: RPC refuses that, since cp is at least 1.
        propids, values = request.a_prop or (), request.ap_var or ()
        status = check_properties(propids, values, "set")
        if status != Status.MQ_OK:
            return fail(call, status)
        status, queue = self.private_queue(request.p_object_format)
        if queue is None:
            return fail(call, status)
        if not self.environment.permits(call.association, "set properties", queue):
            return fail(call, Status.MQ_ERROR_ACCESS_DENIED)
        set_properties(queue, propids, values)
        queue.modify_time = self.manager.current_time
        call.reply(StatusResponse())

    def r_qm_object_path_to_object_format(
        self, call: ServerCall, request: ObjectPathToObjectFormatRequest
    ) -> None:
        """Give the private format name of a path name. [MS-MQMP] 3.1.4.11"""
        path = _private_path(request.lpwcs_path_name)
        if path is None:
            return fail(call, Status.MQ_ERROR_ILLEGAL_QUEUE_PATHNAME)
        room = request.p_object_format
        queue_format = room.arm if room.obj_type == ObjectType.QUEUE else None
        if queue_format is None or queue_format.m_qft != QueueFormatType.UNKNOWN:
            return fail(call, Status.MQ_ERROR_INVALID_PARAMETER)
        queue = queue_of_path(self.manager, path)
        if queue is None:
            return fail(call, Status.MQ_ERROR_QUEUE_NOT_FOUND)
        name = FormatName(
            kind=QueueFormatType.PRIVATE,
            guid=str(self.manager.identifier),
            number=queue.private_queue_number,
        )
        call.reply(ObjectPathToObjectFormatResponse(p_object_format=ObjectFormat(arm=QueueFormat.of(name))))

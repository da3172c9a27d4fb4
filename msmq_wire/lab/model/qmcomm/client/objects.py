"""Private queues as objects, from the client's side. [MS-MQMP] 3.2.4.1 to 3.2.4.6, 3.2.4.13

The rule kept here: names, kinds of properties and security descriptors are looked at before a call is made;
whether a value is one that the queue may have is for the server to say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msmq_wire.errors import DecodeError
from msmq_wire.lab.model.qmcomm.client.machine import MachineOperations
from msmq_wire.lab.model.qmcomm.client.planned_calls import ATTEMPTS, Result, Steps, answered
from msmq_wire.rpc.constants import SecurityInformation
from msmq_wire.rpc.interfaces.qmcomm_objects import (
    CreateObjectInternalRequest,
    GetObjectPropertiesRequest,
    GetObjectSecurityRequest,
    ObjectPathToObjectFormatRequest,
    ObjectRequest,
    SetObjectPropertiesRequest,
    SetObjectSecurityRequest,
)
from msmq_wire.rpc.queue_properties import Purpose, check_properties
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.rpc.types.queue_format import ObjectFormat, QueueFormat
from msmq_wire.rpc.types.security_descriptor import SecurityDescriptor
from msmq_wire.wire.names import FormatName, QueueFormatType
from msmq_wire.wire.types.enumerations import BodyType
from msmq_wire.wire.types.wchar_text import WcharText

_PROPID_Q_PATHNAME = 103
_MOST_PROPERTIES = 128
_LARGEST_DESCRIPTOR = 524_288
_ALL_PARTS = sum(SecurityInformation)
_WRONG_KINDS = (Status.MQ_ERROR_PROPERTY, Status.MQ_ERROR_ILLEGAL_PROPERTY_VT)


class ObjectOperations(MachineOperations):
    """Create, delete, describe and find private queues of the server."""

    def create_queue(
        self,
        path_name: str,
        properties: Mapping[int, PropVariant] | None = None,
        security: bytes | None = None,
        *,
        exists_ok: bool = False,
    ) -> Steps[int]:
        """Create a private queue with PROPIDs and their values; the status. [MS-MQMP] 3.2.4.1

        ``security`` is a self-relative SECURITY_DESCRIPTOR. ``exists_ok`` takes MQ_ERROR_QUEUE_EXISTS for
        success.
        """
        path = _path(path_name)
        if security is not None:
            _check_descriptor(security)
        given = properties or {
            _PROPID_Q_PATHNAME: PropVariant(vt=BodyType.VT_LPWSTR, arm=WcharText.of(path_name))
        }
        propids, values = tuple(given), tuple(given.values())
        _check_properties(propids, values, "create")
        request = CreateObjectInternalRequest(
            lpwcs_path_name=path,
            sd_size=0 if security is None else len(security),
            p_security_descriptor=security,
            cp=len(propids),
            a_prop=propids,
            ap_var=values,
        )
        status = answered((yield from self.call("R_QMCreateObjectInternal", request)))
        return Status.MQ_OK if exists_ok and status == Status.MQ_ERROR_QUEUE_EXISTS else status

    def delete_queue(self, format_name: str) -> Steps[int]:
        """Delete a private queue; the status. [MS-MQMP] 3.2.4.2"""
        name = _object_name(format_name)
        request = ObjectRequest(p_object_format=_object_format(name))
        status = answered((yield from self.call("R_QMDeleteObject", request)))
        if status == Status.MQ_OK:
            for queue in self.queues:
                there = queue.endpoint.computer == self.endpoint.computer
                if there and FormatName.parse(queue.format_name).compare_key == name.compare_key:
                    queue.deleted = True
        return status

    def set_security(self, format_name: str, information: int, security: bytes) -> Steps[int]:
        """Exchange the parts of a queue's security that SECURITY_INFORMATION names; the status.

        [MS-MQMP] 3.2.4.3
        """
        name = _object_name(format_name)
        _check_information(information)
        _check_descriptor(security)
        request = SetObjectSecurityRequest(
            p_object_format=_object_format(name),
            security_information=information,
            sd_size=len(security),
            p_security_descriptor=security,
        )
        return answered((yield from self.call("R_QMSetObjectSecurityInternal", request)))

    def get_security(self, format_name: str, information: int, room: int = 0) -> Steps[Result[bytes]]:
        """Read parts of a queue's security, with ``room`` bytes at first. [MS-MQMP] 3.2.4.4"""
        wanted = _object_format(_object_name(format_name))
        _check_information(information)
        if not 0 <= room <= _LARGEST_DESCRIPTOR:
            raise ValueError(f"room for a security descriptor is 0 to {_LARGEST_DESCRIPTOR} bytes")
        status = int(Status.MQ_ERROR)
        for _ in range(ATTEMPTS):
            request = GetObjectSecurityRequest(
                p_object_format=wanted, requested_information=information, n_length=room
            )
            answer = yield from self.call("R_QMGetObjectSecurityInternal", request)
            status = answered(answer)
            if answer.fault is not None:
                break
            length: int = answer.response.lpn_length_needed
            if status == Status.MQ_OK:
                security = bytes(answer.response.p_security_descriptor[:length])
                if len(security) < length:
                    return Result(status=Status.MQ_ERROR)
                return Result(status=status, value=security)
            too_small = status == Status.MQ_ERROR_SECURITY_DESCRIPTOR_TOO_SMALL
            if not too_small or not room < length <= _LARGEST_DESCRIPTOR:
                break
            room = length
        return Result(status=status)

    def set_properties(self, format_name: str, properties: Mapping[int, PropVariant]) -> Steps[int]:
        """Change properties of a queue by PROPID; the status. [MS-MQMP] 3.2.4.5"""
        name = _object_name(format_name)
        propids, values = tuple(properties), tuple(properties.values())
        _check_properties(propids, values, "set")
        request = SetObjectPropertiesRequest(
            p_object_format=_object_format(name), cp=len(propids), a_prop=propids, ap_var=values
        )
        return answered((yield from self.call("R_QMSetObjectProperties", request)))

    def get_properties(
        self, format_name: str, propids: Sequence[int]
    ) -> Steps[Result[Mapping[int, PropVariant]]]:
        """Read properties of a queue by PROPID. [MS-MQMP] 3.2.4.6"""
        name = _object_name(format_name)
        room = tuple(PropVariant(vt=BodyType.VT_NULL) for _ in propids)
        _check_properties(propids, room, "get")
        request = GetObjectPropertiesRequest(
            p_object_format=_object_format(name), cp=len(propids), a_prop=tuple(propids), ap_var=room
        )
        answer = yield from self.call("R_QMGetObjectProperties", request)
        status = answered(answer)
        if status != Status.MQ_OK:
            return Result(status=status)
        values = answer.response.ap_var
        if len(values) != len(propids):
            return Result(status=Status.MQ_ERROR)
        return Result(status=status, value=dict(zip(propids, values, strict=True)))

    def path_to_format_name(self, path_name: str) -> Steps[Result[str]]:
        """Ask for the format name of a private queue by its path name. [MS-MQMP] 3.2.4.13"""
        request = ObjectPathToObjectFormatRequest(
            lpwcs_path_name=_path(path_name), p_object_format=ObjectFormat(arm=QueueFormat())
        )
        answer = yield from self.call("R_QMObjectPathToObjectFormat", request)
        status = answered(answer)
        if status != Status.MQ_OK:
            return Result(status=status)
        queue_format = answer.response.p_object_format.arm
        name = queue_format.format_name if isinstance(queue_format, QueueFormat) else None
        if name is None:
            return Result(status=Status.MQ_ERROR)
        return Result(status=status, value=str(name))


def _path(path_name: str) -> WcharText:
    if not path_name or "\0" in path_name:
        raise ValueError("a path name has characters, and none of them is null")
    return WcharText.of(path_name)


def _object_name(format_name: str) -> FormatName:
    name = FormatName.parse(format_name)
    if name.kind not in (QueueFormatType.PRIVATE, QueueFormatType.DIRECT):
        raise ValueError(f"{format_name} is neither a private nor a direct format name")
    return name


def _object_format(name: FormatName) -> ObjectFormat:
    return ObjectFormat(arm=QueueFormat.of(name))


def _check_properties(propids: Sequence[int], values: Sequence[PropVariant], purpose: Purpose) -> None:
    if not 1 <= len(propids) <= _MOST_PROPERTIES:
        raise ValueError(f"a call names 1 to {_MOST_PROPERTIES} properties")
    if check_properties(propids, values, purpose) in _WRONG_KINDS:
        raise ValueError(f"to {purpose} needs properties that can be {purpose}, with values of their types")


def _check_information(information: int) -> None:
    if information & ~_ALL_PARTS:
        raise ValueError("SECURITY_INFORMATION names owner, group, DACL and SACL")


def _check_descriptor(security: bytes) -> None:
    if not 0 < len(security) <= _LARGEST_DESCRIPTOR:
        raise ValueError(f"a security descriptor has 1 to {_LARGEST_DESCRIPTOR} bytes")
    try:
        SecurityDescriptor.parse(security)
    except DecodeError as error:
        raise ValueError(f"no security descriptor in self-relative form: {error}") from None

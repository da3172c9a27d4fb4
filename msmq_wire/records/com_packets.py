"""What the ``packet`` of a ``com_call`` holds: `ComCall`, and the objects and arguments in it."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.rpc.com.queue_interfaces import COM_METHODS
from msmq_wire.rpc.interfaces import Role
from msmq_wire.spec import SpecRef
from msmq_wire.wire.private import HOST, IDENTIFIER, PUBLIC, Private
from msmq_wire.wire.types.guid import GUID


class ComObject(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An interface pointer: an object, the interface of it that is meant, and where it is; from its OBJREF.

    ``oxid``, ``oid`` and ``ipid`` are None in an OBJREF that a custom marshaler wrote.
    """

    SPEC: ClassVar[SpecRef] = SpecRef("MS-DCOM", "2.2.18")
    kind: Annotated[str, PUBLIC, "standard, handler, custom or extended."]
    iid: Annotated[GUID, PUBLIC, "The interface."]
    interface: Annotated[str | None, PUBLIC, "Its name, where it is known."]
    oxid: Annotated[str | None, PUBLIC, "The exporter of the object, 16 hex digits."] = None
    oid: Annotated[str | None, PUBLIC, "The object, 16 hex digits."] = None
    ipid: Annotated[GUID | None, IDENTIFIER, "The interface of the object, as requests name it."] = None
    public_refs: Annotated[int | None, "References that come with the pointer."] = None
    clsid: Annotated[GUID | None, PUBLIC, "Class that handles or unmarshals it."] = None
    bindings: Annotated[
        tuple[str, ...],
        Private("host", "binding"),
        "Where the object resolver is reached: protocol and address.",
    ] = ()
    authentication_services: Annotated[
        tuple[int, ...], "Security providers that it takes: 9 SPNEGO, 10 NTLM, 16 Kerberos."
    ] = ()


class ReceiveArguments(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The arguments of ReceiveCurrent_v1, those that the client did not specify with their defaults.

    What is None was not read, or is of a type that the method does not take: ``problems`` says so.
    """

    SPEC: ClassVar[SpecRef] = SpecRef("MC-MQAC", "3.11.4.1.11")
    transaction: Annotated[
        str | None, PUBLIC, "MQ_NO_TRANSACTION, MQ_MTS_TRANSACTION (default), ..., or interface pointer."
    ] = None
    transaction_object: Annotated[ComObject | None, "The transaction, where it is an object."] = None
    want_destination_queue: Annotated[bool | None, "Default false."] = None
    want_body: Annotated[bool | None, "Default true."] = None
    receive_timeout: Annotated[int | None, "Milliseconds; default 4294967295, no limit."] = None
    specified: Annotated[tuple[str, ...], PUBLIC, "The arguments that the client specified."] = ()
    problems: Annotated[tuple[str, ...], PUBLIC, "Arguments that the method does not take."] = ()


class ComCall(RpcCall, frozen=True, kw_only=True, gc=False):
    """A call on a queue object, or on an object that went through one: a call, with what DCOM adds.

    The members are those of a call; ``object_uuid`` is the IPID, ``opened_frame`` the frame that completed
    the call which gave it. ``guessed`` says that neither a bind nor an interface pointer told the interface.
    """

    SPEC: ClassVar[SpecRef] = SpecRef("MS-DCOM", "2.2.13")
    causality: Annotated[GUID | None, HOST, "One number for all calls that one thing makes."] = None
    com_version: Annotated[str | None, PUBLIC, "The client's version of DCOM."] = None
    orpc_flags: Annotated[int | None, "Flags of ORPCTHIS, 0."] = None
    answer_flags: Annotated[int | None, "Flags of ORPCTHAT."] = None
    arguments: Annotated[ReceiveArguments | None, "Arguments of ReceiveCurrent_v1."] = None
    returned: Annotated[ComObject | None, "The message that it received, as an object."] = None

    @property
    def role(self) -> Role | None:
        """What its method does, where that is declared."""
        known = COM_METHODS.get(self.method or "")
        return None if known is None else known.role

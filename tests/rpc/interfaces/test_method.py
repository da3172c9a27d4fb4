"""Interfaces as tables of methods."""

from __future__ import annotations

from typing import Annotated

import pytest

from msmq_wire.rpc.interfaces import INTERFACES, METHODS, NAMED_ONLY, interface_name
from msmq_wire.rpc.interfaces.method import interface, method
from msmq_wire.rpc.interfaces.remote_read import (
    EndReceiveRequest,
    StartReceiveRequest,
    StartTransactionalReceiveRequest,
)
from msmq_wire.rpc.interfaces.role import HANDLE, Members, Role
from msmq_wire.rpc.interfaces.shared_parameters import StatusResponse
from msmq_wire.rpc.ndr import NdrStruct
from msmq_wire.rpc.types.context_handle import CONTEXT_HANDLE, ContextHandle
from msmq_wire.spec import SpecRef
from msmq_wire.wire.types.guid import GUID


class _Request(NdrStruct, frozen=True, kw_only=True, gc=False):
    """What it is done with."""

    ph_context: Annotated[ContextHandle, CONTEXT_HANDLE, HANDLE, "The open queue."] = ContextHandle()


def test_a_table_becomes_methods_with_their_sections() -> None:
    made = interface(
        "example",
        "00112233-4455-6677-8899-aabbccddeeff",
        SpecRef("MS-MQRR", "3.1.4"),
        {7: method("R_DoThis", "3.1.4.7", _Request, StatusResponse, Role.PURGE)},
    )
    done = made.methods[7]
    assert (done.opnum, done.name, done.stem) == (7, "R_DoThis", "r_do_this")
    assert done.spec == SpecRef("MS-MQRR", "3.1.4.7")
    assert done.parameters("request") is done.request
    assert done.parameters("response") is done.response
    assert done.returns_status
    assert (done.role, done.members) == (Role.PURGE, Members(handle="ph_context"))


def test_a_list_without_a_section_has_that_of_the_first_method_that_has_it() -> None:
    first, *_ = (method for method in METHODS.values() if method.request.cls is EndReceiveRequest)
    assert (first.name, str(EndReceiveRequest.SPEC)) == ("R_EndReceive", "[MS-MQRR] 3.1.4.9")
    assert str(StartReceiveRequest.SPEC) == "[MS-MQRR] 3.1.4.7"
    assert str(StartTransactionalReceiveRequest.SPEC) == "[MS-MQRR] 3.1.4.13"
    assert str(StatusResponse.SPEC) == "[C706] 14.4"


@pytest.mark.parametrize(
    ("uuid", "name"),
    [
        ("1a9134dd-7b39-45ba-ad88-44d01ca47f28", "RemoteRead"),
        ("fdb3a030-065f-11d1-bb9b-00a024ea5525", "qmcomm"),
        ("76d12b80-3467-11d3-91ff-0090272f9ea3", "qmcomm2"),
        ("1088a980-eae5-11d0-8d9b-00a02453c337", "qm2qm"),
        ("41208ee0-e970-11d1-9b9e-00e02c064c39", "qmmgmt"),
        ("00112233-4455-6677-8899-aabbccddeeff", None),
    ],
)
def test_an_interface_has_a_name_by_its_uuid(uuid: str, name: str | None) -> None:
    assert interface_name(GUID.parse(uuid)) == name


def test_interfaces_with_methods_and_those_with_a_name_only_differ() -> None:
    assert not set(INTERFACES) & set(NAMED_ONLY)
    assert all(known.uuid == uuid for uuid, known in INTERFACES.items())

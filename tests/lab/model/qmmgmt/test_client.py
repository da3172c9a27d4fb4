"""The client of qmmgmt: what it asks, and what it makes of answers."""

from __future__ import annotations

import pytest

from msmq_wire.errors import FormatNameError
from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.lab.model.qmmgmt.client import act, get_info
from msmq_wire.rpc.constants import ManagementAction, MgmtObjectType
from msmq_wire.rpc.interfaces.qmmgmt import QMMgmtGetInfoResponse
from msmq_wire.rpc.management_properties import NO_VALUE
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.propvariant import PropVariant
from tests.lab.model.qmmgmt.scene import ORDERS, Scene

_VALUES = (PropVariant(vt=19, arm=5),)


@pytest.mark.rule("CMQMR-3.2.4-3")
def test_all_properties_are_asked_for_with_room_without_a_value() -> None:
    for name, count, kind in (
        (None, 6, MgmtObjectType.MGMT_MACHINE),
        (ORDERS, 27, MgmtObjectType.MGMT_QUEUE),
    ):
        method, request = next(get_info(name))
        assert (method, request.cp, request.p_object_format.type) == ("R_QMMgmtGetInfo", count, kind)
        assert request.a_prop == tuple(range(1, count + 1))
        assert request.ap_var == (NO_VALUE,) * count


@pytest.mark.rule("CMQMR-3.2.4-1")
def test_values_come_as_they_are() -> None:
    result = Scene().run(get_info(ORDERS, (7, 7, 1)))
    assert result.values == {7: 0, 1: "host\\private$\\orders"}


@pytest.mark.rule("CMQMR-3.2.4-2")
@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (CallResult(response=QMMgmtGetInfoResponse(ap_var=_VALUES, status=0xC00E0006)), 0xC00E0006),
        (CallResult(fault=0x1C010003), 0x1C010003),
        (CallResult(response=QMMgmtGetInfoResponse(ap_var=_VALUES * 2)), Status.MQ_ERROR),
    ],
)
def test_values_of_a_failure_are_not_looked_at(answer: CallResult, status: int) -> None:
    steps = get_info(ORDERS, (7,))
    next(steps)
    with pytest.raises(StopIteration) as end:
        steps.send(answer)
    assert (end.value.value.status, end.value.value.values) == (status, {})


def test_what_cannot_be_asked_is_not_asked() -> None:
    with pytest.raises(FormatNameError):
        next(get_info("no name"))
    with pytest.raises(ValueError, match="1 to 128"):
        next(get_info(None, [1] * 129))


def test_an_action_is_asked_for_with_its_end() -> None:
    method, request = next(act(ManagementAction.PAUSE, ORDERS))
    assert method == "R_QMMgmtAction"
    assert bytes(request.lpwsz_action) == "PAUSE\0".encode("utf-16-le")

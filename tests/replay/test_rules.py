"""What a replay says of the calls of qm2qm, qmcomm and qmcomm2, and of RemoteRead beyond the captures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from msmq_wire.records.record import Record
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.rpc.interfaces import INTERFACES
from msmq_wire.rpc.types.cac_transfer_buffer import (
    CACCreateRemoteCursor,
    CACTransferBufferV1,
    CACTransferBufferV2,
    TransferReceive,
)
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.rpc.types.remote_read_descriptor import RemoteReadDesc, RemoteReadDesc2
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.types.guid import GUID
from tests.lab.model.scene import make_packet
from tests.replay.world import bind, call_record, deviations

_ROOT = Path(__file__).resolve().parents[2]
_OK, _FAILED = 0, 0xC00E0006
_NULL, _A, _B, _C = (ContextHandle(uuid=GUID(bytes([n] * 16))) for n in (0, 1, 2, 3))
_ORDERS = QueueFormat.of(FormatName.parse("DIRECT=OS:host\\private$\\orders"))
_OPEN = {"p_queue_format": _ORDERS}
_TRANSACTION = GUID(b"one transaction.")
_METHODS = {method.name: method for one in INTERFACES.values() for method in one.methods.values()}
_NUMBER = 0x51
_PACKET = make_packet(b"body")
_SCOPE = "RPCE-3.3.1.4.1"


class Story:
    """Calls one after the other, each taking a millisecond."""

    def __init__(self) -> None:
        self.calls: list[list[Record]] = [[bind(1, 7)]]
        self.now = 0
        self.stream = 1

    def call(self, method: str, request: dict[str, Any], status: int = _OK, **response: Any) -> Story:
        """A call with its reply."""
        declared = _METHODS[method]
        asked = declared.request.cls(**request)
        if declared.returns_status:
            response["status"] = status
        answered = declared.response.cls(**response)
        self.now += 2
        self.calls.append(
            call_record(method, asked, answered, begun=self.now, ended=self.now + 1, stream=self.stream)
        )
        return self

    def found(self) -> list[tuple[str, str, bool]]:
        """Kind, rule and certainty of what deviates."""
        return [(str(one.kind), str(one.rule), one.certain) for one in deviations(*self.calls)]


def remote(access: int = 1) -> Story:
    """A queue opened for qm2qm, under `_NUMBER` and the handle `_A`."""
    numbers = {"ph_queue": _NUMBER, "pdw_context": _NUMBER, "dwp_queue": _NUMBER}
    asked = {"p_queue_format": _ORDERS, "dw_desired_access": access}
    story = Story().call("R_QMOpenRemoteQueue", asked, pph_context=_C, **numbers)
    request = {"h_queue": _NUMBER, "p_queue": _NUMBER, "dwp_context": _NUMBER}
    return story.call("RemoteQMOpenQueue", request, ph_context=_A)


def desc(request_id: int = 1, **more: Any) -> RemoteReadDesc:
    """A REMOTEREADDESC for `_NUMBER`."""
    return RemoteReadDesc(
        **{"h_remote_queue": _NUMBER, "dw_queue": _NUMBER, "dw_request_id": request_id} | more
    )


def started(story: Story, status: int = _OK, context: ContextHandle | None = None, **more: Any) -> Story:
    """RemoteQMStartReceive."""
    packet = None if status else _PACKET
    asked = desc(**more)
    given = _NULL if asked.ul_action else _B
    return story.call(
        "RemoteQMStartReceive",
        {"lp_remote_read_desc": asked},
        status,
        pph_context=given if context is None else context,
        lp_remote_read_desc=msgspec.structs.replace(asked, dw_size=len(packet or b""), lp_buffer=packet),
    )


def looked_up(story: Story, lookup_id: int, sequence: int, action: int = 0x40000010, **more: Any) -> Story:
    """RemoteQMStartReceiveByLookupId."""
    wanted = desc(ul_action=action, **more)
    got = msgspec.structs.replace(wanted, dw_size=len(_PACKET), lp_buffer=_PACKET)
    return story.call(
        "RemoteQMStartReceiveByLookupId",
        {"lookup_id": lookup_id, "lp_remote_read_desc2": RemoteReadDesc2(p_remote_read_desc=wanted)},
        lp_remote_read_desc2=RemoteReadDesc2(p_remote_read_desc=got, sequential_id=sequence),
        pph_context=_NULL if action in (0x40000010, 0x40000011, 0x40000012) else _B,
    )


def local(access: int = 1) -> Story:
    """A queue opened by an application, under `_NUMBER` and the handle `_A`."""
    asked = {"p_queue_format": _ORDERS, "dw_desired_access": access}
    return Story().call("rpc_QMOpenQueueInternal", asked, ph_queue=_A, pdw_qm_context=_NUMBER)


def received(story: Story, **more: Any) -> Story:
    """rpc_ACReceiveMessageEx that succeeds."""
    buffer = CACTransferBufferV2(old=CACTransferBufferV1(u_transfer_type=1, arm=TransferReceive(**more)))
    return story.call("rpc_ACReceiveMessageEx", {"h_qm_context": _NUMBER, "ptb": buffer}, ptb=buffer)


def test_an_honest_conversation_over_qm2qm_gives_nothing() -> None:
    story = started(remote())
    story.call("RemoteQMEndReceive", {"pph_context": _B, "dw_ack": 2})
    story.call("RemoteQMPurgeQueue", {"h_queue": _NUMBER})
    story.call("RemoteQMCloseQueue", {"pph_context": _A})
    started(story, _FAILED, _NULL)
    assert story.found() == []


def test_an_honest_conversation_over_qmcomm_gives_nothing() -> None:
    made = CACCreateRemoteCursor(h_cursor=3)
    story = received(local()).call("rpc_ACCreateCursorEx", {"h_queue": _A}, pcc=made)
    received(story, cursor=3, action=0x80000001)
    story.call("rpc_ACCloseCursor", {"h_queue": _A, "h_cursor": 3})
    story.call("rpc_ACPurgeQueue", {"h_queue": _A}).call("rpc_ACCloseHandle", {"ph_queue": _A})
    assert story.found() == []


@pytest.mark.parametrize(
    ("story", "kind", "rule"),
    [
        (started(remote(0x20)), "access", "MQQP-3.1.4.1-13"),
        (started(remote(), dw_queue=0), "action", "MQQP-3.1.4.1-4"),
        (started(remote(), dw_queue=9), "action", "MQQP-3.1.4.1-5"),
        (started(remote(), ul_action=0x80000001), "action", "MQQP-3.1.4.1-8"),
        (started(remote(), ul_action=3), "action", "MQQP-3.1.4.1-9"),
        (started(remote(), h_cursor=4), "cursor", "MQQP-3.1.4.1-15"),
        (looked_up(remote(), 5, 6), "lookup", "MQQP-3.1.4.11-27"),
        (looked_up(remote(), 5, 5, 0x40000011), "lookup", "MQQP-3.1.4.11-28"),
        (looked_up(remote(), 0, 5), "action", "MQQP-3.1.4.11-8"),
        (looked_up(remote(), 0, 5, 0x40000012), "action", "MQQP-3.1.4.11-9"),
        (looked_up(remote(), 0, 5, 0x40000020), "action", "MQQP-3.1.4.11-10"),
        (looked_up(remote(), 0, 5, 0x40000022), "action", "MQQP-3.1.4.11-11"),
        (looked_up(remote(), 5, 5, ul_timeout=1), "action", "MQQP-3.1.4.11-5"),
        (looked_up(remote(), 5, 5, h_cursor=1), "action", "MQQP-3.1.4.11-6"),
        (looked_up(remote(), 5, 5, 0), "action", "MQQP-3.1.4.11-7"),
        (remote(0x20).call("RemoteQMPurgeQueue", {"h_queue": _NUMBER}), "purge", "MQQP-3.1.4.7-4"),
        (
            started(remote().call("RemoteQMCloseQueue", {"pph_context": _A})),
            "handle",
            "MQQP-3.1.4.1-10",
        ),
        (
            started(remote())
            .call("RemoteQMEndReceive", {"pph_context": _B, "dw_ack": 2})
            .call("RemoteQMEndReceive", {"pph_context": _B, "dw_ack": 2}),
            "end",
            "MQQP-3.1.4.2-2",
        ),
        (remote().call("RemoteQMEndReceive", {"dw_ack": 2}), "handle", "MQQP-3.1.4.2-1"),
        (
            remote().call("RemoteQMCloseQueue", {"pph_context": _A}, 1, pph_context=_A),
            "status",
            "MQQP-3.1.4.4-14",
        ),
        (
            remote().call(
                "RemoteQMStartReceive",
                {"lp_remote_read_desc": desc()},
                pph_context=_B,
                lp_remote_read_desc=desc(),
            ),
            "size",
            "MQQP-3.1.4.1-41",
        ),
        (Story().call("R_GetServerPort", {}), "status", "MQRR-3.1.4.1-1"),
        (Story().call("R_OpenQueue", {**_OPEN, "dw_access": 1}), "status", "MQRR-3.1.4.2-37"),
        (Story().call("R_OpenQueueForMove", {**_OPEN, "dw_access": 4}), "status", "MQRR-3.1.4.11-19"),
        (
            Story().call("R_CloseQueue", {"pph_context": _A}, pph_context=_A),
            "status",
            "MQRR-3.1.4.3-10",
        ),
        (Story().call("R_CreateCursor", {"ph_context": _A}), "status", "MQRR-3.1.4.4-7"),
        (received(local(0x20)), "access", "MQMP-3.1.5.3-163"),
        (received(local(2), action=0x80000000), "access", "MQMP-3.1.5.3-162"),
        (received(local(), action=0x40000010), "action", "MQMP-3.1.5.3-7"),
        (received(local(), action=0x80000001), "action", "MQMP-3.1.5.3-176"),
        (received(local(), cursor=4), "cursor", "MQMP-3.1.5.3-9"),
        (local(0x20).call("rpc_ACPurgeQueue", {"h_queue": _A}), "purge", "MQMP-3.1.4.22-4"),
        (received(local().call("rpc_ACCloseHandle", {"ph_queue": _A})), "handle", "MQMP-3.1.5.3-4"),
        (
            Story()
            .call("R_QMEnlistInternalTransaction", {}, ph_int_xact=_A)
            .call("R_QMCommitTransaction", {"ph_int_xact": _A})
            .call("R_QMAbortTransaction", {"ph_int_xact": _A}),
            "handle",
            "MQMP-3.1.4.16-3",
        ),
    ],
)
def test_a_reply_that_breaks_a_rule_is_found_with_the_rule(story: Story, kind: str, rule: str) -> None:
    assert [found[:2] for found in story.found()] == [(kind, rule)]


@pytest.mark.parametrize(
    ("opens", "given", "method", "member", "rule"),
    [
        ("R_OpenQueue", "pph_context", "R_PurgeQueue", "ph_context", "MQRR-2.2.4.1-2"),
        ("R_OpenQueue", "pph_context", "R_CloseQueue", "pph_context", "MQRR-2.2.4.2-2"),
        ("RemoteQMOpenQueue", "ph_context", "RemoteQMCloseQueue", "pph_context", _SCOPE),
        ("R_QMOpenRemoteQueue", "pph_context", "R_QMCloseRemoteQueueContext", "pph_context", _SCOPE),
        ("R_QMEnlistInternalTransaction", "ph_int_xact", "R_QMCommitTransaction", "ph_int_xact", _SCOPE),
        ("rpc_QMOpenQueueInternal", "ph_queue", "rpc_ACCloseHandle", "ph_queue", _SCOPE),
        ("rpc_QMOpenQueueInternal", "ph_queue", "rpc_ACSendMessageEx", "h_queue", _SCOPE),
        ("rpc_QMOpenQueueInternal", "ph_queue", "rpc_ACCreateCursorEx", "h_queue", _SCOPE),
    ],
)
def test_a_handle_of_another_association_is_told_by_the_document_that_forbids_it(
    opens: str, given: str, method: str, member: str, rule: str
) -> None:
    opened: dict[str, Any] = {given: _A}
    story = Story().call(opens, {}, **opened)
    story.calls.append([bind(2, 8)])
    story.stream = 2
    assert ("handle", rule, False) in story.call(method, {member: _A}).found()


_CLOSED = ("R_QMCloseRemoteQueueContext", {"pph_context": _C})
_LOCAL = {"p_queue_format": _ORDERS, "dw_desired_access": 1}
_TWICE = remote().call(*_CLOSED, pph_context=_NULL)


@pytest.mark.rule("MQMP-3.1.4.3-1", "MQMP-3.1.4.3-5")
@pytest.mark.parametrize(
    ("story", "given", "found"),
    [
        (remote(), _NULL, []),
        (remote(), _C, [("status", "MQMP-3.1.4.3-5", False)]),
        (Story().call("rpc_QMOpenQueueInternal", _LOCAL, ph_queue=_C, pdw_qm_context=5), _C, []),
        (Story(), _C, []),
        (_TWICE, _C, [("handle", "MQMP-3.1.4.3-6", True)]),
    ],
    ids=["set to NULL", "left", "of another method", "from before the capture", "closed before"],
)
def test_a_close_may_leave_a_handle_that_did_not_open_a_remote_queue(
    story: Story, given: ContextHandle, found: list[tuple[str, str, bool]]
) -> None:
    assert story.call(*_CLOSED, pph_context=given).found() == found


def test_a_peek_in_a_transaction_is_wrong() -> None:
    values = {"ph_context": _A, "ul_action": 0x80000000, "p_transaction_id": _TRANSACTION}
    found = Story().call("R_StartTransactionalReceive", values).found()
    assert ("action", "MQRR-3.1.4.13-44", True) in found


def test_a_receive_in_a_transaction_has_an_end_of_its_own() -> None:
    story = Story().call("R_OpenQueue", {"dw_access": 1}, pph_context=_A)
    values = {"ph_context": _A, "dw_request_id": 4, "p_transaction_id": _TRANSACTION}
    story.call("R_StartTransactionalReceive", values)
    story.call("R_EndReceive", {"ph_context": _A, "dw_request_id": 4, "dw_ack": 2})
    assert ("end", "MQRR-3.1.4.9-7", True) in story.found()


def test_the_kinds_are_those_that_findings_knows() -> None:
    pages = {path.stem for path in (_ROOT / "docs" / "findings").glob("rpl_*.md")}
    assert {f"rpl_{kind}" for kind in ReplayKind} == pages

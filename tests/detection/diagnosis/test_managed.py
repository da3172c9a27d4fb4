"""What queue managers tell administrators: what is kept of it, and what is said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from msmq_wire.detection.diagnosis import managed
from msmq_wire.detection.diagnosis.answer import AnswerBuilder
from msmq_wire.detection.diagnosis.managed import ManagementAnswers, held, offline
from msmq_wire.detection.diagnosis.phrases import Phrases
from msmq_wire.lab.model.qmmgmt.client import act, get_info
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.rpc.constants import ManagementAction
from msmq_wire.rpc.interfaces.qmmgmt import QMMgmtGetInfoResponse
from msmq_wire.rpc.interfaces.shared_parameters import StatusResponse
from msmq_wire.rpc.management_properties import NO_VALUE, ConnectionAttempt, ManagementValue, write_value
from msmq_wire.rpc.properties import PropertyKind
from msmq_wire.rpc.types.sequence_info import SequenceInfo
from msmq_wire.sessions import Moment

QUEUE = "DIRECT=OS:far\\private$\\bills"
Values = dict[int, ManagementValue | None]


class Administrator:
    """Calls of one administrator, in frames that count from 1."""

    def __init__(self) -> None:
        self.sums = ManagementAnswers()
        self.frame = 0

    def ask(self, values: Values, queue: str | None = QUEUE, status: int = 0, **more: Any) -> None:
        """A question about a queue or a computer, and its answer."""
        _, request = next(get_info(queue, tuple(values)))
        kind = PropertyKind.MANAGEMENT_QUEUE if queue else PropertyKind.MANAGEMENT_MACHINE
        answer = tuple(write_value(value, propid, kind) for propid, value in values.items())
        response = QMMgmtGetInfoResponse(ap_var=answer, status=status)
        self._call("R_QMMgmtGetInfo", request, response, queue, status, **more)

    def tell(self, action: ManagementAction, queue: str | None = QUEUE, status: int = 0) -> None:
        _, request = next(act(action, queue))
        self._call("R_QMMgmtAction", request, StatusResponse(status=status), queue, status)

    def _call(
        self, method: str, request: Any, response: Any, queue: str | None, status: int, **more: Any
    ) -> None:
        self.frame += 1
        call = RpcCall(
            interface="qmmgmt", opnum=0, method=method, syntax="ndr", request=request, response=response,
            queue=queue, status=status, **more,
        )  # fmt: skip
        record = Record(
            id=self.frame, capture="a.pcap", type="rpc_call", packet=call,
            src="192.0.2.21:50000", dst="192.0.2.10:2103",
        )  # fmt: skip
        self.sums.call(record, call, Moment(self.frame, self.frame, self.frame))

    def reported(self) -> tuple[AnswerBuilder, AnswerBuilder]:
        """Questions 2 and 14."""
        tellings = AnswerBuilder(), AnswerBuilder()
        offline(self.sums, Phrases(), tellings[0])
        held(self.sums, Phrases(), tellings[1])
        return tellings


def texts(builder: AnswerBuilder) -> Iterable[str]:
    return [one.text for one in builder.statements]


def test_the_last_answer_counts_and_the_first_count_stands_beside_it() -> None:
    administrator = Administrator()
    administrator.ask({7: 3, 11: "Waiting"})
    administrator.ask({7: 1, 8: 70, 11: "CONNECTED"})
    _, kept = administrator.reported()
    assert texts(kept) == [
        f"192.0.2.10 tells 192.0.2.21 in frame 2 about {QUEUE}: 1 message of 70 bytes (3 in frame 1); "
        f"CONNECTED."
    ]
    assert (kept.attention, kept.causes) == (None, [])
    assert kept.facts == {
        "told": [
            {"host": "192.0.2.10", "queue": QUEUE, "messages": 1, "bytes": 70, "state": "CONNECTED"},
        ]
    }


@pytest.mark.parametrize(
    ("state", "severity"),
    [
        ("INACTIVE", "low"),
        ("LOCKED", "medium"),
        ("NEED VALIDATION", "low"),
        ("WAITING", "low"),
        ("ONHOLD", "medium"),
        ("DISCONNECTED", "low"),
    ],
)
def test_messages_that_cannot_leave_are_blamed_on_the_state(state: str, severity: str) -> None:
    administrator = Administrator()
    administrator.ask({7: 2, 11: state})
    _, kept = administrator.reported()
    (cause,) = kept.causes
    assert (cause.severity, cause.count, cause.who) == (severity, 2, ("192.0.2.10",))
    assert kept.attention == severity
    empty = Administrator()
    empty.ask({7: 0, 11: state})
    assert empty.reported()[1].causes == []


def test_the_order_of_a_queue_is_told() -> None:
    administrator = Administrator()
    sequence = SequenceInfo(seq_id=5, seq_no=13, prev_no=12)
    administrator.ask({13: SequenceInfo(seq_id=5, seq_no=12, prev_no=11), 16: sequence, 19: 4, 20: 1})
    assert texts(administrator.reported()[1]) == [
        f"192.0.2.10 tells 192.0.2.21 in frame 1 about {QUEUE}: the last OrderAck covers number 12 of "
        f"sequence 5; 1 message without an OrderAck, from number 13; 4 messages covered by an OrderAck, and "
        f"not known to be received."
    ]


def test_what_is_no_answer_is_not_told() -> None:
    administrator = Administrator()
    administrator.ask({7: 3}, status=0xC00E0006)
    administrator.ask({7: 3}, fault=True)
    administrator.ask({7: None, 11: "SLEEPING"})
    administrator.tell(ManagementAction.PAUSE, status=0xC00E0006)
    before, kept = administrator.reported()
    assert texts(before) == texts(kept) == []


def test_values_without_a_question_for_each_are_left() -> None:
    administrator = Administrator()
    _, request = next(get_info(QUEUE, (7, 8)))
    response = QMMgmtGetInfoResponse(ap_var=(NO_VALUE,))
    administrator._call("R_QMMgmtGetInfo", request, response, QUEUE, 0)
    assert texts(administrator.reported()[1]) == []


def test_a_computer_that_is_offline_and_what_it_was_told_are_of_question_2() -> None:
    administrator = Administrator()
    administrator.tell(ManagementAction.DISCONNECT, None)
    administrator.ask({4: "DISCONNECTED", 6: 2048}, None)
    before, kept = administrator.reported()
    assert texts(before) == [
        "192.0.2.10 says in frame 2 that it is DISCONNECTED: an administrator took it offline.",
        "192.0.2.21 told 192.0.2.10 in frame 1 to DISCONNECT.",
    ]
    assert texts(kept) == ["192.0.2.10 tells 192.0.2.21 in frame 2 about all its queues: 2 KB."]
    administrator.tell(ManagementAction.CONNECT, None)
    administrator.ask({4: "CONNECTED"}, None)
    assert texts(administrator.reported()[0]) == ["192.0.2.21 told 192.0.2.10 in frame 3 to CONNECT."]


@pytest.mark.parametrize(
    ("status", "said"), [(0x8000000B, "connection refused"), (0x80000077, "status 0x80000077")]
)
def test_the_last_attempt_to_connect_is_told_where_it_failed(status: int, said: str) -> None:
    administrator = Administrator()
    tries = (
        ConnectionAttempt(status=2, time=60),
        ConnectionAttempt(status=status, time=120, addresses=("\\\\far",)),
    )
    administrator.ask({25: tries})
    (text,) = texts(administrator.reported()[0])
    assert text.endswith(f"for {QUEUE} to \\\\far, at 1970-01-01 00:02:00Z, failed: {said}.")
    administrator.ask({25: (*tries, ConnectionAttempt(status=2, time=180))})
    assert texts(administrator.reported()[0]) == []


def test_more_queues_than_are_kept_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(managed, "_MOST", 12)
    administrator = Administrator()
    for number in range(14):
        administrator.ask({7: number}, f"{QUEUE}{number}")
        administrator.tell(ManagementAction.PAUSE, f"{QUEUE}{number}")
    _, kept = administrator.reported()
    said = list(texts(kept))
    assert said[10] == "And about 2 more queues: calls lists the answers."
    assert said[-1] == "And 2 more actions of administrators."
    assert kept.caveats == ["2 answers about queues were too many to keep"]

"""What a replay says of ReceiveCurrent_v1 of a queue object."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from msmq_wire.capture.reader import read_capture
from msmq_wire.records.com_packets import ComCall, ComObject, ReceiveArguments
from msmq_wire.records.record import Record
from msmq_wire.replay import replay
from msmq_wire.rpc.com.queue_interfaces import OrpcResponse, ReceiveCurrentResponse
from msmq_wire.wire.types.guid import GUID

_CAPTURES = sorted((Path(__file__).resolve().parents[2] / "fixtures").rglob("com_*.pcap"))
_SECOND = 1_000_000_000
_IPID, _OTHER = GUID(b"one queue object"), GUID(b"two queue object")
_GOOD = ReceiveArguments(
    transaction="MQ_NO_TRANSACTION", want_destination_queue=False, want_body=True, receive_timeout=5000
)
_TIMED_OUT, _NOT_FOUND = 0xC00E001B, 0xC00E0088


def message(oid: str = "0000000000000001") -> ComObject:
    """A message object."""
    iid = GUID(b"a message object")
    return ComObject(kind="standard", iid=iid, interface="IMSMQMessage4", oxid="00000000000000aa", oid=oid)


def call(
    at: int,
    status: int | None = 0,
    returned: ComObject | None = None,
    arguments: ReceiveArguments | None = _GOOD,
    latency: int = 1_000_000,
    **more: Any,
) -> Record:
    """A call that ended so many seconds after the first."""
    response = ReceiveCurrentResponse() if arguments else OrpcResponse()
    values: dict[str, Any] = {
        "interface": "IMSMQQueue4",
        "opnum": 17,
        "method": "ReceiveCurrent_v1",
        "syntax": "ndr",
        "response": response,
        "status": status,
        "returned": returned,
        "arguments": arguments,
        "latency": latency,
        "object_uuid": _IPID,
    }
    return Record(
        id=at + 1,
        type="com_call",
        time=(1_795_000_000 + at) * _SECOND,
        src="192.0.2.21:50113",
        dst="192.0.2.10:49664",
        frames=(at + 1,),
        packet=ComCall(**values | more),
    )


def found(*records: Record) -> list[tuple[str, str, bool]]:
    """Kind, rule and certainty of what deviates."""
    return [(str(one.kind), str(one.rule), one.certain) for one in replay(records)]


def other(**values: Any) -> ReceiveArguments:
    """Other arguments."""
    return ReceiveArguments(
        **{name: getattr(_GOOD, name) for name in ("transaction", "want_destination_queue", "want_body")}
        | {"receive_timeout": 5000}
        | values
    )


def test_honest_calls_give_nothing() -> None:
    assert (
        found(
            call(0, returned=message()),
            call(1, returned=message("0000000000000002")),
            call(10, _TIMED_OUT, latency=5 * _SECOND),
            call(11, _NOT_FOUND, arguments=other(receive_timeout=0)),
            call(12, arguments=None, method="Close", opnum=12),
            call(13, returned=message("0000000000000003"), object_uuid=_OTHER),
            call(14, 0xC00E0007),
        )
        == []
    )


@pytest.mark.parametrize("path", _CAPTURES, ids=lambda path: path.name)
def test_the_captures_of_queue_objects_give_nothing(path: Path) -> None:
    assert [one for one in replay(read_capture(path, streams=True)) if str(one.rule).startswith("MQAC")] == []


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([call(0)], ("size", "MQAC-3.11.4.1.11-13")),
        ([call(0, 0xC00E0007, returned=message())], ("size", "MQAC-3.11.4.1.11-61")),
        ([call(0, 1, returned=message())], ("status", "MQAC-3.11.4.1.11-62")),
        ([call(0, returned=message()), call(1, returned=message())], ("twice", "MQAC-3.11.4.1.11-48")),
        (
            [call(0, arguments=None, method="Close", opnum=12), call(1, returned=message())],
            ("handle", "MQAC-3.11.4.1.11-15"),
        ),
        ([call(0, _TIMED_OUT, arguments=other(receive_timeout=0))], ("status", "MQAC-3.11.4.1.11-43")),
        ([call(0, _TIMED_OUT, arguments=other(receive_timeout=0xFFFFFFFF))], ("time", "MQAC-3.11.4.1.11-45")),
        ([call(0, _TIMED_OUT)], ("time", "MQAC-3.11.4.1.11-44")),
        (
            [
                call(
                    0,
                    returned=message(),
                    arguments=other(transaction=None, problems=("transaction is VT_BSTR",)),
                )
            ],
            ("action", "MQAC-3.11.4.1.11-25"),
        ),
        (
            [
                call(
                    0, returned=message(), arguments=other(want_body=None, problems=("want_body is VT_BSTR",))
                )
            ],
            ("action", "MQAC-3.11.4.1.11-9"),
        ),
        (
            [
                call(
                    0,
                    returned=message(),
                    arguments=other(receive_timeout=None, problems=("receive_timeout is VT_BSTR",)),
                )
            ],
            ("action", "MQAC-3.11.4.1.11-12"),
        ),
    ],
)
def test_an_answer_that_breaks_a_rule_is_found(records: list[Record], expected: tuple[str, str]) -> None:
    # What can be converted, and what documents contradict.
    likely = expected[1].endswith(("-9", "-12", "-13"))
    assert found(*records) == [(*expected, not likely)]
    (one,) = replay(records)
    assert str(one.spec) == "[MC-MQAC] 3.11.4.1.11"
    assert (one.interface, one.server, one.record) == ("IMSMQQueue4", "192.0.2.10", records[-1].id)


def test_a_number_that_is_pointed_at_is_no_transaction() -> None:
    problem = "transaction is VT_BYREF | VT_I4"
    taken = call(0, returned=message(), arguments=other(problems=(problem,)))
    assert found(taken) == [("action", "MQAC-3.11.4.1.11-25", True)]


def test_a_wait_that_ends_long_after_its_time_is_likely_wrong() -> None:
    assert found(call(60, _TIMED_OUT, latency=60 * _SECOND)) == [("time", "MQAC-3.11.4.1.11-44", False)]


@pytest.mark.parametrize(
    "wrong",
    [
        call(0, complete=False),
        call(0, response=None),
        call(0, fault=True, status=5),
        call(0, status=None),
        call(0, returned=message(), arguments=other(want_body=None, problems=("want_body was not read",))),
    ],
)
def test_what_is_not_known_is_not_judged(wrong: Record) -> None:
    assert found(wrong) == []

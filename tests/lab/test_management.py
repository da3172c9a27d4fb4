"""An administrator by impacket, which shares no code with us, asks a lab while messages come and go."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.capture.reader import read_capture
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.replay.replayer import replay
from tests.lab.lab_process import ROOT, LabProcess

pytestmark = pytest.mark.needs("impacket")

_SCRIPT = ROOT / "tests" / "oracles" / "rpc_impacket_mgmt.py"
_ORDERS, _FAR = "OS:lab\\private$\\orders", "OS:far\\private$\\bills"
_MESSAGES, _BYTES, _IN_ALL = 7, 8, 6
_INVALID_PARAMETER, _NOT_FOUND, _ILLEGAL_PROPID = 0xC00E0006, 0xC00E0003, 0xC00E0039
Ask = Callable[..., dict[str, Any]]


@contextmanager
def administrator(server: LabProcess) -> Iterator[Ask]:
    """A function that makes a call and gives what came of it."""
    command = [sys.executable, str(_SCRIPT), "127.0.0.1", str(server.ports["rpc"])]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        input_, output = process.stdin, process.stdout

        def ask(**call: Any) -> dict[str, Any]:
            input_.write(json.dumps(call) + "\n")
            input_.flush()
            answer: dict[str, Any] = json.loads(output.readline())
            return answer

        yield ask
        input_.close()
        assert process.wait(30) == 0


def get(ask: Ask, *properties: int, **what: Any) -> list[Any]:
    """The values of properties; a failure fails the test."""
    answer = ask(call="get", properties=properties, **what)
    assert answer["status"] == 0, answer
    return [one["value"] for one in answer["values"]]


def lab(command: str, *arguments: str) -> None:
    """Run a command of the lab."""
    code = "import sys; from msmq_wire.cli.app import main; sys.exit(main(sys.argv[1:]))"
    subprocess.run(
        [sys.executable, "-c", code, "lab", command, *arguments], check=True, capture_output=True, cwd=ROOT
    )


@pytest.mark.slow
@pytest.mark.rule("MQMR-3.1.4.1-20", "MQMR-3.1.4.1-27", "MQMR-3.1.4.1-28")
def test_the_figures_that_impacket_is_told_while_messages_arrive_are_right(tmp_path: Path) -> None:
    path = tmp_path / "lab.pcap"
    with LabProcess("--capture", str(path)) as server, administrator(server) as ask:
        assert get(ask, 2, 4, machine=True) == [
            ["lab\\private$\\orders", "lab\\private$\\orders_tx"],
            "CONNECTED",
        ]
        binary, ping = f"127.0.0.1:{server.ports['binary']}", str(server.ports["ping"])
        seen = [get(ask, _MESSAGES, _BYTES, direct=_ORDERS)]
        for count in (1, 3, 20):
            options = ("--body", "x" * 10, "--count", str(count), "--ping-port", ping)
            lab("send", binary, "private$\\orders", *options)
            seen.append(get(ask, _MESSAGES, _BYTES, direct=_ORDERS))
        assert [messages for messages, _ in seen] == [0, 1, 4, 24]
        assert get(ask, _IN_ALL, machine=True) == [seen[-1][1]]
        lab("receive", f"127.0.0.1:{server.ports['rpc']}", "private$\\orders", "--count", "4")
        assert get(ask, _MESSAGES, 9, 11, direct=_ORDERS) == [20, 0, "LOCAL CONNECTION"]

        for what, properties, status in (
            ({"session": True}, [1], _INVALID_PARAMETER),
            ({"direct": _FAR}, [7], _NOT_FOUND),
            ({"machine": True}, [7], _ILLEGAL_PROPID),
        ):
            refused = ask(call="get", properties=properties, **what)
            assert (refused["status"], refused["values"]) == (status, [{"vt": 1, "value": None}])
        assert ask(call="action", direct=_ORDERS, action="PAUSE")["status"] == _INVALID_PARAMETER
        assert ask(call="action", machine=True, action="disconnect")["status"] == 0
        assert get(ask, 4, machine=True) == ["DISCONNECTED"]
        assert ask(call="get", machine=True, properties=[])["fault"] == 0x6F7
    came = [one["bytes"] for one in server.events if one["event"] == "message-in"]
    assert [size for _, size in seen] == [sum(came[:count]) for count, _ in seen]
    records = list(read_capture(path, streams=True))
    calls = [
        one.packet for one in records if isinstance(one.packet, RpcCall) and one.packet.interface == "qmmgmt"
    ]
    assert {call.method for call in calls} == {"R_QMMgmtGetInfo", "R_QMMgmtAction"}
    assert list(replay(records)) == []

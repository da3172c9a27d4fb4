"""Messages in the memory of a lab: dumped from outside, and found again.

This shows nothing of Windows: the lab is a program of this project, and that memory nobody has seen.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from msmq_wire.capture.carve.reader import carve
from msmq_wire.cli.app import main
from msmq_wire.records.message import message_of
from tests.lab.lab_process import LabProcess

ORDERS = "private$\\orders"
_COUNT = 40
_MAPPED = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw")


def dumped(process: int, target: Path) -> None:
    """What a process may write of its memory, as a file: each range where the one before ends."""
    maps = Path(f"/proc/{process}/maps").read_text(encoding="utf-8")
    with open(f"/proc/{process}/mem", "rb", buffering=0) as memory, target.open("wb") as file:
        for found in filter(None, map(_MAPPED.match, maps.splitlines())):
            first, last = (int(one, 16) for one in found.groups())
            memory.seek(first)
            file.write(memory.read(last - first))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a system that shows memory in /proc")
def test_every_message_of_a_queue_is_found_in_the_memory_of_its_server(tmp_path: Path) -> None:
    with LabProcess("--queue", ORDERS) as server:
        sent = ("--label", "order", "--body", "for the dump", "--count", str(_COUNT))
        assert main(["lab", "send", f"127.0.0.1:{server.ports['binary']}", ORDERS, *sent]) == 0
        dumped(server.pid, tmp_path / "memory")
    found = (message_of(record) for record in carve(str(tmp_path / "memory")) if record.grade == "whole")
    labels = {message["label"] for message in found if message is not None}
    assert {f"order {number}" for number in range(1, _COUNT + 1)} <= labels

"""Columns of what a connection was captured in: VLANs, virtual networks, keys of GRE."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fixtures.build_frames import Captured, gre, pcap, qinq, vlan, vxlan
from fixtures.build_sessions import Script, Step
from msmq_wire.capture.batches import read_batches
from msmq_wire.capture.reader import read_capture
from tests.cli.conftest import Outcome

_STEPS: list[Step] = [{"at": 0.0, "do": "open"}, {"at": 0.1, "do": "message", "id": 1, "count": 60}]
_NAMES = ("vlan", "vni", "gre_key")
_NONE: tuple[list[int], ...] = ([], [], [])


def _wrapped(wrap: Callable[[bytes], bytes] | None) -> Iterator[Captured]:
    for one in Script(_STEPS).scene.frames:
        data = one.data if wrap is None else wrap(one.data[14:])
        yield one._replace(data=data, length=len(data))


@pytest.mark.parametrize(
    ("wrap", "expected"),
    [
        (None, _NONE),
        (vlan, ([42], [], [])),
        (qinq, ([300, 7], [], [])),
        (vxlan, ([], [77], [])),
        (gre, ([], [], [99])),
    ],
)
def test_what_a_connection_was_captured_in_is_a_column(
    wrap: Callable[[bytes], bytes] | None,
    expected: tuple[list[int], ...],
    run: Callable[..., Outcome],
    tmp_path: Path,
) -> None:
    path = tmp_path / "one.pcap"
    path.write_bytes(pcap(_wrapped(wrap)))
    for command in ("messages", "decode"):
        outcome = run(command, path, "--format", "jsonl", "--columns", ",".join(_NAMES))
        rows = [tuple(json.loads(line).values()) for line in outcome.out.splitlines()]
        assert len(rows) >= 60
        assert set(map(str, rows)) == {str(expected)}
    records = list(read_capture(path))
    assert len({one.path for one in records}) == 1
    assert [one for batch in read_batches(str(path)) for one in batch.records()] == records


def test_a_filter_knows_the_encapsulation(run: Callable[..., Outcome], tmp_path: Path) -> None:
    path = tmp_path / "one.pcap"
    path.write_bytes(pcap(_wrapped(vlan)))
    assert len(run("messages", path, "--filter", "vlan == 42", "--format", "jsonl").out.splitlines()) == 60
    assert run("messages", path, "--filter", "vlan == 43", "--format", "jsonl").out == ""
    assert "vlan" not in run("messages", path, "--format", "jsonl").out

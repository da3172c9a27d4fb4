"""Every whole capture, degraded in every way: nobody is accused for it, and what was not touched stays."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from msmq_wire.capture.reader import read_capture
from tests.effort import in_batches, remembered
from tests.imperfect.degradations import DEGRADATIONS, degraded
from tests.imperfect.judging import accusations, frames_of, judged, lost_claims

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_FOLDERS = ("captures", "digest", "diagnose", "sessions", "findings")
FEWEST = 4
CAPTURES = sorted(path for folder in _FOLDERS for path in (_FIXTURES / folder).rglob("*.pcap"))

_GAINED = {
    "the end not captured": """
        SES-RESEND/miss_same_connection:TXN-GAP""",
    "at two hosts": """
        captures/lab_drops:TXN-AGAIN
        captures/routed_looping:MSG-UNACKED
        NET-RESET/hit_hop_limit:MSG-UNACKED""",
    "at two hosts, one of them lost frames": """
        NET-RESET/hit_hop_limit:MSG-UNACKED
        RTE-LOOP/hit_back:MSG-UNACKED""",
    "at two hosts, both lost frames": """
        NET-RESET/hit_hop_limit:MSG-UNACKED""",
}
"""What is said all the same: by degradation, captures with the rule, or the number of the question.

That number 3 of a sequence is missing when the capture ends is told of TXN-GAP/hit_capture_ends
(digest/expected.toml wants it), which has the bytes of SES-RESEND/miss_same_connection up to there: a test
below compares them. The connections of the two routed ones begin with the same numbers, as those of no two
hosts do, so that they are not taken for one capture at two places. Who sent the reset of
NET-RESET/hit_hop_limit is not told from its hop limit at two places: its message is told instead. Between the
two places of lab_drops lies no time at all: they are taken for a file and its copy, and counted twice.
"""
_LOST = {
    "at two hosts": """
        captures/path_icmp_port_unreachable:SES-CONNECT
        NET-IDLE/hit_reset:NET-IDLE
        NET-RESET/hit_hop_limit:NET-RESET""",
    "at two hosts, one of them lost frames": """
        captures/lab_srmp:RPC-LEVEL
        captures/path_icmp_port_unreachable:SES-CONNECT
        NET-IDLE/hit_reset:NET-IDLE
        NET-RESET/hit_hop_limit:NET-RESET""",
    "at two hosts, both lost frames": """
        captures/lab_drops:FRM-TRUNC
        captures/path_icmp_port_unreachable:SES-CONNECT
        NET-IDLE/hit_reset:NET-IDLE
        NET-RESET/hit_hop_limit:NET-RESET
        diagnose/q05_slow_clock:TIM-SKEW""",
}
"""Which claims are lost though their connection was not touched: by degradation, captures with the rule.

Where two captures share too few segments to be known for two places, what is counted is counted twice. The
times of q05_slow_clock are those of the other host, which has more frames. Hop limits differ between places,
so that those of resets tell nothing there.
"""


def _reported(table: dict[str, str], name: str, path: Path) -> list[str]:
    place = f"{path.parent.name}/{path.stem}:"
    return [one.removeprefix(place) for one in table.get(name, "").split() if one.startswith(place)]


def is_whole(path: Path) -> bool:
    """Whether nothing is missing from a capture."""
    for one in read_capture(path, streams=True):
        if (one.type == "gap" and one.missing != 0) or one.type == "error":
            return False
        if one.event in ("start_midstream", "evicted"):
            return False
    return True


Cell = tuple[str, list[str], list[str]]
"""A degradation, what is said for it of a capture, and what is not said any more."""


@remembered
def cells(path: Path) -> list[Cell]:
    with tempfile.TemporaryDirectory() as folder:
        return list(_cells(path, Path(folder))) if is_whole(path) else []


def _cells(path: Path, folder: Path) -> Iterator[Cell]:
    frames = frames_of(path)
    if len(frames) < FEWEST:
        return
    whole = judged([path])
    for name in DEGRADATIONS:
        files, how = degraded(name, path, frames, folder)
        if any(how.files):
            less = judged(files, how.memory)
            yield name, accusations(whole, less), lost_claims(path, frames, whole, less, how)


@in_batches(CAPTURES)
def test_nobody_is_accused_for_what_the_capture_lacks(path: Path) -> None:
    for name, gained, _ in cells(path):
        said = [one.removeprefix("line ") for one in gained]
        assert list(dict.fromkeys(said)) == _reported(_GAINED, name, path), name


@in_batches(CAPTURES)
def test_claims_about_what_was_not_touched_stay(path: Path) -> None:
    for name, _, lost in cells(path):
        assert [one.split()[0] for one in lost] == _reported(_LOST, name, path), name


def test_the_cell_that_is_left_has_the_bytes_of_a_capture_that_is_told_so(tmp_path: Path) -> None:
    findings = _FIXTURES / "findings"
    whole = findings / "SES-RESEND/miss_same_connection.pcap"
    _, how = degraded("the end not captured", whole, frames_of(whole), tmp_path)
    (left,), reported = how.files, frames_of(findings / "TXN-GAP/hit_capture_ends.pcap")
    different = [one for one, other in zip(left, reported, strict=True) if one != other]
    # The queue manager that EstablishConnection asks for, which TXN-GAP does not look at.
    assert [one.number for one in different] == [4]

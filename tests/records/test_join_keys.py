"""Addresses, ports and the Community ID of two ends: values of the specification, and of every capture."""

from __future__ import annotations

from pathlib import Path

import pytest

from msmq_wire.capture.reader import read_capture
from msmq_wire.records.column import JOIN_KEYS, RecordRow
from msmq_wire.records.join_keys import JoinKeys, community_id, join_keys, keys_of
from msmq_wire.records.record import Record
from msmq_wire.records.view import record_view
from tests.effort import in_batches

_CAPTURES = sorted((Path(__file__).resolve().parents[2] / "fixtures" / "captures").glob("*.pcap*"))
_SIX, _GOOGLE = "2001:470:e5bf:dead:4957:2174:e82c:4887", "2607:f8b0:400c:c03::1a"


# baseline_deflt.json of https://github.com/corelight/community-id-spec: what is TCP or UDP.
@pytest.mark.parametrize(
    ("ends", "protocol", "expected"),
    [
        (("128.232.110.120", 34855, "66.35.250.204", 80), 6, "1:LQU9qZlK+B5F3KDmev6m5PMibrg="),
        (("66.35.250.204", 80, "128.232.110.120", 34855), 6, "1:LQU9qZlK+B5F3KDmev6m5PMibrg="),
        (("192.168.1.52", 54585, "8.8.8.8", 53), 17, "1:d/FP5EW3wiY1vCndhwleRRKHowQ="),
        (("8.8.8.8", 53, "192.168.1.52", 54585), 17, "1:d/FP5EW3wiY1vCndhwleRRKHowQ="),
        ((_SIX, 63943, _GOOGLE, 25), 6, "1:/qFaeAR+gFe1KYjMzVDsMv+wgU4="),
        ((_GOOGLE, 25, _SIX, 63943), 6, "1:/qFaeAR+gFe1KYjMzVDsMv+wgU4="),
        # The program of the specification on the ping and the connection of the demo capture.
        (("192.0.2.21", 50217, "192.0.2.10", 3527), 17, "1:4WMRb3aj7aZWA3yk1SxDh9UP4lE="),
        (("192.0.2.10", 1801, "192.0.2.21", 49731), 6, "1:d8B+4SCIbCpWM0zZJe8EPvzsymM="),
        # One address at both ends: the lower port is first. The bytes written by hand, the digest by openssl.
        (("192.0.2.1", 1801, "192.0.2.1", 1025), 6, "1:hBb2NqZiDky6yki3lTkCci39o1A="),
        # No flow of IP, or of two kinds of it.
        (("192.0.2.1", 1, "2001:db8::1", 2), 6, None),
        (("host-1", 1801, "192.0.2.1", 2), 6, None),
    ],
)
def test_the_community_id_is_that_of_the_specification(
    ends: tuple[str, int, str, int], protocol: int, expected: str | None
) -> None:
    assert community_id(*ends, protocol=protocol) == expected


@pytest.mark.parametrize(
    ("src", "dst", "parts"),
    [
        ("192.0.2.1:1801", "[2001:db8::1]:1801", ("192.0.2.1", 1801, "2001:db8::1", 1801)),
        # An end whose port is not known, one that is not known, and one that redaction replaced.
        ("192.0.2.1", "[2001:db8::1]", ("192.0.2.1", None, "2001:db8::1", None)),
        (None, "", (None, None, None, None)),
        ("host-1:1801", "192.0.2.1:65536", ("host-1", 1801, "192.0.2.1", None)),
        ("192.0.2.1:", "192.0.2.2:\u0661", ("192.0.2.1", None, "192.0.2.2", None)),
    ],
)
def test_an_end_is_an_address_and_a_port(src: str | None, dst: str | None, parts: tuple[object, ...]) -> None:
    assert join_keys(src, dst, udp=False) == (*parts, None)


@pytest.mark.parametrize(("stream", "protocol"), [(0, 6), (None, 17)])
def test_what_has_no_stream_came_by_udp(stream: int | None, protocol: int) -> None:
    record = Record(id=1, type="ping", src="192.0.2.1:5", dst="192.0.2.2:6", stream=stream)
    assert keys_of(record).community_id == community_id("192.0.2.1", 5, "192.0.2.2", 6, protocol=protocol)


@in_batches(_CAPTURES)
def test_every_row_has_its_ends_in_parts(path: Path) -> None:
    for record in read_capture(path, streams=True):
        row = RecordRow(record).as_json(one.name for one in JOIN_KEYS)
        assert {name: record_view(record)[name] for name in JoinKeys._fields} == row
        for end in ("src", "dst"):
            ip, port = row[f"{end}_ip"], row[f"{end}_port"]
            whole = None if ip is None else f"[{ip}]" if ":" in ip else ip
            assert getattr(record, end) == (whole if port is None else f"{whole}:{port}")
        assert (row["community_id"] is None) == (row["src_port"] is None or row["dst_port"] is None)


def test_redaction_leaves_no_community_id() -> None:
    assert join_keys("host-1:49731", "host-2:1801", udp=False) == ("host-1", 49731, "host-2", 1801, None)

"""What is counted while files are read, and how the summary line says it."""

from __future__ import annotations

from collections import Counter

import pytest

from msmq_wire.capture.capture_counts import most_text
from msmq_wire.cli.read_counts import ReadCounts


def test_counts_of_files_add_up_and_the_worst_status_stays() -> None:
    counts = ReadCounts(status=1, frames=2, sealed=1, skipped=Counter({"UDP, not MSMQ": 1}))
    counts.add(ReadCounts(status=0, frames=3, skipped=Counter({"UDP, not MSMQ": 2, "ICMP": 1})))
    assert (counts.status, counts.frames, counts.sealed) == (1, 5, 1)
    assert counts.skipped == {"UDP, not MSMQ": 3, "ICMP": 1}


@pytest.mark.parametrize(
    ("skipped", "verbose", "text"),
    [
        ({}, False, "1 frame read"),
        ({"TCP, not MSMQ": 4}, False, "1 frame read, 4 skipped"),
        # What may hide MSMQ is told to everybody.
        (
            {"TCP, not MSMQ": 4, "link type 9": 2},
            False,
            "1 frame read, 6 skipped (2 link type 9)",
        ),
        (
            {"TCP, not MSMQ": 4, "IPsec: not read": 1},
            True,
            "1 frame read, 1 understood, 5 skipped (4 TCP, not MSMQ, 1 IPsec: not read); 3 ping",
        ),
    ],
)
def test_frames_are_told_with_the_reasons_why_some_are_skipped(
    skipped: dict[str, int], verbose: bool, text: str
) -> None:
    counts = ReadCounts(
        frames=1, understood=1, skipped=Counter(skipped), packets=Counter({"ping": 3, "final_ack": 0})
    )
    assert counts.frames_text(verbose=verbose) == text


def test_what_stays_closed_is_told_with_the_options_that_open_it() -> None:
    assert ReadCounts().closed_text(key_options=True) == ""
    counts = ReadCounts(sealed=2, doubtful=1, bodies=Counter({"": 3, "no key": 2}))
    assert counts.closed_text(key_options=False) == (
        "; 2 calls sealed; 3 of 5 encrypted bodies opened, 1 of them doubtful: nothing confirms what RC4 gave"
        " (2 no key)"
    )
    assert "; 2 calls sealed: --" in counts.closed_text(key_options=True)


def test_a_notice_of_several_connections_is_told_once_and_anonymous_names_none() -> None:
    counts = ReadCounts(
        notices=Counter(
            {
                "192.0.2.1:5000 to 192.0.2.2:2103: sealed for CORP\\anna": 1,
                "192.0.2.1:5001 to 192.0.2.2:2103: sealed for CORP\\anna": 1,
                "TLS on port 443": 2,
            }
        )
    )
    assert counts.notices_text(anonymous=False) == (
        "; 2 TLS on port 443, sealed for CORP\\anna (2 connections)"
    )
    assert counts.notices_text(anonymous=True) == (
        "; 2 TLS on port 443, notices that may name hosts are not shown"
    )


def test_of_many_reasons_the_most_frequent_are_named() -> None:
    assert most_text(Counter(a=3, b=2, c=1), 2) == "3 a, 2 b, 1 other"
